"""The whole search behind Figure 1 as pictures: how much of the space works for each form, and where."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from dgtd.harness.experiment.search import Point, points
from dgtd.harness.judging.claims import Claim
from dgtd.harness.report.drawing import INK, Figure, Panel, Reading, Readings
from dgtd.harness.report.panels import Line, labelled
from dgtd.harness.report.paper import Statement
from dgtd.suites.policy_iteration.search import FORMS, LANES, LEARNS, SEARCHED, STEPS, Form, number, returns, shown

# Mean returns from .. on, as markers: Okabe and Ito's colours, and shapes for who sees none.
CLASSES = ((-np.inf, "#999999", "x"), (LEARNS, "#56B4E9", "o"), (120.0, "#E69F00", "s"), (160.0, "#D55E00", "D"))
CHOICES = (  # 32 settings have the first, 32 the second
    ("replay", "online", lambda point: point.replayed),
    ("decaying steps", "constant", lambda point: point.decaying),
    ("relu", "tanh", lambda point: point.activation == "relu"),
    ("Γ", "without", lambda point: point.bounded),
    ("nearest", "cramer", lambda point: point.projection == "nearest"),
    ("pinned logit", "free", lambda point: point.pinned),
)
OF_LAWS = 2  # the last of them, which values do not have


def line(form: Form) -> Line:
    """As everywhere: a rule has one colour, and its distributional form is dashed."""
    values = [rule for rule, target in FORMS if target == "value"]
    return Line(shown(*form), FORMS.index(form), dashed=form[1] == "cdf", like=values.index(form[0]))


def pictures() -> list[Figure]:
    return [ranked(), scattered()]


def ranked() -> Figure:
    """Every form's returns from best to worst."""

    def draw(axis: Any) -> Readings:
        curves, place = [], np.arange(1, SEARCHED + 1)
        for form in FORMS:
            best, here = np.sort(returns(form))[::-1], line(form)
            axis.plot(place, best, **here.style)
            curves.append(Reading(here.mark, here.name, place.tolist(), [f"{one:.0f}" for one in best]))
        axis.axhline(LEARNS, color=INK, lw=0.8, ls=":")
        place_of, ends = (lambda x: f"setting {x:.0f} of {SEARCHED}"), "settings, from a form's best to its worst"
        return labelled(axis, curves, ends, "mean return, last fifth", place_of)

    works = [f"{shown(*form)} {int((returns(form) > LEARNS).sum())}" for form in FORMS]
    words = (
        f"Mean return over the last fifth of {STEPS:,} steps on CartPole-v0 at each of {SEARCHED} settings, {LANES} "
        f"lanes each. Random actions earn 22; more than {LEARNS:g} (dotted) is learning. Settings that learn, of "
        f"{SEARCHED}: {', '.join(works)}."
    )
    return Figure("figure-1-search", "The search", words, (Panel("every setting", draw, named=True),))


def scattered() -> Figure:
    """Step sizes of every setting, by what was earned."""
    words = (
        "The same settings by their step sizes, a panel per form; a ring is the setting that was chosen. "
        f"{' '.join(map(by_choice, FORMS))}"
    )
    return Figure("figure-1-step-sizes", "Where each form works", words, tuple(map(_panel, FORMS)))


def _panel(form: Form) -> Panel:
    def draw(axis: Any) -> None:
        made, earned = points(SEARCHED), returns(form)
        alpha, beta = np.array([(point.alpha, point.beta) for point in made]).T
        for i, (least, colour, marker) in enumerate(CLASSES):
            most = CLASSES[i + 1][0] if i + 1 < len(CLASSES) else np.inf
            some = (earned > least) & (earned <= most)
            label = f"up to {most:g}" if i == 0 else f"more than {least:g}"
            axis.scatter(alpha[some], beta[some], s=22, color=colour, marker=marker, label=label, lw=1.2)
        at = number(form)
        axis.scatter(alpha[at], beta[at], s=110, facecolors="none", edgecolors=INK, lw=1.2)
        axis.set(xlabel="α", ylabel="β", xscale="log", yscale="log", ylim=(beta.min() / 1.5, beta.max() * 12))
        axis.legend(frameon=False, fontsize="x-small", ncols=2, loc="upper left")

    return Panel(shown(*form), draw, named=True)


def by_choice(form: Form) -> str:
    """Of the settings that work, how many have which choice."""
    works = [point for point, earned in zip(points(SEARCHED), returns(form), strict=True) if earned > LEARNS]
    listed = CHOICES if form[1] == "cdf" else CHOICES[:-OF_LAWS]
    parts = [f"{yes} {_count(works, has)}, {no} {_count(works, has, False)}" for yes, no, has in listed]
    name = shown(*form)
    return f"{name[0].upper()}{name[1:]} learns at {len(works)}: {'; '.join(parts)}."


def _count(works: list[Point], has: Any, wanted: bool = True) -> int:
    return sum(bool(has(point)) == wanted for point in works)


def stated(made: list[Claim], sentences: Mapping[str, tuple[str, ...]], profile: str) -> list[Statement]:
    """Sentences, each with the claims of a profile whose ids fit one of its patterns. One that fits none is a mistake.

    A world that is not installed has no claims: such a pattern begins with '?'.
    """
    out = []
    for says, patterns in sentences.items():
        found: list[Claim] = []
        for pattern in patterns:
            fitting = [claim for claim in made if fnmatchcase(claim.id, pattern.removeprefix("?"))]
            if not fitting and not pattern.startswith("?"):
                raise ValueError(f"no claim fits {pattern!r}")
            found += fitting
        out.append(Statement(says, tuple(claim for claim in found if profile in claim.profiles)))
    return out
