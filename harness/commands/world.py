"""`dgtd world list` and `dgtd world show`."""

from pathlib import Path
from typing import Any

import numpy as np
import typer

from dgtd.algorithms.streams import generator, lane_streams
from dgtd.harness.commands.options import path_option
from dgtd.harness.commands.output import AsJson, Command, print_json, print_table, say, tell
from dgtd.harness.places.world import WorldInfo, find_world, known_worlds
from dgtd.harness.report.drawing import check_picture

Plot = path_option("--plot", "Draw a frame to this file (png).")
app = typer.Typer(help="The worlds that agents act in.", no_args_is_help=True)


@app.command("list", cls=Command)
def list_worlds(as_json: bool = AsJson) -> None:
    """Every world of ours, and how to name one of gymnasium's."""
    names = ("name", "observations", "actions", "limit", "summary")
    rows = [{name: getattr(world, name) for name in names} for world in known_worlds()]
    if as_json:
        print_json(rows)
        return
    print_table("", list(names), [[str(value) for value in row.values()] for row in rows], numbers={1, 2, 3})
    tell("gym:ID names any world of gymnasium with discrete actions and a vector to observe, as in gym:Acrobot-v1.")


EPISODES, STEPS = 7, 20_000  # of each of eight lanes, and steps at most


@app.command("show", cls=Command)
def show(
    name: str = typer.Argument(help="A world, as in cartpole-v1 or gym:Acrobot-v1."),
    plot: Path | None = Plot,
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
