"""Sampled lanes against the exact learning curve: every mean at every checkpoint, one test with one false-alarm rate.

What a single step does is checked in `steps`, exactly. This sees what many steps do together: the sampler, restarts,
averages, schedules and the order of the two transitions of Mirror-Prox.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.compiled_loop import LaneState
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import RobbinsMonro, Schedule
from dgtd.algorithms.streams import lane_streams
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.verdicts import Finding, unlikely
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.metrics import Metrics, squares
from dgtd.harness.oracle.moments import Expected, Moments
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.work import Job

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
        problem = find_problem(self.problem)
        mdp = problem.mdp.with_(weights=problem.mdp.d) if self.iid else problem.mdp
        return problem, mdp, RobbinsMonro(0.75, 0.55, OFFSET) if self.scheduled else None

    def numbers(self) -> Callable[[Floats], Floats]:
        """θ [lanes, n, k] → every state's prediction and every squared metric [lanes, numbers]."""
        problem, mdp, _ = self.place()
        target = problem.target(self.target, self.atoms)
        measure, names = Metrics(mdp, target), squares(target)

        def of(theta: Floats) -> Floats:
            F = np.swapaxes(theta @ mdp.features.T, -1, -2)
            return np.concatenate([F.reshape(len(theta), -1), measure(F, names) ** 2], axis=1)

        return of


CASES = {
    "boyan/last": Case("boyan", 0.05, 0.1),
    "boyan/average": Case("boyan", 0.2, 0.2, average=True),
    "boyan/scheduled-average": Case("boyan", 0.5, 0.3, average=True, scheduled=True),
    "collision/iid-average": Case("collision", 0.1, 0.1, iid=True, average=True),
    "random_walk/mirror-prox": Case("random_walk", 0.2, 0.2, average=True, extragradient=True),
    "random_walk/cdf": Case("random_walk", 0.1, 0.2, target="cdf"),
    "baird/last": Case("baird", 0.005, 0.02),
}


def curve(rule: Rule) -> Claim:
    """Every case is one test; Mirror-Prox is for rules whose w does not decay."""
    names = [name for name, case in CASES.items() if not (rule.w_decay and case.extragradient)]
    cases = tuple(CASES[name] for name in names)
    id_ = f"instrument/linear/curve/{rule.name}"
    says = f"{rule.name}: lanes follow the exact expectation at every checkpoint; the worst over {', '.join(names)}"
    source = "Algorithms 1 to 3; Proposition 2"
    needs = partial(means_needed, rule, cases)
    return Claim(id_, says, source, needs=needs, judge=partial(means_agree, rule, cases), rule=rule)


def other_step(rule: Rule) -> Claim:
    """The control: the lanes of a case, and the expectation at another α. No lane is run for it."""
    right = CASES["boyan/last"]
    return replace(
        curve(rule),
        id="instrument/control/curve/other-step",
        says=f"{rule.name} on Boyan's chain, taken to follow the exact expectation of a step 1 % larger",
        needs=partial(means_needed, rule, (right,)),
        judge=partial(means_agree, rule, (replace(right, alpha=1.01 * right.alpha),)),
        control=True,
    )


def means_needed(rule: Rule, cases: tuple[Case, ...], setting: Setting) -> list[Need]:
    lanes = 16_384 if setting.profile == "ci" else 131_072
    return [Job.of(sampled_means, rule, seed=setting.seed, lanes=lanes, **asdict(case)) for case in cases]


def sampled_means(rule: Rule, lanes: int, seed: int, **case: Any) -> dict[str, Any]:
    """Mean and standard error over lanes of the states' predictions and of the squared metrics, at every checkpoint."""
    what = Case(**case)
    numbers_of, means, errors = what.numbers(), [], []
    for state in followed(rule, what, lanes, seed):
        numbers = numbers_of(state.theta_mean if what.average else state.theta)
        means.append(numbers.mean(0).tolist())
        errors.append((numbers.std(0, ddof=1) / np.sqrt(lanes)).tolist())
    return {"means": means, "errors": errors, "lanes": lanes}


def followed(rule: Rule, case: Case, lanes: int, seed: int) -> Iterator[LaneState]:
    """The lanes of a case at each of the checkpoints."""
    problem, mdp, schedule = case.place()
    target = problem.target(case.target, case.atoms)
    engine = LinearEngine(rule, mdp.table, mdp.features, target)
    streams = lane_streams(seed, range(lanes), problem=case.problem, purpose="curve")
    state = engine.start(target.start(mdp.theta_initial), streams)
    options: dict[str, Any] = {"average": case.average, "extragradient": case.extragradient, "schedule": schedule}
    for t in TIMES:
        engine.run(state, t - state.steps, case.alpha, case.beta, **options)
        yield state


def means_agree(rule: Rule, cases: tuple[Case, ...], evidence: list[Any], setting: Setting) -> Finding:
    """The largest distance in standard errors, over all numbers, checkpoints and cases; Bonferroni over them."""
    exact = [exact_curve(rule, case) for case in cases]
    tests = [weighed(each, found) for each, found in zip(exact, evidence, strict=True)]
    worst = min(range(len(cases)), key=lambda i: tests[i][0])
    objective = exact[worst].curves[:, exact[worst].names.index("rmspbe")]
    shown = {"x": list(TIMES), "y": objective.tolist(), "x_name": "steps", "y_name": "E MSPBE, exact"}
    p = min(1.0, len(cases) * tests[worst][0])
    words = f"{cases[worst].problem}: {tests[worst][1]}"
    return unlikely(p, setting.false_alarm, int(evidence[worst]["lanes"]), words, **shown)


def exact_curve(rule: Rule, case: Case) -> Expected:
    """What the lanes of a case must follow."""
    problem, mdp, schedule = case.place()
    return Moments(rule, mdp, problem.target(case.target, case.atoms)).run(
        case.alpha, case.beta, TIMES, schedule=schedule, average=case.average, extragradient=case.extragradient
    )


def weighed(exact: Expected, evidence: dict[str, Any], counted: NDArray[np.bool_] | None = None) -> tuple[float, str]:
    """The chance that right lanes have a mean as far away as the farthest one, at most; and that one in words.

    `counted` [checkpoints, numbers]: which are looked at, if not all.
    """
    used = calm(exact)
    expected = expectations(exact)[used]
    means, errors = (np.array(evidence[name])[used] for name in ("means", "errors"))
    away = distances(means, errors, expected)
    if counted is not None:
        away = np.where(counted[used], away, 0.0)
    lanes, tests = int(evidence["lanes"]), away.size if counted is None else int(counted[used].sum())
    worst = np.unravel_index(int(np.argmax(away)), away.shape)
    p = min(1.0, float(2 * tests * stats.t.sf(away[worst], lanes - 1)))
    words = (
        f"{tests} means of {lanes:,} lanes at {used.sum()} checkpoints: the farthest is {away[worst]:.2f} standard "
        f"errors away, after {np.array(TIMES)[used][worst[0]]} steps"
    )
    return p, words


def expectations(exact: Expected) -> Floats:
    """[checkpoints, numbers], in the order of a case's numbers."""
    return np.concatenate([exact.mean.reshape(len(TIMES), -1), exact.curves], axis=1)


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
