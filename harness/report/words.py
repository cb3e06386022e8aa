"""A comparison in words: the question, the answer, and a sparkline of a curve."""

from __future__ import annotations

import numpy as np

from algorithms.checks import Floats
from harness.compare.across import across
from harness.compare.comparison import ALPHA, POWER, Comparison, Duel, Performance, number_of_tests, undecidable
from harness.compare.contest import Contestant
from harness.judging.statistics import Interval, lanes_for_median
from harness.report.exact_lines import exactness

BLOCKS = "▁▂▃▄▅▆▇█"


def question(found: Comparison) -> str:
    """One sentence."""
    names = _list([who.label for who in found.contest.contestants])
    where = _list(list(found.contest.problems))
    return f"Which of {names} reduces the projected Bellman error most on {where}, and which varies least?"


def answer(found: Comparison) -> list[str]:
    """Sentences, what a reader wants to know first: form against form, rule against rule, cautions, and the spread."""
    contest = found.contest
    head = (
        f"By the area under RMSPBE over {contest.seeds} paired seeds (signed ranks, Holm at {ALPHA:.0%} over "
        f"{number_of_tests(contest)} tests):"
    )
    return [head, *_meetings(found), *_together(found), *_cautions(found), _spread(found), *exactness(found)]


def _meetings(found: Comparison) -> list[str]:
    """A sentence for each two contestants that differ in one thing: first in their form, then in their rule."""
    who = found.contest.contestants
    pairs = [(a, b) for i, a in enumerate(who) for b in who[i + 1 :]]
    forms = [(a, b) for a, b in pairs if a.rule == b.rule and a.distributional != b.distributional]
    rules = [(a, b) for a, b in pairs if a.rule != b.rule and a.target == b.target]
    return [_meeting(found, a, b) for a, b in forms + rules]


def _meeting(found: Comparison, a: Contestant, b: Contestant) -> str:
    """B against A, so that a distributional form is the subject."""
    duels = [found.duel(problem, a, b) for problem in found.contest.problems]
    relations = {
        "is lower than": [d for d in duels if d.winner == b.label],
        "is higher than": [d for d in duels if d.winner == a.label],
        "is identical, lane by lane, to": [d for d in duels if d.identical],
        "is not told apart from": [d for d in duels if d.winner is None and not d.identical],
    }
    other, clauses = a.label, []
    for relation, some in relations.items():
        if some:
            clauses.append(f"{relation} {other} on {_list([d.problem + _effect(found, d) for d in some])}")
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
    if duel.identical:
        return ""
    result = duel.result
    lower = result.n * (1 - result.better.estimate)
    (a,) = [entry for entry in found.at(duel.problem) if entry.who.label == duel.a]
    typical = float(np.median(a.numbers(duel.metric)[duel.number]))
    share = f"{-result.median_difference / typical:+.2%}, " if np.isfinite(typical) and typical > 0 else ""
    size = f"{share}lower in {lower:g} of {result.n} pairs"
    if duel.winner is None:
        needed = result.lanes_to_tell(ALPHA / number_of_tests(found.contest), POWER)  # if every test stays
        size += f"; about {needed} seeds would tell" if needed else "; too small to tell with any seeds"
    return f" ({size})"


def _cautions(found: Comparison) -> list[str]:
    """What a reader must know before believing the sentences above."""
    out = []
    if words := undecidable(found.contest.seeds, number_of_tests(found.contest)):
        out.append(words + ".")
    if found.contest.seeds < lanes_for_median(ALPHA):
        out.append(f"A {1 - ALPHA:.0%} interval of a median needs {lanes_for_median(ALPHA)} seeds, so none is shown.")
    lost = sum(entry.diverged for entry in found.entries)
    if lost:
        out.append(f"{lost} of {sum(len(e.outcomes) for e in found.entries)} lanes diverged.")
    edges = [
        f"{e.who.label} on {e.problem} ({_list(list(e.choice.on_edge))})" for e in found.entries if e.choice.on_edge
    ]
    if edges:
        which = _list(edges) if len(edges) <= 4 else f"{len(edges)} of {len(found.entries)} choices (the sweep's table)"
        out.append(f"On the edge of the sweep's grid, so that a better step size may lie beyond: {which}.")
    return out + _other_starts(found)


def _other_starts(found: Comparison) -> list[str]:
    """Forms of one rule that begin at different errors: their areas are not to be compared as they stand."""
    out = []
    for problem in found.contest.problems:
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
    places = f" ({_list([f'{e.who.name} on {e.problem}' for e in smaller])})" if smaller else ""
    return (
        f"Across seeds, the distributional form's final RMSPBE varies less than its value form's in {len(smaller)} of "
        f"{len(pairs)} cases{places}, more in {len(larger)}, and the tests find no difference in {rest}."
    )


def _verdict(entry: Performance) -> int:
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


def _list(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
