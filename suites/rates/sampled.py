"""Err of the averaged, projected linear iterate: its exponent, the corrected bound, and Mirror-Prox.

At these horizons Err is that of the run without noise to a few per cent: its exponent is that of the start being
forgotten and of the ball's slack (`parts`). What of it is noise is sampled where there is nothing else (`noise`).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import LinearEngine, directions
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.algorithms.table import TransitionTable
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.judging.claims import FULL, Claim, Need, Setting
from dgtd.harness.judging.statistics import proportion_interval, slopes
from dgtd.harness.judging.verdicts import Finding, Verdict, below, exactly
from dgtd.harness.oracle.averages import noise_free
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes
from dgtd.suites.means import request

SOURCE = "Proposition 2, corrected (docs/reading-the-paper.md, 1–4)"
PLACES = {
    "random_walk": ("random_walk", "value", 0),
    "random_walk_dependent": ("random_walk_dependent", "value", 0),
    "random_mdp": ("random_mdp(gamma=0.5)", "value", 0),
    "random_walk-cdf": ("random_walk", "cdf", 4),
    "random_walk_dependent-cdf": ("random_walk_dependent", "cdf", 5),
    "random_mdp-cdf": ("random_mdp(gamma=0.5)", "cdf", 5),
}
WHERE = PLACES | {"boyan": ("boyan", "value", 0)}
# The walk with a behaviour policy that goes left with this chance, where π does with 0.4: ρ of a step to the right.
FAR = {"rho=1.2": 0.5, "rho=3": 0.8, "rho=12": 0.95}
WHERE |= {f"random_walk-{name}": (f"random_walk(left={left})", "value", 0) for name, left in FAR.items()}


@lru_cache(maxsize=32)
def saddle_of(place: str) -> Saddle:
    """The saddle-point problem of a place, on balls a tenth larger than the solution needs."""
    name, kind, atoms = WHERE[place]
    problem = find_problem(name)
    return Saddle(problem.mdp.with_(weights=problem.mdp.d), problem.target(kind, atoms or 21), slack=1.1)


def runs_of(
    rule: Rule, place: str, horizons: list[int], lanes: int, setting: Setting, *, extragradient: bool = False,
    average: bool = True, step: float | None = None,
) -> list[Need]:  # fmt: skip
    """Err of the averaged, projected iterate; each horizon is a run of its own, with its step.

    `step` holds it constant, and average=False judges the last iterate: what a control does.
    """
    saddle, (problem, target, atoms) = saddle_of(place), WHERE[place]
    made: list[Need] = []
    for n in horizons:
        size = saddle.step(n) if step is None else step
        run = request(
            rule, problem, lanes, setting, "rates", (n,), size, size, metrics=("err",), iid=True,
            axes=(("horizon", n),), target=target, atoms=atoms or 21, radius=saddle.R, start="zeros", average=average,
            extragradient=extragradient,
        )  # fmt: skip
        made.append(run)
    return made


def errors_of(evidence: list[Lanes]) -> tuple[list[int], Floats]:
    """Horizons, and Err [lanes, horizons]."""
    return [int(trial.times[-1]) for trial in evidence], np.stack([trial.of("err")[-1] for trial in evidence], axis=1)


def shown(horizons: list[int], errors: Floats, name: str = "median Err of the average") -> dict[str, Any]:
    return {"x": horizons, "y": np.median(errors, axis=0).tolist(), "x_name": "n, steps", "y_name": name}


PROX = ("random_walk_dependent", "random_walk_dependent-cdf")
SLOW = ("random_walk-cdf",)  # leaves its start only after 3·10⁴ steps
MARGIN = -0.45
UNSTABLE_STEP = 2.0  # on the tabular walk: plain steps grow, the extragradient shrinks
PROX_STEP = "extragradient"
STABLE = {PROX_STEP: "Mirror-Prox", "plain": "plain GTD2", "two-plain": "'Mirror-Prox' that restarts from the midpoint"}


def claims(each: Rule) -> Iterator[Claim]:
    """Exponents are about the rule; Mirror-Prox, the bound and the controls about GTD2's field."""
    falls, theirs = "falls like n^-½ or faster on", "Juditsky et al. 2011"
    promised: dict[str, Any] = {"rule": each, "promise": Promise.RATE}
    for place in PLACES:  # with the proposition's steps
        id_, needs = f"rates/{place}/{each.name}/exponent", partial(over_horizons, each, place)
        says = f"{each.name}: Err of the averaged iterate {falls} {place}; nearly all of it is there without noise"
        judge = partial(falls_like_a_power, place, each)
        yield Claim(id_, says, SOURCE, needs=needs, judge=judge, **promised)
    # On Boyan's chain R is 33, and the start takes long to forget.
    says = f"{each.name}: Err of the averaged iterate {falls} Boyan's chain, once it does"
    needs, id_ = partial(over_horizons, each, "boyan"), f"rates/boyan/{each.name}/exponent"
    promised |= {"needs": needs, "judge": falls_from_some_n, "profiles": FULL}
    yield Claim(id_, says, SOURCE, **promised)
    for place in PROX:
        says = f"Mirror-Prox (extragradient) keeps the exponent with noise on {place}"
        needs, judge = partial(over_horizons, gtd2, place, extragradient=True), partial(falls_like_a_power, place, None)
        id_, source = f"rates/{place}/mirror-prox/exponent", f"{theirs}; Proposition 2"
        yield Claim(id_, says, source, needs=needs, judge=judge)
        id_, exact = f"rates/{place}/mirror-prox/exact-operator", partial(falls_like_one_over_n, place)
        yield Claim(id_, f"with the exact operator, Mirror-Prox's Err falls like 1/n on {place}", theirs, exact)
        for delta in (0.1, 0.01):
            says = f"the explicit bound covers at least {1 - delta:.0%} of runs on {place}"
            needs, judge = partial(runs_under_the_bound, place), partial(bound_covers, place, delta)
            yield Claim(f"rates/{place}/bound/delta={delta}", says, SOURCE, needs=needs, judge=judge)
    for kind, words in STABLE.items():  # a step at which plain steps grow
        id_ = f"rates/{'control/' if kind != PROX_STEP else ''}stable-step/{kind}"
        says = f"{words} is stable at a step of {UNSTABLE_STEP:g} on the tabular walk, with the exact operator"
        yield Claim(id_, says, theirs, partial(radius_is_below_1, kind), control=kind != PROX_STEP)
    for kind, also in {PROX_STEP: "", "two-plain": ": two plain steps are not"}.items():
        id_ = f"rates/{'control/' if also else ''}one-step/{kind}"
        says = f"one Mirror-Prox step is z − s F(z − s F z){also}"
        yield Claim(id_, says, theirs, partial(engine_step_is_the_formula, kind), control=bool(also))
    # The control: nothing is averaged, and the step does not shrink with the horizon.
    says = "a constant step without averaging, taken for a rate of n^-½ on the random walk"
    needs = partial(runs_of, gtd2, "random_walk", [1000, 4642, 21544, 100_000], 16, average=False, step=0.1)
    id_ = "rates/control/constant-step-last-iterate"
    yield Claim(id_, says, SOURCE, needs=needs, judge=has_an_exponent, control=True)


def horizons_of(place: str, setting: Setting) -> tuple[list[int], int]:
    """Horizons and lanes. ci looks at a later window only, where all places have left their start."""
    if setting.profile == "ci" and place in SLOW:
        return [int(n) for n in np.geomspace(3e4, 1e6, 6).round()], 16
    low, high, points, lanes = (1e4, 4e5, 6, 16) if setting.profile == "ci" else (1e3, 1e6, 13, 100)
    return [int(n) for n in np.geomspace(low, high, points).round()], lanes


def over_horizons(rule: Rule, place: str, setting: Setting, extragradient: bool = False) -> list[Need]:
    """The runs that an exponent is seen in."""
    return runs_of(rule, place, *horizons_of(place, setting), setting, extragradient=extragradient)


def noise_free_error(rule: Rule, place: str, n: int) -> float:
    """Err of the average of the mean updates from 0, without Γ, which does not bind there."""
    saddle = saddle_of(place)
    zeros = np.zeros((saddle.target.outputs, saddle.mdp.features.shape[1]))
    point = noise_free(Moments(rule, saddle.mdp, saddle.target), saddle.step(n), n, zeros)
    return float(saddle.error(*point))


def falls_like_a_power(place: str, rule: Rule | None, evidence: list[Lanes], setting: Setting) -> Finding:
    """One slope per lane; the slopes are the data. With a rule, the median is set beside its run without noise."""
    horizons, errors = errors_of(evidence)
    found = slopes(horizons, errors, 2 * setting.false_alarm)
    bent = f"not yet a power law (slopes of the halves differ by {found.bend.estimate:.2f})"
    e, law = found.exponent, "a power law" if found.power_law else bent
    words = f"exponent {e:.3f}, {law}"
    if rule is not None and rule.linear:
        ends = [float(np.median(errors[:, i])) / noise_free_error(rule, place, horizons[i]) for i in (0, -1)]
        words += f"; the median is {ends[0]:.2f} to {ends[1]:.2f} times Err without noise"
    return below(e, MARGIN, setting.false_alarm, words, **shown(horizons, errors), R=saddle_of(place).R)


def falls_from_some_n(evidence: list[Lanes], setting: Setting) -> Finding:
    """The exponent over the widest late window in which the halves' slopes agree."""
    horizons, errors = errors_of(evidence)
    windows = [slopes(horizons[i:], errors[:, i:], 2 * setting.false_alarm) for i in range(len(horizons) - 4)]
    first = next((i for i, found in enumerate(windows) if found.power_law), len(windows) - 1)
    found = windows[first].exponent
    words = f"exponent {found:.3f} from n = {horizons[first]:.0e} on"
    return below(found, MARGIN, setting.false_alarm, words, **shown(horizons, errors, "median Err"))


def has_an_exponent(evidence: list[Lanes], setting: Setting) -> Finding:
    horizons, errors = errors_of(evidence)
    found = slopes(horizons, errors, 2 * setting.false_alarm).exponent
    return below(found, MARGIN, setting.false_alarm, f"exponent {found:.3f}", **shown(horizons, errors, "Err"))


def runs_under_the_bound(place: str, setting: Setting) -> list[Need]:
    n, lanes = (100_000, 32) if setting.profile == "ci" else (1_000_000, 400)
    return runs_of(gtd2, place, [n], lanes, setting)


def bound_covers(place: str, delta: float, evidence: list[Lanes], setting: Setting) -> Finding:
    """The share of runs above the bound; VACUOUS where standing still is below it."""
    saddle, ((n,), errors) = saddle_of(place), errors_of(evidence)
    lanes, limit, still = len(errors), saddle.bound(n, delta), saddle.standing_still
    outside = proportion_interval(int((~(errors <= limit)).sum()), lanes, 2 * setting.false_alarm)
    tightness = limit / float(np.median(errors))
    words = (
        f"{lanes - round(outside.estimate * lanes)} of {lanes} runs below the bound {limit:.3g}, "
        f"which is {tightness:.0f} times the median Err"
    )
    useful = saddle.useful_from(delta)
    found = below(outside, delta, setting.false_alarm, words, tightness=tightness, useful_from=useful)
    if limit > still and found.verdict is not Verdict.FAIL:
        words += f"; standing still has {still:.3g}: the bound says something from n = {useful:.1e} on"
        return replace(found, verdict=Verdict.VACUOUS, words=words)
    return found


# ---------------------------------------------------------------------- Mirror-Prox without noise


def falls_like_one_over_n(place: str, setting: Setting) -> Finding:
    """A slope over horizons of one run without noise."""
    saddle = saddle_of(place)
    horizons = np.unique(np.geomspace(100, 3000, 8).astype(int))
    errors = saddle.exact_errors(horizons, extragradient=True, step=1 / saddle.lipschitz)
    slope = float(np.polyfit(np.log(horizons), np.log(errors), 1)[0])
    picture = {"x": horizons.tolist(), "y": errors.tolist(), "x_name": "n, steps", "y_name": "Err of the average"}
    return exactly(slope, -0.95, f"exponent {slope:.3f} over n = 100 … 3000", **picture)


def radius_is_below_1(kind: str, setting: Setting) -> Finding:
    """The radius of the step's matrix."""
    saddle = saddle_of("random_walk")
    one = np.eye(len(saddle.matrix))
    plain = one - UNSTABLE_STEP * saddle.matrix
    steps = {"plain": plain, "two-plain": plain @ plain, PROX_STEP: one - UNSTABLE_STEP * saddle.matrix @ plain}
    radius = float(np.abs(np.linalg.eigvals(steps[kind])).max())
    return exactly(radius, 1.0, f"the radius of its step is {radius:.3f}")


def engine_step_is_the_formula(kind: str, setting: Setting) -> Finding:
    """The engine's Mirror-Prox (or two of its plain steps) on one transition that never varies, against the formula."""
    table = TransitionTable(
        offsets=np.array([0, 1]), probability=np.ones(1), next_state=np.zeros(1, np.int64), reward=np.ones(1),
        discount=np.array([0.9]), rho=np.ones(1), ends=np.zeros(1, bool), start=np.ones(1),
    )  # fmt: skip
    X, step = np.array([[1.0, -0.5]]), 0.7
    engine = LinearEngine(gtd2, table, X, ValueTarget())
    state = engine.start(generator(setting.seed, purpose="point").normal(size=(1, 2)), lane_streams(setting.seed, [0]))
    state.w[:] = generator(setting.seed, purpose="aux").normal(size=(1, 1, 2))
    theta, w = state.theta.copy(), state.w.copy()
    batch = table.batch(np.zeros((1, 1), dtype=np.int64), X, ValueTarget())
    g_theta, g_w = directions(gtd2, theta, w, batch)
    g_theta, g_w = directions(gtd2, theta - step * g_theta, w + step * g_w, batch)
    expected = np.concatenate([(theta - step * g_theta).ravel(), (w + step * g_w).ravel()])
    engine.run(state, 1 if kind == PROX_STEP else 2, step, step, extragradient=kind == PROX_STEP)
    found = np.concatenate([state.theta.ravel(), state.w.ravel()])
    error = float(np.abs(found - expected).max())
    return exactly(error, 1e-12, f"off by {error:.1e}")
