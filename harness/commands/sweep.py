"""`dgtd sweep`: one rule on one problem over α × β/α, the best by a rule stated beforehand, judged on fresh seeds."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import typer

from harness.commands.compare import contestants, grid, split
from harness.commands.options import INTERRUPTED, RESUME, PredictorText, Where, a_path, runs_lanes
from harness.commands.output import AsJson, open_store, print_json, print_table, say, tell

Plot = typer.Option(
    None, "--plot", help="Draw the sensitivity to this file (png, pdf or svg).", parser=a_path, metavar="PATH"
)
ZoneMap = typer.Option(
    None, "--map", help="Of --exact: draw where rules are stable, heavy-tailed or diverging to this file.",
    parser=a_path, metavar="PATH",
)  # fmt: skip


@runs_lanes
def sweep(
    where: Where,
    problem: str = typer.Option(..., help="A problem, as in 'boyan'; several, with commas, for --map."),
    rule: str = typer.Option(..., help="A rule: a name, or path/to/file.py:function; several for --map."),
    target: str = typer.Option("value", help="value, or cdf for the distributional form."),
    alphas: str | None = typer.Option(None, help="α, separated by commas."),
    ratios: str | None = typer.Option(None, help="β/α, separated by commas."),
    seeds: int = typer.Option(30, help="Fresh seeds for the final numbers."),
    sweep_seeds: int = typer.Option(16, help="Seeds of each setting of the sweep."),
    steps: int = typer.Option(50_000, help="Steps per lane."),
    atoms: int = typer.Option(21, help="Atoms of the distributional form."),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest or floor."),
    schedule: str = typer.Option("constant", help="constant or robbins-monro."),
    seed: int = typer.Option(0, help="Root of every stream."),
    exact: bool = typer.Option(False, "--exact", help="Expected areas, computed: no seeds. Linear predictors only."),
    plot: Path | None = Plot,
    zone_map: Path | None = ZoneMap,
    predictor: str | None = PredictorText,
    as_json: bool = AsJson,
) -> int:
    """Sensitivity to step sizes; the chosen ones are run again on seeds that did not choose them."""
    from harness.commands.progress import progress
    from harness.compare.comparison import as_dict, compare
    from harness.compare.contest import Contest, choose
    from harness.runs.driver import execute
    from harness.runs.predictors import parse

    if plot is not None:
        from harness.report.drawing import check_picture

        check_picture("plot", plot)
    if zone_map is not None:
        from harness.commands.zone_map import zone_map as draw_map

        for name, given in (("--exact", exact), ("a linear --predictor", predictor in (None, "linear"))):
            if not given:
                raise ValueError(f"a map is of certificates: --map needs {name}")
        if plot is not None:
            raise ValueError("--plot draws areas and --map classes: give one of them")
        fine = None if alphas is None and ratios is None else grid(alphas, ratios)
        return draw_map(split(rule), split(problem), (target, atoms, projection), fine, where, zone_map, as_json)
    if exact:
        from harness.commands.exact_sweep import exact_sweep
        from harness.compare.exact import Setting

        if predictor not in (None, "linear"):
            raise ValueError(f"an exact sweep is of linear predictors, got --predictor {predictor}")
        setting = Setting(problem, target, atoms, projection, schedule, steps)
        return exact_sweep(rule, setting, grid(alphas, ratios), where, plot, as_json)
    contest = Contest(
        problems=(problem,), contestants=contestants(rule, target), steps=steps, seeds=seeds, atoms=atoms,
        projection=projection, schedule=schedule, root_seed=seed, grid=grid(alphas, ratios), sweep_seeds=sweep_seeds,
        predictor=None if predictor is None else parse(predictor),
    )  # fmt: skip
    if len(contest.contestants) != 1:
        raise ValueError(
            f"a sweep is of one rule and one target, got {rule!r} and {target!r}: `dgtd compare` takes more"
        )
    make = where.make
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
    with open_store(where.store) as results:
        with progress("sweep") as tick:
            done = execute(contest.sweep_requests(), results, make, timeout=where.timeout, progress=tick)
        if not done.interrupted:
            chosen = choose(contest, results)
            with progress("fresh seeds") as tick:
                done = execute(contest.final_requests(chosen), results, make, timeout=where.timeout, progress=tick)
        if done.interrupted:
            print(f"dgtd: interrupted; {RESUME}", file=sys.stderr)
            return INTERRUPTED
        found = compare(contest, results, chosen)
    if plot is not None:
        _plot(found, plot)
    if as_json:
        print_json(as_dict(found))
    else:
        _print(found)
        if plot is not None:
            say(f"picture: {plot}")
    return 0


def _plot(found: Any, path: Path) -> None:
    from harness.report.drawing import save
    from harness.report.figures import sweep_figure

    try:
        save(sweep_figure(found.entries[0]), path)
    except (OSError, ValueError) as error:
        raise ValueError(f"can't draw {str(path)!r}: {error}") from None


def _print(found: Any) -> None:
    from harness.compare.comparison import ALPHA, NAMES
    from harness.compare.contest import CHOICE
    from harness.judging.statistics import lanes_for_median, median_interval

    (entry,) = found.entries
    cells = {(s.alpha, s.beta): s for s in entry.choice.sweep}
    grid_ = found.contest.grid
    rows = []
    for alpha in grid_.alphas:
        row = [f"{alpha:.4g}"]
        for ratio in grid_.ratios:
            setting = cells[alpha, ratio * alpha]
            best = " ◀" if (setting.alpha, setting.beta) == entry.choice.best else ""
            row.append(f"{setting.area:.3g}{best}" if setting.stable else f"× {setting.diverged} of {setting.lanes}")
        rows.append(row)
    title = f"{entry.who.label} on {entry.problem}: area under RMSPBE; × lanes that diverged"
    columns = ["α", *(f"β/α = {ratio:g}" for ratio in grid_.ratios)]
    print_table(title, columns, rows, numbers=set(range(len(columns))))
    alpha, beta = entry.choice.best
    tell(f"chosen: α = {alpha:g}, β = {beta:g} ({CHOICE})")
    for metric in (m for m in NAMES if m in entry.who.metrics):
        numbers = {key: median_interval(values, ALPHA) for key, values in entry.numbers(metric).items()}
        words = "; ".join(
            f"{'area' if key == 'auc' else key} {i.estimate:.3g}"
            + (f" [{i.low:.3g}, {i.high:.3g}]" if i.low > -math.inf else "")
            for key, i in numbers.items()
        )
        say(f"  {NAMES[metric]:16} {words}")
    say(f"  on {found.contest.seeds} fresh seeds (medians, 95 %); {entry.diverged} diverged")
    if found.contest.seeds < lanes_for_median(ALPHA):
        tell(f"a {1 - ALPHA:.0%} interval of a median needs {lanes_for_median(ALPHA)} seeds, so none is shown")
    say(f"the sweep took {entry.choice.seconds:.1f} s of one core")
