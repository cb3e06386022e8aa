"""`dgtd curve` and `dgtd certify`: what is exactly true of a rule on a problem.

The expected learning curve, on request beside sampled lanes; and whether the rule is stable at these step sizes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import typer
from scipy import stats

from dgtd.harness.commands.carry_out import carried_out
from dgtd.harness.commands.options import INTERRUPTED, Where, path_option, runs_lanes
from dgtd.harness.commands.output import AsJson, open_store, print_json, print_table, say, tell
from dgtd.harness.experiment.agreement import standard_errors_away
from dgtd.harness.oracle.certificates import certify as compute
from dgtd.harness.oracle.lstd import Lstd, lstd
from dgtd.harness.oracle.moments import Expected, Moments
from dgtd.harness.plugins import find_problem
from dgtd.harness.report.drawing import Figure, Panel, check_picture, save_as
from dgtd.harness.report.exact_lines import LSTD
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.spec import Learner, PlaceSpec, Probe, Request, RunSpec, StepSchedule, log_times

Plot = path_option("--plot", "Draw the curves to this file (png, pdf or svg).")
DRAWN = 60  # lanes of the cloud
# √E[metric²], in words.
TITLES = {
    "rmspbe": "RMSPBE", "rmsve": "value error", "size": "RMS value", "rdmspbe": "√D-MSPBE", "cramer": "Cramér distance",
}  # fmt: skip


@runs_lanes
def curve(
    where: Where,
    rule: str = typer.Argument(help="A rule: a name, or path/to/file.py:function."),
    problem: str = typer.Option(..., help="A problem, as in 'boyan'."),
    alpha: float = typer.Option(..., help="Step size of θ."),
    beta: float = typer.Option(..., help="Step size of w."),
    steps: int = typer.Option(1000, help="Steps."),
    checkpoints: int = typer.Option(25, help="Log-spaced steps at which the curve is printed."),
    target: str = typer.Option("value", help="value, or cdf for the distributional form."),
    atoms: int = typer.Option(21, help="Atoms of the distributional form."),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest, nearest-mass or floor."),
    schedule: str = typer.Option("constant", help="constant or robbins-monro."),
    average: bool = typer.Option(False, help="Of the averaged iterate, weighted by step sizes."),
    mirror_prox: bool = typer.Option(False, help="Two transitions a step: the extragradient."),
    trajectory: bool = typer.Option(False, help="Along trajectories, as `dgtd run` samples; else independent."),
    lanes: int = typer.Option(0, help="Run this many lanes too, and say how far their mean is from the curve."),
    seed: int = typer.Option(0, help="Root of the lanes' streams."),
    plot: Path | None = Plot,
    as_json: bool = AsJson,
) -> int:
    """Expected metrics of a linear rule with a linear predictor, after every number of steps: no seeds, no noise."""
    check_picture("plot", plot)
    if lanes and lanes < 2:
        raise ValueError(f"lanes must be at least 2 for a standard error, or 0, got {lanes}")
    world, ref, times = find_problem(problem), reference(rule), log_times(steps, checkpoints)
    update, steps_ = resolve(ref), StepSchedule(schedule)
    if world.network is not None:
        raise ValueError(f"problem {problem!r} has a nonlinear predictor: exact curves are of linear ones")
    if trajectory and world.mdp.iid:
        raise ValueError(f"problem {problem!r} has no trajectory: its transitions are independent")
    mdp = world.mdp if trajectory else world.mdp.with_(weights=world.mdp.d)
    found = Moments(update, mdp, world.target(target, atoms, projection)).run(
        alpha, beta, times, schedule=steps_.make(), average=average, extragradient=mirror_prox
    )
    least_squares = lstd(mdp)
    cloud = None
    if lanes:
        learner = Learner(
            ref, alpha, beta, target, atoms, projection, steps_, average=average, extragradient=mirror_prox
        )
        spec = RunSpec(PlaceSpec(problem, iid=not trajectory), learner, Probe(times), root_seed=seed)
        cloud = _lanes(Request(spec, lanes), where)
        if cloud is None:
            return INTERRUPTED
    form = target if target == "value" else f"cdf, {atoms} atoms, {projection}"
    words = {"rule": update.name, "problem": world.name, "target": form, "alpha": alpha, "beta": beta}
    words |= {
        "sampling": "trajectory" if trajectory else "iid",
        "iterate": "average" if average else "last",
        "algorithm": "mirror-prox" if mirror_prox else "plain",
    }
    if plot is not None:
        _plot(found, cloud, least_squares, words, plot)
    if as_json:
        squares = {name: found.of(name) for name in found.names}
        away = None if cloud is None else _away(found, cloud)
        grown = None if found.grown < 0 else found.grown
        print_json(
            words
            | {"steps": found.times, "expected_squares": squares, "grows_without_bound_at": grown}
            | {"lanes": lanes, "standard_errors_away": away}
            | {"lstd": None if least_squares is None else {"steps_times_mspbe": least_squares.limit}}
        )
        return 0
    _print(found, words)
    tell(_reference(least_squares, steps))
    if cloud is not None:
        tell(_agreement(found, cloud))
    if plot is not None:
        say(f"picture: {plot}")
    return 0


def _lanes(request: Request, where: Where) -> Lanes | None:
    """The lanes, run or from the store; None if somebody interrupted."""
    with open_store(where.store) as store:
        if not carried_out("lanes", [request], store, where):
            return None
        return store.settled_lanes(request.spec, request.seeds)


def _away(found: Expected, cloud: Lanes) -> dict[str, Any]:
    """Per metric and checkpoint: (mean over lanes − expectation) / standard error; NaN where lanes do not differ."""
    return {name: standard_errors_away((cloud.of(name) ** 2).T, found.of(name)) for name in found.names}


def _agreement(found: Expected, cloud: Lanes) -> str:
    away = np.array(list(_away(found, cloud).values()))
    tests, lanes = int(np.isfinite(away).sum()), cloud.curves.shape[1]
    if not tests:
        return f"{lanes} lanes: there is nothing to compare, since none of their numbers varies or the curve has ended"
    usual = float(stats.t.isf(0.025 / tests, lanes - 1))
    worst = float(np.nanmax(np.abs(away)))
    verdict = "as chance has it" if worst <= usual else "farther than chance has it"
    return (
        f"{lanes} lanes: the farthest of {tests} means is {worst:.2f} standard errors from the exact curve, {verdict} "
        f"(95 % of such runs stay within {usual:.2f}, if lanes are near normal)"
    )


def _title(words: dict[str, Any]) -> str:
    how = "along trajectories" if words["sampling"] == "trajectory" else "independent transitions"
    name = words["rule"] + (" by Mirror-Prox" if words["algorithm"] == "mirror-prox" else "")
    return (
        f"{name} on {words['problem']} ({words['target']}), α = {words['alpha']:g}, β = {words['beta']:g}, "
        f"{words['iterate']} iterate, {how}"
    )


def _print(found: Expected, words: dict[str, Any]) -> None:
    tell(f"{_title(words)}: √E of the squared metrics, exactly")
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(np.maximum(found.curves, 0.0))
    rows = [
        [f"{step:,}", *("–" if np.isnan(value) else f"{value:.6g}" for value in row)]
        for step, row in zip(found.times, roots, strict=True)
    ]
    columns = ["steps", *(TITLES[name] for name in found.names)]
    print_table("", columns, rows, numbers=set(range(len(columns))))
    if found.grown >= 0:
        tell(f"the second moment grows without bound: it is past 1e200 by step {found.grown:,}")


def _reference(found: Lstd | None, steps: int) -> str:
    if found is None:
        return "LSTD has no unique solution here: A is singular"
    return (
        f"for reference, LSTD on n of these transitions: RMSPBE near {found.limit**0.5:.4g}/√n (first order in 1/n), "
        f"so {(found.limit / steps) ** 0.5:.4g} after {steps:,}"
    )


def _plot(found: Expected, cloud: Lanes | None, least_squares: Lstd | None, words: dict[str, Any], path: Path) -> None:
    def panel(name: str) -> Panel:
        def draw(axis: Any) -> None:
            inside = found.times > 0
            steps = found.times[inside]
            if cloud is not None:
                lanes = cloud.of(name)[inside][:, :DRAWN]
                label = f"{lanes.shape[1]} of {cloud.curves.shape[1]} lanes"
                axis.plot(
                    steps, lanes, color="#1f77b4", alpha=0.25, lw=0.7, label=[label, *[None] * (lanes.shape[1] - 1)]
                )
                mean = np.sqrt((cloud.of(name)[inside] ** 2).mean(1))
                axis.plot(steps, mean, "o", ms=4, color="#1f77b4", label="root of the lanes' mean square")
            axis.plot(steps, np.sqrt(np.maximum(found.of(name)[inside], 0.0)), color="#d62728", label="exact")
            if name == "rmspbe" and least_squares is not None and least_squares.limit > 0:
                axis.plot(steps, np.sqrt(least_squares.mspbe(steps)), **LSTD)
            axis.set(xscale="log", yscale="log")
            axis.set_xlabel("steps")
            axis.set_ylabel(f"{TITLES[name]}, root of the mean square")

        return Panel(TITLES[name], draw)

    panels = tuple(panel(name) for name in found.names if name != "size")
    save_as(Figure(path.stem, "Exact learning curve", _title(words), panels), path)


# ---------------------------------------------------------------------- certificates


LYAPUNOV = "growth per step of almost every path, 99.9 % interval; above 0, paths diverge"


def certify(
    rule: str = typer.Argument(help="A rule, as in 'gtd2' or 'greedy_gq(0.5)', or path/to/file.py:function."),
    problem: str = typer.Option(..., help="A problem, as in 'baird'."),
    alpha: float = typer.Option(..., help="Step size of θ."),
    beta: float = typer.Option(..., help="Step size of w."),
    target: str = typer.Option("value", help="value, or cdf for the distributional lift."),
    atoms: int = typer.Option(21, help="Atoms of the lift."),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest, nearest-mass or floor."),
    trajectory: bool = typer.Option(False, help="One second moment per state: exact along trajectories."),
    seed: int = typer.Option(0, help="Seed of the products behind the Lyapunov interval."),
    as_json: bool = AsJson,
) -> None:
    """Stable, marginal, heavy-tailed or diverging: the exact mean and mean square, and the Lyapunov exponent."""
    update, world = resolve(reference(rule)), find_problem(problem)
    if world.network is not None:
        raise ValueError(f"problem {problem!r} has a nonlinear predictor: no certificate exists for it")
    found = compute(
        update, world.mdp, world.target(target, atoms, projection), alpha, beta, trajectory=trajectory, seed=seed
    )
    if as_json:
        asked = {"rule": update.name, "problem": world.name, "target": target, "alpha": alpha, "beta": beta}
        answer = {"class": str(found.kind), "stable": found.stable, "sampling": "trajectory" if trajectory else "iid"}
        print_json(asked | vars(found) | answer)
        return
    form = target if target == "value" else f"cdf, {atoms} atoms, {projection}"
    say(f"{update.name} on {world.name} ({form}), α = {alpha:g}, β = {beta:g}: {str(found.kind).upper()}")
    low, high = found.mean_square_bracket
    kind = "one second moment per state: exact along trajectories" if trajectory else "exact for i.i.d. transitions"
    print_table(
        "",
        ["quantity", "value", "what it says"],
        [
            ["mean abscissa", f"{found.mean_abscissa:.6g}", "of (E[M] − I)/α: below 0, the mean decays"],
            ["mean radius", f"{found.mean_radius:.9f}", "of E[M]"],
            ["mean-square radius", f"{low:.9f} … {high:.9f}", f"of E[M⊗M], {kind}; below 1, second moments shrink"],
            ["Lyapunov exponent", " … ".join(f"{x:.3g}" for x in found.lyapunov), LYAPUNOV],
        ],
    )
