"""Which claims a sentence of the paper becomes."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from harness.judging.claims import Claim
from harness.report.paper import Statement


def stated(made: list[Claim], sentences: Mapping[str, tuple[str, ...]]) -> list[Statement]:
    """Sentences, each with the claims whose ids fit one of its patterns. A pattern that fits none is a mistake.

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
        out.append(Statement(says, tuple(found)))
    return out
