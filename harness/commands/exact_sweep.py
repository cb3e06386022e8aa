"""`dgtd sweep --exact`: the map of step sizes without seeds; with `--map`, rules × problems in classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgtd.harness.commands.carry_out import progress
from dgtd.harness.commands.options import INTERRUPTED, RESUME, Where
from dgtd.harness.commands.output import open_store, print_json, print_table, say, tell
from dgtd.harness.experiment.exact import column_jobs, map_of, optimum_job
from dgtd.harness.experiment.zones import FINE, Zones, zone_jobs
from dgtd.harness.oracle.certificates import Class
from dgtd.harness.report.drawing import Figure, Panel, check_picture, save
from dgtd.harness.report.exact_lines import boundary, zones_figure
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import LaneError

if TYPE_CHECKING:
    from dgtd.harness.experiment.exact import Map, Setting
    from dgtd.harness.experiment.search import Grid

MARK = "×"  # second moments beyond all bounds
MARKS = {"heavy-tailed": "1", "diverging": "x", "marginal": "."}  # what a picture shows of the certificate


def exact_sweep(rule: str, setting: Setting, grid: Grid, where: Where, plot: Path | None, as_json: bool) -> int:
    """Columns of the map, then the optimum, as stored jobs; print them."""

    ref = reference(rule)
    setting.moments(resolve(ref))  # refuses what has no exact curve before anything is stored

    def results(jobs: list[Any], what: str) -> list[Any] | None:
        with progress(what) as tick:
            done = execute([], store, where.make, jobs=jobs, timeout=where.timeout, progress=tick)
        if done.interrupted:
            return None
        out = []
        for job in jobs:
            try:
                out.append(store.result(job))
            except LaneError as error:
                raise ValueError(f"{rule} on {setting.problem}: {error}") from None
        return out

    with open_store(where.store) as store:
        columns = results(column_jobs(ref, setting, grid), "exact sweep")
        found = None if columns is None else map_of(grid, columns)
        best = None if found is None else results([optimum_job(ref, setting, found.best)], "optimum")
    if found is None or best is None:
        print(f"dgtd: interrupted; {RESUME}", file=sys.stderr)
        return INTERRUPTED
    words = f"{ref.name} on {setting.problem} ({setting.target}), {setting.steps:,} steps"
    if plot is not None:
        _plot(found, best[0], words, plot)
    if as_json:
        settings = [
            {"alpha": alpha, "beta": ratio * alpha, "area": found.area[i, j], "class": found.kind(alpha, ratio) or None}
            for i, alpha in enumerate(grid.alphas)
            for j, ratio in enumerate(grid.ratios)
        ]
        stable = [{"ratio": r, "largest_alpha": a} for r, a in zip(grid.ratios, found.stable, strict=True)]
        print_json({"rule": ref.name, **vars(setting), "settings": settings, "stable": stable, "best": best[0]})
        return 0
    _print(found, best[0], words)
    if plot is not None:
        say(f"picture: {plot}")
    return 0


def _print(found: Map, best: dict[str, float], words: str) -> None:
    import numpy as np

    grid = found.grid
    rows = []
    for i, alpha in enumerate(grid.alphas):
        row = [f"{alpha:.4g}"]
        for j, ratio in enumerate(grid.ratios):
            area = found.area[i, j]
            mark = " ◀" if (alpha, ratio * alpha) == found.best else ""
            shaky = " ~" if np.isfinite(area) and found.kind(alpha, ratio) not in ("", "stable") else ""
            row.append(f"{area:.4g}{shaky}{mark}" if np.isfinite(area) else MARK)
        rows.append(row)
    columns = ["α", *(f"β/α = {ratio:g}" for ratio in grid.ratios)]
    print_table(f"{words}: exact area under √E MSPBE", columns, rows, numbers=set(range(len(columns))))
    tell(f"{MARK} second moments grow beyond all bounds; ~ finite so far, but the certificate does not call it stable")
    tell(
        f"best: α = {best['alpha']:.4g}, β = {best['beta']:.4g}, area {best['area']:.4g} "
        f"(optimised, {best['evaluations']} evaluations; on the grid {np.min(found.area):.4g})"
    )


def _plot(found: Map, best: dict[str, float], words: str, path: Path) -> None:
    import numpy as np

    def draw(axis: Any) -> None:
        ratios, alphas = np.array(found.grid.ratios), np.array(found.grid.alphas)
        rising, order = np.argsort(alphas), np.argsort(ratios)
        area = np.where(np.isfinite(found.area), found.area, np.nan)[np.ix_(rising, order)]
        drawn = axis.pcolormesh(ratios[order], alphas[rising], np.log10(area), shading="nearest", cmap="viridis_r")
        axis.figure.colorbar(drawn, ax=axis, label="log₁₀ of the area under √E MSPBE")
        if found.zones is not None:
            boundary(axis, found.zones)
            for kind, mark in MARKS.items():
                row, at = np.nonzero(found.zones.kinds == kind)
                if len(row):
                    axis.scatter(
                        found.zones.ratios[at], found.zones.alphas[row], marker=mark, color="#444444", s=16, lw=0.8,
                        label=kind,
                    )  # fmt: skip
        axis.plot(best["beta"] / best["alpha"], best["alpha"], "r*", ms=13, label="best")
        axis.set(xlabel="β/α", ylabel="α", xscale="log", yscale="log")

    try:
        save(Figure(path.stem, "Exact sweep", words, (Panel(words, draw, named=True),)), path)
    except (OSError, ValueError) as error:
        raise ValueError(f"can't draw {str(path)!r}: {error}") from None


if TYPE_CHECKING:
    from dgtd.harness.experiment.search import Grid


def zone_map(
    rules: tuple[str, ...], problems: tuple[str, ...], target: tuple[str, int, str], grid: Grid | None, where: Where,
    path: Path, as_json: bool,
) -> int:  # fmt: skip
    """One picture, a row per rule and a column per problem. `target`: its name, atoms and projection."""

    check_picture("map", path)
    for given, kind in ((rules, "rule"), (problems, "problem")):
        if not given:
            raise ValueError(f"a map needs a {kind}, got none")
    used, wanted = grid or FINE, {}
    for rule in rules:
        ref = reference(rule)
        if not resolve(ref).linear:
            raise ValueError(f"rule {rule!r} declares linear=False: no certificate exists for it")
        for problem in problems:
            wanted[resolve(ref).name, problem] = zone_jobs(ref, problem, *target, used)
    found = {}
    with open_store(where.store) as store:
        with progress("map") as tick:
            jobs = [job for each in wanted.values() for job in each]
            done = execute([], store, where.make, jobs=jobs, timeout=where.timeout, progress=tick)
        if done.interrupted:
            print(f"dgtd: interrupted; {RESUME}", file=sys.stderr)
            return INTERRUPTED
        for (rule, problem), columns in wanted.items():
            results: list[Any] = []
            for job in columns:
                outcome, result, error = store.job(job.hash)
                if not outcome.settled:
                    raise ValueError(f"{rule} on {problem}: {outcome}: {error}")
                results.append(result)
            found[rule, problem] = Zones.of(used, results)
    try:
        save(zones_figure(path.stem, found), path, columns=len(problems))
    except (OSError, ValueError) as error:
        raise ValueError(f"can't draw {str(path)!r}: {error}") from None
    if as_json:
        maps = [{"rule": rule, "problem": problem, **vars(each)} for (rule, problem), each in found.items()]
        print_json({"target": target[0], "sampling": "iid", "maps": maps})
        return 0
    columns_ = ["rule", "problem", *map(str, Class)]
    rows = [[*pair, *(f"{each.share(kind):.0%}" for kind in Class)] for pair, each in found.items()]
    title = f"{len(used.alphas)} × {len(used.ratios)} step sizes, {target[0]}, independent transitions"
    print_table(title, columns_, rows, numbers={2, 3, 4, 5})
    tell("stable: second moments shrink; heavy-tailed: they grow, and yet almost every path shrinks")
    say(f"picture: {path}")
    return 0
