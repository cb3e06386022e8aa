"""The sampler that feeds every engine: how often each transition is drawn."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.judging.claims import Claim, Need, Setting
from harness.judging.verdicts import Finding, unlikely
from harness.runs.job import Job


def sampler(problem: str) -> Claim:
    """One sampler feeds every engine."""

    def needs(setting: Setting) -> list[Need]:
        return [Job.of(sampler_counts, problem=problem, lanes=4096, steps=300, seed=setting.seed)]

    return Claim(
        id=f"instrument/sampler/{problem}",
        says=f"transitions, first states and restarts are drawn with the probabilities of {problem}",
        source="Assumption 1",
        needs=needs,
        judge=partial(counts_agree, problem),
    )


def sampler_counts(problem: str, lanes: int, steps: int, seed: int) -> dict[str, list[int]]:
    """How often each outcome was drawn, and each state as a lane's first and as the first after an episode's end.

    Drawn in two calls. How often a transition did not leave the state that the one before had reached: never.
    """
    from algorithms.streams import lane_streams
    from algorithms.table import Sampler
    from harness.plugins import find_problem

    table = find_problem(problem).mdp.table
    made = Sampler(table, lane_streams(seed, range(lanes), problem=problem, purpose="sampler"))
    first = made.state.copy()
    drawn = np.concatenate([made.draw(steps // 2), made.draw(steps - steps // 2)])
    left, ended = table.state[drawn[1:]], table.ends[drawn[:-1]]
    after = left[ended]
    return {
        "outcomes": np.bincount(drawn.ravel(), minlength=len(table.probability)).tolist(),
        "first": np.bincount(first, minlength=table.states).tolist(),
        "after an end": np.bincount(after.ravel(), minlength=table.states).tolist(),
        "breaks": [int((left != table.next_state[drawn[:-1]])[~ended].sum())],
    }


def counts_agree(problem: str, evidence: list[Any], setting: Setting) -> Finding:
    """χ² of the outcomes in each state, given how often it was visited, and of first states; Bonferroni over three."""
    from harness.plugins import find_problem

    table, counts = find_problem(problem).mdp.table, {key: np.array(value) for key, value in evidence[0].items()}
    breaks = int(counts.pop("breaks").sum())
    visits = np.bincount(table.state, counts["outcomes"], minlength=table.states)
    expected = {"outcomes": visits[table.state] * table.probability}
    expected |= {key: counts[key].sum() * table.start for key in ("first", "after an end")}
    lost = {"outcomes": table.states, "first": 1, "after an end": 1}
    p = {key: _chi_square_p(counts[key], expected[key], lost[key]) for key in counts if counts[key].sum()}
    worst = min(p, key=lambda key: p[key])
    words = f"p of the {len(p)} χ² tests: " + ", ".join(f"{key} {value:.2g}" for key, value in p.items())
    if breaks:
        words += f"; {breaks} transitions did not leave the state that the one before had reached"
    return unlikely(0.0 if breaks else len(p) * p[worst], setting.false_alarm, int(counts["outcomes"].sum()), words)


def _chi_square_p(found: Floats, expected: Floats, lost: int) -> float:
    from scipy import stats

    if (found[expected == 0] > 0).any():
        return 0.0
    used = expected > 0
    freedom = int(used.sum()) - lost
    if freedom <= 0:
        return 1.0
    return float(stats.chi2.sf(((found[used] - expected[used]) ** 2 / expected[used]).sum(), freedom))
