"""Every published number of every problem, and exact quantities against a million simulated transitions."""

import numpy as np
import pytest
from scipy.stats import t as student

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.algorithms.table import Sampler
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.objectives import Objective, linear
from dgtd.harness.plugins import find_problem, installed

NAMES = sorted(installed("problems"))
every_problem = pytest.mark.parametrize("name", NAMES)


def test_baird_has_the_published_spectrum():
    mdp = find_problem("baird").mdp
    expected = [-0.23925, -0.02218, 0, *[0.57143] * 5]
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(mdp.A).real), expected, atol=5e-6)
    np.testing.assert_allclose(mdp.d, 1 / 7)
    np.testing.assert_array_equal(mdp.v, 0)
    assert set(mdp.table.rho) == {0.0, 7.0}
    assert mdp.features[2].tolist() == [0, 0, 2, 0, 0, 0, 0, 1]
    assert mdp.features[6].tolist() == [0, 0, 0, 0, 0, 0, 1, 2]
    assert np.linalg.matrix_rank(mdp.C) == 7


def test_two_state_has_a_of_minus_a_fifth():
    mdp = find_problem("two_state").mdp
    np.testing.assert_allclose(mdp.A, [[-0.2]])
    assert set(mdp.table.rho) == {0.0, 2.0}
    assert mdp.theta_initial.tolist() == [10.0]


@pytest.mark.parametrize(("epsilon", "gamma"), [(0.01, 0.99), (0.2, 0.9), (0.0, 0.8), (0.5, 0.99)])
def test_tsitsiklis_van_roy_dynamic_programming_multiplies_by_the_published_factor(epsilon, gamma):
    mdp = find_problem(f"tsitsiklis_van_roy(epsilon={epsilon}, gamma={gamma})").mdp
    (factor,) = mdp.C_inverse @ (mdp.b + (mdp.C - mdp.A) @ [1.0])  # θ of Π(r + γPXθ), by least squares
    assert factor == pytest.approx((6 - 4 * epsilon) / 5 * gamma)
    assert (factor > 1) == (gamma > 5 / (6 - 4 * epsilon))


def test_kolter_is_singular_at_p_for_every_epsilon_and_not_beside_it():
    for epsilon in (0.01, 0.1, 0.5):
        at, beside = (find_problem(f"kolter(epsilon={epsilon}, offset={x})").mdp for x in (0.0, 0.01))
        assert abs(at.A[0, 0]) < 1e-12
        assert at.mspbe([3.0]) == pytest.approx(at.mspbe([-50.0]))
        assert abs(beside.A[0, 0]) > 1e-6
    mdp = find_problem("kolter").mdp
    np.testing.assert_allclose(mdp.v, [1.0, 1.05])
    # A good fit exists, and the TD solution is far from it: the point of the example.
    assert mdp.msve(mdp.features @ mdp.theta_td) > 100 * min(mdp.msve(mdp.features[:, 0] * x) for x in (0.99, 1.0))


def test_boyan_has_its_published_value_and_fixed_point():
    mdp = find_problem("boyan").mdp
    np.testing.assert_allclose(mdp.v, -2.0 * (12 - np.arange(13)))
    np.testing.assert_allclose(mdp.theta_td, [-24, -16, -8, 0], atol=1e-10)
    assert mdp.features[5].tolist() == [0, 0.75, 0.25, 0]


def test_the_random_walks_have_their_published_values():
    off, on = find_problem("random_walk").mdp, find_problem("random_walk_on_policy").mdp
    np.testing.assert_allclose(off.v, [-0.269173, 0.218045, 0.542857, 0.759398, 0.903759], atol=5e-7)
    np.testing.assert_allclose(on.v, np.arange(1, 6) / 6)
    for mdp in (off, on):
        np.testing.assert_allclose(mdp.d, np.array([1, 2, 3, 2, 1]) / 9)
    inverted = find_problem("random_walk_inverted").mdp.features
    assert inverted[0].tolist() == [0, 0.5, 0.5, 0.5, 0.5]
    dependent = find_problem("random_walk_dependent").mdp.features
    np.testing.assert_allclose(dependent[2], 1 / np.sqrt(3))
    np.testing.assert_allclose(np.linalg.norm(dependent, axis=1), 1)


def test_collision_has_its_published_value_and_features():
    mdp = find_problem("collision").mdp
    np.testing.assert_allclose(mdp.v, 0.9 ** np.arange(7, -1, -1))
    assert (mdp.features.sum(1) == 3).all()
    assert (find_problem("collision(seed=1)").mdp.features != mdp.features).any()


def test_the_spiral_has_its_published_drift():
    """TD's drift is +0.09958‖V‖², at any θ; with the last two of b swapped it is not positive."""
    from dgtd.algorithms.fast.module import ModuleEngine
    from dgtd.algorithms.targets import ValueTarget
    from dgtd.harness.oracle.objectives import module
    from dgtd.suites.problems.counterexamples import SPIRAL_A, SPIRAL_B

    problem = find_problem("spiral")
    objective = Objective(problem.mdp, ValueTarget(), module(ModuleEngine(rules.td, problem.network()), np.eye(3)))
    for theta in (0.0, 1.7, -3.0):
        drift, _ = objective.mean_update(rules.td, [theta], [0.0])
        V = objective.predictor([theta])[:, 0]
        assert drift[0] / (V @ V) == pytest.approx(0.09958, abs=2e-5)
    np.testing.assert_allclose(np.dot(SPIRAL_A, SPIRAL_B), 0, atol=1)
    np.testing.assert_allclose(np.linalg.norm(SPIRAL_A), np.linalg.norm(SPIRAL_B), rtol=1e-4)
    P, swapped = problem.mdp.P_pi, np.array([23.094, -98.15, 75.056])
    a = np.array(SPIRAL_A)
    slope = 0.05 * a - 0.866 * swapped
    assert slope @ (0.9 * P @ a - a) / 3 < 0


@pytest.mark.parametrize("push", [0.0, 0.5, 0.8])
def test_the_wheel_is_what_its_closed_form_says(push):
    """√J = √2/R |κ − A sin θ| with κ = γR²/4 and A = R push/2; TD's drift is E[φδ] itself, and has no zero."""
    from dgtd.algorithms.fast.module import ModuleEngine
    from dgtd.algorithms.targets import ValueTarget
    from dgtd.harness.oracle.objectives import module

    problem = find_problem(f"wheel(push={push})")
    engine = ModuleEngine(rules.td, problem.network(inputs=4, outputs=1))
    objective = Objective(problem.mdp, ValueTarget(), module(engine, np.eye(4)))
    for theta in np.linspace(-3, 3, 7):
        drift = 0.9 - push * np.sin(theta)
        assert objective.mean_update(rules.td, [theta], [0.0])[0][0] == pytest.approx(drift, abs=1e-12)
        assert objective.value([theta]) == pytest.approx(drift**2 / 2, abs=1e-12)
        assert drift > 0


def test_the_grid_world_is_drawn_as_it_is_built():
    problem = find_problem("grid_world")
    mdp = problem.mdp
    assert problem.drawing.count(".") + problem.drawing.count("S") == mdp.states
    np.testing.assert_allclose(mdp.behaviour.max(1), 1 - 0.05 + 0.05 / 4)
    assert (mdp.v > 0).all()
    assert (mdp.v <= 1).all()
    best = mdp.action_values(mdp.v).max(1)
    np.testing.assert_allclose(best, mdp.v, atol=1e-9)  # the target is optimal


@pytest.mark.parametrize("name", ["frozen_lake", "cliff_walking", "taxi"])
def test_gymnasium_tables_keep_their_own_probabilities(name):
    import gymnasium

    env = gymnasium.make({"frozen_lake": "FrozenLake-v1", "cliff_walking": "CliffWalking-v1", "taxi": "Taxi-v4"}[name])
    mdp = find_problem(name).mdp
    table = env.unwrapped.P
    uniform = np.full((mdp.states, mdp.actions), 1 / mdp.actions)
    expected = np.zeros((mdp.states, mdp.states))
    for s, choices in table.items():
        for happenings in choices.values():
            for p, to, _, ended in happenings:
                expected[s, to] += 0 if ended else p / mdp.actions
    np.testing.assert_allclose(mdp.transition_matrix(uniform), expected, atol=1e-12)
    env.close()


@every_problem
def test_every_row_of_every_chain_sums_to_one_with_its_exit(name):
    mdp = find_problem(name).mdp
    o = mdp.transitions
    for policy in (mdp.behaviour, mdp.target):
        end = np.bincount(o.state, np.where(o.ends, o.probability * policy[o.state, o.action], 0.0), mdp.states)
        np.testing.assert_allclose(mdp.transition_matrix(policy).sum(1) + end, 1, atol=1e-12)


@every_problem
def test_a_lift_starts_from_the_scalar_mean_whatever_the_features(name):
    problem = find_problem(name)
    target = problem.target("cdf")
    theta = np.random.default_rng(0).normal(size=problem.mdp.features.shape[1])
    for scalar in (problem.mdp.theta_initial, theta):
        laws = target.laws(problem.mdp.features @ target.start(scalar).T)
        means = target.probabilities(laws) @ target.support
        expected = problem.mdp.features @ scalar
        np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12 * max(10.0, np.abs(expected).max()))


@every_problem
def test_every_return_lies_inside_the_support_of_the_lift(name):
    problem = find_problem(name)
    low, high = problem.mdp.return_bounds()
    assert problem.support[0] <= low <= high <= problem.support[1]


LANES, STEPS, BURN = 100, 10_000, 1000


def lane_frequencies(mdp: FiniteMDP, seed: int) -> np.ndarray:
    """[lanes, outcomes]: how often each outcome came in a million transitions, after a burn-in."""
    sampler = Sampler(mdp.table, lane_streams(seed, range(LANES), problem=mdp.name))
    sampler.draw(BURN)
    outcomes = sampler.draw(STEPS)
    size = len(mdp.table.probability)
    return np.stack([np.bincount(outcomes[:, lane], minlength=size) for lane in range(LANES)]) / STEPS


def assert_means(samples: np.ndarray, exact: np.ndarray, false_alarm: float) -> None:
    """t-tests over the lanes for every column at once; a column that never varies must be exact."""
    spread = samples.std(0, ddof=1) / np.sqrt(len(samples))
    gap = np.abs(samples.mean(0) - exact)
    critical = student.isf(false_alarm / (2 * len(exact)), len(samples) - 1)
    scale = np.abs(exact).max() + 1e-12
    assert (gap <= critical * spread + 1e-9 * scale).all(), (gap / (spread + 1e-300)).max()


@pytest.mark.slow
@every_problem
def test_exact_quantities_agree_with_a_million_transitions(name):
    check_exact_quantities(name, seed=1)


def check_exact_quantities(name, seed):
    """d, b and random projections of A and C; false alarm 1e-6 a problem."""
    mdp = find_problem(name).mdp
    frequencies = lane_frequencies(mdp, seed)
    table, X, rng = mdp.table, mdp.features, generator(seed, purpose="projections")
    x, y = rng.normal(size=(2, X.shape[1], 8))
    here, there = X[table.state], X[table.next_state] * (table.rho * table.discount)[:, None]
    a = (here @ x) * (here @ y - there @ y)  # A needs ρ on φ' alone: E[ρ | s] = 1
    c = (here @ x) * (here @ y)
    b = (here @ x) * (table.rho * table.reward)[:, None]
    visits = np.eye(mdp.states)[table.state]
    samples = frequencies @ np.concatenate([visits, a, c, b], axis=1)
    bilinear = [np.einsum("ip,ij,jp->p", x, matrix, y) for matrix in (mdp.A, mdp.C)]
    assert_means(samples, np.concatenate([mdp.d, *bilinear, mdp.b @ x]), 1e-6)


RULES = [*rules.RULES.values(), rules.greedy_gq(0.5), rules.tdrc(1.0)]


@pytest.mark.slow
@every_problem
def test_the_sampled_mean_update_is_the_exact_mean_update(name):
    check_mean_updates(name, seed=2)


def check_mean_updates(name, seed):
    """Every rule, value and lift: the engine on sampled transitions against the oracle; false alarm 1e-6 a problem."""
    problem = find_problem(name)
    mdp = problem.mdp
    frequencies = lane_frequencies(mdp, seed)
    rng = generator(seed, purpose="points")
    checks = 0
    for target in (problem.target("value"), problem.target("cdf", atoms=4)):
        if mdp.states > 100 and target.outputs > 1:
            continue  # Taxi's lift has nothing that its value has not, and takes a minute
        n, k = target.outputs, mdp.features.shape[1]
        theta, w = rng.normal(size=(2, n, k))
        batch = mdp.table.batch(np.arange(len(mdp.table.probability))[:, None], mdp.features, target)
        at = [np.array(np.broadcast_to(part, (len(batch.x), n, k)), order="C") for part in (theta, w)]
        objective = Objective(mdp, target, linear(mdp.features, n))
        probes = rng.normal(size=(n * k, 5))
        for each in RULES:
            found = directions(each, *at, batch)
            exact = objective.mean_update(each, theta, w)
            for sign, outcome, mean in zip((-1, 1), found, exact, strict=True):
                projected = sign * outcome.reshape(len(outcome), -1) @ probes
                assert_means(frequencies @ projected, mean @ probes, 1e-6 / 40)
                checks += 1
    assert checks >= 16
