"""What a comparison found, the answer first: who is better, by how much, in how many cases; then who diverges."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from dgtd.harness.experiment.comparison import Comparison, Duel, Entry
from dgtd.harness.experiment.experiment import Entrant
from dgtd.harness.places.world import find_place

FEW = 3  # cases that are named one by one
Case = tuple[Duel, Entrant, Entrant]  # A's meeting with B at a place


def lead(found: Comparison) -> list[str]:
    """A sentence per question: form against form, then rule against rule."""
    forms, rules = families(found)
    said = []
    if forms:
        said.append(_sentence(found, forms, "Learning return distributions instead of values"))
    for (a, b), cases in rules.items():
        said.append(_sentence(found, cases, f"{b} against {a}"))
    return said


def best(found: Comparison) -> list[str]:
    """Who has the lowest error where, and by how much: one sentence, where there are more than two to choose from."""
    if len(found.experiment.entrants) < 3:
        return []
    ahead: dict[str, list[str]] = {}
    for place in found.experiment.places:
        if first := _first(found, place):
            ahead.setdefault(listed(first[0]), []).append(f"{place} ({first[1]})")
    if not ahead:
        return ["On no problem is the error of one of them shown to be lower than another's by more than matters."]
    return [f"Lowest error: {'; '.join(f'{names} on {listed(places)}' for names, places in ahead.items())}."]


def _first(found: Comparison, place: str) -> tuple[list[str], str] | None:
    """Who beats another by more than matters and is beaten by nobody so, and the smallest lead over who is beaten.

    Leads are shares of the loser's error.
    """
    wins: set[str] = set()
    lost: dict[str, list[float]] = {entry.who.label: [] for entry in found.at(place)}
    for a, b in combinations(found.experiment.entrants, 2):
        duel = found.duel(place, a, b)
        if duel.winner and abs(duel.share) > found.experiment.matters and not both_diverge(found, duel):
            change = abs(duel.share)  # of the first named
            wins.add(duel.winner)
            lost[duel.a if duel.winner == duel.b else duel.b].append(change / (1 + change * (duel.winner == duel.a)))
    first = [label for label, sizes in lost.items() if label in wins and not sizes]
    if not first:
        return None
    leads = [max(sizes) for sizes in lost.values() if sizes]
    known = [lead for lead in leads if math.isfinite(lead)]
    open_ = [label for label, sizes in lost.items() if label not in wins and not sizes]
    words = f"{_percent(min(known))} ahead of the next" if known else "the others diverge"
    return first, words + (f", not told apart from {listed(open_)}" if open_ else "")


def families(found: Comparison) -> tuple[list[Case], dict[tuple[str, str], list[Case]]]:
    """Cases that differ in their form alone, and by pair of rules those that differ in their rule alone."""
    forms: list[Case] = []
    rules: dict[tuple[str, str], list[Case]] = {}
    for place in found.experiment.places:
        for a, b in combinations(found.experiment.entrants, 2):
            case = (found.duel(place, a, b), a, b)
            if a.rule == b.rule and a.distributional != b.distributional:
                forms.append(case)
            elif a.rule != b.rule and (a.target == b.target or found.experiment.in_worlds):
                names = (a.label, b.label) if found.experiment.in_worlds else (a.name, b.name)
                rules.setdefault(names, []).append(case)
    return forms, rules


def _sentence(found: Comparison, cases: list[Case], subject: str) -> str:
    """How B fares against A, counted over the cases."""
    higher = cases[0][0].higher
    matters = _percent(found.experiment.matters)
    words = {
        "better": "earns more" if higher else "lower error",
        "worse": "earns less" if higher else "higher error",
        "small": f"no difference that matters (below {matters})",
        "identical": "identical, seed by seed",
        "open": "not decided",
        "lost": "no comparison, since both diverge",
    }
    sorts = {key: [case for case in cases if sort(found, case) == key] for key in words}
    many = len(cases)
    parts = []
    for key, some in sorts.items():
        if some:
            count = "" if many == 1 else " in all" if len(some) == many else f" in {len(some)}"
            more = "; ".join(part for part in (_sizes(some, key), _named(some, cases)) if part)
            parts.append(words[key] + count + (f" ({more})" if more else ""))
    return f"{subject}{f', {many} cases' if many > 1 else ''}: {'; '.join(parts)}."


def sort(found: Comparison, case: Case) -> str:
    """better or worse (B than A), small, identical, open, or lost: both diverge, so that there is nothing to weigh."""
    duel, _, b = case
    if both_diverge(found, duel):
        return "lost"
    if duel.identical:
        return "identical"
    if duel.small:
        return "small"
    if duel.winner is None:
        return "open"
    return "better" if duel.winner == b.label else "worse"


def both_diverge(found: Comparison, duel: Duel) -> bool:
    """Whether every seed of both does."""
    return all(entry.diverges for entry in found.at(duel.place) if entry.who.label in (duel.a, duel.b))


def _sizes(some: list[Case], key: str) -> str:
    """From the smallest to the largest median change; those that diverge have none."""
    if key not in ("better", "worse"):
        return ""
    higher = some[0][0].higher
    known = [case[0] for case in some if math.isfinite(case[0].share)]
    sizes = sorted(abs(duel.difference if higher else duel.share) for duel in known)
    lost = ["it diverges" if key == "worse" else "the other diverges"] if len(sizes) < len(some) else []
    if not sizes:
        return lost[0]
    low, high = (f"{size:.3g}" if higher else _percent(size) for size in (sizes[0], sizes[-1]))
    return ", or ".join([f"by {low}" if low == high else f"by {low} to {high}", *lost])


def _percent(share: float) -> str:
    return f"{share:.2g} times" if share >= 10 else f"{100 * share:.2g} %"


def _named(some: list[Case], cases: list[Case]) -> str:
    """Which they are, where they are few and not all."""
    if len(some) > FEW or len(cases) == 1:
        return ""
    one_pair = len({(a, b) for _, a, b in cases}) == 1
    return ", ".join(duel.place if one_pair else f"{b.label} on {duel.place}" for duel, _, b in some)


# ---------------------------------------------------------------------- divergence


def diverging(found: Comparison) -> list[str]:
    """A sentence for each entrant that diverges somewhere, in whole or in part."""
    return [_fate(entry) for entry in found.entries if entry.diverged]


def _fate(entry: Entry) -> str:
    name = f"{entry.who.label} on {entry.place}"
    if not entry.diverges:
        return f"{name}: {entry.diverged} of {entry.count} seeds diverge{_death(entry)}.{certified(entry)}"
    tried = len(entry.choice.sweep)
    every = entry.choice.sweep and (entry.grows or not entry.choice.stable)
    where = f" at every step size tried ({tried} settings)" if every else f" at α = {entry.spec.learner.alpha:.3g}"
    return f"{name} diverges{where}, in all {entry.count} seeds{_death(entry)}.{certified(entry)}"


def _death(entry: Entry) -> str:
    """When, or how far it has come."""
    lost = entry.lanes.died[entry.lanes.lost]
    if (lost >= 0).all():
        return f"; half of them overflow by step {int(np.median(lost)):,}"
    if find_place(entry.place).acts:
        return ""
    error = entry.of(entry.tested_metric)[entry.lanes.lost]
    with np.errstate(all="ignore"):
        times = float(np.median(np.where(np.isfinite(error[:, -1]), error[:, -1] / error[:, 0], np.inf)))
    if not math.isfinite(times):
        return ""
    grown = f"{times:.3g} times what it was" if times >= 1.005 else "no smaller than"
    return f"; after {entry.times[-1]:,} steps the error is {grown} at the start"


def certified(entry: Entry) -> str:
    """The certificate's word on a rule that diverges; a sentence, or nothing where there is none."""
    alpha, growth, below = entry.spec.learner.alpha, entry.outlook.get("growth"), entry.outlook.get("stable_below")
    ratio = f" at β/α = {entry.spec.learner.beta / alpha:.3g}" if entry.who.uses_w else ""
    if growth:
        tenfold = math.log(10) / (growth * alpha)
        delays = " A smaller step only delays it." if entry.choice.retreated and entry.choice.sweep else ""
        return (
            f" Its mean diverges at every α, however small{ratio}: at this one it grows tenfold in {tenfold:,.0f} "
            f"steps.{delays}"
        )
    return f" It is stable below α = {below:.2g}{ratio}." if below else ""


def listed(words: list[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
