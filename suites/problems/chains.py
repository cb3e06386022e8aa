"""Boyan's chain, the random walks and Collision."""

from collections.abc import Callable

import numpy as np

from dgtd.algorithms.names import look_up
from dgtd.algorithms.streams import generator
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.problem import Problem


def boyan() -> Problem:
    """Boyan's chain, 13 states, four hat features; v = −2(12 − i). State 12 is where episodes end."""
    rows = [(i, 0, 0.5, to, -3.0, to == 12) for i in range(11) for to in (i + 1, i + 2)]
    rows += [(11, 0, 1.0, 12, -2.0, True), (12, 0, 1.0, 12, 0.0, True)]
    features = np.maximum(0.0, 1.0 - np.abs(np.arange(13)[:, None] - 4.0 * np.arange(4)) / 4.0)
    mdp = FiniteMDP.of_rows("boyan", rows, 1.0, features, start=np.eye(13)[0])
    return Problem(mdp, "Boyan's chain, 13 states", "Boyan 2002", (-38.0, 2.0))


_SHARED = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1]], dtype=float)
FEATURES = {
    "tabular": np.eye(5),
    "inverted": (1.0 - np.eye(5)) / 2.0,
    "dependent": _SHARED / np.linalg.norm(_SHARED, axis=1, keepdims=True),
}


def random_walk(features: str = "tabular", policy: str = "off", left: float = 0.5) -> Problem:
    """The five-state walk. Off-policy π goes left with 0.4 and the ends pay ∓1; on-policy only the right end pays.

    `left`: how often the behaviour policy goes left. Near 1, steps to the right are rare and have a large ρ.
    """
    if not 0.0 < left < 1.0:
        raise ValueError(f"left must be between 0 and 1, got {left}")
    off = look_up("policy", policy, {"on": False, "off": True})
    rows = []
    for s in range(5):
        for action, to in enumerate((s - 1, s + 1)):
            reward = 1.0 if to == 5 else (-1.0 if off and to == -1 else 0.0)
            rows.append((s, action, 1.0, min(max(to, 0), 4), reward, to in (-1, 5)))
    policies = np.tile([left, 1.0 - left], (5, 1)), np.tile([0.4, 0.6] if off else [left, 1.0 - left], (5, 1))
    X = look_up("feature set", features, FEATURES).copy()
    name = "random_walk" + ("" if features == "tabular" else f"_{features}") + ("" if off else "_on_policy")
    mdp = FiniteMDP.of_rows(name, rows, 1.0, X, policies, start=np.eye(5)[2])
    kind = f"{features} features, {policy}-policy"
    return Problem(mdp, f"random walk, 5 states, {kind}", "Sutton et al. 2009", (-1.25, 1.25))


def _walk(features: str, policy: str = "off") -> Callable[[], Problem]:
    """A problem without parameters."""
    return lambda: random_walk(features, policy)


random_walk_inverted, random_walk_dependent = _walk("inverted"), _walk("dependent")
random_walk_on_policy = _walk("tabular", "on")
random_walk_inverted_on_policy, random_walk_dependent_on_policy = _walk("inverted", "on"), _walk("dependent", "on")


def collision(seed: int = 0) -> Problem:
    """Collision, 8 states: forward until the wall; half of the behaviour's episodes turn away in each of 5–8."""
    forward, turn = 0, 1
    rows = [(s, forward, 1.0, min(s + 1, 7), float(s == 7), s == 7) for s in range(8)]
    rows += [(s, turn, 1.0, s, 0.0, True) for s in range(8)]
    ahead = np.tile([1.0, 0.0], (8, 1))
    behaviour = ahead.copy()
    behaviour[4:] = 0.5
    rng = generator(seed, problem="collision")
    features = np.array([rng.permutation([1.0] * 3 + [0.0] * 3) for _ in range(8)])
    start = np.array([0.25] * 4 + [0.0] * 4)
    mdp = FiniteMDP.of_rows("collision", rows, 0.9, features, (behaviour, ahead), start=start)
    return Problem(mdp, "Collision, 8 states, 6 random binary features", "Ghiassian & Sutton 2021", (-0.25, 1.25))
