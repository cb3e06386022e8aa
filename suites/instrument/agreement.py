"""How `dgtd compare` tells lanes from their exact expectation, on lanes whose numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import stats

from algorithms.checks import Floats
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly

ROUNDING = 1e-9
# Lanes 0, 0, 0, 0, 1: mean 1/5, standard error √(1/5)/√5 = 1/5, skewness 3/2.
LANES, MEAN, ERROR, SKEW = 5, 0.2, 0.2, 1.5
AWAY = 0.1  # from the mean to the expectation, either way
CONTESTANTS, CHECKPOINTS, SEEDS = 3, 4, 12
OUTSIDE = 0.01  # the chance that lanes of the right expectation leave the band anywhere


def claims() -> list[Claim]:
    """They do not depend on the rule that is judged."""
    says: dict[str, tuple[str, str, Callable[[Setting], Finding]]] = {
        "standard-errors": (
            "lanes are compared with their expectation in standard errors of their mean",
            "definitions",
            distance_is_in_errors,
        ),
        "skewed": (
            "skewed lanes count as less far towards the side on which rare lanes may be missing, by Hall's formula",
            "Hall 1992",
            distance_is_halls,
        ),
        "band": (
            "the band around expectations holds all checkpoints of all contestants together with 99 %",
            "definitions",
            band_is_over_all,
        ),
    }
    return [
        Claim(id=f"instrument/agreement/{name}", says=words, source=source, check=check, seeded=False)
        for name, (words, source, check) in says.items()
    ]


def skewed_lanes() -> tuple[Floats, Floats]:
    """[lanes, 2] twice the same lanes, with an expectation below their mean and one above it."""
    lanes = np.tile([[0.0], [0.0], [0.0], [0.0], [1.0]], (1, 2))
    return lanes, np.array([MEAN - AWAY, MEAN + AWAY])


def distance_is_in_errors(setting: Setting) -> Finding:
    """The mean of five lanes, above and below their expectation."""
    from harness.compare.agreement import standard_errors_away

    found = standard_errors_away(*skewed_lanes())
    error = float(np.abs(found - np.array([1, -1]) * AWAY / ERROR).max())
    return exactly(error, ROUNDING, f"distances of {found[0]:.3f} and {found[1]:.3f} are off by {error:.1e}")


def distance_is_halls(setting: Setting) -> Finding:
    """Below its expectation a mean may miss the large lanes: √n((1 + γT/3)³ − 1)/γ; above it the distance stays."""
    from harness.compare.agreement import careful

    lanes, exact = skewed_lanes()
    share = -AWAY / ERROR / np.sqrt(LANES)
    expected = [AWAY / ERROR, np.sqrt(LANES) * ((1 + SKEW * share / 3) ** 3 - 1) / SKEW]
    found = [float(careful(lanes[:, [i]], exact[[i]])[0]) for i in (0, 1)]
    error = float(np.abs(np.array(found) - expected).max())
    return exactly(error, 1e-6, f"distances of {found[0]:.4f} and {found[1]:.4f} are off by {error:.1e}")


def band_is_over_all(setting: Setting) -> Finding:
    """The chance of any of independent t statistics outside, against the one that is named."""
    from harness.compare.agreement import agreement

    rng = np.random.default_rng(0)
    entries = [_planted(rng.uniform(0.2, 0.3, size=(SEEDS, CHECKPOINTS))) for _ in range(CONTESTANTS)]
    found: Any = agreement(SimpleNamespace(entries=entries, contest=SimpleNamespace(seeds=SEEDS)))  # type: ignore[arg-type]
    chance = 2 * CONTESTANTS * CHECKPOINTS * float(stats.t.sf(found.within, SEEDS - 1))
    tests = len(found.distances)
    wrong = abs(chance / OUTSIDE - 1) if tests == CONTESTANTS * CHECKPOINTS else np.inf
    return exactly(wrong, ROUNDING, f"{tests} distances leave ±{found.within:.3f} standard errors with {chance:.2%}")


def _planted(lanes: Floats) -> SimpleNamespace:
    """A contestant whose exact curve is its lanes' own mean."""
    return SimpleNamespace(
        problem="planted", who=SimpleNamespace(label="lanes"), times=np.arange(CHECKPOINTS),
        exact=(lanes**2).mean(0), of=lambda metric: lanes,
    )  # fmt: skip
