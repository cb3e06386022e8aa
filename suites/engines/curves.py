"""Sampled lanes against the exact learning curve: every mean at every checkpoint, one test with one false-alarm rate.

What a single step does is checked elsewhere, exactly. This sees what many steps do together: the sampler, restarts,
averages, schedules and the order of the two transitions of Mirror-Prox.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats
from algorithms.rule import Rule
from algorithms.stepping import RobbinsMonro, Schedule
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, unlikely
from harness.oracle.mdp import FiniteMDP
from harness.oracle.problem import Problem
from harness.runs.job import Job
from harness.runs.rule_files import reference_of

if TYPE_CHECKING:
    from harness.oracle.moments import Expected

SOURCE = "Algorithms 1 to 3; Proposition 2"
TIMES = (1, 2, 4, 10, 30, 100, 300)
GROWTH = 4.0  # of the mean square: ours fall
OFFSET = 20.0  # of the scheduled case: after 300 steps α is at an eighth of its start


@dataclass(frozen=True)
class Case:
    """What is run; α and β are such that 300 steps move the curve, and keep its moments finite."""

    problem: str
    alpha: float
    beta: float
    target: str = "value"
    atoms: int = 4
    iid: bool = False
    average: bool = False
    extragradient: bool = False
    scheduled: bool = False

    def place(self) -> tuple[Problem, FiniteMDP, Schedule | None]:
        """The problem, its transitions as they are sampled, and the schedule."""
        from harness.plugins import find_problem

        problem = find_problem(self.problem)
        mdp = problem.mdp.with_(weights=problem.mdp.d) if self.iid else problem.mdp
        return problem, mdp, RobbinsMonro(0.75, 0.55, OFFSET) if self.scheduled else None


CASES = {
    "boyan/last": Case("boyan", 0.05, 0.1),
    "boyan/average": Case("boyan", 0.2, 0.2, average=True),
    "boyan/scheduled-average": Case("boyan", 0.5, 0.3, average=True, scheduled=True),
    "collision/iid-average": Case("collision", 0.1, 0.1, iid=True, average=True),
    "random_walk/mirror-prox": Case("random_walk", 0.2, 0.2, average=True, extragradient=True),
    "random_walk/cdf": Case("random_walk", 0.1, 0.2, target="cdf"),
    "baird/last": Case("baird", 0.005, 0.02),
}


def curve(rule: Rule, name: str) -> Claim:
    """One claim per case."""
    return Claim(
        id=f"engines/linear/curve/{name}/{rule.name}",
        says=f"{rule.name}, {name.replace('/', ', ')}: lanes follow the exact expectation at every checkpoint",
        source=SOURCE,
        needs=lambda setting: [
            Job.of(
                sampled_means, reference_of(rule), seed=setting.seed,
                lanes=16_384 if setting.profile == "ci" else 131_072, **asdict(CASES[name]),
            )
        ],
        judge=partial(means_agree, rule, CASES[name]),
        rule=rule,
    )  # fmt: skip


def sampled_means(rule: Rule, lanes: int, seed: int, **case: Any) -> dict[str, Any]:
    """Mean and standard error over lanes of the states' predictions and of the squared metrics, at every checkpoint."""
    from algorithms.engines.linear import LinearEngine
    from algorithms.streams import lane_streams
    from harness.oracle.metrics import Metrics

    what = Case(**case)
    problem, mdp, schedule = what.place()
    target = problem.target(what.target, what.atoms)
    engine, measure = LinearEngine(rule, mdp.table, mdp.features, target), Metrics(mdp, target)
    streams = lane_streams(seed, range(lanes), problem=what.problem, purpose="curve")
    state = engine.start(target.start(mdp.theta_initial, mdp.features), streams)
    means, errors = [], []
    for t in TIMES:
        options: dict[str, Any] = {"average": what.average, "extragradient": what.extragradient, "schedule": schedule}
        engine.run(state, t - state.steps, what.alpha, what.beta, **options)
        F = np.swapaxes((state.theta_mean if what.average else state.theta) @ mdp.features.T, -1, -2)
        numbers = np.concatenate([F.reshape(lanes, -1), measure(F) ** 2], axis=1)
        means.append(numbers.mean(0).tolist())
        errors.append((numbers.std(0, ddof=1) / np.sqrt(lanes)).tolist())
    return {"means": means, "errors": errors, "lanes": lanes}


def means_agree(rule: Rule, case: Case, evidence: list[Any], setting: Setting) -> Finding:
    """The largest distance in standard errors, over all numbers and checkpoints; Bonferroni over them."""
    from scipy import stats

    from harness.oracle.moments import Moments

    problem, mdp, schedule = case.place()
    exact = Moments(rule, mdp, problem.target(case.target, case.atoms)).run(
        case.alpha, case.beta, TIMES, schedule=schedule, average=case.average, extragradient=case.extragradient
    )
    used = calm(exact)
    expected = np.concatenate([exact.mean.reshape(len(TIMES), -1), exact.curves], axis=1)[used]
    means, errors = (np.array(evidence[0][name])[used] for name in ("means", "errors"))
    away = distances(means, errors, expected)
    lanes, tests = int(evidence[0]["lanes"]), away.size
    worst = np.unravel_index(int(np.argmax(away)), away.shape)
    p = min(1.0, float(2 * tests * stats.t.sf(away[worst], lanes - 1)))
    words = (
        f"{tests} means of {lanes:,} lanes at {used.sum()} checkpoints: the farthest is {away[worst]:.2f} standard "
        f"errors away, after {np.array(TIMES)[used][worst[0]]} steps"
    )
    objective = list(exact.names).index("rmspbe")
    shown = {"x": list(TIMES), "y": exact.curves[:, objective].tolist(), "x_name": "steps", "y_name": "E MSPBE, exact"}
    return unlikely(p, setting.false_alarm, lanes, words, **shown)


def calm(exact: Expected) -> NDArray[np.bool_]:
    """[checkpoints]: before the mean square grows. Beyond that a few lanes carry it, and a mean over lanes says little.

    The first always counts, so that a rule that grows at once is compared after one step.
    """
    size = exact.curves[:, [exact.names.index(name) for name in ("rmspbe", "rmsve")]]
    with np.errstate(invalid="ignore"):
        small = (size <= GROWTH * np.maximum(size[0], 1e-9)).all(1)
    small[0] = True
    return np.logical_and.accumulate(small)


def distances(means: Floats, errors: Floats, expected: Floats) -> Floats:
    """|mean − expected| in standard errors; a number that does not vary between lanes must be the expected one.

    Infinite where a lane has no number: it has diverged, which no lane may do here.
    """
    scale = np.maximum(np.abs(expected).max(), 1.0)
    gap = np.abs(means - expected)
    fixed = errors <= 1e-12 * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(fixed, np.where(gap <= 1e-9 * scale, 0.0, np.inf), gap / errors)
    return np.where(np.isnan(away), np.inf, away)
