"""Where the best J is not 0: there w* and the curvature term are not 0 either, and semi-gradient TD never settles.

TD's fixed points are zeros of E[Σφδ], and so of J. On the wheel there is none: TD turns for ever, TDC without h or with
a frozen w misses where ∇J = 0, and Theorem 2 is about something that TD can't do.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import greedy_gq, gtd2, td
from dgtd.harness.judging.claims import PROFILES, Claim, Need, Setting
from dgtd.harness.judging.statistics import end_over_start
from dgtd.harness.judging.verdicts import Finding, below, exactly
from dgtd.harness.oracle.objectives import Objective, module
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import PredictorSpec, StepSchedule
from dgtd.suites.convergence.falls import FULL, NAMES, RADIUS, SOURCE
from dgtd.suites.means import request

ANGLES = np.linspace(-np.pi, np.pi, 361)
# Target → atoms, α, β, offset of the steps, and how many of them in ci.
FORMS = {"value": (21, 0.02, 0.1, 5000.0, 20_000), "cdf": (4, 0.1, 0.5, 1000.0, 3000)}
LANES, LIMIT, LATE = 64, 0.1, (0.8, 0.85, 0.9, 0.95, 1.0)


def claims(rules: tuple[Rule, ...]) -> Iterator[Claim]:
    """What is exact about the place, then the limits, then who must miss them: TD and TDC without h pass elsewhere."""
    for target, what in {"value": "a value", "cdf": "a return distribution"}.items():
        says = (
            f"the wheel, {what}: J is above 0 at every angle, and the mean updates of TD and of TDC without h vanish "
            "at none"
        )
        check = partial(never_0, target)
        yield Claim(f"convergence/wheel/{target}/best-J", says, "ours", check, seeded=False)
    for rule, (target, profiles) in product(rules, {"value": FULL, "cdf": PROFILES}.items()):
        says = "where the best J is not 0, ‖∇J‖ ends below a tenth of its start (mean over the last fifth)"
        yield Claim(
            f"convergence/wheel/{target}/{rule.name}/gradient", f"{rule.name}: {says}", SOURCE, rule=rule,
            needs=partial(run, rule, target), judge=late_gradient, promise=Promise.DESCENDS, profiles=profiles,
        )  # fmt: skip
    for name, words, needs in (
        ("td", "semi-gradient TD on laws", partial(run, td, "cdf")),
        ("h-dropped", "TDC without h", partial(run, greedy_gq(1.0), "cdf")),  # TDC's cotangents, without curvature
        ("w-frozen", "GTD2 whose w stays at 0", partial(run, gtd2, "cdf", beta=1e-12)),
    ):
        id_, says = f"convergence/control/wheel/{name}", f"{words}, taken to settle where ∇J = 0"
        yield Claim(id_, says, SOURCE, needs=needs, judge=late_gradient, control=True)


def objective(target: str) -> Objective:
    """Of the wheel's own network."""
    found = find_problem("wheel")
    assert found.network is not None
    made = found.target(target, FORMS[target][0], linear=False)
    engine = ModuleEngine(gtd2, found.network(found.mdp.states, made.head().logits), made.head().predict)
    return Objective(found.mdp, made, module(engine, np.eye(found.mdp.states)))


def never_0(target: str, setting: Setting) -> Finding:
    """On a grid of angles, of one sign; and between two of its points no curve changes by more than half of itself."""
    found, flat = objective(target), greedy_gq(1.0)
    at = [np.array([angle]) for angle in ANGLES]
    curves = {
        "J": [found.value(angle) for angle in at],
        "TD's update": [found.mean_update(td, angle, 0 * angle)[0][0] for angle in at],
        "that of TDC without h": [found.mean_update(flat, angle, found.optimal_w(angle))[0][0] for angle in at],
    }
    low = {name: float(np.abs(curve).min()) for name, curve in curves.items()}
    change = max(_change(np.array(curve)) for curve in curves.values())
    words = f"best J {low.pop('J'):.3g}; " + "; ".join(f"{name} is {value:.3g} or more" for name, value in low.items())
    return exactly(change, 0.5, f"{words}, with one sign")


def _change(curve: Floats) -> float:
    """The largest step between two points as a share of the smaller of them; infinite if the curve changes its sign."""
    size = np.abs(curve)
    one_sign = (np.sign(curve) == np.sign(curve[0])).all() and size.min() > 0
    return float((np.abs(np.diff(curve)) / np.minimum(size[1:], size[:-1])).max()) if one_sign else np.inf


def run(rule: Rule, target: str, setting: Setting, beta: float | None = None) -> list[Need]:
    """All lanes start at angle 0, where ∇J is about half of its largest."""
    atoms, alpha, own, offset, steps = FORMS[target]
    steps *= 1 if setting.profile == "ci" or target == "value" else 7
    return [
        request(
            rule, "wheel", LANES, setting, "wheel", (0, *(round(share * steps) for share in LATE)), alpha, beta or own,
            metrics=tuple(NAMES), target=target, atoms=atoms, predictor=PredictorSpec("own"),
            schedule=StepSchedule("robbins-monro", offset=offset), radius=RADIUS, cohort=LANES,
        )
    ]  # fmt: skip


def late_gradient(evidence: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes. Late, and not at one moment: who turns for ever passes every angle."""
    (trial,) = evidence
    curve = trial.of("gradient")
    share = end_over_start(np.stack([curve[0], curve[1:].mean(0)]), 2 * setting.false_alarm)
    ends = float(np.median(trial.of("J")[-1]))
    words = (
        f"‖∇J‖ over the last fifth of {trial.times[-1]:,} steps is {share.estimate:.3f} of its start "
        f"[{share.low:.3f}, {share.high:.3f}] in {share.n} lanes; J ends at {ends:.3g}"
    )
    return below(share, LIMIT, setting.false_alarm, words)
