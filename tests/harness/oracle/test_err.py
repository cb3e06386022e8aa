"""Proposition 2's problem against its definition: A, b, C by loops, Err by a numerical max–min, step and bound."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize

from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.oracle.theorem import small_problem
from dgtd.harness.plugins import find_problem
from tests.harness.oracle.test_metrics import split

# Problem, target, and the radius of the balls (None: 1.5 times the solution). On Baird's star C is singular and b = 0;
# 'repeated' has one feature twice.
CASES = {
    "walk": ("random_walk", ValueTarget(), None),
    "walk, small balls": ("random_walk", ValueTarget(), 0.2),
    "small": ("small", ValueTarget(), None),
    "small, lifted": ("small", CdfTarget(-2.0, 2.0, 3), None),
    "small, lifted, small balls": ("small", CdfTarget(-2.0, 2.0, 3), 0.05),
    "dependent, lifted": ("random_walk_dependent", CdfTarget(-1.25, 1.25, 4), None),
    "repeated": ("repeated", ValueTarget(), None),
    "star": ("baird", ValueTarget(), 3.0),
}


@cache
def saddle_of(case):
    name, target, radius = CASES[case]
    mdp = small_problem().mdp if name in ("small", "repeated") else find_problem(name).mdp
    if name == "repeated":
        mdp = mdp.with_(features=mdp.features[:, [0, 1, 2, 1]], theta_initial=np.zeros(4))
    return Saddle(mdp, target, radius=radius)


def affine(target, r, gamma):
    """T and t of g = T f' + t: where a unit of mass at each atom goes."""
    if isinstance(target, ValueTarget):
        return np.array([[gamma]]), np.array([r])
    m = target.atoms
    below = np.zeros((m, m))  # [j, k]: how much of atom k's mass ends at z_j or below
    for k in range(m):
        for at, share in split(target, k, r, gamma).items():
            below[at:, k] += share
    return below[:-1, :-1] - below[:-1, 1:], below[:-1, -1]


@cache
def samples(case):
    """(mass, Â, b̂, Ĉ) of every transition, in the problem's own features; θ [n, k] is read output by output."""
    mdp, target = saddle_of(case).mdp, CASES[case][1]
    o, X, n = mdp.transitions, mdp.features, target.outputs
    out = []
    for s, a, p, to, r, ends in zip(o.state, o.action, o.probability, o.next_state, o.reward, o.ends, strict=True):
        if mdp.behaviour[s, a] == 0:
            continue
        rho = mdp.target[s, a] / mdp.behaviour[s, a]
        T, t = affine(target, float(r), 0.0 if ends else mdp.gamma)
        A, C = (np.zeros((n, X.shape[1], n, X.shape[1])) for _ in range(2))
        b = np.zeros((n, X.shape[1]))
        for i in range(n):
            b[i] = rho * t[i] * X[s]
            C[i, :, i] = np.outer(X[s], X[s])
            for j in range(n):
                A[i, :, j] = rho * np.outer(X[s], (i == j) * X[s] - T[i, j] * X[to])
        size = b.size
        out.append((mdp.d[s] * mdp.behaviour[s, a] * p, A.reshape(size, size), b.ravel(), C.reshape(size, size)))
    return out


@cache
def means(case):
    """A, b, C in the problem's own features."""
    return [sum(sample[0] * sample[part] for sample in samples(case)) for part in (1, 2, 3)]


def axes_of(case):
    """[d of the problem, d of the saddle]: the coordinates that the saddle works in."""
    saddle = saddle_of(case)
    one = np.linalg.pinv(saddle.mdp.features) @ saddle.features
    return np.kron(np.eye(saddle.target.outputs), one)


@pytest.mark.parametrize("case", CASES)
def test_a_b_and_c_are_sums_over_the_table(case):
    saddle, Q = saddle_of(case), axes_of(case)
    A, b, C = means(case)
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
    np.testing.assert_allclose(saddle.A, Q.T @ A @ Q, atol=1e-12)
    np.testing.assert_allclose(saddle.b, Q.T @ b, atol=1e-12)
    np.testing.assert_allclose(saddle.C, Q.T @ C @ Q, atol=1e-12)
    assert np.linalg.eigvalsh(saddle.C)[0] > 1e-6
    np.testing.assert_allclose(A @ Q @ saddle.solution, b, atol=1e-10)
    slack = 1.5 * np.linalg.norm(saddle.solution)
    assert pytest.approx(CASES[case][2] or slack) == saddle.R


def L(case, theta, w):
    A, b, C = means(case)
    return (b - A @ theta) @ w - 0.5 * w @ C @ w


def optimum(function, gradient, size, R):
    """The least value over the ball of radius R, the best of three starts."""
    inside = {"type": "ineq", "fun": lambda x: R**2 - x @ x, "jac": lambda x: -2 * x}
    rng, found = np.random.default_rng(0), []
    for _ in range(3):
        begin = rng.normal(size=size)
        begin *= 0.5 * R / np.linalg.norm(begin)
        options = {"ftol": 1e-14, "maxiter": 500}
        found.append(minimize(function, begin, jac=gradient, constraints=[inside], method="SLSQP", options=options).fun)
    return min(found)


def numerical_error(case, theta, w, R):
    """max over w of L(θ', w) − min over θ of L(θ, w')."""
    A, b, C = means(case)
    best_w = -optimum(lambda x: -L(case, theta, x), lambda x: C @ x - (b - A @ theta), len(b), R)
    return best_w - optimum(lambda x: L(case, x, w), lambda x: -A.T @ w, len(b), R)


@pytest.mark.parametrize("case", CASES)
def test_err_is_the_numerical_max_minus_min_over_the_balls(case):
    """At the start, at the solution, and at random points: of all cases together some bind the trust region."""
    saddle = saddle_of(case)
    n, k = saddle.target.outputs, saddle.mdp.features.shape[1]
    rng = np.random.default_rng(1)
    solution = axes_of(case) @ saddle.solution
    far = rng.normal(size=(2, 2, n * k)) @ axes_of(case) @ axes_of(case).T  # in the row space, as learners are
    far *= 0.9 * saddle.R / np.linalg.norm(far, axis=-1, keepdims=True)
    points = [(0 * solution, 0 * solution), (solution, 0.3 * far[0, 1]), tuple(far[0]), tuple(far[1])]
    theta, w = (np.array(part).reshape(len(points), n, k) for part in zip(*points, strict=True))
    found = saddle.error_of(theta, w)
    for point, error in zip(points, found, strict=True):
        known = numerical_error(case, *point, saddle.R)
        assert error == pytest.approx(known, rel=1e-5, abs=1e-7)
    flat = [part @ axes_of(case) for part in points[2]]
    assert saddle.error(*flat) == pytest.approx(found[2], rel=1e-12)


def test_some_points_bind_the_trust_region_and_some_do_not():
    """What the test above rests on: at θ = 0 the best w without a ball, over R."""
    sizes = {
        case: np.linalg.norm(np.linalg.pinv(means(case)[2]) @ means(case)[1]) / saddle_of(case).R for case in CASES
    }
    assert sizes["walk"] < 1
    assert sizes["small"] < 1
    assert sizes["walk, small balls"] > 2
    assert sizes["small, lifted, small balls"] > 2


@pytest.mark.parametrize("case", [case for case in CASES if not case.endswith("small balls")])
def test_err_is_zero_at_the_saddle_point_and_positive_elsewhere(case):
    """Small balls do not hold the saddle point."""
    saddle = saddle_of(case)
    zero = np.zeros_like(saddle.b)
    assert saddle.error(saddle.solution, zero) == pytest.approx(0, abs=1e-12)
    moved = np.random.default_rng(2).normal(size=(2, 20, len(zero))) * 0.1 * saddle.R / np.sqrt(len(zero))
    assert (saddle.error(saddle.solution + moved[0], moved[1]) > 1e-6).all()


def test_err_of_one_number_has_its_half():
    """One state, φ = 1, r = 1, γ = ½: A = ½, b = 1, C = 1, θ* = 2, R = 3, and max_w at θ = 0 is w − ½w² at w = 1."""
    from dgtd.harness.oracle.mdp import FiniteMDP, Transitions

    mdp = FiniteMDP(
        "one", Transitions.of([(0, 0, 1.0, 0, 1.0, False)]), gamma=0.5, behaviour=np.ones((1, 1)),
        target=np.ones((1, 1)), features=np.ones((1, 1)), theta_initial=np.zeros(1),
    )  # fmt: skip
    saddle = Saddle(mdp, ValueTarget())
    assert pytest.approx(3.0) == saddle.R
    assert saddle.standing_still == pytest.approx(0.5)
    # min over |θ| ≤ 3 of (1 − θ/2)w − ½w² at w = 0.4 is −0.5·0.4 − 0.08; max_w at θ = 1 is ½·½².
    assert saddle.error_of(np.array([[1.0]]), np.array([[0.4]])) == pytest.approx(0.125 + 0.2 + 0.08)
    assert saddle.noise == pytest.approx((0.0, 0.0), abs=1e-12)
    m_star = np.sqrt(2 * 9 * ((0.5 * 3) ** 2 + (1 + (0.5 + 1) * 3) ** 2))
    assert saddle.M_star == pytest.approx(m_star)
    assert saddle.step(20) == pytest.approx(4 * 9 / (m_star * 10))
    assert saddle.bound(500, 0.02) == pytest.approx((8 + 2 * np.log(100)) * 0.1 * m_star)


# ---------------------------------------------------------------------- noise, step and bound


def spread(case, of_sample, mean):
    """E‖x̂ − x‖² over the table."""
    return sum(mass * ((of_sample(A, b, C) - mean) ** 2).sum() for mass, A, b, C in samples(case))


@pytest.mark.parametrize("case", CASES)
def test_the_first_noise_is_the_largest_variance_over_the_ball(case):
    """At random w of norm R the variance of Âᵀw stays below σ₁², and where it is largest, it is σ₁²."""
    saddle, A = saddle_of(case), means(case)[0]
    covariance = sum(mass * (part - A) @ (part - A).T for mass, part, _, _ in samples(case))
    directions = [*np.random.default_rng(3).normal(size=(20, len(A))), np.linalg.eigh(covariance)[1][:, -1]]
    found = []
    for direction in directions:
        w = saddle.R * direction / np.linalg.norm(direction)
        found.append(spread(case, lambda A, b, C, w=w: A.T @ w, A.T @ w))
    assert max(found) == pytest.approx(saddle.noise[0], rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_second_noise_is_an_upper_bound_by_three_parts(case):
    saddle = saddle_of(case)
    A, b, C = means(case)
    along = np.linalg.norm(sum(m * (part - A).T @ (part - A) for m, part, _, _ in samples(case)), 2)
    of_C = np.linalg.norm(sum(m * (part - C) @ (part - C) for m, _, _, part in samples(case)), 2)
    of_b = spread(case, lambda A, b, C: b, b)
    parts = np.sqrt(of_b) + saddle.R * np.sqrt(along) + saddle.R * np.sqrt(of_C)
    assert saddle.noise[1] == pytest.approx(parts**2, rel=1e-9)
    for theta, w in np.random.default_rng(4).normal(size=(20, 2, len(b))):
        theta, w = (saddle.R * x / np.linalg.norm(x) for x in (theta, w))
        mean = b - A @ theta - C @ w
        assert spread(case, lambda A, b, C, t=theta, w=w: b - A @ t - C @ w, mean) <= saddle.noise[1]


@pytest.mark.parametrize("case", CASES)
def test_m_star_step_and_bound_are_the_corrected_formulas(case):
    """Nemirovski et al. (2009): M*² = 2R²(M_θ² + M_w²), step 2/(M*√(5n)) in units of 2R², bound with Ω = ln(2/δ)."""
    saddle = saddle_of(case)
    A, b, C = means(case)
    R, (first, second) = saddle.R, saddle.noise
    norm_A, norm_C = np.sqrt(np.linalg.eigvalsh(A.T @ A)[-1]), np.linalg.eigvalsh(C)[-1]
    of_theta = first + norm_A**2 * R**2
    of_w = second + (np.sqrt(b @ b) + (norm_A + norm_C) * R) ** 2
    m_star = np.sqrt(2) * R * np.sqrt(of_theta + of_w)
    assert saddle.M_star == pytest.approx(m_star, rel=1e-9)
    for n, delta in ((7, 0.1), (10_000, 0.01)):
        assert saddle.step(n) == pytest.approx(2 * R**2 * 2 / (m_star * np.sqrt(5) * np.sqrt(n)), rel=1e-9)
        omega = np.log(2) - np.log(delta)
        assert saddle.bound(n, delta) == pytest.approx((8 + 2 * omega) * np.sqrt(5) * m_star / np.sqrt(n), rel=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if case != "star"])
def test_the_bound_is_useful_from_the_first_n_at_which_it_beats_standing_still(case):
    saddle, zero = saddle_of(case), np.zeros_like(means(case)[1])
    still = numerical_error(case, zero, zero, saddle.R)
    assert saddle.standing_still == pytest.approx(still, rel=1e-5)
    for delta in (0.1, 0.01):
        n = saddle.useful_from(delta)
        assert saddle.bound(n, delta) <= saddle.standing_still < saddle.bound(n - 1, delta)


# ---------------------------------------------------------------------- without noise


def test_the_field_is_the_gradient_of_l_and_the_matrix_its_linear_part():
    saddle = saddle_of("small, lifted")
    Q = axes_of("small, lifted")
    size = len(saddle.b)
    theta, w = np.random.default_rng(5).normal(size=(2, size))
    g_theta, g_w = saddle.field(theta, w)
    for i, unit in enumerate(0.5 * np.eye(size)):  # L is quadratic: central differences are exact
        along_theta = L("small, lifted", Q @ (theta + unit), Q @ w) - L("small, lifted", Q @ (theta - unit), Q @ w)
        along_w = L("small, lifted", Q @ theta, Q @ (w + unit)) - L("small, lifted", Q @ theta, Q @ (w - unit))
        assert g_theta[i] == pytest.approx(along_theta, abs=1e-12)
        assert g_w[i] == pytest.approx(along_w, abs=1e-12)
    moved = saddle.matrix @ np.concatenate([theta - saddle.solution, w])
    np.testing.assert_allclose(moved, np.concatenate([g_theta, -g_w]), atol=1e-12)
    assert saddle.lipschitz == pytest.approx(np.sqrt(np.linalg.eigvalsh(saddle.matrix.T @ saddle.matrix)[-1]))


@pytest.mark.parametrize("extragradient", [False, True])
def test_exact_errors_are_of_averages_over_the_points_whose_field_was_followed(extragradient):
    """Three steps written out, long enough to leave the ball."""
    saddle, step = saddle_of("walk, small balls"), 4.0

    def step_from(start, at):
        g_theta, g_w = saddle.field(*at)
        after = (start[0] - step * g_theta, start[1] + step * g_w)
        return tuple(x * min(1.0, saddle.R / np.linalg.norm(x)) if x.any() else x for x in after)

    point, followed = (np.zeros(5), np.zeros(5)), []
    for _ in range(3):
        at = step_from(point, point) if extragradient else point
        followed.append(at)
        point = step_from(point, at)
    assert np.linalg.norm(point[1]) == pytest.approx(saddle.R)
    known = [saddle.error(*(np.mean([p[i] for p in followed[:n]], axis=0) for i in (0, 1))) for n in (1, 3)]
    found = saddle.exact_errors(np.array([1, 3]), extragradient=extragradient, step=step)
    np.testing.assert_allclose(found, known, rtol=1e-12)
