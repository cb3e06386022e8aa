"""What the claims about the machinery share: how one is made, and a finding that counts the cases that do not hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, Verdict

ROUNDING = 1e-8
Check = Callable[[Setting], Finding]


def exact(name: str, says: str, source: str, check: Check, control: bool = False) -> Claim:
    """A claim that is computed, from planted data: no seed, no lanes."""
    return Claim(f"machinery/{name}", says, source, check=check, control=control, seeded=False)


def all_hold(cases: Iterable[tuple[str, bool]]) -> Finding:
    """PASS if every case holds, or a FAIL that names the first that does not.

    Built here and not by `exactly`, which is itself among what is checked.
    """
    listed = list(cases)
    wrong = [words for words, holds in listed if not holds]
    count, share = len(listed), f"{len(listed) - len(wrong)} of {len(listed)} cases hold"
    passes = count > 0 and not wrong
    return Finding(
        verdict=Verdict.PASS if passes else Verdict.FAIL,
        estimate=float(len(wrong)),
        low=float(len(wrong)),
        high=float(len(wrong)),
        margin=0.0,
        n=1,
        false_alarm=0.0,
        words=share if passes else f"{share}; not: {wrong[0] if wrong else 'there is none'}",
        flips="one case that does not hold" if passes else "every case holding",
    )
