"""`dgtd rule`, `dgtd problem` and `dgtd world`: what there is, what is known of it, and is one's own right?"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import typer

from dgtd.algorithms.rules import FAMILIES, RULES
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.harness.commands.command import Command
from dgtd.harness.commands.options import path_option
from dgtd.harness.commands.output import AsJson, print_json, print_table, say, short, tell, tell_complaints
from dgtd.harness.judging.conformance import examine, examine_problem
from dgtd.harness.oracle.objectives import facts_of
from dgtd.harness.places.world import WorldInfo, find_world, known_worlds
from dgtd.harness.plugins import find_problem, installed
from dgtd.harness.report.drawing import check_picture
from dgtd.harness.report.problems import draw
from dgtd.harness.runs.rule_files import reference, resolve

# ---------------------------------------------------------------------- rules

rules = typer.Typer(help="The update rules.", no_args_is_help=True)


def _described(rule: Any) -> dict[str, Any]:
    document = (rule.function.__doc__ or "").strip().splitlines()
    return {name: getattr(rule, name) for name in ("name", "curvature", "w_decay", "linear")} | {
        "promises": sorted(rule.promises),
        "says": document[0] if document else "",
    }


@rules.command("list", cls=Command)
def list_rules(as_json: bool = AsJson) -> None:
    """Every built-in rule, and what it promises."""
    rows = [_described(rule) for rule in RULES.values()]
    for make in FAMILIES.values():
        rows.append(_described(make()) | {"says": (make.__doc__ or "").strip().splitlines()[0]})
    if as_json:
        print_json(rows)
    else:
        cells = [
            [row["name"], "yes" if row["curvature"] else "no", ", ".join(row["promises"]), row["says"]] for row in rows
        ]
        print_table("", ["name", "curvature", "promises", ""], cells)


@rules.command("show", cls=Command)
def show_rule(
    name: str = typer.Argument(help="A rule: a name, or path/to/file.py:function."),
    as_json: bool = AsJson,
) -> None:
    """The arithmetic of a rule."""
    rule = resolve(reference(name))
    found = _described(rule) | {"source": inspect.getsource(rule.function)}
    if as_json:
        print_json(found)
    else:
        say(found["source"])


@rules.command("check", cls=Command)
def check_rule(
    name: str = typer.Argument(help="A rule: a name, or path/to/file.py:function."), as_json: bool = AsJson
) -> int:
    """Every promise of a rule tried on small exact problems; in words, what is wrong."""
    return tell_complaints(name, examine(resolve(reference(name))), as_json)


# ---------------------------------------------------------------------- problems

Drawn = path_option("--plot", "Draw the states, their values and the return's law to this file.")
problems = typer.Typer(help="The problems that claims are checked on.", no_args_is_help=True)


@problems.command("list", cls=Command)
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


@problems.command("show", cls=Command)
def show_problem(
    name: str = typer.Argument(help="A name from `dgtd problem list`, with parameters as in 'random_mdp(states=20)'."),
    as_json: bool = AsJson,
    plot: Path | None = Drawn,
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


@problems.command("check", cls=Command)
def check_problem(name: str = typer.Argument(help="A problem, as in 'baird'."), as_json: bool = AsJson) -> int:
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


# ---------------------------------------------------------------------- worlds

Frame = path_option("--plot", "Draw a frame to this file (png).")
Others = typer.Argument(None, help="Others to list too: gym:ID, or path/to/file.py:function.")
worlds = typer.Typer(help="The worlds that agents act in.", no_args_is_help=True)


@worlds.command("list", cls=Command)
def list_worlds(
    more: list[str] = Others,
    as_json: bool = AsJson,
) -> None:
    """Every world of ours, and how to name one of gymnasium's."""
    names = ("name", "observations", "actions", "limit", "summary")
    worlds = {world.name: world for world in known_worlds()} | {name: find_world(name) for name in more or ()}
    rows = [{"name": name} | {word: getattr(world, word) for word in names[1:]} for name, world in worlds.items()]
    if as_json:
        print_json(rows)
        return
    print_table("", list(names), [[str(value) for value in row.values()] for row in rows], numbers={1, 2, 3})
    tell("gym:ID names any world of gymnasium with discrete actions and a vector to observe, as in gym:Acrobot-v1.")
    tell("path/to/file.py:function names one of yours, where the function returns a WorldInfo.")


EPISODES, STEPS = 7, 20_000  # of each of eight lanes, and steps at most


@worlds.command("show", cls=Command)
def show_world(
    name: str = typer.Argument(help="A world, as in cartpole-v1 or gym:Acrobot-v1, or path/to/file.py:function."),
    plot: Path | None = Frame,
    as_json: bool = AsJson,
) -> None:
    """The spaces of a world, and what random actions earn there."""
    check_picture("plot", plot)
    info = find_world(name)
    world = info.make(lane_streams(0, range(8), world=name, stream="world"))
    rng = generator(0, world=name, stream="random actions")
    total, returns = np.zeros(8), list[list[float]]([] for _ in range(8))
    low, high = np.full(info.observations, np.inf), np.full(info.observations, -np.inf)
    for _ in range(STEPS):
        if min(map(len, returns)) >= EPISODES:  # as many of every lane: those that end first are the short ones
            break
        low, high = np.minimum(low, world.observation.min(0)), np.maximum(high, world.observation.max(0))
        moved = world.step(rng.integers(info.actions, size=8))
        total += moved.reward
        over = moved.terminated | moved.truncated
        for lane in np.flatnonzero(over):
            returns[lane].append(float(total[lane]))
        total[over] = 0.0
    known = [each for lane in returns for each in lane[:EPISODES]]
    facts = {
        "name": info.name, "summary": info.summary, "observations": info.observations, "actions": info.actions,
        "limit": info.limit, "lowest_seen": low.tolist(), "highest_seen": high.tolist(),
        "random_return_mean": float(np.mean(known)) if known else None,
        "random_return_sd": float(np.std(known, ddof=1)) if len(known) > 1 else None, "random_episodes": len(known),
    }  # fmt: skip
    if plot is not None:
        _draw(info, plot)
    if as_json:
        print_json(facts)
        return
    tell(f"{info.name}: {info.summary}")
    earned = f"no episode ended within {STEPS:,} steps"
    if len(known) > 1:
        earned = f"{np.mean(known):.3g} ± {np.std(known, ddof=1):.3g} ({len(known)} episodes)"
    rows = [
        ["observation", f"{info.observations} numbers"],
        ["actions", str(info.actions)],
        ["steps per episode, at most", str(info.limit or "not limited")],
        ["seen by random actions, lowest", _few(low)],
        ["seen by random actions, highest", _few(high)],
        ["return of random actions", earned],
    ]
    print_table("", ["quantity", "value"], rows)
    if plot is not None:
        say(f"drawn to {plot}")


def _few(values: Any) -> str:
    """Each number, or of a picture the least and the largest."""
    if len(values) > 12:
        return f"{values.min():.3g} … {values.max():.3g}"
    return ", ".join(f"{value:.3g}" for value in values)


def _draw(info: WorldInfo, plot: Path) -> None:
    """A frame of the world."""
    from matplotlib import image

    if info.frame is None:
        raise ValueError(f"world {info.name!r} can't be drawn: its WorldInfo has no frame")
    frame = info.frame()
    plot.parent.mkdir(parents=True, exist_ok=True)
    image.imsave(plot, frame)
