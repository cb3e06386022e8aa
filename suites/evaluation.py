"""Figure 2: on an off-policy grid world GTD2 and its distributional form converge at similar speed, the latter with
smaller variance. The paper gives no layout and no step sizes; ours are in docs/problems.md and below.
"""

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.rules import gtd2, td
from dgtd.harness.experiment.experiment import steps_to_share
from dgtd.harness.judging.claims import FULL, PROFILES, Claim, Judge, Need, Setting
from dgtd.harness.judging.statistics import (
    end_over_start,
    exponential,
    magnitude,
    mean_interval,
    robust_ratio,
    variance_ratio,
)
from dgtd.harness.judging.verdicts import Finding, agrees, below
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import PredictorSpec
from dgtd.suites import corrections
from dgtd.suites.means import medians, request
from dgtd.suites.returns import NO_RATIO, SMALLER

SOURCE = "Figure 2"
ATOMS, EVERY, STEPS = 50, 1000, 50_000
HIDDEN = (32,)
# (α, β) of GTD2, and of its distributional form by projection. Linear: what `dgtd compare` finds best for all. Network:
# each the best of 24 pairs on seeds of their own, with eight lanes a pair:
#     dgtd sweep --problem grid_world --rule gtd2 --predictor 'mlp(32)' --atoms 50 --sweep-seeds 8 --seeds 8 \
#       --alphas 0.001,0.004,0.016,0.0625,0.25,1 --ratios 0.25,1,4,16 [--target cdf --projection cramer | nearest]
STEP_SIZES = {
    "linear": dict.fromkeys(("value", "cramer", "nearest"), (0.125, 0.5)),
    "mlp": {"value": (0.0625, 0.0625), "cramer": (0.25, 1.0), "nearest": (0.0625, 0.0625)},
}
TARGET = 0.1  # of the RMSPBE's start: the mark to be reached, and to be timed
SIMILAR = 1.5  # steps to the mark differ by less than this factor
SHOWN = "RMSPBE of distributional GTD2, median"
PREDICTORS = {"linear": PredictorSpec(), "mlp": PredictorSpec("mlp", HIDDEN)}


def claims(rule: object = None) -> list[Claim]:
    """About the paper's figure, so about GTD2 whatever rule is asked for: nothing binds a user's rule here."""
    if rule is not None:
        return []
    says = (
        "linear, undiscounted, Cramér projection, no atom shifted out of range: distributional GTD2's mean takes "
        "GTD2's very path"
    )
    source = "ours; Lyle, Bellemare & Castro 2019 on expected and distributional learning"
    made = [Claim("evaluation/random_walk/linear/same-path", says, source, needs=paths, judge=paths_agree)]
    made += corrections.claims()
    figure: list[tuple[str, str, Judge]] = [
        ("converges", f"distributional GTD2's RMSPBE falls to {TARGET:.0%} of its start", converges),
        ("speed", f"GTD2 and its distributional form need as many steps, within a factor {SIMILAR:g}", similar_speed),
        (
            "variance",
            f"the distributional form's variance over seeds is at most {SMALLER:g} of GTD2's",
            smaller_variance,
        ),
    ]
    for (predictor, profiles), projection in product((("linear", PROFILES), ("mlp", FULL)), ("cramer", "nearest")):
        for name, says, judge in figure:
            id_, what = f"evaluation/grid_world/{predictor}/{projection}/{name}", f"{says} ({predictor}, {projection})"
            needs = partial(both_forms, predictor, projection)
            made.append(Claim(id_, what, SOURCE, needs=needs, judge=judge, figure=True, profiles=profiles))
    return made


# ---------------------------------------------------------------------- the figure


def both_forms(predictor: str, projection: str, setting: Setting) -> list[Need]:
    """GTD2 and its distributional form, on the same transitions."""
    lanes = 100 if setting.profile == "paper" or (setting.profile == "full" and predictor == "linear") else 30
    lanes = setting.lanes(lanes)
    return [
        request(
            gtd2, "grid_world", lanes, setting, "evaluation", range(0, STEPS + 1, EVERY),
            *STEP_SIZES[predictor][name], metrics=("rmspbe",), predictor=PREDICTORS[predictor], **form,
        )
        for name, form in (
            ("value", {"target": "value"}), (projection, {"target": "cdf", "atoms": ATOMS, "projection": projection}),
        )
    ]  # fmt: skip


def curves(evidence: list[Lanes]) -> tuple[Integers, Floats, Floats]:
    """Steps, and RMSPBE of the mean [lanes, checkpoints]: of the value form, and of the distributional one."""
    value, law = evidence
    return value.times, value.of("rmspbe").T, law.of("rmspbe").T


def converges(evidence: list[Lanes], setting: Setting) -> Finding:
    share = end_over_start(evidence[1].of("rmspbe"), 2 * setting.false_alarm)
    words = f"RMSPBE is {share.estimate:.3g} of its start [{share.low:.3g}, {share.high:.3g}] after {STEPS} steps"
    return below(share, TARGET, setting.false_alarm, words, **medians(evidence[1], "rmspbe", SHOWN))


def similar_speed(evidence: list[Lanes], setting: Setting) -> Finding:
    """The interval of the ratio must lie within [1/SIMILAR, SIMILAR]: equivalence, not the absence of a difference."""
    times, theirs, ours = curves(evidence)
    marks = [steps_to_share(times, each, TARGET) for each in (ours, theirs)]
    never = [int(np.isinf(mark).sum()) for mark in marks]
    logs = mean_interval(np.log(np.minimum(marks[0], 2 * STEPS) / np.minimum(marks[1], 2 * STEPS)), setting.false_alarm)
    ratio = exponential(logs)
    words = (
        f"steps to {TARGET:.0%}: {ratio.estimate:.3f} × GTD2's [{ratio.low:.3f}, {ratio.high:.3f}]; "
        f"{never[0]} and {never[1]} of {logs.n} lanes never (counted as {2 * STEPS})"
    )
    return below(
        exponential(magnitude(logs)), SIMILAR, setting.false_alarm, words, **medians(evidence[1], "rmspbe", SHOWN)
    )


def smaller_variance(evidence: list[Lanes], setting: Setting) -> Finding:
    """Of each lane's mean RMSPBE over the last fifth of the steps."""
    times, theirs, ours = curves(evidence)
    last = times > 0.8 * STEPS
    pair = ours[:, last].mean(1), theirs[:, last].mean(1)
    found, ratio = variance_ratio(*pair), robust_ratio(*pair, 2 * setting.false_alarm)
    words = (
        f"variance ratio {ratio:.3f}, {len(ours)} paired lanes, p of equal spread {found.p:.2g}; sd over seeds "
        f"{ours[:, last].mean(1).std(ddof=1):.3g} against {theirs[:, last].mean(1).std(ddof=1):.3g}"
    )
    return below(ratio, SMALLER, setting.false_alarm, words, NO_RATIO, **medians(evidence[1], "rmspbe", SHOWN))


# ---------------------------------------------------------------------- why the figure's linear half is what it is

PAIRS = ((gtd2, "random_walk"), (gtd2, "grid_world"), (td, "random_walk"), (td, "grid_world"))


def paths(setting: Setting) -> list[Need]:
    """The value of every state along 16 lanes, of both forms of each pair."""
    settings: tuple[Any, ...] = (16, setting, "evaluation", (10, 100, 1000, 5000), 0.05, 0.2)
    return [
        request(*pair, *settings, metrics=("values",), target=target) for pair in PAIRS for target in ("value", "cdf")
    ]


def paths_agree(evidence: list[Lanes], setting: Setting) -> Finding:
    """The largest difference of a state's value, over lanes and checkpoints.

    T keeps means: its columns add up to γ. GTD2 also moves along Tᵀu, and T's rows add up to 1: the mean's path is
    GTD2's if γ = 1 and no atom is shifted out of the range (on Boyan's chain some are, and the paths part).
    Semi-gradient TD has no such term, and takes the same path at any γ.
    """
    pairs = zip(evidence[::2], evidence[1::2], strict=True)
    apart, discounted, *of_td = (float(np.abs(law.curves - value.curves).max()) for value, law in pairs)
    words = (
        f"means differ by {apart:.1e} at most along 16 lanes of 5000 steps (TD's by {max(of_td):.1e}, discounted or "
        f"not); on grid_world, γ = 0.95, GTD2's differ by {discounted:.2g}"
    )
    return agrees(float(np.max([apart, *of_td])), 1e-9, setting, 16, words)  # max() would skip a NaN
