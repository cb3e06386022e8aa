"""Problems as bare tables, for tests of the core, which knows no MDP."""

import numpy as np

from dgtd.algorithms.table import TransitionTable

# The arrays of a table with two states and two outcomes each, to be put wrong one by one.
TWO_STATES = {
    "offsets": [0, 2, 4],
    "probability": [0.5] * 4,
    "next_state": [0, 1, 0, 1],
    "reward": [0.0] * 4,
    "discount": [0.9] * 4,
    "rho": [1.0] * 4,
    "ends": [False] * 4,
    "start": [0.5, 0.5],
}


def baird() -> tuple[TransitionTable, np.ndarray, np.ndarray]:
    """Baird's star: table, features and θ₀."""
    table = TransitionTable(
        offsets=np.arange(8) * 7,
        probability=np.full(49, 1 / 7),
        next_state=np.tile(np.arange(7), 7),
        reward=np.zeros(49),
        discount=np.full(49, 0.99),
        rho=np.tile([0.0] * 6 + [7.0], 7),
        ends=np.zeros(49, dtype=bool),
        start=np.full(7, 1 / 7),
    )
    features = np.zeros((7, 8))
    features[range(6), range(6)] = 2.0
    features[:6, 7] = 1.0
    features[6, 6:] = [1.0, 2.0]
    return table, features, np.array([[1.0, 1, 1, 1, 1, 1, 10, 1]])


def walk(iid: bool = False) -> TransitionTable:
    """Five states, left and right with equal chance, −1 and +1 at the ends; π goes left with 0.4."""
    left, right = np.arange(5) - 1, np.arange(5) + 1
    next_state = np.stack([left, right], 1).ravel()
    ends = (next_state < 0) | (next_state > 4)
    return TransitionTable(
        offsets=np.arange(6) * 2,
        probability=np.full(10, 0.5),
        next_state=np.clip(next_state, 0, 4),
        reward=np.where(next_state < 0, -1.0, np.where(next_state > 4, 1.0, 0.0)),
        discount=np.where(ends, 0.0, 1.0),
        rho=np.tile([0.8, 1.2], 5),
        ends=ends,
        start=np.full(5, 0.2) if iid else np.eye(5)[2],
        iid=iid,
    )
