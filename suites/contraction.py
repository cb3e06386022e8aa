"""Proposition 1: the distributional Bellman operator contracts by √γ in ℓ̄2, and what remains of that on atoms."""

from __future__ import annotations

from functools import partial

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generator
from dgtd.algorithms.targets import CdfTarget, cramer_distance
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly, largest
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.plugins import find_problem
from dgtd.suites import backups

ROUNDING = 1e-9
SOURCE = "Proposition 1"
BEYOND = "left open by the paper (remark 3)"


def claims(rule: Rule | None = None) -> list[Claim]:
    """Claims about the operator; they do not depend on the rule."""
    return [
        Claim("contraction/sup-l2", "T^π contracts by √γ in ℓ̄2, over random MDPs and laws", SOURCE, _sup_l2),
        Claim("contraction/attained", "the factor √γ is attained: no smaller one holds", SOURCE, _attained),
        Claim("contraction/metric", "ℓ̄2 is a metric: zero, symmetry, triangle", SOURCE, _metric),
        Claim(
            "contraction/cramer",
            "projected with `cramer`, the sampled operator still contracts by √γ",
            BEYOND,
            partial(_projected, "cramer"),
        ),
        Claim(
            "contraction/nearest-norm",
            "projected with `nearest`, its norm is exactly 1: no contraction",
            BEYOND,
            partial(_norm_is_one, "nearest"),
        ),
        Claim(
            "contraction/nearest-mass-norm",
            "projected with `nearest-mass`, its norm is exactly 1: no contraction",
            BEYOND,
            partial(_norm_is_one, "nearest-mass"),
        ),
        Claim(
            "contraction/floor-norm",
            "projected with `floor`, its norm is exactly 1: no contraction",
            BEYOND,
            partial(_norm_is_one, "floor"),
        ),
        Claim(
            "contraction/baird-cramer",
            "on lifted Baird `cramer` leaves one fixed point: A is nonsingular on the features' row space",
            BEYOND,
            partial(_baird_lift, "cramer", False),
        ),
        Claim(
            "contraction/baird-nearest",
            "on lifted Baird `nearest` does not discount: A is singular, and the mean-square radius is 1",
            BEYOND,
            partial(_baird_lift, "nearest", True),
        ),
        Claim(
            "contraction/baird-nearest-mass",
            "on lifted Baird `nearest-mass` does not discount: A is singular, and the mean-square radius is 1",
            BEYOND,
            partial(_baird_lift, "nearest-mass", True),
        ),
        Claim(
            "contraction/readings",
            "`nearest` moves an atom to where `nearest-mass` does, or for a share (1 − γ)/2 of rewards one higher",
            BEYOND,
            _readings,
            seeded=False,
        ),
        *backups.claims(),
        Claim("contraction/wasserstein", "T^π contracts by γ in the largest W1", "Bellemare et al. 2017", _wasserstein),
        Claim(
            "contraction/wasserstein-bias",
            "W1's sampled gradient is biased; the Cramér distance's is not",
            "§2.1; Bellemare et al. 2017",
            _gradient_bias,
        ),
        Claim("contraction/kl", "KL does not contract: a shift and a shrinkage leave it unchanged", "§2.1", _kl),
        Claim(
            "contraction/control/nearest",
            "`nearest`, treated as a √γ-contraction",
            BEYOND,
            partial(_projected, "nearest"),
            control=True,
        ),
        Claim(
            "contraction/control/nearest-mass",
            "`nearest-mass`, treated as a √γ-contraction",
            BEYOND,
            partial(_projected, "nearest-mass"),
            control=True,
        ),
        Claim(
            "contraction/control/readings",
            "`floor`, taken for the reading that moves mass",
            BEYOND,
            partial(_readings, other="floor"),
            control=True,
            seeded=False,
        ),
        Claim(
            "contraction/control/undiscounted",
            "an operator that shifts and does not shrink, treated as a √γ-contraction",
            SOURCE,
            partial(_sup_l2, shrink=False),
            control=True,
        ),
    ]


def _count(setting: Setting) -> int:
    return 60 if setting.profile == "ci" else 2000


def _draw(rng: np.random.Generator, states: int) -> tuple[Floats, Floats]:
    """Two value distributions [states, m − 1] on m = 9 atoms, as CDFs; spiky ones and smooth ones."""
    laws = [rng.dirichlet(np.full(9, concentration), size=states) for concentration in (0.2, 2.0)]
    return np.cumsum(laws[0], 1)[:, :-1], np.cumsum(laws[1], 1)[:, :-1]


def _distance_after(
    first: Floats, second: Floats, P: Floats, r: Floats, gamma: float, support: Floats, power: int
) -> float:
    """sup over states of (∫ |F − G|^power)^(1/power) of the backed-up laws, exactly: their CDFs are steps."""
    gap = first - second  # F − G is constant on [z_k, z_{k+1})
    found = []
    for s in range(len(P)):
        edges = (r[s][:, None] + gamma * support[None, :]).ravel()  # where r + γ z_k of each next state falls
        jumps = P[s][:, None] * np.diff(np.concatenate([np.zeros((len(P), 1)), gap, np.zeros((len(P), 1))], 1), axis=1)
        order = np.argsort(edges, kind="stable")
        height = np.cumsum(jumps.ravel()[order])[:-1]
        widths = np.diff(edges[order])
        found.append((widths @ np.abs(height) ** power) ** (1 / power))
    return largest(found)


def _ratios(setting: Setting, power: int, shrink: bool) -> Floats:
    """Distance after the operator over distance before, divided by the claimed factor (γ^(1/power))."""
    rng = generator(setting.seed, purpose="contraction")
    support = np.linspace(-1.0, 1.0, 9)
    out = []
    for _ in range(_count(setting)):
        states, gamma = int(rng.integers(1, 6)), float(rng.uniform(0.05, 0.99))
        P = rng.dirichlet(np.full(states, rng.choice([0.1, 1.0])), size=states)
        r = rng.normal(size=(states, states))
        first, second = _draw(rng, states)
        before = float(((np.abs(first - second) ** power).sum(1) * 0.25).max() ** (1 / power))
        after = _distance_after(first, second, P, r, gamma if shrink else 1.0, support, power)
        out.append(after / before / gamma ** (1 / power))
    return np.array(out)


def _sup_l2(setting: Setting, shrink: bool = True) -> Finding:
    top = float(_ratios(setting, 2, shrink).max())
    words = f"the largest of {_count(setting)} ratios ℓ̄2(TF, TG)/ℓ̄2(F, G) is {top:.4f} √γ"
    return exactly(top, 1 + ROUNDING, words, trials=_count(setting))


def _wasserstein(setting: Setting) -> Finding:
    top = float(_ratios(setting, 1, True).max())
    return exactly(top, 1 + ROUNDING, f"the largest of {_count(setting)} ratios is {top:.4f} γ", trials=_count(setting))


def _attained(setting: Setting) -> Finding:
    """One state that returns to itself: mixing loses nothing, and the factor is √γ."""
    rng = generator(setting.seed, purpose="attained")
    first, second = _draw(rng, 1)
    support, gamma = np.linspace(-1.0, 1.0, 9), 0.9
    before = float(cramer_distance(first, second, 0.25).max())
    after = _distance_after(first, second, np.ones((1, 1)), np.full((1, 1), 0.3), gamma, support, 2)
    short = 1 - after / before / np.sqrt(gamma)
    return exactly(abs(short), ROUNDING, f"ℓ̄2 after over before is {after / before:.9f}; √γ is {np.sqrt(gamma):.9f}")


def _metric(setting: Setting) -> Finding:
    rng = generator(setting.seed, purpose="metric")
    violations = []
    for _ in range(_count(setting)):
        x, y = _draw(rng, 4)
        z, _ = _draw(rng, 4)
        xy, yz, xz, yx = (float(cramer_distance(a, b, 0.25).max()) for a, b in ((x, y), (y, z), (x, z), (y, x)))
        same = float(cramer_distance(x, x, 0.25).max())
        violations += [xz - xy - yz, abs(xy - yx), same, -xy, 1.0 if xy == 0 else 0.0]
    worst = largest(0.0, violations)
    return exactly(worst, ROUNDING, f"the largest violation in {_count(setting)} triples is {worst:.1e}")


def _norms(projection: str, setting: Setting) -> Floats:
    """‖T‖₂ over √γ of sampled operators, rewards and discounts at random."""
    rng = generator(setting.seed, purpose="norms")
    target = CdfTarget(-1.0, 1.0, 21, projection)
    gammas, rewards = rng.uniform(0.2, 0.99, size=_count(setting)), rng.normal(0, 0.2, size=_count(setting))
    gammas[0], rewards[0] = 0.99, 0.0
    matrices = target.shift(rewards, gammas).matrix()
    return np.stack([np.linalg.norm(matrices, 2, axis=(1, 2)), gammas])


def _projected(projection: str, setting: Setting) -> Finding:
    norm, gamma = _norms(projection, setting)
    top = float((norm / np.sqrt(gamma)).max())
    return exactly(top, 1 + ROUNDING, f"the largest norm is {top:.4f} √γ", f"`{projection}` does not contract by √γ")


def _norm_is_one(projection: str, setting: Setting) -> Finding:
    norm, _ = _norms(projection, setting)
    used = norm[norm > 0]
    return exactly(float(np.abs(used - 1).max()), ROUNDING, f"{len(used)} norms, all {used.mean():.9f}")


def _readings(setting: Setting, other: str = "nearest-mass") -> Finding:
    """Point masses on the inner atoms of 21, 200 rewards spread over one cell: which atoms the readings choose."""
    argument, mass = (CdfTarget(-1.0, 1.0, 21, projection) for projection in ("nearest", other))
    rewards = (np.arange(200) + 0.5) / 200 * argument.spacing
    points = np.cumsum(np.eye(21), 1)[1:-1, :-1]
    wrong, largest_gap, words = 0.0, 0.0, []
    for gamma in (0.5, 0.9, 0.99):
        shifts = [target.shift(rewards, gamma) for target in (mass, argument)]
        moved = [points @ shift.matrix().transpose(0, 2, 1) + shift.constant[:, None] for shift in shifts]
        gap = moved[0] - moved[1]  # 1 at an atom that the mass has reached and the argument has not
        higher, share = gap.sum(-1), float(gap.sum(-1).mean())
        wrong = largest(wrong, -gap.min(), higher.max() - 1, abs(share - (1 - gamma) / 2))
        largest_gap = largest(largest_gap, np.abs(gap))
        words.append(f"{share:.3f} at γ = {gamma:g}")
    wrong = largest(wrong, abs(largest_gap - 1))
    return exactly(wrong, ROUNDING, f"CDFs differ by up to {largest_gap:g}; the share is {', '.join(words)}")


def _baird_lift(projection: str, singular: bool, setting: Setting) -> Finding:
    """The smallest singular value of the lift's A on the row space, and the radius of GTD2 at α = β = 0.005."""

    problem = find_problem("baird")
    dynamics = Dynamics(gtd2, problem.mdp, problem.target("cdf", 3, projection), 0.005, 0.005)
    d = dynamics.size
    A = (dynamics.mean[:d, d:] / 0.005).T  # the mean update of θ is αAᵀw
    smallest = float(np.linalg.svd(A, compute_uv=False)[-1])
    radius = mean_square(dynamics)
    words = f"σ_min(A) = {smallest:.1e}, mean-square radius in [{radius.low:.9f}, {radius.high:.9f}]"
    if singular:
        holds_one = radius.low <= 1 <= radius.high
        return exactly(smallest if holds_one else 1.0, 1e-9, words)
    return exactly(0.0 if smallest > 1e-4 and radius.high < 1 else 1.0, ROUNDING, words)


def _gradient_bias(setting: Setting) -> Finding:
    """A coin P(1) = ½ and a model Q_θ with P(1) = θ, at θ = 0.8: gradients in θ, of the mean and the mean of gradients.

    W1(P, Q_θ) = |θ − ½| has slope 1; of a sample X it is |θ − X|, whose slopes average to 0. ℓ2² = (θ − ½)² has slope
    0.6, and the samples' slopes average to 0.6 too.
    """
    target, theta, h = CdfTarget(0.0, 1.0, 2), 0.8, 1e-4

    def slope(law: Floats, power: int) -> float:
        """Of ∫|F_θ − G|^power in θ, by central differences; F_θ = 1 − θ at the first atom, 1 at the second."""
        gaps = [np.array([1 - at]) - law for at in (theta + h, theta - h)]
        if power == 2:
            ends = [float(cramer_distance(gap, np.zeros(1), target.spacing)) ** 2 for gap in gaps]
        else:
            ends = [float(target.spacing * np.abs(gap).sum()) for gap in gaps]
        return (ends[0] - ends[1]) / (2 * h)

    # The law of one sample: the engine's own target of a terminal transition with reward 0 or 1.
    samples = [target.shift(np.array(x), np.array(0.0)).constant for x in (0.0, 1.0)]
    coin = np.mean(samples, axis=0)
    bias = {n: abs(float(np.mean([slope(law, n) for law in samples])) - slope(coin, n)) for n in (1, 2)}
    words = f"bias {bias[1]:.2f} for W1 (its slope is 1), {bias[2]:.1e} for ℓ2²"
    return exactly(bias[2] if bias[1] > 0.5 else 1.0, 1e-9, words)


def _kl(setting: Setting) -> Finding:
    """KL of laws on the places where their atoms fall; a backup z ↦ r + γz moves the places and merges none."""
    rng = generator(setting.seed, purpose="kl")
    p, q = rng.dirichlet(np.ones(9), size=2)
    z = np.linspace(-1.0, 1.0, 9)

    def divergence(places: Floats) -> float:
        _, at = np.unique(np.round(places, 12), return_inverse=True)
        a, b = np.bincount(at, p), np.bincount(at, q)
        return float((a * np.log(a / b)).sum())

    ratio = divergence(0.3 + 0.9 * z) / divergence(z)
    merged = divergence(0.3 + 0.0 * z) / divergence(z)  # γ = 0 does merge them: the check detects it
    words = f"KL after over KL before is {ratio:.9f} at γ = 0.9 (√γ = {np.sqrt(0.9):.4f}), and {merged:.1f} at γ = 0"
    return exactly(abs(ratio - 1) + abs(merged), ROUNDING, words)
