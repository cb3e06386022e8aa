"""Theorem 1, exactly: at w*(θ) the mean of w's update is 0 and of θ's is −½∇J."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.streams import generators
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.oracle.objectives import Objective, flat, linear, mlp, module
from dgtd.harness.oracle.theorem import network_case, small_problem
from dgtd.harness.plugins import find_problem

PROBLEMS = ["random_walk", "collision", "random_mdp"]
CASES = [(name, kind, net) for name in PROBLEMS for kind in ("value", "cdf") for net in ("linear", "mlp")]


def case(name, kind, net, seed=0):
    problem = find_problem(name)
    target = problem.target(kind, atoms=5, linear=net == "linear")
    mdp = problem.mdp
    if net == "linear":
        predictor = linear(mdp.features, target.outputs)
        theta = np.random.default_rng(seed).normal(size=predictor.size)
    else:
        engine = MlpEngine(rules.gtd2, (mdp.features.shape[1], 3), target, pinned=kind == "cdf")
        predictor = mlp(engine, mdp.features)
        theta = flat(engine.init(generators(seed, [0])))
    return Objective(mdp, target, predictor), theta


def finite_difference(objective, theta, step=1e-5):
    gradient = np.zeros_like(theta)
    for i in range(len(theta)):
        for sign in (-1, 1):
            moved = theta.copy()
            moved[i] += sign * step
            gradient[i] += sign * objective.value(moved) / (2 * step)
    return gradient


@pytest.mark.parametrize(("name", "kind", "net"), CASES)
def test_at_the_optimal_w_the_mean_update_is_minus_half_the_gradient(name, kind, net):
    objective, theta = case(name, kind, net)
    w = objective.optimal_w(theta)
    half = -0.5 * objective.gradient(theta)
    scale = np.abs(half).max()
    for each in (rules.gtd2, rules.tdc, rules.gtd2_sb, rules.tdc_sb):
        d_theta, d_w = objective.mean_update(each, theta, w)
        np.testing.assert_allclose(d_theta, half, atol=1e-9 * scale)
        np.testing.assert_allclose(d_w, 0, atol=1e-9)


@pytest.mark.parametrize(("name", "kind", "net"), [c for c in CASES if c[0] != "random_mdp"])
def test_the_gradient_is_the_finite_difference(name, kind, net):
    objective, theta = case(name, kind, net)
    gradient = objective.gradient(theta)
    np.testing.assert_allclose(gradient, finite_difference(objective, theta), atol=2e-5 * np.abs(gradient).max())


def wrong_rules():
    yield "h dropped", replace(rules.gtd2, curvature=False)

    @rule
    def half_tangent(delta, u, rho):
        return Cotangents(-rho * u, rho * u, 0.5 * (rho * delta - u))

    @rule
    def target_sign(delta, u, rho):
        return Cotangents(-rho * u, -rho * u, rho * delta - u)

    @rule
    def rho_forgotten(delta, u, rho):
        return Cotangents(-u, u, delta - u)

    yield "tangent halved", half_tangent
    yield "target's sign", target_sign
    yield "rho forgotten", rho_forgotten


@pytest.mark.parametrize(("name", "wrong"), list(wrong_rules()), ids=lambda x: x if isinstance(x, str) else "")
def test_a_wrong_rule_is_not_the_gradient(name, wrong):
    objective, theta = case("random_walk", "cdf", "mlp")
    w = objective.optimal_w(theta) + (0.1 if name == "tangent halved" else 0.0)
    right = objective.mean_update(rules.gtd2, theta, w)
    found = objective.mean_update(wrong, theta, w)
    gap = max(np.abs(f - r).max() / np.abs(r).max() for f, r in zip(found, right, strict=True))
    assert gap > 1e-3


@pytest.mark.parametrize("each", [*rules.RULES.values(), rules.tdrc(0.5), rules.greedy_gq(0.3)], ids=lambda r: r.name)
@pytest.mark.parametrize("kind", ["value", "cdf"])
def test_engines_average_to_the_exact_mean_update(each, kind):
    """Every outcome once, weighted with its probability: linear, mlp and module engines against the oracle."""
    problem = find_problem("collision")
    mdp, target = problem.mdp, problem.target(kind, atoms=4)
    outcomes = np.arange(len(mdp.table.probability))[:, None]
    batch = mdp.table.batch(outcomes, mdp.features, target)
    rng = np.random.default_rng(0)

    def weighted(parts):
        return sum(m * part for m, part in zip(mdp.mass, parts, strict=True))

    theta, w = rng.normal(size=(2, target.outputs, 6))
    at = [np.array(np.broadcast_to(x, (len(outcomes), *x.shape)), order="C") for x in (theta, w)]
    found = directions(each, *at, batch)
    exact = Objective(mdp, target, linear(mdp.features, target.outputs)).mean_update(each, theta, w)
    np.testing.assert_allclose(-weighted(found[0]).ravel(), exact[0], atol=1e-12)
    np.testing.assert_allclose(weighted(found[1]).ravel(), exact[1], atol=1e-12)

    target = problem.target(kind, atoms=4, linear=False)
    batch = mdp.table.batch(outcomes, mdp.features, target)
    engine = MlpEngine(each, (6, 3), target)
    theta, w = engine.init(generators(0, [0])), engine.init(generators(1, [0]))
    exact = Objective(mdp, target, mlp(engine, mdp.features)).mean_update(each, flat(theta), flat(w))
    at = [[p.expand(len(outcomes), *p.shape[1:]) for p in part] for part in (theta, w)]
    found = engine.directions(*at, batch)
    for sign, parts, mean in zip((-1, 1), found, exact, strict=True):
        total = weighted([flat(parts, lane) for lane in range(len(outcomes))])
        np.testing.assert_allclose(sign * total, mean, atol=1e-12)


def test_a_table_of_pinned_logits_has_full_rank_and_an_unpinned_one_has_not():
    problem = find_problem("random_walk")
    target = problem.target("cdf", atoms=5, linear=False)
    for pinned, missing in ((True, 0), (False, 5)):
        engine = MlpEngine(rules.gtd2, (5,), target, pinned=pinned)
        theta = engine.init(generators(0, [0]))
        theta[0][:, -1] = 0.0
        objective = Objective(problem.mdp, target, mlp(engine, np.eye(5)))
        # The bias row is one more direction that the five states' logits already span.
        width = 5 - pinned
        assert objective.rank(flat(theta)) == 5 * width - missing
        assert objective.predictor.size == 6 * width


def test_the_spectrum_is_that_of_the_matrix_itself():
    """E Σφφᵀ summed state by state, against rank and condition number of many lanes at once."""
    problem = find_problem("random_walk")
    target = problem.target("cdf", atoms=4, linear=False)
    engine = MlpEngine(rules.gtd2, (4,), target, pinned=True)
    objective = Objective(problem.mdp, target, mlp(engine, np.eye(5)[:, :-1]))
    theta = np.stack([flat(engine.init(generators(seed, [0]))) for seed in range(3)] + [np.full(15, np.nan)])
    found = objective.spectrum(theta)
    for lane in range(3):
        phi = objective.predictor.jacobian(torch.as_tensor(theta[lane])).numpy()
        C = np.einsum("s,sjd,sje->de", problem.mdp.d, phi, phi)
        assert found["rank"][lane] == np.linalg.matrix_rank(C) == 15
        assert found["condition"][lane] == pytest.approx(np.linalg.cond(C), rel=1e-6)
    assert np.isnan([found["rank"][3], found["condition"][3]]).all()
    wide = Objective(problem.mdp, target, mlp(MlpEngine(rules.gtd2, (5, 9), target), np.eye(5)))
    assert np.isinf(wide.spectrum(np.zeros((1, wide.predictor.size)))["condition"]).all()


def test_features_that_depend_on_each_other_add_nothing_to_the_rank():
    """Boyan's four features, and a fifth that is the sum of two of them."""
    mdp = find_problem("boyan").mdp
    wide = np.column_stack([mdp.features, mdp.features[:, 0] + mdp.features[:, 1]])
    for X in (mdp.features, wide):
        found = Objective(mdp, ValueTarget(), linear(X)).spectrum(np.zeros((1, X.shape[1])))
        assert found["rank"][0] == 4
    C = np.einsum("s,si,sj->ij", mdp.d, mdp.features, mdp.features)
    found = Objective(mdp, ValueTarget(), linear(mdp.features)).spectrum(np.zeros((1, 4)))
    assert found["condition"][0] == pytest.approx(np.linalg.cond(C), rel=1e-9)


# ---------------------------------------------------------------------- the spiral


def spiral_parts(theta):
    """V, V', V'' [lanes, 3] in closed form."""
    from dgtd.suites.problems.counterexamples import SPIRAL_A, SPIRAL_B

    a, b, rate, growth = np.array(SPIRAL_A), np.array(SPIRAL_B), 0.866, 0.05
    t = theta[:, None]
    V = (a * np.cos(rate * t) - b * np.sin(rate * t)) * np.exp(growth * t)
    V1 = growth * V + np.exp(growth * t) * rate * (-a * np.sin(rate * t) - b * np.cos(rate * t))
    return V, V1, 2 * growth * V1 - (growth**2 + rate**2) * V


def run_spiral(each, steps, alpha, beta, lanes=20, seed=0):
    """(RMS V at the end, its running maximum), with every lane's own transitions."""
    from dgtd.algorithms.streams import lane_streams
    from dgtd.algorithms.table import Sampler

    table = find_problem("spiral").mdp.table
    outcomes = Sampler(table, lane_streams(seed, range(lanes))).draw(steps)
    theta, w, highest = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    every = np.arange(lanes)
    with np.errstate(all="ignore"):
        for t in range(steps):
            s, to = table.state[outcomes[t]], table.next_state[outcomes[t]]
            V, V1, V2 = spiral_parts(theta)
            highest = np.fmax(highest, np.sqrt((V**2).mean(1)))
            delta, u = 0.9 * V[every, to] - V[every, s], V1[every, s] * w
            p, g, q = each(delta, u, 1.0)
            d_theta = p * V1[every, s] + 0.9 * g * V1[every, to] + each.curvature * q * V2[every, s] * w
            theta, w = theta - alpha * d_theta, w + beta * q * V1[every, s]
    return np.sqrt((spiral_parts(theta)[0] ** 2).mean(1)), highest, theta, w


def test_the_spirals_closed_form_is_the_module_engine():
    from dgtd.algorithms.fast.loop import TorchLoop
    from dgtd.algorithms.streams import lane_streams

    problem = find_problem("spiral")
    for each in (rules.td, rules.gtd2, rules.tdc):
        engine = ModuleEngine(each, problem.network())
        loop = TorchLoop(engine, problem.mdp.table, np.eye(3), ValueTarget())
        state = loop.start(engine.init(4), lane_streams(0, range(4)))
        loop.run(state, 30, 1e-5, 1e-4)
        theta, w = state.theta, state.w
        _, _, expected, expected_w = run_spiral(each, 30, 1e-5, 1e-4, lanes=4)
        np.testing.assert_allclose(theta["theta"][:, 0].numpy(), expected, rtol=1e-9)
        np.testing.assert_allclose(w["theta"][:, 0].numpy(), expected_w, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_on_the_spiral_td_diverges_and_gtd2_and_tdc_converge():
    """By RMS V, which starts at 72.6: TD's passes 1000; the others' falls to a quarter, still falling, and never rises.

    J shrinks with e^{2εθ} while θ goes to −∞ like log t, so RMS V falls like t^-½ and has no exponential to wait for.
    At steps of 1e-4 some lanes jump past V = 500 and land where V ≈ 0: the running maximum tells them from the rest.
    """
    _, highest, _, _ = run_spiral(rules.td, 3000, 1e-4, 1e-4)
    assert (highest > 1000).all()
    for each in (rules.gtd2, rules.tdc):
        earlier, *_ = run_spiral(each, 20_000, 3e-5, 3e-5)
        final, highest, _, _ = run_spiral(each, 100_000, 3e-5, 3e-5)
        assert (final < 72.6 / 4).all()
        assert (final < 0.65 * earlier).all()
        assert (highest < 1.2 * 72.6).all()


def test_the_exact_gradient_of_the_spiral_is_the_finite_difference():
    problem = find_problem("spiral")
    objective = Objective(problem.mdp, ValueTarget(), module(ModuleEngine(rules.gtd2, problem.network()), np.eye(3)))
    for theta in (0.0, 0.8, -2.0):
        at = np.array([theta])
        np.testing.assert_allclose(objective.gradient(at), finite_difference(objective, at), rtol=1e-6)
        d_theta, _ = objective.mean_update(rules.gtd2, at, objective.optimal_w(at))
        np.testing.assert_allclose(d_theta, -0.5 * objective.gradient(at), rtol=1e-9)


def test_many_parameters_take_the_other_decomposition_and_give_the_same_numbers(monkeypatch):
    from dgtd.harness.oracle import objectives

    objective, theta = network_case(small_problem(), "cdf", seed=3)
    w = np.linspace(-1.0, 1.0, len(theta))
    few = (objective.value(theta), objective.optimal_w(theta), objective.distance_to_optimal_w(theta, w))
    monkeypatch.setattr(objectives, "MANY", 0)
    many = (objective.value(theta), objective.optimal_w(theta), objective.distance_to_optimal_w(theta, w))
    for one, other in zip(few, many, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
