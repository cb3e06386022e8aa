"""`dgtd curve`: what a rule does on average at every step, computed exactly. Nothing is sampled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness.commands.options import a_path
from harness.commands.output import AsJson, print_json, print_table, say

if TYPE_CHECKING:
    from harness.oracle.moments import Expected

Plot = typer.Option(
    None, "--plot", help="Draw the curves to this file (png, pdf or svg).", parser=a_path, metavar="PATH"
)
# √E[metric²], in words.
TITLES = {
    "rmspbe": "RMSPBE",
    "rmsve": "value error",
    "size": "RMS value",
    "rdmspbe": "√D-MSPBE",
    "cramer": "Cramér distance",
}


def curve(
    rule: str = typer.Argument(help="A rule: a name, or path/to/file.py:function."),
    problem: str = typer.Option(..., help="A problem, as in 'boyan'."),
    alpha: float = typer.Option(..., help="Step size of θ."),
    beta: float = typer.Option(..., help="Step size of w."),
    steps: int = typer.Option(1000, help="Steps."),
    checkpoints: int = typer.Option(25, help="Log-spaced steps at which the curve is printed."),
    target: str = typer.Option("value", help="value, or cdf for the distributional form."),
    atoms: int = typer.Option(21, help="Atoms of the distributional form."),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest or floor."),
    schedule: str = typer.Option("constant", help="constant or robbins-monro."),
    average: bool = typer.Option(False, help="Of the averaged iterate, weighted by step sizes."),
    mirror_prox: bool = typer.Option(False, help="Two transitions a step: the extragradient."),
    trajectory: bool = typer.Option(False, help="Along trajectories, as `dgtd run` samples; else independent."),
    plot: Path | None = Plot,
    as_json: bool = AsJson,
) -> None:
    """Expected metrics of a linear rule with a linear predictor, after every number of steps: no seeds, no noise."""
    from harness.oracle.moments import Moments
    from harness.plugins import find_problem
    from harness.runs.rule_files import reference, resolve
    from harness.runs.spec import StepSchedule, log_times

    if plot is not None:
        from harness.report.drawing import check_picture

        check_picture("plot", plot)
    world, update, times = find_problem(problem), resolve(reference(rule)), log_times(steps, checkpoints)
    if world.network is not None:
        raise ValueError(f"problem {problem!r} has a nonlinear predictor: exact curves are of linear ones")
    if trajectory and world.mdp.iid:
        raise ValueError(f"problem {problem!r} has no trajectory: its transitions are independent")
    mdp = world.mdp if trajectory else world.mdp.with_(weights=world.mdp.d)
    found = Moments(update, mdp, world.target(target, atoms, projection)).run(
        alpha, beta, times, schedule=StepSchedule(schedule).make(), average=average, extragradient=mirror_prox
    )
    words = {
        "rule": update.name,
        "problem": world.name,
        "target": target if target == "value" else f"cdf, {atoms} atoms, {projection}",
        "alpha": alpha,
        "beta": beta,
        "sampling": "trajectory" if trajectory else "iid",
        "iterate": "average" if average else "last",
        "algorithm": "mirror-prox" if mirror_prox else "plain",
    }
    if plot is not None:
        _plot(found, words, plot)
    if as_json:
        squares = {name: found.of(name) for name in found.names}
        grown = None if found.grown < 0 else found.grown
        print_json(words | {"steps": found.times, "expected_squares": squares, "grows_without_bound_at": grown})
        return
    _print(found, words)
    if plot is not None:
        say(f"picture: {plot}")


def _title(words: dict[str, Any]) -> str:
    how = "along trajectories" if words["sampling"] == "trajectory" else "independent transitions"
    name = words["rule"] + (" by Mirror-Prox" if words["algorithm"] == "mirror-prox" else "")
    return (
        f"{name} on {words['problem']} ({words['target']}), α = {words['alpha']:g}, β = {words['beta']:g}, "
        f"{words['iterate']} iterate, {how}"
    )


def _print(found: Expected, words: dict[str, Any]) -> None:
    import numpy as np

    say(f"{_title(words)}: √E of the squared metrics, exactly")
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(np.maximum(found.curves, 0.0))
    rows = [
        [f"{step:,}", *("–" if np.isnan(value) else f"{value:.6g}" for value in row)]
        for step, row in zip(found.times, roots, strict=True)
    ]
    columns = ["steps", *(TITLES[name] for name in found.names)]
    print_table("", columns, rows, numbers=set(range(len(columns))))
    if found.grown >= 0:
        say(f"the second moment grows without bound: it is past 1e200 by step {found.grown:,}")


def _plot(found: Expected, words: dict[str, Any], path: Path) -> None:
    import numpy as np

    from harness.report.drawing import Figure, Panel, save

    def panel(name: str) -> Panel:
        def draw(axis: Any) -> None:
            inside = found.times > 0
            axis.loglog(found.times[inside], np.sqrt(np.maximum(found.of(name)[inside], 0.0)))
            axis.set_xlabel("steps")
            axis.set_ylabel(f"{TITLES[name]}, root of the mean square")

        return Panel(TITLES[name], draw)

    figure = Figure(path.stem, "Exact learning curve", _title(words), tuple(panel(name) for name in found.names))
    try:
        save(figure, path)
    except (OSError, ValueError) as error:
        raise ValueError(f"can't draw {str(path)!r}: {error}") from None
