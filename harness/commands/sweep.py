"""`dgtd sweep`: one rule on one problem over α × β/α, the best by a rule stated beforehand, judged on fresh seeds."""

from pathlib import Path

import typer

from dgtd.harness.commands.carry_out import carried_out
from dgtd.harness.commands.command import SEVERAL
from dgtd.harness.commands.compare import grid, search, split
from dgtd.harness.commands.exact_sweep import exact_sweep
from dgtd.harness.commands.exact_sweep import zone_map as draw_map
from dgtd.harness.commands.options import INTERRUPTED, PredictorText, Where, path_option, runs_lanes
from dgtd.harness.commands.output import AsJson, open_store, print_grid, print_json, say, tell
from dgtd.harness.experiment.comparison import ALPHA, NAMES, Comparison, as_dict, compare
from dgtd.harness.experiment.exact import Setting
from dgtd.harness.experiment.experiment import Experiment, entrants
from dgtd.harness.experiment.search import CHOICE, Grid
from dgtd.harness.judging.statistics import lanes_for_median, median_interval
from dgtd.harness.report.drawing import check_picture, save_as
from dgtd.harness.report.figures import sweep_figure
from dgtd.harness.report.words import no_stable_words
from dgtd.harness.runs.predictors import parse

Plot = path_option("--plot", "Draw the sensitivity to this file (png, pdf or svg).")
ZoneMap = path_option("--map", "Of --exact: draw where rules are stable, heavy-tailed or diverging to this file.")


@runs_lanes
def sweep(
    where: Where,
    problem: str = typer.Option(..., metavar=SEVERAL, help="A problem, as in 'boyan'; several for --map."),
    rule: str = typer.Option(..., metavar=SEVERAL, help="A rule, or file.py:function; several for --map."),
    target: str = typer.Option("value", metavar=SEVERAL, help="value, or cdf for the distributional form."),
    alphas: str | None = typer.Option(None, help="α, separated by commas."),
    ratios: str | None = typer.Option(None, help="β/α, separated by commas."),
    seeds: int = typer.Option(30, help="Fresh seeds for the final numbers."),
    sweep_seeds: int = typer.Option(16, help="Seeds of each setting of the sweep."),
    steps: int = typer.Option(50_000, help="Steps per lane."),
    atoms: int = typer.Option(21, help="Atoms of the distributional form."),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest, nearest-mass or floor."),
    schedule: str = typer.Option("constant", help="constant or robbins-monro."),
    seed: int = typer.Option(0, help="Root of every stream."),
    exact: bool = typer.Option(False, "--exact", help="Expected areas, computed: no seeds. Linear predictors only."),
    plot: Path | None = Plot,
    zone_map: Path | None = ZoneMap,
    predictor: str | None = PredictorText,
    as_json: bool = AsJson,
) -> int:
    """Sensitivity to step sizes; the chosen ones are run again on seeds that did not choose them."""
    check_picture("plot", plot)
    if zone_map is not None:
        for name, given in (("--exact", exact), ("a linear --predictor", predictor in (None, "linear"))):
            if not given:
                raise ValueError(f"a map is of certificates: --map needs {name}")
        if plot is not None:
            raise ValueError("--plot draws areas and --map classes: give one of them")
        fine = grid(alphas, ratios)
        return draw_map(split(rule), split(problem), (target, atoms, projection), fine, where, zone_map, as_json)
    if exact:
        if predictor not in (None, "linear"):
            raise ValueError(f"an exact sweep is of linear predictors, got --predictor {predictor}")
        setting = Setting(problem, target, atoms, projection, schedule, steps)
        return exact_sweep(rule, setting, grid(alphas, ratios) or Grid(), where, plot, as_json)
    experiment = Experiment(
        (problem,), entrants(split(rule), split(target)), steps, seeds, atoms, projection, schedule, seed,
        grid=grid(alphas, ratios), sweep_seeds=sweep_seeds, predictor=None if predictor is None else parse(predictor),
    )  # fmt: skip
    if len(experiment.entrants) != 1:
        raise ValueError(
            f"a sweep is of one rule and one target, got {rule!r} and {target!r}: `dgtd compare` takes more"
        )
    if experiment.in_worlds:
        raise ValueError(f"a sweep is on finite problems, and {problem!r} is a world: `dgtd compare` sweeps there")
    _ = where.make  # a wrong executor is an error before there is a store
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
    with open_store(where.store) as results:
        searched = search(experiment, results, where, 0)
        if searched is None:
            return INTERRUPTED
        _, chosen = searched
        if not carried_out("fresh seeds", experiment.final_requests(chosen), results, where):
            return INTERRUPTED
        found = compare(experiment, results, chosen)
    if plot is not None:
        save_as(sweep_figure(found.entries[0]), plot)
    if as_json:
        print_json(as_dict(found))
    else:
        _print(found)
        if plot is not None:
            say(f"picture: {plot}")
    return 0


def _print(found: Comparison) -> None:
    (entry,) = found.entries
    cells = {(s.alpha, s.beta): s for s in entry.choice.sweep}

    def cell(alpha: float, ratio: float) -> str:
        setting = cells[alpha, ratio * alpha]
        best = " ◀" if (setting.alpha, setting.beta) == entry.choice.best else ""
        return f"{setting.area:.3g}{best}" if setting.stable else f"× {setting.diverged} of {setting.lanes}"

    title = f"{entry.who.label} on {entry.place}: area under RMSPBE; × lanes that diverged"
    print_grid(title, found.experiment.search, cell)
    alpha, beta = entry.choice.best
    tell(f"chosen: α = {alpha:g}, β = {beta:g} ({CHOICE.format(label=found.experiment.score(entry.place).label)})")
    for metric in (m for m in NAMES if m in entry.who.metrics):
        numbers = {key: median_interval(values, ALPHA) for key, values in entry.numbers(metric).items()}
        words = "; ".join(f"{'area' if key == 'auc' else key} {each.text()}" for key, each in numbers.items())
        say(f"  {NAMES[metric]:16} {words}")
    say(f"  on {found.experiment.seeds} fresh seeds (medians, 95 %); {entry.diverged} diverged")
    if found.experiment.seeds < lanes_for_median(ALPHA):
        tell(f"a {1 - ALPHA:.0%} interval of a median needs {lanes_for_median(ALPHA)} seeds, so none is shown")
    if not entry.choice.stable:
        tell(no_stable_words(entry))
    say(f"the sweep took {entry.choice.seconds:.1f} s of one core")
