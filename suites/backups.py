"""The projected operator as the oracle applies it, along P_π of a finite problem: does it contract by √γ?

In the largest ℓ2 over states, with B_ss' the block of its matrix at s and s', and x what all states have in common,

    max_s ‖Σ_s' B_ss' x‖ / ‖x‖  ≤  ‖B‖  ≤  max_s Σ_s' ‖B_ss'‖₂
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from dgtd.algorithms.streams import generator
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly, largest
from dgtd.harness.oracle.returns import Backup
from dgtd.harness.plugins import find_problem

ROUNDING = 1e-9
SOURCE = "Proposition 1; remark 3"
PLACES = (
    "baird", "two_state", "kolter", "collision", "grid_world", "boyan", "random_walk", "frozen_lake", "random_mdp",
    "random_mdp(gamma=0.5)",
)  # fmt: skip
# All rewards are 0, and ten cells move onto exactly five, or nine: a difference that is constant there shrinks by √γ.
ALIGNED = (("baird", 0.5), ("two_state", 0.5), ("two_state", 0.9))


def claims() -> list[Claim]:
    """The part of `contraction` that is about this operator."""
    bound = "on every finite place the oracle's own projected backup contracts by √γ with `cramer`"
    equal = "its factor is exactly √γ where rewards are 0 and the ends of ten cells move onto atoms"
    control = "the oracle's own projected backup with `nearest`, treated as a √γ-contraction"
    return [
        Claim("contraction/backup/cramer", bound, SOURCE, contracts),
        Claim("contraction/backup/attained", equal, SOURCE, attains, seeded=False),
        Claim("contraction/control/backup", control, SOURCE, partial(contracts, projection="nearest"), control=True),
    ]


def contracts(setting: Setting, projection: str = "cramer") -> Finding:
    """The bound from above on every place; and that tensors are backed up as arrays are."""
    rng, ratios, apart = generator(setting.seed, purpose="backups"), {}, 0.0
    for name in PLACES:
        problem = find_problem(name)
        target = problem.target("cdf", projection=projection)
        backup = Backup.of(problem.mdp, target)
        ratios[name] = factors(backup)[1] / np.sqrt(problem.mdp.gamma)
        F = rng.normal(size=backup.constant.shape)
        apart = largest(apart, np.abs(backup.tensor(torch.as_tensor(F)).numpy() - backup(F)))
    worst = max(ratios, key=ratios.__getitem__)
    words = f"the largest factor over {len(PLACES)} places is {ratios[worst]:.4f} √γ ({worst})"
    return exactly(largest(ratios[worst], 1 + apart), 1 + ROUNDING, words)


def attains(setting: Setting) -> Finding:
    """From below and from above."""
    gaps, words = [0.0], []
    for name, gamma in ALIGNED:
        problem = find_problem(name)
        mdp = problem.mdp.with_(gamma=gamma)
        low, high = factors(Backup.of(mdp, problem.target("cdf")))
        gaps += [abs(low - np.sqrt(gamma)), abs(high - np.sqrt(gamma))]
        words.append(f"{low:.9f} to {high:.9f} on {name} at γ = {gamma:g}")
    return exactly(largest(gaps), ROUNDING, f"the factor is {', '.join(words)}")


def factors(backup: Backup) -> tuple[float, float]:
    """Both bounds, from the backups of unit vectors."""
    states, n = backup.constant.shape
    moved = backup(np.eye(states * n).reshape(-1, states, n)) - backup(np.zeros((states, n)))
    blocks = moved.reshape(states, n, states, n).transpose(2, 0, 3, 1)
    high = np.linalg.norm(blocks, 2, axis=(2, 3)).sum(1).max()
    low = np.linalg.norm(blocks.sum(1), 2, axis=(1, 2)).max()
    return float(low), float(high)
