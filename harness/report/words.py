"""A comparison in words: the question, the answer, and a sparkline of a curve."""

from __future__ import annotations

import numpy as np

from algorithms.checks import Floats
from harness.compare.comparison import ALPHA, Comparison, Performance

BLOCKS = "▁▂▃▄▅▆▇█"


def question(found: Comparison) -> str:
    """One sentence."""
    names = _list([who.label for who in found.contest.contestants])
    where = _list(list(found.contest.problems))
    return f"Which of {names} reduces the projected Bellman error most on {where}, and which varies least?"


def answer(found: Comparison) -> str:
    """Two sentences, based on the tests only."""
    return f"{_winners(found)} {_spread(found)}"


def _winners(found: Comparison) -> str:
    won: dict[str, list[str]] = {}
    for problem in found.contest.problems:
        if (label := found.winner(problem, "rmspbe", "auc")) is not None:
            won.setdefault(label, []).append(problem)
    none = [p for p in found.contest.problems if not any(p in places for places in won.values())]
    parts = [f"{label} is lowest on {_list(places)}" for label, places in won.items()]
    if none:
        parts.append(f"no rule beats every other on {_list(none)}")
    lost = sum(entry.diverged for entry in found.entries)
    tail = f"; {lost} of {sum(len(e.outcomes) for e in found.entries)} lanes diverged" if lost else ""
    return (
        f"By the area under RMSPBE over {found.contest.seeds} paired seeds (signed ranks, Holm at {ALPHA:.0%}), "
        f"{_list(parts)}{tail}."
    )


def _spread(found: Comparison) -> str:
    pairs = [entry for entry in found.entries if entry.spread]
    if not pairs:
        return "Spread across seeds was not compared: it needs a rule on values and on distributions, and four seeds."
    smaller, larger = ([e for e in pairs if _verdict(e) == side] for side in (-1, 1))
    rest = len(pairs) - len(smaller) - len(larger)
    places = f" ({_list([f'{e.who.rule.name} on {e.problem}' for e in smaller])})" if smaller else ""
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
