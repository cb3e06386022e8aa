"""Figure 2: GTD2 and its distributional form on the off-policy grid world."""

from typing import Any

from dgtd.harness.judging.claims import Need, Setting
from dgtd.harness.report.drawing import Figure
from dgtd.harness.report.panels import Bundle, Line, means, spreads
from dgtd.harness.report.paper import PaperFigure, Statement
from dgtd.suites import evaluation
from dgtd.suites.figures.search import stated

PROJECTIONS = ("cramer", "nearest")
SHOWN = {"linear": "linear predictor", "mlp": f"network, {evaluation.HIDDEN[0]} units"}
SENTENCES = {
    "GTD2 and distributional GTD2 both converge off-policy.": ("evaluation/grid_world/*/converges",),
    "They converge at similar speed.": ("evaluation/grid_world/*/speed",),
    "Distributional GTD2 has the smaller variance.": ("evaluation/grid_world/*/variance",),
}
OURS = (
    "A grid world whose behaviour policy is the optimal one with 5 % random actions, 50 atoms, and MSPBE at every 1000 "
    "steps, as in the paper; it gives no layout, no predictor and no step sizes. Ours are in docs/problems.md, the "
    "step sizes are the best of a sweep for each form, and both projections are shown. The error is RMSPBE, the root "
    "of MSPBE, of values and of the laws' means."
)


def figure() -> PaperFigure:
    return PaperFigure(2, "off-policy evaluation on a grid world", OURS, statements, needs, draw)


def statements(setting: Setting) -> list[Statement]:
    """Of both predictors and both projections."""
    return stated(evaluation.claims(), SENTENCES, setting.profile)


def needs(setting: Setting) -> list[Need]:
    """For each predictor the value form, then a law for each projection."""
    made = []
    for predictor in evaluation.PREDICTORS:
        pairs = [evaluation.both_forms(predictor, projection, setting) for projection in PROJECTIONS]
        made += [pairs[0][0], *(law for _, law in pairs)]
    return made


def draw(evidence: list[Any]) -> list[Figure]:
    """RMSPBE and its spread, linear and network."""
    names = ("GTD2", *(f"distributional GTD2, {projection}" for projection in PROJECTIONS))
    each, panels, count = len(names), [], 0
    for i, predictor in enumerate(evaluation.PREDICTORS):
        trials = evidence[i * each : (i + 1) * each]
        lanes = [
            Bundle(Line(name, place, dashed=place > 0), trial.times, trial.of("rmspbe").T)
            for place, (name, trial) in enumerate(zip(names, trials, strict=True))
        ]
        count = max(count, len(lanes[0].curves))
        title = SHOWN[predictor]
        panels += [
            means(title, lanes, "RMSPBE, mean", log=True),
            spreads(title, lanes, "RMSPBE, standard deviation", log=True),
        ]
    words = (
        f"RMSPBE against steps: means over {count} lanes with 95 % intervals, and the standard deviation over lanes."
    )
    return [Figure("figure-2", "MSPBE on the off-policy grid world", words, tuple(panels))]
