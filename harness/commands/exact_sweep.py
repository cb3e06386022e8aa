"""`dgtd sweep --exact`: the map of step sizes without seeds; with `--map`, rules × problems in classes."""

from pathlib import Path
from typing import Any

import numpy as np

from dgtd.harness.commands.carry_out import carried_out
from dgtd.harness.commands.options import INTERRUPTED, Where
from dgtd.harness.commands.output import open_store, print_grid, print_json, print_table, say, tell
from dgtd.harness.experiment.exact import Map, Setting, column_jobs, map_of, optimum_job
from dgtd.harness.experiment.search import Grid
from dgtd.harness.experiment.zones import FINE, Zones, zone_jobs
from dgtd.harness.oracle.certificates import Class
from dgtd.harness.report.drawing import Figure, Panel, check_picture, save_as
from dgtd.harness.report.exact_lines import boundary, zones_figure
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import LaneError, Store
from dgtd.harness.runs.work import Job

MARK = "×"  # second moments beyond all bounds
MARKS = {"heavy-tailed": "1", "diverging": "x", "marginal": "."}  # what a picture shows of the certificate


def exact_sweep(rule: str, setting: Setting, grid: Grid, where: Where, plot: Path | None, as_json: bool) -> int:
    """Columns of the map, then the optimum, as stored jobs; print them."""
    ref, who = reference(rule), f"{rule} on {setting.problem}"
    setting.moments(resolve(ref))  # refuses what has no exact curve before anything is stored
    with open_store(where.store) as store:
        jobs = column_jobs(ref, setting, grid)
        if not carried_out("exact sweep", [], store, where, jobs):
            return INTERRUPTED
        found = map_of(grid, _results(store, jobs, who))
        jobs = [optimum_job(ref, setting, found.best)]
        if not carried_out("optimum", [], store, where, jobs):
            return INTERRUPTED
        (best,) = _results(store, jobs, who)
    words = f"{ref.name} on {setting.problem} ({setting.target}), {setting.steps:,} steps"
    if plot is not None:
        _plot(found, best, words, plot)
    if as_json:
        settings = [
            {"alpha": alpha, "beta": ratio * alpha, "area": found.area[i, j], "class": found.kind(alpha, ratio) or None}
            for i, alpha in enumerate(grid.alphas)
            for j, ratio in enumerate(grid.ratios)
        ]
        stable = [{"ratio": r, "largest_alpha": a} for r, a in zip(grid.ratios, found.stable, strict=True)]
        print_json({"rule": ref.name, **vars(setting), "settings": settings, "stable": stable, "best": best})
        return 0
    _print(found, best, words)
    if plot is not None:
        say(f"picture: {plot}")
    return 0


def _results(store: Store, jobs: list[Job], who: str) -> list[Any]:
    """What jobs returned; an error says whose they are."""
    try:
        return [store.result(job) for job in jobs]
    except LaneError as error:
        raise ValueError(f"{who}: {error}") from None


def _print(found: Map, best: dict[str, float], words: str) -> None:
    def cell(alpha: float, ratio: float) -> str:
        area = found.area[found.grid.alphas.index(alpha), found.grid.ratios.index(ratio)]
        if not np.isfinite(area):
            return MARK
        shaky = " ~" if found.kind(alpha, ratio) not in ("", "stable") else ""
        return f"{area:.4g}{shaky}{' ◀' if (alpha, ratio * alpha) == found.best else ''}"

    print_grid(f"{words}: exact area under √E MSPBE", found.grid, cell)
    tell(f"{MARK} second moments grow beyond all bounds; ~ finite so far, but the certificate does not call it stable")
    tell(
        f"best: α = {best['alpha']:.4g}, β = {best['beta']:.4g}, area {best['area']:.4g} "
        f"(optimised, {best['evaluations']} evaluations; on the grid {np.min(found.area):.4g})"
    )


def _plot(found: Map, best: dict[str, float], words: str, path: Path) -> None:
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

    save_as(Figure(path.stem, "Exact sweep", words, (Panel(words, draw, named=True),)), path)


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
    with open_store(where.store) as store:
        if not carried_out("map", [], store, where, [job for each in wanted.values() for job in each]):
            return INTERRUPTED
        found = {pair: Zones.of(used, _results(store, jobs, " on ".join(pair))) for pair, jobs in wanted.items()}
    save_as(zones_figure(path.stem, found), path, columns=len(problems))
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
