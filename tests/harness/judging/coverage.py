"""`make coverage`: do the printed intervals and tests keep their promise? On simulated data with a known answer.

`python -m tests.harness.judging.coverage sequential 10000` does so for comparisons that run until they are decided.
"""

import sys

import numpy as np
from scipy import stats

from dgtd.harness.judging.sequential import (
    boundaries,
    decide,
    looks,
    repeated_interval,
    sequential_p,
    signed_rank_z,
)
from dgtd.harness.judging.statistics import (
    Sprt,
    holm,
    iqm_interval,
    mean_interval,
    median_interval,
    paired,
    proportion_interval,
    slopes,
    variance_ratio,
)

RATE = 0.05


def rejections(count: int, trial) -> tuple[int, int]:
    rng = np.random.default_rng(12)
    return sum(bool(trial(rng)) for _ in range(count)), count


def misses_mean(rng) -> bool:
    found = mean_interval(rng.normal(3.0, 2.0, size=8), RATE)
    return not found.low <= 3.0 <= found.high


def misses_proportion(rng) -> bool:
    found = proportion_interval(int(rng.binomial(40, 0.1)), 40, RATE)
    return not found.low <= 0.1 <= found.high


def misses_iqm(rng, strata, n, sigma) -> bool:
    """Log-normal lanes; the mean of their middle half is known."""
    found = iqm_interval(rng.lognormal(0.0, sigma, size=(strata, n)), RATE)
    u = stats.norm.ppf([0.25, 0.75])
    true = np.exp(sigma**2 / 2) * np.diff(stats.norm.cdf(u - sigma))[0] / 0.5
    return not found.low <= true <= found.high


def misses_slope(rng) -> bool:
    n = np.geomspace(1e3, 1e6, 25)
    noise = np.cumsum(rng.normal(0, 0.05, size=(10, 25)), axis=1)  # correlated along a lane, as curves are
    slope = -0.5 + rng.normal(0, 0.02, size=(10, 1))
    found = slopes(n, np.exp(slope * np.log(n) + noise), RATE).exponent
    return not found.low <= -0.5 <= found.high


def doubts_power_law(rng) -> bool:
    n = np.geomspace(1e3, 1e6, 25)
    curves = np.exp(-0.5 * np.log(n) + rng.normal(0, 0.5, size=(10, 25)))
    return not slopes(n, curves, RATE, tolerance=0.0).power_law


def fails_good_rule(rng) -> bool:
    return Sprt(0.01, 0.20, RATE, 0.05, 200).decide(rng.random(200) < 0.01)[0] is False


def passes_bad_rule(rng) -> bool:
    return Sprt(0.01, 0.20, 0.05, RATE, 200).decide(rng.random(200) < 0.20)[0] is True


def finds_a_difference(rng, n) -> bool:
    return paired(rng.normal(size=n), rng.normal(size=n)).p < RATE


def holm_finds_any(rng) -> bool:
    return bool((holm(rng.random(6)) < RATE).any())


def misses_median(rng, n) -> bool:
    found = median_interval(rng.lognormal(0.0, 1.5, size=n), RATE)
    return not found.low <= 1.0 <= found.high


def misses_median_with_losses(rng) -> bool:
    """A tenth of the lanes diverges: the median is a lower quantile of the others."""
    lanes = np.where(rng.random(30) < 0.1, np.inf, rng.normal(size=30))
    found = median_interval(lanes, RATE)
    return not found.low <= stats.norm.ppf(0.5 / 0.9) <= found.high


def misses_share(rng) -> bool:
    """How often A is below B on the same seed."""
    common = rng.normal(size=30)
    found = paired(common + rng.normal(size=30), common + 0.5 + rng.normal(size=30), RATE).better
    return not found.low <= stats.norm.cdf(0.5 / np.sqrt(2)) <= found.high


def misses_share_with_ties(rng) -> bool:
    """Whole numbers from 0 to 2, so that many pairs are tied; a tie counts half."""
    chance_a, chance_b = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    a, b = (rng.choice(3, size=30, p=chance).astype(float) for chance in (chance_a, chance_b))
    joint = np.outer(chance_a, chance_b)
    found = paired(a, b, RATE).better
    return not found.low <= np.triu(joint, 1).sum() + np.trace(joint) / 2 <= found.high


def misses_share_over_problems(rng) -> bool:
    """Four problems with chances of their own, thirty pairs each, in one interval: as the table of all problems."""
    gaps = np.array([0.0, 0.5, 1.0, 2.0])[:, None]
    a, b = rng.normal(size=(4, 30)), gaps + rng.normal(size=(4, 30))
    found = paired(a.ravel(), b.ravel(), RATE).better
    return not found.low <= stats.norm.cdf(gaps / np.sqrt(2)).mean() <= found.high


def related(rng, shape):
    """30 pairs of equal spread that share half of their noise."""
    common = shape(rng)
    return common + shape(rng), common + shape(rng)


def misses_variance_ratio(rng, shape=lambda rng: rng.normal(size=30)) -> bool:
    found = variance_ratio(*related(rng, shape), RATE).ratio
    return not found.low <= 1.0 <= found.high


def skewed(rng):
    return rng.lognormal(0.0, 0.5, size=30)


def finds_a_spread(rng) -> bool:
    return variance_ratio(*related(rng, skewed)).p < RATE


# Name, trial, whether the rate is a bound (exact tests are conservative) or to be met from both sides.
TRIALS = [
    ("mean, t-interval, 8 lanes", misses_mean, False),
    ("proportion, Clopper–Pearson, 40 lanes", misses_proportion, True),
    ("exponent, per-lane slopes, 10 lanes", misses_slope, False),
    ("power-law check, 10 lanes", doubts_power_law, False),
    ("SPRT, false alarm at 1 %", fails_good_rule, True),
    ("SPRT, miss at 20 %", passes_bad_rule, True),
    ("paired test, 12 pairs, exact", lambda rng: finds_a_difference(rng, 12), True),
    ("paired test, 30 pairs, normal limit", lambda rng: finds_a_difference(rng, 30), True),
    ("median, order statistics, 30 lanes", lambda rng: misses_median(rng, 30), True),
    ("median, order statistics, 6 lanes", lambda rng: misses_median(rng, 6), True),
    ("median, 30 lanes, a tenth diverged", misses_median_with_losses, True),
    ("share of pairs that are lower, 30 pairs", misses_share, True),
    ("share of pairs, many of them tied", misses_share_with_ties, True),
    ("share of pairs over 4 unlike problems", misses_share_over_problems, True),
    ("variance ratio, Morgan, 30 normal pairs", misses_variance_ratio, False),
    ("equal spread by ranks, 30 skewed pairs", finds_a_spread, False),
    ("Holm over 6 true nulls, any rejected", holm_finds_any, True),
    ("interquartile means over 2 problems, 10 seeds", lambda rng: misses_iqm(rng, 2, 10, 0.5), True),
    ("interquartile means over 6 problems, 10 seeds", lambda rng: misses_iqm(rng, 6, 10, 1.0), True),
    ("interquartile means over 4 problems, 30 seeds", lambda rng: misses_iqm(rng, 4, 30, 0.5), True),
    ("interquartile means over 4 problems, 6 seeds", lambda rng: misses_iqm(rng, 4, 6, 0.5), True),
]


def measure(count: int) -> list[tuple[str, float, float, float, bool]]:
    """(name, rate, low, high, kept): a 1 − 1e-4 interval of the measured rate against the nominal one."""
    out = []
    for name, trial, is_bound in TRIALS:
        hits, total = rejections(count, trial)
        found = proportion_interval(hits, total, 1e-4)
        kept = found.low <= RATE and (is_bound or found.high >= RATE)
        out.append((name, found.estimate, found.low, found.high, kept))
    return out


def pooled_regression_misses(count: int) -> float:
    """What we do not do: one regression over all points of all lanes. Its nominal 95 % interval misses often."""
    n = np.geomspace(1e3, 1e6, 25)

    def trial(rng) -> bool:
        noise = np.cumsum(rng.normal(0, 0.05, size=(10, 25)), axis=1)
        fit = stats.linregress(np.tile(np.log(n), 10), (-0.5 * np.log(n) + noise).ravel())
        return abs(fit.slope + 0.5) > 1.96 * fit.stderr

    hits, total = rejections(count, trial)
    return hits / total


LOOKS = looks(10, 100)


def diverging(rng, shape):
    """A fifth of the pairs has a lane that diverged, on either side alike."""
    return np.where(rng.random(shape) < 0.2, np.inf * rng.choice([-1.0, 1.0], shape), rng.normal(size=shape))


# Gaps of a question without a difference: symmetric about 0, and in SKEWED not, where the test asks something else.
SYMMETRIC = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy tails, t with 2 degrees": lambda rng, shape: rng.standard_t(2, size=shape),
    "tied, whole numbers of width 1.5": lambda rng, shape: np.rint(1.5 * rng.normal(size=shape)),
    "tied, only −1, 0 and 1": lambda rng, shape: rng.integers(-1, 2, size=shape).astype(float),
    "normal, a fifth diverged": diverging,
}
SKEWED = {
    "lognormal, mean 0": lambda rng, shape: rng.lognormal(0.0, 1.0, size=shape) - np.exp(0.5),
    "lognormal, median 0": lambda rng, shape: rng.lognormal(0.0, 1.0, size=shape) - 1.0,
}


def crosses(gaps, at, critical):
    """Which rows of gaps [trials, lanes] a test rejects at some look."""
    return np.any([np.abs(signed_rank_z(gaps[:, :n])) >= bound for n, bound in zip(at, critical, strict=True)], axis=0)


def misses_centre(gaps, centre) -> bool:
    """At any look."""
    found = [repeated_interval(gaps[:n], LOOKS, RATE) for n in LOOKS]
    return not all(each.low <= centre <= each.high for each in found)


def measure_sequential(count: int, seed: int) -> list[tuple[str, float, float, float, bool]]:
    """As `measure`, with a 99 % interval; every rate is a bound."""

    def row(name, hits, rate=RATE):
        found = proportion_interval(int(np.sum(hits)), len(hits), 0.01)
        return name, found.estimate, found.low, found.high, found.low <= rate

    rng = np.random.default_rng(seed)
    rows = []
    for name, draw in SYMMETRIC.items():
        p = sequential_p(draw(rng, (count, 100)), LOOKS)[:, -1]
        rows += [row(f"{name}, p at most {rate:g}", p <= rate, rate) for rate in (0.01, RATE, 0.2)]
    few = looks(6, 24)
    rows.append(row("normal, looks at 6, 12 and 24", sequential_p(rng.normal(size=(count, 24)), few)[:, -1] <= RATE))
    common = rng.normal(size=(count, 1, 100))  # all six against one baseline, on its seeds
    gaps = rng.normal(size=(count, 6, 100)) - common + 0.5 * np.sqrt(2) * np.array([0, 0, 0, 1, 1, 1])[:, None]
    found = np.array([holm(p) for p in sequential_p(gaps, LOOKS)[..., -1]]) <= RATE
    rows.append(row("Holm over 6 questions, any of 3 nulls", found[:, :3].any(axis=1)))
    for name in ("normal", "heavy tails, t with 2 degrees", "normal, a fifth diverged"):
        hits = [misses_centre(2.0 + each, 2.0) for each in SYMMETRIC[name](rng, (count, 100))]
        rows.append(row(f"interval at all looks, {name}", np.array(hits)))
    for name in ("normal", "heavy tails, t with 2 degrees"):
        at_the_margin = 1.0 + SYMMETRIC[name](rng, (count, 100))
        hits = [decide([each], LOOKS, RATE, matters=1.0)[0].small for each in at_the_margin]
        rows.append(row(f"called too small, {name}", np.array(hits)))
    return rows


def report_sequential(count: int, seed: int) -> bool:
    rows = measure_sequential(count, seed)
    print(f"looks at {LOOKS}, nominal {RATE:.0%}, {count} trials each, seed {seed}, 99 % intervals")
    for name, rate, low, high, kept in rows:
        print(f"  {name:58} {rate:7.3%}   [{low:.3%}, {high:.3%}]   {'kept' if kept else 'BROKEN'}")
    rng = np.random.default_rng(seed)
    for name, draw in SKEWED.items():
        gaps = draw(rng, (count, 100))
        fixed = (np.abs(signed_rank_z(gaps)) >= stats.norm.isf(RATE / 2)).mean()
        print(f"  for contrast, {name}: {crosses(gaps, LOOKS, boundaries(LOOKS, RATE)).mean():.3%}, fixed {fixed:.3%}")
    wrong = crosses(rng.normal(size=(count, 100)), LOOKS, np.full(len(LOOKS), 1.96)).mean()
    print(f"  for contrast, 1.96 at every look: {wrong:.3%}")
    enough = True
    for effect in (0.3, 0.5):
        gaps = rng.normal(effect, 1.0, size=(count, 100))
        decided = sequential_p(gaps, LOOKS) <= RATE
        power, fixed = decided[:, -1].mean(), (np.abs(signed_rank_z(gaps)) >= stats.norm.isf(RATE / 2)).mean()
        lanes = np.where(decided[:, -1], np.array(LOOKS)[decided.argmax(axis=1)], LOOKS[-1]).mean()
        enough &= bool(power >= 0.85 * fixed)
        print(f"  power at d = {effect}: {power:.3f}, with 100 lanes fixed {fixed:.3f}; {lanes:.1f} lanes on average")
    return enough and all(row[-1] for row in rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["sequential"]:
        count, seed = ([int(each) for each in sys.argv[2:]] + [10_000, 12][len(sys.argv) - 2 :])[:2]
        sys.exit(0 if report_sequential(count, seed) else 1)
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rows = measure(trials)
    print(f"nominal {RATE:.0%}, {trials} trials each")
    for name, rate, low, high, kept in rows:
        print(f"  {name:42} {rate:7.3%}   [{low:.3%}, {high:.3%}]   {'kept' if kept else 'BROKEN'}")
    print(f"  for contrast, pooled regression            {pooled_regression_misses(2000):7.3%}")
    hits, total = rejections(trials, lambda rng: misses_variance_ratio(rng, skewed))
    print(f"  for contrast, Morgan's interval where it does not apply, 30 skewed pairs {hits / total:7.3%}")
    sys.exit(0 if all(row[-1] for row in rows) else 1)
