"""Beyond the mean: how heavy the tails of Err are, and a bound with probability 1 − δ that says something.

The bound is of MSPBE, half of which Err bounds. The averaged iterate is nearly Gaussian, and for a Gaussian vector z

    ‖z‖ ≤ √E‖z‖² + √(2λ log 1/δ)        with probability 1 − δ,  λ the largest variance in any direction

λ is at most the whole variance, E MSPBE − MSPBE of the mean, and both are exact. Nothing is proved of iterates that are
not Gaussian, so the coverage is measured.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rules import gtd2, td
from dgtd.harness.judging.claims import FULL, Claim, Need, Setting
from dgtd.harness.judging.statistics import Interval, proportion_interval
from dgtd.harness.judging.verdicts import Finding, below, exactly
from dgtd.harness.oracle.averages import at_horizon
from dgtd.harness.oracle.metrics import Metrics
from dgtd.harness.runs.lanes import Lanes
from dgtd.suites.means import request
from dgtd.suites.rates.expected import problem_of
from dgtd.suites.rates.sampled import FAR, WHERE, runs_of, saddle_of

LANES, STEPS = 10_000, 10_000
LEVELS = (0.4, 0.4 / 6.325, 0.01)  # of δ: two equal steps of log 1/δ
FATTER = 2.0  # the second step over the first: 1 for exponential tails, 2 for a power law with exponent 2.7
BOUND_LANES, HORIZONS = 2000, (10_000, 100_000)
BOUNDED = ("random_walk", "random_walk_dependent")


def claims() -> Iterator[Claim]:
    """About GTD2; in the full profile alone."""
    heavy, far = partial(tails_are_exponential, "rmspbe"), partial(tails_are_exponential, "err")
    for place in (f"random_walk-{name}" for name in FAR):  # the further behaviour is from π, the larger ρ
        id_, source = f"rates/{place}/gtd2/tails", "Proposition 2: the bound grows like log 1/δ"
        says = f"the quantiles of GTD2's Err grow like log 1/δ or not much faster on {place.replace('-', ', ')}"
        needs = partial(runs_of, gtd2, place, [STEPS], LANES)
        yield Claim(id_, says, source, needs=needs, judge=far, profiles=FULL)
    says = "TD on θ → 2θ at α = 1, which is heavy-tailed, taken for quantiles that grow like log 1/δ"
    source, id_ = "dgtd certify td --problem two_state --alpha 1 --beta 1", "rates/control/tails/td"
    yield Claim(id_, says, source, needs=heavy_runs, judge=heavy, control=True, profiles=FULL)
    for place, delta in product(BOUNDED, (0.1, 0.01)):
        id_, source = f"rates/{place}/expected-bound/delta={delta}", "ours; MSPBE ≤ 2 Err"
        says = f"(√E + √(2V log 1/δ))², from the exact E MSPBE and variance, covers {1 - delta:.0%} of runs on {place}"
        judge = partial(bound_covers, place, delta, True)
        yield Claim(id_, says, source, needs=partial(averaged, place), judge=judge, profiles=FULL)
    # The control: an expectation is no bound.
    id_, needs = "rates/control/expected-bound/expectation-alone", partial(averaged, "random_walk")
    says = "E MSPBE, taken for a bound of 90% of runs on the random walk"
    judge = partial(bound_covers, "random_walk", 0.1, False)
    yield Claim(id_, says, "ours", needs=needs, judge=judge, control=True, profiles=FULL)


def heavy_runs(setting: Setting) -> list[Need]:
    """Paths shrink, and second moments explode."""
    return [request(td, "two_state", LANES, setting, "tails", (20,), 1.0, 1.0, iid=True)]


def tails_are_exponential(metric: str, evidence: list[Lanes], setting: Setting) -> Finding:
    """(Q(δ₃) − Q(δ₂))/(Q(δ₂) − Q(δ₁)) with equal steps of log 1/δ; an interval from order statistics."""
    values = np.sort(evidence[0].of(metric)[-1])
    quantiles = [quantile(values, 1 - delta, 2 * setting.false_alarm / 3) for delta in LEVELS]
    first, second, third = quantiles

    def ratio(far: float, middle: float, near: float) -> float:
        return (far - middle) / (middle - near) if middle > near else np.inf

    found = Interval(
        ratio(third.estimate, second.estimate, first.estimate),
        ratio(third.low, second.high, first.low),
        ratio(third.high, second.low, first.high),
        len(values),
    )
    shown: dict[str, Any] = {
        "x": [10.0, 100.0, 1000.0],
        "y": [float(np.quantile(values, 1 - delta)) for delta in (0.1, 0.01, 0.001)],
    }
    median = float(np.median(values))
    sizes = ", ".join(f"{y / median:.3g} at 1/δ = {x:g}" for x, y in zip(shown["x"], shown["y"], strict=True))
    words = f"step ratio {found:.2f}; quantiles over the median: {sizes}"
    return below(found, FATTER, setting.false_alarm, words, **shown, x_name="1/δ", y_name="quantile")


def quantile(rising: Floats, level: float, false_alarm: float) -> Interval:
    """With order statistics on either side, by the binomial law of how many lie below."""
    n = len(rising)
    low, high = (int(each) for each in stats.binom.ppf([false_alarm / 2, 1 - false_alarm / 2], n, level))
    return Interval(
        float(np.quantile(rising, level)), float(rising[max(low - 1, 0)]), float(rising[min(high, n - 1)]), n
    )


# ---------------------------------------------------------------------- a bound that says something


def gaussian() -> Claim:
    """What the bound rests on, where it is proved; in every profile, since nothing is run."""
    says = "(√E + √(2V log 1/δ))² covers 1 − δ of ‖z‖² for Gaussian z, by χ² in one, two and five dimensions"
    return Claim("rates/expected-bound/gaussian", says, "Gaussian concentration", gaussian_is_covered, seeded=False)


def gaussian_is_covered(setting: Setting) -> Finding:
    """The largest chance beyond the bound, as a share of δ; means at 0 and two deviations away."""
    shares = []
    for delta in (0.1, 0.01):
        for size in (1, 2, 5):
            for far in (0.0, 2.0):
                limit = bound_of(size + far**2, float(size), delta)
                shares.append(float(stats.ncx2.sf(limit, size, far**2)) / delta)
    return exactly(max(shares), 1.0, f"at most {max(shares):.2f} δ lies beyond the bound in {len(shares)} cases")


def averaged(place: str, setting: Setting) -> list[Need]:
    """Runs as the exact expectation has them: independent transitions, from 0, without Γ."""
    steps = {n: saddle_of(place).step(n) for n in HORIZONS}
    return [
        request(
            gtd2, WHERE[place][0], BOUND_LANES, setting, "rates", (n,), size, size, metrics=("rmspbe",), iid=True,
            axes=(("horizon", n),), start="zeros", average=True,
        )
        for n, size in steps.items()
    ]  # fmt: skip


def bound_of(height: float, variance: float, delta: float, concentration: bool = True) -> float:
    """(√E + √(2V log 1/δ))²; without concentration E itself."""
    spread = np.sqrt(2 * np.log(1 / delta)) if concentration else 0.0
    return float((np.sqrt(height) + spread * np.sqrt(variance)) ** 2)


def bound_covers(place: str, delta: float, concentration: bool, evidence: list[Lanes], setting: Setting) -> Finding:
    """The share of runs above the bound at the worst horizon, and how far the bound is from the truth over n."""
    moments, saddle, zeros = problem_of(place, gtd2)
    measure = Metrics(moments.mdp, moments.target)
    ns, shares, ours, theirs, start = [], [], [], [], np.inf
    for trial in evidence:
        n, values = int(trial.times[-1]), trial.of("rmspbe")[-1] ** 2
        size = saddle.step(n)
        found = at_horizon(moments, size, size, [0, n], metrics=("rmspbe",), average=True, theta=zeros)
        start, height = (float(each) for each in found.of("rmspbe"))
        variance = max(0.0, height - float(measure(found.mean[1:], ("rmspbe",))[0, 0]) ** 2)
        limit, truth = bound_of(height, variance, delta, concentration), float(np.quantile(values, 1 - delta))
        outside = int((~(values <= limit)).sum())
        level = 2 * setting.false_alarm / len(evidence)
        shares.append(proportion_interval(outside, len(values), level))
        ns.append(n)
        ours.append(limit / truth)
        theirs.append(2 * saddle.bound(n, delta) / truth)
    worst = max(shares, key=lambda each: each.high)
    over = "; ".join(
        f"n = {n:,}: {a:.2f} times the quantile (Proposition 2's {b:.0f})"
        for n, a, b in zip(ns, ours, theirs, strict=True)
    )
    words = f"at most {worst.estimate:.2%} of {len(values):,} runs above the bound; {over}; it starts at {start:.3g}"
    return below(
        worst, delta, setting.false_alarm, words, x=ns, y=ours, x_name="n, steps", y_name="bound over the quantile"
    )
