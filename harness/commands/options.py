"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import typer

StorePath = typer.Option(
    Path("results/dgtd.sqlite"), "--store", envvar="DGTD_STORE", help="The file that results live in."
)
ExecutorKind = typer.Option("pool", "--executor", envvar="DGTD_EXECUTOR", help="in-process, pool or dask.")
Workers = typer.Option(None, "--workers", help="Processes of the pool; one per core by default.")
Scheduler = typer.Option(None, "--scheduler", help="Address of a Dask scheduler, as in tcp://127.0.0.1:8786.")
Timeout = typer.Option(None, "--timeout", help="Seconds that a cohort of lanes, or a job, may take.")
PredictorText = typer.Option(
    None, "--predictor", help="linear, table, mlp(50), mlp(64,64,relu), own, or file.py:function (a torch module)."
)
RESUME = "what is finished is kept: the same command goes on from there"
INTERRUPTED = 130


def check_timeout(timeout: float | None) -> None:
    """A limit must be a positive number."""
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout must be positive, got {timeout}")
