"""The worlds that agents act in: CartPole's physics, its ends, and what of it is replayed. Part of `control`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers
from algorithms.state import State
from algorithms.streams import generator, lane_streams
from harness.experiment.learners import agent_learner, run_spec
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from harness.places.cartpole import CartPole
from harness.runs.checkpoints import Keeper
from harness.runs.trainers.agent import Acting
from harness.runs.trainers.trainer import train

SOURCE = "Barto, Sutton & Anderson 1983; gymnasium"
PLACE, LIMIT, STEPS = "cartpole-v0", 200, 260
TRACK, ANGLE = 2.4, math.radians(12)
GRAVITY, CART, POLE, HALF, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02


def claims() -> list[Claim]:
    """From one step to what is replayed."""
    says: dict[str, tuple[str, Callable[[Setting], Finding]]] = {
        "physics": (
            f"{STEPS} steps of {PLACE} are gymnasium's equations, falls and limits included",
            steps_are_physics,
        ),
        "last-step": (
            f"on step {LIMIT} a pole that falls is terminated and not cut off; one that stands is cut off",
            last_step_is_told,
        ),
        "replayed": (
            "what is replayed is what happened: no step from one episode into the next, no discount where it fell",
            replayed_is_physics,
        ),
    }
    return [
        Claim(id=f"control/{PLACE}/{name}", says=words, source=SOURCE, check=check, seeded=False)
        for name, (words, check) in says.items()
    ]


def moved(state: Floats, actions: Integers) -> Floats:
    """Euler's step [lanes, 4] of a pole of half length ½ on a cart: x, its speed, the angle, its speed."""
    x, speed, angle, turning = state.T
    push = np.where(actions == 1, FORCE, -FORCE)
    total = CART + POLE
    pulled = (push + POLE * HALF * turning**2 * np.sin(angle)) / total
    turned = (GRAVITY * np.sin(angle) - np.cos(angle) * pulled) / (HALF * (4 / 3 - POLE * np.cos(angle) ** 2 / total))
    driven = pulled - POLE * HALF * turned * np.cos(angle) / total
    return np.stack([x + TAU * speed, speed + TAU * driven, angle + TAU * turning, turning + TAU * turned], axis=1)


def fallen(state: Floats) -> NDArray[np.bool_]:
    """[lanes]: off the track, or the pole too low."""
    return np.asarray((np.abs(state[:, 0]) > TRACK) | (np.abs(state[:, 2]) > ANGLE))


def steps_are_physics(setting: Setting) -> Finding:
    """Lanes that push where the pole leans, and lanes that push at random; each step from where the lane is."""
    lanes, rng = 4, generator(0, suite="control", which="physics")
    world = CartPole(lane_streams(0, range(lanes), suite="control", which="physics"), LIMIT)
    wrong, ended, error = 0, np.zeros(2, dtype=int), 0.0
    for _ in range(STEPS):
        before, age = world.lanes.state.copy(), world.lanes.age.copy()
        lean = before[:, 2] + 0.5 * before[:, 3] > 0
        actions = np.where(np.arange(lanes) < 2, lean, rng.integers(2, size=lanes)).astype(np.int64)
        found, expected = world.step(actions), moved(before, actions)
        error = float(np.maximum(error, np.abs(found.observation - expected).max()))
        fell = fallen(expected)
        cut = ~fell & (age + 1 >= LIMIT)
        wrong += int((found.terminated != fell).sum() + (found.truncated != cut).sum() + (found.reward != 1).sum())
        again = world.lanes.state[fell | cut]
        wrong += int((np.abs(again) > 0.05).sum() + (world.lanes.age[fell | cut] != 0).sum())
        ended += fell.sum(), cut.sum()
    words = f"observations are off by {error:.1e}, {wrong} flags wrong; {ended[0]} falls, {ended[1]} cut off"
    return exactly(error if not wrong and ended.all() else np.inf, 1e-6, words)


def last_step_is_told(setting: Setting) -> Finding:
    """One lane that leaves the track on its last allowed step, and one that does not."""
    world = CartPole(lane_streams(0, range(2), suite="control", which="last step"), LIMIT)
    world.lanes.age[:] = LIMIT - 1
    world.lanes.state[:] = [(TRACK - 0.01, 5.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)]
    found = world.step(np.array([1, 1]))
    said = [found.terminated.tolist(), found.truncated.tolist()]
    wrong = float(said != [[True, False], [False, True]])
    return exactly(wrong, 0.0, f"terminated {said[0]}, cut off {said[1]} (the first falls, the second stands)")


@dataclass
class Looking(Keeper):
    """A keeper that writes nothing to disk: it holds the last state that it was given."""

    seen: State = field(default_factory=dict)

    def load(self) -> State | None:
        """Nothing was kept before."""
        return None

    def due(self) -> bool:
        """Always."""
        return True

    def write(self, step: int, state: State) -> None:
        """A copy: the lanes go on."""
        self.seen = {name: np.array(array) for name, array in state.items()}


def replayed_is_physics(setting: Setting) -> Finding:
    """Lanes that only explore: the replay's transitions by the equations of motion."""
    lanes, steps = 3, 6 * 64
    made = agent_learner("dqn", PLACE, explore=(1.0, 1.0), cohort=lanes, begin=10 * steps, capacity=steps)
    keeper = Looking(Path("nowhere"), {})
    train(Acting.of(run_spec(PLACE, made, steps, 0, "replayed")), range(lanes), lambda: None, keeper)
    x, x_next, action, discount = (
        np.concatenate(keeper.seen[f"replay/{name}"]) for name in ("x", "x_next", "action", "discount")
    )
    expected = moved(x.astype(float), action)
    error, fell = float(np.abs(x_next - expected).max()), fallen(x_next)
    wrong = int(((discount == 0) != fell).sum())
    words = f"{len(x)} transitions are off by {error:.1e}, {wrong} discounts wrong; {fell.sum()} falls"
    return exactly(error if not wrong and fell.sum() > 10 else np.inf, 1e-4, words)
