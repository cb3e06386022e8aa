"""Certificates against simulation, over rules × step sizes × problems, and against brute force where it is possible."""

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine, directions
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle.certificates import Class, Dynamics, _Zeroed, certify, log_growth, mean_square
from dgtd.harness.oracle.enumerated import second_moment_radius
from dgtd.harness.oracle.radius import bracket
from dgtd.harness.plugins import find_problem

# Problem, target, atoms. Transitions are i.i.d. from d, for which E[M⊗M] is exact.
PLACES = [
    ("two_state", "value", 0),
    ("baird", "value", 0),
    ("random_walk_dependent", "value", 0),
    ("boyan", "value", 0),
    ("two_state", "cdf", 5),
    ("random_walk_dependent", "cdf", 4),
]
RULES = ["td", "gtd2", "tdc", "gtd2_sb", "tdc_sb"]
STEPS = [(0.02, 0.1), (0.2, 0.2), (0.5, 0.1), (1.0, 0.5), (1.0, 1.0)]
FALSE_ALARM = 1e-6  # of each check below, at most 3 × 150 of them


def dynamics_at(name, kind, atoms, rule_name, alpha, beta):
    problem = find_problem(name)
    mdp = problem.mdp.with_(weights=problem.mdp.d)
    return Dynamics(rules.find_rule(rule_name), mdp, problem.target(kind, atoms or 21), alpha, beta)


def simulated_squares(dynamics, begin, times, lanes, seed):
    """‖x_t‖² [times, lanes] of deviations that start at `begin`, run by the linear engine."""
    engine = LinearEngine(dynamics.rule, dynamics.mdp.table, dynamics.features, _Zeroed(dynamics.target))
    shape = (dynamics.target.outputs, dynamics.features.shape[1])
    state = engine.start(begin[: dynamics.size].reshape(shape), lane_streams(seed, range(lanes), purpose="squares"))
    if dynamics.uses_w:
        state.w[:] = begin[dynamics.size :].reshape(shape)
    out = []
    for t in times:
        engine.run(state, t - state.steps, dynamics.alpha, dynamics.beta)
        out.append((state.theta**2).sum((1, 2)) + (state.w**2).sum((1, 2)))
    return np.array(out)


def exact_squares(dynamics, begin, times):
    """E‖x_t‖² from E[M⊗M], written out."""
    M, side = dynamics.matrices(), dynamics.side
    square = np.einsum("o,oij,okl->ikjl", dynamics.probability, M, M, optimize=True).reshape(side**2, side**2)
    start = np.outer(begin, begin).ravel()
    moments = [(np.linalg.matrix_power(square, t) @ start).reshape(side, side) for t in times]
    return np.array([np.trace(moment) for moment in moments])


def check_place(name, kind, atoms, seed):
    """The class of every rule and step size, borne out by fresh lanes. Returns the classes that counted."""
    seen = []
    for rule_name in RULES:
        for alpha, beta in STEPS:
            dynamics = dynamics_at(name, kind, atoms, rule_name, alpha, beta)
            found = certify(
                dynamics.rule, dynamics.mdp, dynamics.target, alpha, beta,
                seed=seed, steps=10_000, confidence=1 - FALSE_ALARM,
            )  # fmt: skip
            rate = abs(np.log(found.mean_square_radius))
            point = (name, kind, rule_name, alpha, beta, found)
            if found.kind is Class.MARGINAL or 20_000 * rate < 10:
                seen.append(Class.MARGINAL)
                continue
            seen.append(found.kind)
            if found.kind is Class.STABLE:
                check_stable(dynamics, int(np.ceil(10 / rate)), seed, point)
            else:
                growth = log_growth(dynamics, lanes=64, steps=20_000, seed=seed + 1000)[-1]
                grows = found.kind is Class.DIVERGING
                assert (growth.mean() > 0) == grows, point
                assert np.mean((growth > 0) == grows) >= 0.7, point
    return seen


def check_stable(dynamics, steps, seed, point):
    begin = np.random.default_rng(seed).normal(size=dynamics.side)
    times = [1, 3, 10]
    squares = simulated_squares(dynamics, begin, times, 4000, seed)
    exact = exact_squares(dynamics, begin, times)
    spread = squares.std(1, ddof=1) / np.sqrt(squares.shape[1])
    critical = student.isf(FALSE_ALARM / 6, 100)  # few degrees of freedom: squares have heavy tails
    assert (np.abs(squares.mean(1) - exact) <= critical * spread + 1e-9 * exact).all(), point
    # After 10/|log radius| steps Markov's inequality bounds how many lanes may lie far above the exact second moment.
    late = simulated_squares(dynamics, begin, [steps], 100, seed + 1)[0]
    bound = 1000 * exact_squares(dynamics, begin, [steps])[0]
    assert (late > bound).sum() <= binom.isf(FALSE_ALARM, 100, 1e-3), point


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "atoms"), PLACES)
def test_certificates_and_simulation_agree(name, kind, atoms):
    seen = check_place(name, kind, atoms, seed=0)
    assert sum(each is not Class.MARGINAL for each in seen) >= 20
    assert len(set(seen) - {Class.MARGINAL}) >= (1 if name in ("baird", "boyan") else 2)


@pytest.mark.slow
def test_each_class_has_its_case():
    cases = [
        ("baird", "gtd2", 0.01, 0.01, Class.STABLE),
        ("baird", "td", 0.01, 0.01, Class.DIVERGING),
        ("two_state", "td", 1.0, 0.1, Class.HEAVY_TAILED),
    ]
    for name, rule_name, alpha, beta, expected in cases:
        problem = find_problem(name)
        found = certify(rules.find_rule(rule_name), problem.mdp, problem.target(), alpha, beta)
        assert found.kind is expected
        assert found.stable == (expected is Class.STABLE)
    # Rounding to the nearest atom keeps z = 0 where it is: undiscounted, and nothing pulls a constant error in.
    lift = find_problem("baird")
    found = certify(rules.gtd2, lift.mdp, lift.target("cdf", 3, "nearest"), 0.005, 0.005)
    assert found.kind is Class.MARGINAL
    assert found.stable is None


@pytest.mark.parametrize("atoms", [0, 2, 3])
@pytest.mark.parametrize("end", [1.0, 1.5])
def test_the_radius_is_that_of_dense_one_step_matrices(atoms, end):
    """Two atoms have one output, as a value has, and another T at every reward."""
    mdp = find_problem("random_mdp(states=4)").mdp
    target = CdfTarget(-end, end, atoms) if atoms else ValueTarget()
    found = mean_square(Dynamics(rules.gtd2, mdp, target, 0.1, 0.2))
    assert found.low <= second_moment_radius(rules.gtd2, mdp.with_(weights=mdp.d), target, 0.1, 0.2) <= found.high
    assert found.high - found.low < 1e-6


def test_two_state_td_has_its_published_thresholds():
    """Paths diverge for α < 0.625 and α > 1.6; between, the second moment explodes while almost every path shrinks."""
    problem = find_problem("two_state")
    for alpha, expected in [(0.1, 1), (0.55, 1), (0.8, -1), (1.4, -1), (1.8, 1)]:
        found = certify(rules.td, problem.mdp, problem.target(), alpha, 1.0)
        assert found.mean_square_bracket[0] > 1
        assert found.lyapunov[0] * expected > 0
        assert found.lyapunov[1] * expected > 0
    # M is 1 with chance ½ (ρ = 0), and with ¼ each 1 + 2α(1.8 − 1) from s1 and 1 + 4α(1.8 − 2) from s2.
    alpha = 1.0
    values = [1.0, 1 + 2 * alpha * (0.9 * 2 - 1), 1 + 2 * alpha * 2 * (0.9 * 2 - 2)]
    square = 0.5 * values[0] ** 2 + 0.25 * values[1] ** 2 + 0.25 * values[2] ** 2
    assert mean_square(Dynamics(rules.td, problem.mdp, ValueTarget(), alpha, 1.0)).radius == pytest.approx(square)


def test_the_placement_of_rho_decides_stability_somewhere():
    """ρδ − u and ρ(δ − u) share a mean and not a second moment."""
    apart = 0
    for name in ("random_walk_dependent", "two_state"):
        for alpha, beta in [(1.0, 0.5), (0.2, 0.2)]:
            pair = [dynamics_at(name, "value", 0, r, alpha, beta) for r in ("gtd2", "gtd2_sb")]
            np.testing.assert_allclose(pair[0].mean, pair[1].mean, atol=1e-12)
            radii = [mean_square(p).radius for p in pair]
            apart += (radii[0] < 1) != (radii[1] < 1)
    assert apart >= 1


@pytest.mark.parametrize(("name", "kind"), [("collision", "value"), ("random_walk", "cdf"), ("boyan", "cdf")])
@pytest.mark.parametrize("each", [*rules.RULES.values(), rules.tdrc(0.7), rules.greedy_gq(0.5)], ids=lambda r: r.name)
def test_the_matrices_are_the_engines_steps(name, kind, each):
    problem = find_problem(name)
    target = problem.target(kind, atoms=4)
    dynamics = Dynamics(each, problem.mdp, target, 0.3, 0.2)
    n, k = target.outputs, dynamics.features.shape[1]
    rng = np.random.default_rng(0)
    x = rng.normal(size=dynamics.side)
    theta = x[: dynamics.size].reshape(n, k)
    w = x[dynamics.size :].reshape(n, k) if dynamics.uses_w else np.zeros((n, k))
    table = problem.mdp.table
    batch = table.batch(np.arange(len(table.probability))[:, None], dynamics.features, _Zeroed(target))
    at = [np.array(np.broadcast_to(part, (len(batch.x), n, k)), order="C") for part in (theta, w)]
    g_theta, g_w = directions(each, *at, batch)
    steps = np.concatenate(
        [(at[0] - 0.3 * g_theta).reshape(len(g_w), -1), (at[1] + 0.2 * g_w).reshape(len(g_w), -1)], 1
    )
    steps = steps[:, : dynamics.side]
    mean = problem.mdp.mass @ steps
    np.testing.assert_allclose(dynamics.mean @ x, mean, atol=1e-12)
    second = np.einsum("o,oi,oj->ij", problem.mdp.mass, steps, steps)
    np.testing.assert_allclose(dynamics.second_moment(np.outer(x, x)), second, atol=1e-11)
    M = dynamics.matrices()
    np.testing.assert_allclose(np.einsum("o,oij->ij", dynamics.probability, M), dynamics.mean, atol=1e-12)


def test_gtd2s_mean_dynamics_are_a_and_c():
    mdp = find_problem("boyan").mdp
    dynamics = Dynamics(rules.gtd2, mdp, ValueTarget(), 0.1, 0.2)
    A, C = mdp.A, mdp.C
    expected = np.block([[np.eye(4), 0.1 * A.T], [-0.2 * A, np.eye(4) - 0.2 * C]])
    ours, theirs = (np.sort_complex(np.linalg.eigvals(m)) for m in (dynamics.mean, expected))
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("trajectory", [False, True])
def test_the_bracket_holds_the_eigenvalue_of_the_written_out_map(trajectory):
    """E[M⊗M] (and its version by state) as one matrix, from the M themselves."""
    problem = find_problem("random_walk_dependent")
    dynamics = Dynamics(rules.tdc, problem.mdp, ValueTarget(), 0.3, 0.4)
    found = mean_square(dynamics, trajectory)
    M, mdp, side = dynamics.matrices(), problem.mdp, dynamics.side
    count = mdp.states if trajectory else 1
    whole = np.zeros((count, side * side, count, side * side))
    for o, p in enumerate(dynamics.probability):
        square = np.kron(M[o], M[o])
        if not trajectory:
            whole[0, :, 0] += p * square
            continue
        s, to = dynamics.left[o], dynamics.right[o]
        chance = p / mdp.d[s]
        for arrived, share in [(to, 1.0)] if to >= 0 else enumerate(mdp.table.start):
            whole[arrived, :, s] += chance * share * square
    radius = np.abs(np.linalg.eigvals(whole.reshape(count * side * side, -1))).max()
    assert found.low - 1e-9 <= radius <= found.high + 1e-9
    assert found.high - found.low < 1e-6


def test_trajectories_follow_the_state_indexed_recursion_and_not_the_pooled_one():
    """4 standard errors apart from the pooled one, within 5 of the other (z, 20 000 lanes)."""
    problem = find_problem("random_walk_dependent")
    dynamics = Dynamics(rules.td, problem.mdp, ValueTarget(), 0.7, 0.1)
    begin = np.ones(dynamics.side)
    squares = simulated_squares(dynamics, begin, [12], 20_000, seed=5)[0]
    M, mdp = dynamics.matrices(), problem.mdp
    Y = mdp.table.start[:, None, None] * np.outer(begin, begin)
    for _ in range(12):
        after = np.zeros_like(Y)
        for o, p in enumerate(dynamics.probability):
            s, to = dynamics.left[o], dynamics.right[o]
            moved = p / mdp.d[s] * M[o] @ Y[s] @ M[o].T
            after += mdp.table.start[:, None, None] * moved if to < 0 else np.eye(5)[to][:, None, None] * moved
        Y = after
    exact, pooled = np.trace(Y.sum(0)), exact_squares(dynamics, begin, [12])[0]
    spread = squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - exact) < 5 * spread
    assert abs(squares.mean() - pooled) > 8 * spread


def test_the_matrix_free_bracket_agrees_with_the_dense_one(monkeypatch):
    problem = find_problem("random_walk")
    dynamics = Dynamics(rules.gtd2, problem.mdp, ValueTarget(), 0.3, 0.5)
    dense = mean_square(dynamics)
    monkeypatch.setattr("dgtd.harness.oracle.radius.DENSE", 0)
    free = mean_square(dynamics, seconds=2.0)
    assert free.low <= dense.radius <= free.high
    assert free.radius == pytest.approx(dense.radius, abs=1e-8)
    assert free.high < 1


def test_a_bracket_never_lies_on_maps_with_known_radius():
    """X ↦ Σ Mᵢ X Mᵢᵀ for one matrix has radius ρ(M)²: random, nilpotent, rotation, and a reducible pair."""
    rng = np.random.default_rng(0)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for M in [rng.normal(size=(4, 4)), 0.9 * turn, np.diag([0.5, 1.2, 0.1])]:
        radius = np.abs(np.linalg.eigvals(M)).max() ** 2
        found = bracket(lambda Y, M=M: M @ Y @ M.T, 1, len(M))
        assert found.low - 1e-9 <= radius <= found.high + 1e-9


def test_a_nonlinear_rule_has_no_certificate():
    @rule(linear=False)
    def squashed(delta, u, rho):
        return Cotangents(-rho * delta / (1 + abs(delta)), rho * u, rho * delta - u)

    problem = find_problem("baird")
    with pytest.raises(ValueError, match="'squashed' declares linear=False: no certificate"):
        certify(squashed, problem.mdp, problem.target(), 0.1, 0.1)
    with pytest.raises(ValueError, match="alpha must be positive"):
        certify(rules.td, problem.mdp, problem.target(), -0.1, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("kind", ["value", "cdf"])
def test_large_steps_diverge_and_nothing_overflows(step, kind):
    problem = find_problem("baird")
    found = certify(rules.gtd2, problem.mdp, problem.target(kind, 5), step, step)
    assert found.kind is Class.DIVERGING
    assert np.isfinite(found.lyapunov).all()


def test_steps_beyond_any_use_are_refused_by_name():
    problem = find_problem("two_state")
    for alpha, beta, name in ((1e7, 1.0, "alpha"), (1.0, 1e200, "beta")):
        with pytest.raises(ValueError, match=f"{name} must be in"):
            certify(rules.gtd2, problem.mdp, problem.target(), alpha, beta)


@pytest.mark.slow
def test_a_lift_that_fits_in_no_memory_is_refused_by_name():
    problem = find_problem("taxi")
    with pytest.raises(ValueError, match="atoms must be fewer, or the problem smaller"):
        certify(rules.gtd2, problem.mdp, problem.target("cdf", 101), 0.1, 0.1)
