"""Paired comparisons that run until they are decided: a group-sequential signed-rank test, exact for few lanes.

Lanes come in batches, and the test is repeated at declared looks up to a maximum that is declared too. Each look may
spend a part of the error rate alpha (Lan and DeMets 1983), in the manner of O'Brien and Fleming, half on each side:

    alpha*(t) = 4 (1 − Φ(z_{alpha/4} / √t))        t = n/N, the share of the maximum

A further look after the last one is a new experiment. Gaps are A − B on the same seed, in the order of the seeds; ±inf
where only one of them diverged, 0 where both did. Zeros take part in the ranking (Pratt), as in `statistics.paired`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, optimize, special, stats

from dgtd.algorithms.checks import Floats, positive
from dgtd.harness.judging.statistics import Interval, holm

EXACT = 300  # pairs up to which the null distribution is counted out: 20 ms at 300
LEVELS = np.geomspace(1e-12, 0.9, 120)  # a sequential p is interpolated between these: to 1e-5 of itself up to 0.1
FAR = 100  # times the declared maximum: more lanes than that are no plan
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def looks(first: int, most: int) -> tuple[int, ...]:
    """first, 2 first, 4 first, … below `most`, and `most`: how many lanes there are at each look."""
    if not 1 <= first <= most:
        raise ValueError(f"first must be in [1, {most}], got {first}")
    doubling = [first * 2**k for k in range((most // first).bit_length())]
    return (*(n for n in doubling if n < most), most)


@lru_cache(maxsize=512)
def boundaries(looks: tuple[int, ...], alpha: float) -> Floats:
    """The |z| at which each look rejects; inf where a look may spend less than can be computed.

    Under the null, z at n lanes times √(n/N) is Brownian motion at t = n/N. Its density among the paths that have
    not crossed is carried from look to look by quadrature (Armitage, McPherson and Rowe 1969).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be inside (0, 1), got {alpha}")
    if len(looks) == 0 or looks[0] < 1 or any(n >= later for n, later in pairwise(looks)):
        raise ValueError(f"looks must be positive and increasing, got {looks}")
    times = np.asarray(looks, dtype=float) / looks[-1]
    spent = 4 * special.ndtr(special.ndtri(alpha / 4) / np.sqrt(times))
    places, mass = np.zeros(1), np.ones(1)  # where the paths are that have not crossed
    critical = np.empty(len(times))
    steps = np.sqrt(np.diff(times, prepend=0.0))
    for k, (step, spend) in enumerate(zip(steps, np.diff(spent, prepend=0.0), strict=True)):
        edge = _edge(places, mass, step, spend)
        critical[k] = edge / np.sqrt(times[k])
        if k + 1 < len(times):
            grid, weights = _panels(min(edge, 38 * np.sqrt(times[k])), 3 * min(step, steps[k + 1]))
            density = np.exp(-0.5 * ((grid[:, None] - places) / step) ** 2) @ mass / (step * np.sqrt(2 * np.pi))
            places, mass = grid, weights * density
    critical.flags.writeable = False  # it is kept
    return critical


def _edge(places: Floats, mass: Floats, step: float, spend: float) -> float:
    """How far out the next step ends with chance `spend`, on both sides together."""
    if spend < 1e-290:
        return np.inf

    def excess(edge: float) -> float:
        return float(np.log(max(2 * (mass @ special.ndtr((places - edge) / step)), 1e-300)) - np.log(spend))

    return float(optimize.brentq(excess, 0.0, places.max() + 38 * step, xtol=1e-13, rtol=1e-13))


def _panels(end: float, width: float) -> tuple[Floats, Floats]:
    """Gauss–Legendre nodes and weights on [−end, end], in panels not wider than `width`."""
    edges = np.linspace(-end, end, int(np.ceil(2 * end / width)) + 1)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()


def signed_rank_z(gaps: ArrayLike) -> Floats:
    """Signed z of each row of gaps [..., lanes]: the normal quantile of its two-sided p; 0 where all gaps are 0.

    p is exact given the sizes of the gaps, ties and zeros included, up to `EXACT` lanes; the normal limit above.
    """
    x = _numbers(gaps)
    rows = x.reshape(-1, x.shape[-1])
    signed = np.sign(rows) * stats.rankdata(np.abs(rows), axis=1)
    return np.array([_z(row) for row in signed]).reshape(x.shape[:-1])


def _numbers(gaps: ArrayLike) -> Floats:
    x = np.asarray(gaps, dtype=float)
    if np.isnan(x).any():
        raise ValueError("gaps must not be NaN: where one of the two diverged, the gap is infinite")
    return x


def _z(signed: Floats) -> float:
    nonzero = np.rint(2 * signed[signed != 0]).astype(np.int64)  # ranks are halves where gaps are tied
    total = int(nonzero.sum())
    if total == 0:
        return 0.0
    units = np.abs(nonzero) // (step := np.gcd.reduce(nonzero))
    reached = abs(total) // step
    if len(signed) > EXACT:
        size = max(0.0, (reached - 1) / np.sqrt((units.astype(float) ** 2).sum()))
    else:
        tail = _upper_tail(tuple(np.sort(units).tolist()))
        size = max(0.0, -float(special.ndtri(tail[(reached + units.sum()) // 2])))
    return float(np.copysign(size, total))


@lru_cache(maxsize=256)
def _upper_tail(units: tuple[int, ...]) -> Floats:
    """P(W ≥ w) for w = 0, 1, …, where W adds up those of the units whose coin shows heads."""
    chance = np.ones(1)
    for unit in units:
        longer = np.zeros(len(chance) + unit)
        longer[: len(chance)] = chance / 2
        longer[unit:] += chance / 2
        chance = longer
    return np.cumsum(chance[::-1])[::-1]


def sequential_p(gaps: ArrayLike, looks: tuple[int, ...]) -> Floats:
    """p after each look that the gaps [..., lanes] reach: [..., looks]; it only falls.

    The smallest alpha at which a boundary has been crossed so far. A comparison may stop at any look for any reason:
    if the gaps are symmetric about 0, p ever gets to a or below with chance a at most (Liu and Anderson 2008).
    """
    return np.minimum.accumulate(_levels(np.abs(_scores(gaps, looks)), looks), axis=-1)


def _scores(gaps: ArrayLike, looks: tuple[int, ...]) -> Floats:
    """z at each look that the gaps [..., lanes] reach: [..., looks]."""
    x = _numbers(gaps)
    reached = [signed_rank_z(x[..., :n]) for n in looks if n <= x.shape[-1]]
    return np.stack(reached, axis=-1) if reached else np.empty((*x.shape[:-1], 0))


def _levels(sizes: Floats, looks: tuple[int, ...]) -> Floats:
    """The overall alpha whose boundary is |z| = size [..., looks] at that look; 1 above the last of `LEVELS`."""
    out = np.ones_like(sizes)
    for k, log_level in enumerate(_inverses(looks)[: sizes.shape[-1]]):
        if log_level is not None:
            crossed = sizes[..., k] >= log_level.x[0]
            # Further out than is known p stays where it is: not lower than it should be.
            out[crossed, k] = np.exp(log_level(np.minimum(sizes[crossed, k], log_level.x[-1])))
    return out


@lru_cache(maxsize=16)
def _inverses(looks: tuple[int, ...]) -> tuple[interpolate.PchipInterpolator | None, ...]:
    """For each look, log alpha as a function of its boundary; None if the look is too early to reject at all."""
    table = np.array([boundaries(looks, level) for level in LEVELS])
    inverses = []
    for column in table.T:
        known = np.isfinite(column)
        sizes, logs = column[known][::-1], np.log(LEVELS[known])[::-1]
        assert (np.diff(sizes) > 0).all(), f"the boundaries of {looks} do not fall as alpha grows"
        inverses.append(interpolate.PchipInterpolator(sizes, logs) if len(sizes) > 1 else None)
    return tuple(inverses)


def repeated_interval(gaps: ArrayLike, looks: tuple[int, ...], alpha: float) -> Interval:
    """The centre of one question's gaps, with bounds that hold at all looks together (Jennison and Turnbull 1989).

    Hodges and Lehmann's: the centre is the median of all means of two gaps, which is the median of the gaps if they
    are symmetric. The bounds are those of the last look reached; (−inf, inf) before a look that can tell anything.
    """
    x = _numbers(gaps)
    reached = [k for k, n in enumerate(looks) if n <= len(x)]
    n = looks[reached[-1]] if reached else len(x)
    if n == 0:
        return Interval(np.nan, -np.inf, np.inf, 0)
    half = x[:n] / 2
    with np.errstate(invalid="ignore"):  # a gap of inf and one of −inf cancel
        means = np.sort(np.nan_to_num(half[:, None] + half, nan=0.0, posinf=np.inf, neginf=-np.inf)[np.triu_indices(n)])
        centre = np.nan_to_num(np.median(means), nan=0.0, posinf=np.inf, neginf=-np.inf)
    cut = _cut(n, float(boundaries(looks, alpha)[reached[-1]])) if reached else 0
    low, high = (means[cut - 1], means[-cut]) if cut else (-np.inf, np.inf)
    return Interval(float(centre), float(low), float(high), n)


def _cut(n: int, critical: float) -> int:
    """How many of the means of two gaps lie below the interval's inside, at either end: those that z rejects."""
    if n > EXACT:
        pairs = n * (n + 1)
        return max(0, int(np.floor(pairs / 4 + 0.5 - critical * np.sqrt(pairs * (2 * n + 1) / 24))))
    return int((_upper_tail(tuple(range(1, n + 1))) <= special.ndtr(-critical)).sum())


def lanes_needed(z: float, n: int, looks: tuple[int, ...], alpha: float, power: float = 0.8) -> int | None:
    """How many lanes it would take to decide with that chance, if the effect is the one that n lanes show: a guess.

    The first look whose conditional power suffices: z at m lanes, given z at n, is normal about z √(m/n) with variance
    1 − n/m. Or else, above the last look, the size of a new experiment with as many looks; None if that is more than
    `FAR` times the declared maximum, or if z is not above 0.
    """
    if not z > 0:
        return None
    critical, enough = boundaries(looks, alpha), special.ndtri(power)
    for later, bound in zip(looks, critical, strict=True):
        if later > n and z * np.sqrt(later / n) - bound >= enough * np.sqrt(1 - n / later):
            return later
    fresh = n * ((critical[-1] + enough) / z) ** 2
    return int(np.ceil(fresh)) if fresh <= FAR * looks[-1] else None


@dataclass(frozen=True)
class Answer:
    """What the lanes so far say about one question.

    p           sequential; `adjusted` is Holm's over all questions: decided if it is alpha or below
    direction   −1 if A is lower, 1 if B is, 0 if that is not decided
    small       the centre of the gaps lies within ± what matters (Holm's too, a family of its own)
    interval    repeated, at 1 − alpha for this question alone
    lanes       how many it would take to settle it, if it is open and that can be guessed
    identical   all gaps are 0: no number of lanes will tell a difference
    """

    p: float
    adjusted: float
    direction: int
    small: bool
    interval: Interval
    lanes: int | None
    identical: bool

    @property
    def state(self) -> Literal["decided", "too small to matter", "open"]:
        """A difference that is decided may be too small to matter as well; then it counts as decided."""
        return "decided" if self.direction else "too small to matter" if self.small else "open"


def decide(
    questions: Sequence[ArrayLike], looks: tuple[int, ...], alpha: float, matters: float | None = None,
    scale: ArrayLike = 1.0,
) -> list[Answer]:  # fmt: skip
    """One answer per question (its gaps, as many as there are: a settled one may have stopped early).

    The chance of any false direction is alpha at most, and so is the chance of calling any gap too small that is not.
    Too small means inside ± matters × scale, where `scale` (one for all or one per question) is not taken from these
    gaps: two one-sided tests at alpha, that is, an interval at 1 − 2 alpha inside.
    """
    if not 0 < alpha < LEVELS[-1] / 2:
        raise ValueError(f"alpha must be inside (0, {LEVELS[-1] / 2:g}), got {alpha}")
    gaps = [_numbers(each) for each in questions]
    differs = [_scores(each, looks) for each in gaps]
    inside = [np.zeros_like(z) for z in differs] if matters is None else _inside(gaps, looks, matters, scale)
    levels = [_levels(np.abs(z), looks) for z in differs]
    p = [float(each.min(initial=1.0)) for each in levels]
    adjusted = holm(p)
    decided, small = adjusted <= alpha, holm([_one_sided(z, looks) for z in inside]) <= alpha
    answers = []
    for k, each in enumerate(gaps):
        direction = int(np.sign(differs[k][np.argmin(levels[k])])) if decided[k] else 0
        lanes = None
        if len(differs[k]) and not decided[k] and not small[k]:
            now = looks[len(differs[k]) - 1]
            guesses = (  # at Holm's next level, if all that is open stays open
                lanes_needed(abs(differs[k][-1]), now, looks, alpha / (~decided).sum()),
                lanes_needed(inside[k][-1], now, looks, 2 * alpha / (~small).sum()),
            )
            lanes = min((guess for guess in guesses if guess is not None), default=None)
        interval, identical = repeated_interval(each, looks, alpha), len(each) > 0 and not each.any()
        answers.append(Answer(p[k], float(adjusted[k]), direction, bool(small[k]), interval, lanes, identical))
    return answers


def _inside(gaps: Sequence[Floats], looks: tuple[int, ...], matters: float, scale: ArrayLike) -> list[Floats]:
    """At each look the smaller of two z: for a centre above −margin, and for one below margin."""
    margins = np.broadcast_to(matters * np.asarray(scale, dtype=float), len(gaps))
    positive("matters × scale", margins)
    return [
        np.minimum(_scores(each + margin, looks), -_scores(each - margin, looks))
        for each, margin in zip(gaps, margins, strict=True)
    ]


def _one_sided(z: Floats, looks: tuple[int, ...]) -> float:
    """The sequential p of z being large; 1 if it never was."""
    level = float(_levels(np.maximum(z, 0.0), looks).min(initial=1.0))
    return level / 2 if level < 1 else 1.0
