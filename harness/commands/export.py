"""`dgtd export`: numbers out of the store: final ones, whole curves, and tables for a paper."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer

from dgtd.algorithms.targets import CdfTarget, target_class
from dgtd.harness.commands.options import StorePath, path_option
from dgtd.harness.commands.output import check_file, of_names, open_to_read, say, stdout
from dgtd.harness.experiment.comparison import ALPHA, NAMES
from dgtd.harness.experiment.search import SWEEP_SEED
from dgtd.harness.judging.statistics import median_interval
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.store import Store, settings_of
from dgtd.harness.runs.trainers.trainer import trainer_of

FORMATS = ("csv", "parquet", "latex")
Report = path_option("--report", "Only what the report in this folder shows: its runs, its seeds, its outcomes.")
Out = path_option("--out", "Write to this file; csv and latex go to stdout without it.")


def export(
    format_: str = typer.Option("csv", "--format", help="csv, parquet, or latex (a booktabs table of medians)."),
    curves: bool = typer.Option(False, "--curves", help="Every checkpoint: run, seed, step, metric, value."),
    laws: bool = typer.Option(False, "--laws", help="Every lane's last laws: run, seed, state, action, z, F."),
    problem: str | None = typer.Option(None, help="Only runs on this problem."),
    rule: str | None = typer.Option(None, help="Only runs of this rule."),
    metric: str | None = typer.Option(None, help="Only this metric, with --curves."),
    purpose: str | None = typer.Option(None, help="Only 'reported' runs, or only those of a 'sweep'."),
    report: Path | None = Report,
    out: Path | None = Out,
    store: Path = StorePath,
) -> None:
    """Every lane's final metrics, one row per lane; with --curves or --laws, a tidy table of those."""
    if format_ not in FORMATS:
        raise ValueError(f"format must be {', '.join(map(repr, FORMATS[:-1]))} or {FORMATS[-1]!r}, got {format_!r}")
    if format_ == "parquet" and out is None:
        raise ValueError("out must be given with --format parquet")
    if curves and laws:
        raise ValueError("curves and laws are two tables: give one of them")
    if format_ == "latex" and (curves or laws):
        raise ValueError(f"format latex is a table of final medians: leave --{'curves' if curves else 'laws'} out")
    if metric is not None and not curves:
        raise ValueError("metric goes with --curves: without it every metric has a column")
    if purpose not in (None, "reported", "sweep"):
        raise ValueError(f"purpose must be 'reported' or 'sweep', got {purpose!r}")
    check_file("out", out)
    with open_to_read(store) as results:
        runs = results.runs()
    kept = {run["run"] for run in of_names(runs, problem=problem, rule=rule) if purpose in (None, _purpose(run))}
    shown = None if report is None else _shown(report, {run["run"] for run in runs})
    if shown is not None:
        kept &= shown.keys()
    with open_to_read(store) as results:

        def keep(run: dict[str, Any]) -> bool:
            return run["run"] in kept

        rows: Iterable[dict[str, Any]] = (row | {"purpose": _purpose(row)} for row in results.rows() if keep(row))
        if curves or laws:
            rows = _curves(results, keep, metric) if curves else _laws(results, keep)
        if shown is not None:
            rows = _as_reported(rows, shown)
        if format_ == "csv":
            _write_csv(rows, out)
        elif format_ == "latex":
            _write(_latex(list(rows)), out)
        else:
            _write_parquet(rows, out)


def _shown(report: Path, stored: set[str]) -> dict[str, dict[str, Any]]:
    """Run → what a report's own numbers say of it: its label, seeds, and which of them count as diverged."""
    path = report / "compare.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        entries = [entry | {"label": label} for rules in found["problems"].values() for label, entry in rules.items()]
        shown = {entry["run"]: {key: entry[key] for key in ("label", "of", "lost")} for entry in entries}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(
            f"report must be a folder that `dgtd compare` wrote, with its compare.json, got {str(report)!r}"
        ) from None
    if missing := shown.keys() - stored:
        raise ValueError(
            f"report {str(report)!r} shows {len(missing)} runs that are not in this store: give its --store"
        )
    return shown


def _as_reported(rows: Iterable[dict[str, Any]], shown: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The report's seeds alone, with its labels; a seed that it counts as diverged is so called here."""
    for row in rows:
        run = shown[row["run"]]
        if row["seed"] < run["of"]:
            lost = {"diverged": row["seed"] in run["lost"]}
            yield row | {"label": run["label"]} | lost


def _purpose(run: dict[str, Any]) -> str:
    """Lanes that chose step sizes have seeds of their own."""
    return "sweep" if int(run["root_seed"]) >= SWEEP_SEED else "reported"


def _curves(results: Store, keep: Callable[[dict[str, Any]], bool], metric: str | None) -> Iterator[dict[str, Any]]:
    rows = (row for row in results.tidy(keep) if metric in (None, row["metric"]))
    return ({"run": row["run"], "purpose": _purpose(row)} | row for row in rows)


def _laws(results: Store, keep: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """F at every atom but the last, where it is 1."""
    specs = results.specs()
    for run in results.runs():
        if not (run["target"] == "cdf" and keep(run)):
            continue
        spec = RunSpec.from_json(specs[run["run"]])
        target = trainer_of(spec).target
        assert isinstance(target, CdfTarget)
        z = target.support[:-1].tolist()
        shared = {"run": run["run"], "purpose": _purpose(run)} | settings_of(run)
        places = [" ".join(f"{part:g}" for part in state) for state in spec.probe.states]
        places = places or ["zeros" if spec.place.is_world else "most visited"]
        for lane in results.lanes(run["run"]):
            of_states = lane.law.reshape(len(places), -1, len(z)) if lane.law.size else ()
            for place, of_actions in zip(places, of_states, strict=False):
                for action, law in enumerate(of_actions):
                    at = {"seed": lane.seed, "state": place, "action": action if spec.learner.control else ""}
                    yield from (shared | at | {"z": atom, "F": float(F)} for atom, F in zip(z, law, strict=True))


def _write_csv(rows: Iterable[dict[str, Any]], out: Path | None) -> None:
    known = list(rows)
    columns = dict.fromkeys(name for row in known for name in row) or {"run": None}  # versions differ in theirs
    target = contextlib.nullcontext(stdout()) if out is None else out.open("w", newline="", encoding="utf-8")
    with target as stream:
        writer = csv.DictWriter(stream, fieldnames=list(columns))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in known)


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe; a number stays a number."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _write_parquet(rows: Iterable[dict[str, Any]], out: Path | None) -> None:
    try:
        import pandas as pd

        pd.DataFrame(list(rows)).to_parquet(out)
    except ImportError:
        raise ValueError("parquet needs the extra 'data': pip install 'dgtd-bench[data]'") from None


def _write(text: str, out: Path | None) -> None:
    if out is None:
        say(text.rstrip("\n"))
    else:
        out.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------------- a table for a paper


def _latex(rows: list[dict[str, Any]]) -> str:
    """Final medians over lanes with 95 % intervals, a line per reported run."""
    reported = [row for row in rows if row["purpose"] == "reported"]
    metrics = [name for name in NAMES if any(name in row for row in reported)]
    lines = [
        "% median over lanes [95 % interval] at the end; needs \\usepackage{booktabs}",
        "\\begin{tabular}{llrr" + "r" * len(metrics) + "}",
        "\\toprule",
        " & ".join(["problem", "rule", "$\\alpha$", "$\\beta$", *(NAMES[name] for name in metrics)]) + r" \\",
        "\\midrule",
    ]
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in reported:
        by_run.setdefault(row["run"], []).append(row)
    for lanes in by_run.values():
        if not any(np.isfinite(row.get(name, np.nan)) for row in lanes for name in metrics):
            continue  # runs of a suite measure other things
        one = lanes[0]
        cells = [_plain(one["problem"]), _plain(f"{target_class(one['target']).form} {one['rule']}".strip())]
        cells += [f"{one['alpha']:.3g}", f"{one['beta']:.3g}"]
        for name in metrics:
            values = np.array([row.get(name, np.nan) for row in lanes], dtype=float)
            if np.isnan(values).all():
                cells.append("--")
                continue
            cells.append(median_interval(values, ALPHA).text(".2g"))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _plain(text: str) -> str:
    """Characters that mean something to LaTeX, as letters."""
    for letter in "\\&%$#_{}~^":
        text = text.replace(letter, "\\textbackslash " if letter == "\\" else f"\\{letter}")
    return text
