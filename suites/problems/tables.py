"""Problems of any size: random MDPs, the grid world of Figure 2, and gymnasium's toy-text tables."""

from typing import Any

import numpy as np

from dgtd.algorithms.checks import whole, within
from dgtd.algorithms.streams import generator
from dgtd.harness.oracle.mdp import FiniteMDP, mix, optimal_policy
from dgtd.harness.oracle.problem import Problem

MOST = 10_000_000  # numbers in an array of a random MDP: a laptop holds them


def random_mdp(states: int = 10, actions: int = 2, features: int = 4, gamma: float = 0.9, seed: int = 0) -> Problem:
    """Rows of P and rewards uniform, both policies random, Gaussian features with one constant."""
    for name, value in (("states", states), ("actions", actions), ("features", features)):
        whole(name, value, 1, MOST)
    if states**2 * actions > MOST or states * features > MOST:
        raise ValueError(f"states² × actions and states × features must be at most {MOST}, got {states=}, {actions=}")
    rng = generator(seed, problem="random_mdp", states=states, actions=actions, features=features)
    P = rng.random((states, actions, states))
    X = rng.normal(size=(states, features))
    X[:, -1] = 1.0
    behaviour, target = (rng.dirichlet(np.ones(actions) * 2, size=states) for _ in range(2))
    mdp = FiniteMDP.from_arrays(
        "random_mdp", P / P.sum(-1, keepdims=True), rng.random((states, actions, states)), gamma=gamma,
        behaviour=mix(behaviour, 0.2), target=target, features=X, theta_initial=np.zeros(features),
    )  # fmt: skip
    high = 1.0 / (1.0 - gamma) if gamma < 1 else 1.0
    return Problem(mdp, f"a random MDP, {states} states", "for property tests", (-0.05 * high, 1.05 * high))


GRID = """
.....G
..##..
..#...
....#.
.#..#.
S.....
"""
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left


def grid_world(gamma: float = 0.95, slip: float = 0.1, explore: float = 0.05) -> Problem:
    """The off-policy grid world of the paper's Figure 2, on a layout of our own: the paper gives none.

    A move slips to either side with `slip`/2 each; walls (#) and the edge stop it. Reaching G pays 1 and ends the
    episode, which starts on any free cell. Target: the optimal policy. Behaviour: the same, with probability
    `explore` of a uniform action.
    """
    within("slip", slip, 0.0, 1.0)
    within("explore", explore, 1e-9, 1.0)
    lines = GRID.strip().splitlines()
    cells = [(r, c) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark in ".S"]
    number = {cell: i for i, cell in enumerate(cells)}
    rows = []
    for s, (r, c) in enumerate(cells):
        for action in range(4):
            for turn, chance in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
                dr, dc = MOVES[(action + turn) % 4]
                to = (r + dr, c + dc)
                inside = 0 <= to[0] < len(lines) and 0 <= to[1] < len(lines[0])
                if inside and lines[to[0]][to[1]] == "G":
                    rows.append((s, action, chance, s, 1.0, True))
                else:
                    rows.append((s, action, chance, number.get(to, s), 0.0, False))
    start = np.full(len(cells), 1.0 / len(cells))
    mdp = _optimally_targeted("grid_world", rows, len(cells), 4, gamma, explore, start)
    words, source = f"grid world, {len(cells)} free cells", "the paper's Figure 2; layout ours"
    return Problem(mdp, words, source, (-0.05, 1.05), drawing=GRID.strip())


def _optimally_targeted(
    name: str, rows: list, states: int, actions: int, gamma: float, explore: float, start: np.ndarray
) -> FiniteMDP:
    """Tabular features; the target is optimal, the behaviour the same with some uniform actions."""
    within("explore", explore, 0.0, 1.0)
    uniform = np.full((states, actions), 1.0 / actions)
    mdp = FiniteMDP.of_rows(name, rows, gamma, np.eye(states), (uniform, uniform), start=start)
    best = optimal_policy(mdp)
    return mdp.with_(target=best, behaviour=mix(best, explore))


def from_gymnasium(name: str, env_id: str, gamma: float = 0.95, explore: float = 0.3, **options: Any) -> Problem:
    """A toy-text environment's own transition table as a problem."""
    import gymnasium

    env = gymnasium.make(env_id, **options)
    inner: Any = env.unwrapped
    table, start = inner.P, np.asarray(inner.initial_state_distrib, dtype=np.float64)
    rows = [
        (int(s), int(a), float(p), int(to), float(reward), bool(ended))
        for s, choices in table.items()
        for a, happenings in choices.items()
        for p, to, reward, ended in happenings
    ]
    env.close()
    actions = len(next(iter(table.values())))
    mdp = _optimally_targeted(name, rows, len(table), actions, gamma, explore, start / start.sum())
    low, high = mdp.return_bounds()
    room = 0.05 * (high - low)
    return Problem(mdp, f"gymnasium's {env_id}, {len(table)} states", f"gymnasium {env_id}", (low - room, high + room))


def frozen_lake(gamma: float = 0.95, explore: float = 0.3) -> Problem:
    """FrozenLake 4×4, slippery."""
    return from_gymnasium("frozen_lake", "FrozenLake-v1", gamma, explore, is_slippery=True)


def cliff_walking(gamma: float = 0.95, explore: float = 0.3) -> Problem:
    """CliffWalking, 48 states."""
    return from_gymnasium("cliff_walking", "CliffWalking-v1", gamma, explore)


def taxi(gamma: float = 0.95, explore: float = 0.3) -> Problem:
    """Taxi, 500 states."""
    return from_gymnasium("taxi", "Taxi-v4", gamma, explore)
