"""`dgtd problem list`, `dgtd problem show` and `dgtd problem check`."""

from pathlib import Path
from typing import Any

import typer

from dgtd.harness.commands.options import path_option
from dgtd.harness.commands.output import AsJson, Command, print_json, print_table, say, short, tell, tell_complaints
from dgtd.harness.judging.conformance import examine_problem
from dgtd.harness.oracle.objectives import facts_of
from dgtd.harness.plugins import find_problem, installed
from dgtd.harness.report.drawing import check_picture
from dgtd.harness.report.problems import draw

Plot = path_option("--plot", "Draw the states, their values and the return's law to this file.")
app = typer.Typer(help="The problems that claims are checked on.", no_args_is_help=True)


@app.command("list", cls=Command)
def list_problems(as_json: bool = AsJson) -> None:
    """Every problem, with its size and source."""
    rows: list[dict[str, Any]] = []
    for name in sorted(installed("problems")):
        problem = find_problem(name)
        mdp, linear = problem.mdp, problem.network is None
        sizes = {"states": mdp.states, "actions": mdp.actions, "features": mdp.features.shape[1] if linear else None}
        words = {"summary": problem.summary, "source": problem.source}
        rows.append({"name": name, **sizes, "gamma": mdp.gamma, **words})
    if as_json:
        print_json(rows)
    else:
        cells = [[_cell(value) for value in row.values()] for row in rows]
        print_table("", list(rows[0]), cells, numbers={1, 2, 3, 4})


@app.command("show", cls=Command)
def show(
    name: str = typer.Argument(help="A name from `dgtd problem list`, with parameters as in 'random_mdp(states=20)'."),
    as_json: bool = AsJson,
    plot: Path | None = Plot,
) -> None:
    """What is exactly true of a problem: distribution, values, matrices, and where its predictor starts."""
    check_picture("plot", plot)
    problem = find_problem(name)
    facts = facts_of(problem)
    if plot is not None:
        draw(problem, plot)
    if as_json:
        print_json(facts)
        return
    tell(f"{problem.name}: {problem.summary} ({problem.source})")
    if problem.drawing:
        say("\n" + problem.drawing + "\n")
    by_state = {"d": "d, of states 1, 2, …", "v": "v, of states 1, 2, …"}
    rows = [[by_state.get(key, key), _shown(value)] for key, value in facts.items() if key != "name"]
    print_table("", ["quantity", "value"], rows)
    say("MSPBE is without the ½ that the paper writes in front of it.")
    if plot is not None:
        say(f"drawn to {plot}")


@app.command("check", cls=Command)
def check(name: str = typer.Argument(help="A problem, as in 'baird'."), as_json: bool = AsJson) -> int:
    """Is a problem whole: the same twice, inside its support, and does GTD2 run on it?"""
    return tell_complaints(name, examine_problem(name), as_json)


def _cell(value: Any) -> str:
    if value is None:
        return "nonlinear"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(value: Any) -> str:
    if value is None:
        return "not defined: the predictor is nonlinear"
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return ", ".join(f"{re:.5f}" + (f"{im:+.5f}i" if abs(im) > 1e-9 else "") for re, im in value[:12])
    return short(value)
