"""A comparison in words: the question, the answer, and a sparkline of a curve."""

from __future__ import annotations

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.across import across
from dgtd.harness.experiment.comparison import ALPHA, Comparison, Duel, Entry, undecidable
from dgtd.harness.experiment.experiment import Entrant
from dgtd.harness.judging.statistics import Interval, lanes_for_median
from dgtd.harness.report.answer import FEW, best, both_diverge, diverging, families, lead, listed, sort
from dgtd.harness.report.exact_lines import exactness

SAME = (
    "Identical is no mistake: where nothing is discounted and no atom is shifted out of the range, the mean of a "
    "linear distributional form takes its value form's very path (the claim evaluation/random_walk/linear/same-path)."
)
BLOCKS = "▁▂▃▄▅▆▇█"


def question(found: Comparison) -> str:
    names = listed([who.label for who in found.experiment.entrants])
    where = listed(list(found.experiment.places))
    does = "earns most" if found.experiment.in_worlds else "reduces the projected Bellman error most"
    return f"Which of {names} {does} on {where}, and which varies least?"


def method(found: Comparison) -> str:
    """How the page was made, in a few sentences."""
    experiment = found.experiment
    lines = (
        f"Lines are means over seeds of the returns of episodes between two checkpoints, bands their {1 - ALPHA:.0%} "
        "t-intervals. Agents share their worlds' and their exploration's random numbers lane by lane."
        if experiment.in_worlds
        else f"Lines are medians over seeds, bands are their {1 - ALPHA:.0%} intervals. "
        "A dashed line is a rule on return distributions."
    )
    return (
        f"{experiment.seeds} paired seeds, {experiment.steps:,} steps, {experiment.atoms} atoms "
        f"({experiment.projection}). {lines} Diverged seeds count as infinitely bad, and no seed is left out."
    )


def answer(found: Comparison) -> list[str]:
    """Sentences, what a reader wants to know first: the answer with its size, who diverges, what is open, cautions."""
    earned = _earned(found) if found.experiment.in_worlds else best(found)
    spread = [] if found.experiment.in_worlds else [_spread(found)]
    said = [*earned, *lead(found), *diverging(found), *_open(found), *_cautions(found), *spread]
    return said or ["Nothing is compared: there is one rule."]


def details(found: Comparison) -> list[str]:
    """What the sentences rest on: each two entrants, all problems at once, and how far lanes are from theory."""
    experiment = found.experiment
    tests = f"{experiment.tests} test{'s' * (experiment.tests != 1)}"
    asked = (
        f"asked at {listed([f'{n:,}' for n in experiment.looks])} seeds, {ALPHA:.0%} in all" if experiment.looks
        else f"Holm at {ALPHA:.0%} over {tests}"
    )  # fmt: skip
    head = (
        f"Tested: the {experiment.score(experiment.places[0]).label} over {experiment.seeds} paired seeds (signed "
        f"ranks, {asked}). Too small to matter: within {experiment.matters:.2g} of it, by two one-sided tests."
    )
    forms, _ = families(found)
    same = [SAME] if any(sort(found, case) == "identical" for case in forms) and experiment.predictor is None else []
    more = [] if experiment.in_worlds else [*same, *_together(found), *exactness(found)]
    return [head, *_meetings(found), *more]


def _open(found: Comparison) -> list[str]:
    """What is not decided, and how many seeds it would take."""
    open_ = [duel for duel in found.duels if duel.open]
    if not open_:
        return []
    guesses = [duel.lanes for duel in open_ if duel.lanes]
    some = f"{len(open_)} of {found.experiment.tests} tests {'is' if len(open_) == 1 else 'are'} open"
    if len(open_) <= FEW:
        some += f" ({', '.join(f'{duel.b} against {duel.a} on {duel.place}' for duel in open_)})"
    tests = some if found.experiment.tests > 1 else "It is open"
    if not guesses:
        return [f"{tests}, and too close for a guess at how many seeds would tell."]
    none = f" ({len(open_) - len(guesses)} look too small for any number)" if len(guesses) < len(open_) else ""
    low, high = min(guesses), max(guesses)
    return [f"{tests}: about {low if low == high else f'{low} to {high}'} seeds would tell{none}."]


def _earned(found: Comparison) -> list[str]:
    """A sentence for each world: medians, the best first."""
    out = []
    for place in found.experiment.places:
        ranked = sorted(found.at(place), key=lambda entry: -np.median(entry.tested))
        told = ", ".join(f"{entry.who.label} {_amount(float(np.median(entry.tested)))}" for entry in ranked)
        label = found.experiment.score(place).label
        out.append(f"{place}, median {label} ({found.experiment.steps:,}): {told}.")
    return out


def _amount(value: float) -> str:
    """A number of either sign; infinite where lanes diverged."""
    return f"{value:.4g}" if np.isfinite(value) else "−∞" if value < 0 else "∞"


def _meetings(found: Comparison) -> list[str]:
    """A sentence for each two contestants that differ in one thing: first in their form, then in their rule."""
    who = found.experiment.entrants
    pairs = [(a, b) for i, a in enumerate(who) for b in who[i + 1 :]]
    forms = [(a, b) for a, b in pairs if a.rule == b.rule and a.distributional != b.distributional]
    rules = [(a, b) for a, b in pairs if a.rule != b.rule and (a.target == b.target or found.experiment.in_worlds)]
    return [_meeting(found, a, b) for a, b in forms + rules]


def _meeting(found: Comparison, a: Entrant, b: Entrant) -> str:
    """B against A, so that a distributional form is the subject."""
    duels = [found.duel(problem, a, b) for problem in found.experiment.places]
    higher = found.experiment.score(found.experiment.places[0]).higher
    better, worse = ("earns more than", "earns less than") if higher else ("is lower than", "is higher than")
    lost = [d for d in duels if both_diverge(found, d)]
    duels = [d for d in duels if d not in lost]
    relations = {
        better: [d for d in duels if d.winner == b.label],
        worse: [d for d in duels if d.winner == a.label],
        "is identical, seed by seed, to": [d for d in duels if d.identical],
        "is not told apart from": [d for d in duels if d.winner is None and not d.identical],
        "diverges as does": lost,
    }
    other, clauses = a.label, []
    for relation, some in relations.items():
        if some:
            clauses.append(f"{relation} {other} on {listed([d.place + _effect(found, d) for d in some])}")
            other = "it"
    return f"{b.label} {'; '.join(clauses)}."


def _together(found: Comparison) -> list[str]:
    """One sentence on all problems at once."""
    seen = across(found)
    if seen is None:
        return []
    order = sorted(seen.middles, key=lambda label: seen.middles[label].estimate)
    middles = [f"{label} {_share(seen.middles[label])}" for label in order]
    return [
        f"Over all problems, the area as a share of its start has these interquartile means [{1 - ALPHA:.0%}]: "
        f"{', '.join(middles)}."
    ]


def _share(interval: Interval) -> str:
    if not np.isfinite(interval.estimate):
        return "∞ (more than a quarter of the lanes diverged on a problem)"
    return f"{interval.estimate:.3g} [{interval.low:.3g}, {interval.high:.3g}]"


def _effect(found: Comparison, duel: Duel) -> str:
    """How large the difference is, B against A, and in how many pairs B is lower; for an open one, what would tell."""
    if duel.identical or both_diverge(found, duel):
        return ""
    result = duel.result
    better = result.n * (1 - result.better.estimate)
    if not np.isfinite(duel.difference):
        share = ""
    elif duel.higher:
        share = f"{_amount(-duel.difference)}, "  # returns may be negative: a share of them means nothing
    else:
        share = f"{duel.share:+.2%}, "
    size = f"{share}{'higher' if duel.higher else 'lower'} in {better:g} of {result.n} pairs"
    if duel.small:
        size += "; too small to matter"
    elif duel.winner is None:
        size += f"; about {duel.lanes} seeds would tell" if duel.lanes else "; too small to tell with any seeds"
    return f" ({size})"


def _cautions(found: Comparison) -> list[str]:
    """What a reader must know before believing the sentences above."""
    out = []
    if words := undecidable(found.experiment.seeds, found.experiment.tests):
        out.append(words + ".")
    if found.experiment.seeds < lanes_for_median(ALPHA):
        out.append(f"A {1 - ALPHA:.0%} interval of a median needs {lanes_for_median(ALPHA)} seeds, so none is shown.")
    edges = [f"{e.who.label} on {e.place} ({listed(list(e.choice.on_edge))})" for e in found.entries
             if e.choice.on_edge and not e.diverges]  # fmt: skip
    if edges:
        which = (
            listed(edges) if len(edges) <= 4 else f"{len(edges)} of {len(found.entries)} choices (the sweep's table)"
        )
        out.append(f"On the edge of the sweep's grid, so that a better step size may lie beyond: {which}.")
    return out if found.experiment.in_worlds else out + _other_starts(found)


def no_stable_words(entry: Entry) -> str:
    """What diverged whatever the step sizes, and where to look next."""
    tried = sorted(entry.choice.sweep, key=lambda s: (s.alpha, s.beta))
    lost = ", ".join(f"α={s.alpha:g} β={s.beta:g}: {s.diverged} of {s.lanes}" for s in tried[:3])
    return (
        f"No stable step sizes for {entry.who.label} on {entry.place}: each of {len(tried)} settings had lanes that "
        f"diverged ({lost}{', …' if len(tried) > 3 else ''}); try smaller --alphas."
    )


def _other_starts(found: Comparison) -> list[str]:
    """Forms of one rule that begin at different errors: their areas are not to be compared as they stand."""
    out = []
    for problem in found.experiment.places:
        here = found.at(problem)
        for a in here:
            for b in here:
                if a.who.rule != b.who.rule or a.who.distributional or not b.who.distributional:
                    continue
                starts = [float(np.median(each.of("rmspbe")[:, 0])) for each in (a, b)]
                if abs(starts[0] - starts[1]) > 0.01 * max(starts):
                    linear = a.spec.learner.predictor.kind == "linear"
                    why = "its features hold no constant" if linear else "its random weights mean another law"
                    out.append(
                        f"On {problem} {b.who.label} starts at RMSPBE {starts[1]:.3g} and {a.who.label} at "
                        f"{starts[0]:.3g} ({why}): compare their falls, not their areas."
                    )
    return out


def _spread(found: Comparison) -> str:
    pairs = [entry for entry in found.entries if entry.spread]
    if not pairs:
        return "Spread across seeds was not compared: it needs a rule on values and on distributions, and four seeds."
    smaller, larger = ([e for e in pairs if _verdict(e) == side] for side in (-1, 1))
    rest = len(pairs) - len(smaller) - len(larger)
    less, more = (
        f" ({listed([f'{e.who.name} on {e.place}' for e in some])})" * bool(some) for some in (smaller, larger)
    )
    return (
        f"Across seeds, the distributional form's final RMSPBE varies less than its value form's in {len(smaller)} of "
        f"{len(pairs)} cases{less}, more in {len(larger)}{more}, and the tests find no difference in {rest}."
    )


def _verdict(entry: Entry) -> int:
    ratio = entry.spread["final"]
    if ratio.p >= ALPHA or ratio.ratio.low <= 1 <= ratio.ratio.high:
        return 0
    return -1 if ratio.ratio.estimate < 1 else 1


def sparkline(values: Floats, width: int = 16) -> str:
    """A curve of positive numbers on a logarithmic scale; × where it was not finite."""
    picked = values[np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int)]
    fine = np.isfinite(picked) & (picked < 1e30)
    if not fine.any():
        return "×" * len(picked)
    logs = np.log10(np.maximum(picked[fine], 1e-12))
    low, span = logs.min(), max(np.ptp(logs), 1e-9)
    blocks = iter(BLOCKS[round((x - low) / span * (len(BLOCKS) - 1))] for x in logs)
    return "".join(next(blocks) if ok else "×" for ok in fine)
