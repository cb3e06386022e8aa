"""LSTD's reference line, against the sum of autocovariances written out lag by lag. Part of the suite `instrument`."""

from __future__ import annotations

from functools import partial

import numpy as np

from algorithms.checks import Floats
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly, largest
from harness.oracle.mdp import FiniteMDP

PROBLEMS = ("boyan", "collision")  # episodes end, at different rates; ρ is not 1 on the second
ROUNDING = 1e-9
LAGS = 1000


def claims() -> list[Claim]:
    """Where LSTD has a limit, and where it has none."""
    return [
        *(limit(problem) for problem in PROBLEMS),
        Claim(
            id="instrument/lstd/baird",
            says="LSTD has no reference line on Baird's star, where A is singular",
            source="definitions",
            check=there_is_none,
            seeded=False,
        ),
    ]


def limit(problem: str) -> Claim:
    """n·E MSPBE of LSTD, to first order."""
    return Claim(
        id=f"instrument/lstd/{problem}",
        says=f"LSTD's n·E MSPBE on {problem} is tr(C⁻¹Σ) with every autocovariance; shown from 10 per feature on",
        source="definitions",
        check=partial(limit_is_the_sum, problem),
        seeded=False,
    )


def limit_is_the_sum(problem: str, setting: Setting) -> Finding:
    """Relative error of the limit, along trajectories and on independent transitions; infinite if shown too early."""
    from harness.oracle.lstd import lstd
    from harness.plugins import find_problem

    mdp, errors = find_problem(problem).mdp, []
    for each in (mdp, mdp.with_(weights=mdp.d)):
        expected, found = float(np.trace(np.linalg.pinv(mdp.C) @ lag_by_lag(each))), lstd(each)
        if found is None:
            return exactly(np.inf, ROUNDING, "there is no limit")
        first = 10 * mdp.features.shape[1]
        shown = found.mspbe([first - 1, first])
        right = np.isnan(shown[0]) and abs(shown[1] * first / expected - 1) <= ROUNDING
        errors.append(abs(found.limit / expected - 1) if right else np.inf)
    words = f"tr(C⁻¹Σ) along trajectories and independent: the largest relative error is {largest(errors):.1e}"
    return exactly(largest(errors), ROUNDING, words)


def lag_by_lag(mdp: FiniteMDP) -> Floats:
    """Γ_0 + Σ (Γ_k + Γ_kᵀ), following the chain of transitions: after one that ends comes one from a start."""
    table = mdp.table
    theta = np.linalg.solve(mdp.A, mdp.b)
    g = np.zeros((len(table.probability), len(theta)))
    for o, (s, to) in enumerate(zip(table.state, table.next_state, strict=True)):
        delta = table.reward[o] + table.discount[o] * mdp.features[to] @ theta - mdp.features[s] @ theta
        g[o] = table.rho[o] * delta * mdp.features[s]
    mass = mdp.d[table.state] * table.probability
    total = (mass[:, None] * g).T @ g
    if mdp.iid:
        return total
    ahead = g  # E[g_t+k | transition t]
    for _ in range(LAGS):
        per_state = np.zeros((mdp.states, len(theta)))
        np.add.at(per_state, table.state, table.probability[:, None] * ahead)
        ahead = np.where(table.ends[:, None], table.start @ per_state, per_state[table.next_state])
        later = (mass[:, None] * g).T @ ahead
        total = total + later + later.T
    return total


def there_is_none(setting: Setting) -> Finding:
    """0 if so."""
    from harness.oracle.lstd import lstd
    from harness.plugins import find_problem

    found = lstd(find_problem("baird").mdp)
    return exactly(float(found is not None), 0.5, "no limit" if found is None else f"a limit of {found.limit:.3g}")
