"""`dgtd certify`: is this rule stable here, at these step sizes?"""

import typer

from dgtd.algorithms.rules import find_rule
from dgtd.harness.commands.output import AsJson, print_json, print_table, say
from dgtd.harness.oracle.certificates import certify as compute
from dgtd.harness.plugins import find_problem

LYAPUNOV = "growth per step of almost every path, 99.9 % interval; above 0, paths diverge"


def certify(
    rule: str = typer.Argument(help="A rule, as in 'gtd2' or 'greedy_gq(0.5)'."),
    problem: str = typer.Option(..., help="A problem, as in 'baird'."),
    alpha: float = typer.Option(..., help="Step size of θ."),
    beta: float = typer.Option(..., help="Step size of w."),
    target: str = typer.Option("value", help="value, or cdf for the distributional lift."),
    atoms: int = typer.Option(21, help="Atoms of the lift."),
    projection: str = typer.Option("cramer", help="Off-grid handling of the lift: cramer, nearest or floor."),
    trajectory: bool = typer.Option(False, help="One second moment per state: exact along trajectories."),
    seed: int = typer.Option(0, help="Seed of the products behind the Lyapunov interval."),
    as_json: bool = AsJson,
) -> None:
    """Stable, marginal, heavy-tailed or diverging: the exact mean and mean square, and the Lyapunov exponent."""
    update, world = find_rule(rule), find_problem(problem)
    if world.network is not None:
        raise ValueError(f"problem {problem!r} has a nonlinear predictor: no certificate exists for it")
    found = compute(
        update, world.mdp, world.target(target, atoms, projection), alpha, beta, trajectory=trajectory, seed=seed
    )
    row = {
        "rule": update.name,
        "problem": world.name,
        "target": target if target == "value" else f"cdf, {atoms} atoms, {projection}",
        "alpha": alpha,
        "beta": beta,
        **vars(found),
        "class": str(found.kind),
        "stable": found.stable,
        "sampling": "trajectory" if trajectory else "iid",
    }
    if as_json:
        print_json(row | {"target": target})
        return
    say(f"{row['rule']} on {row['problem']} ({row['target']}), α = {alpha:g}, β = {beta:g}: {str(found.kind).upper()}")
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
