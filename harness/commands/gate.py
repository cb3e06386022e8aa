"""`dgtd gate`: is one commit slower than another, or does it cost more?"""

import contextlib
from pathlib import Path

import typer

from dgtd.harness.asv.gate import FACTOR, Code, run
from dgtd.harness.commands.output import stdout


def gate(
    base: str = typer.Argument(help="Commit to compare with."),
    head: str = typer.Argument("HEAD", help="Commit to judge."),
    factor: float | None = typer.Option(None, help="Times may grow by this factor; 1.3 by default."),
    bench: str | None = typer.Option(None, help="Only the benchmarks that match this regular expression."),
) -> int:
    """Measure two commits of the repository in this folder by asv, in turns: a code for every outcome."""
    if factor is not None and not factor > 1:
        raise ValueError(f"factor must exceed 1, got {factor:g}")
    if not Path("asv.conf.json").is_file():
        raise ValueError("no asv.conf.json in this folder: `dgtd new benchmark NAME` sets asv up for a rule of yours")
    with contextlib.redirect_stdout(stdout()):
        return run(base, head, factor or FACTOR, bench)


# For `dgtd gate --help`.
gate.__doc__ = f"{gate.__doc__}\n\nExit codes: {'; '.join(f'{code:d} {code.words}' for code in Code)}."
