"""Every rule × target × engine against the algorithm written out, to 1e-12 in float64."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.func import grad, jvp

from dgtd.algorithms import rules
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.linear import directions as linear_directions
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.streams import generators
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle import literal


@rule(linear=False)
def squashed(delta, u, rho):
    return Cotangents(-rho * delta / (1 + abs(delta)), rho * u, rho * delta - u)


RULES = [*rules.RULES.values(), rules.greedy_gq(0.5), rules.greedy_gq(0.0), rules.tdrc(0.7), squashed]
TARGETS = [
    ValueTarget(),
    CdfTarget(-2, 2, 6),
    CdfTarget(-2, 2, 6, "nearest"),
    CdfTarget(-2, 2, 6, "floor"),
    CdfTarget(-2, 2, 2),
]
LANES, BATCH, INPUTS = 3, 2, 3

every_rule = pytest.mark.parametrize("each", RULES, ids=lambda r: r.name)
every_target = pytest.mark.parametrize(
    "target", TARGETS, ids=lambda t: f"{getattr(t, 'projection', 'value')}{t.outputs}"
)


def random_batch(target, seed=0, lanes=LANES, size=BATCH, **extra):
    """Transitions with every kind of discount: inside, ended, undiscounted."""
    rng = np.random.default_rng(seed)
    x, x_next = rng.normal(size=(2, lanes, size, INPUTS))
    reward = rng.normal(size=(lanes, size))
    discount = rng.choice([0.0, 0.9, 1.0], size=(lanes, size))
    return Batch(x, x_next, target.shift(reward, discount), rng.uniform(0, 2, size=(lanes, size)), **extra)


def mean_over(batch, predict, theta, w, lane, oracle):
    """(G_θ, G_w) of one lane's batch; an oracle takes a predictor, θ, w and a transition."""
    found = [oracle(predict, theta, w, s) for s in literal.samples_in(batch, lane)]
    return tuple(torch.stack(part).mean(0) for part in zip(*found, strict=True))


def saddle(predict, theta, w, s):
    """∇ of S = Σ ρδu − ½u² itself: GTD2 without any rule."""

    def S(theta, w):
        f, u = jvp(lambda th: predict(th, s.x), (theta,), (w,))
        delta = s.T @ predict(theta, s.x_next) + s.t - f
        return s.rho * delta @ u - 0.5 * u @ u

    return grad(S, argnums=(0, 1))(theta, w)


def assert_close(actual, expected):
    torch.testing.assert_close(torch.as_tensor(actual), expected, rtol=1e-12, atol=1e-12)


def flat(weights, lane):
    return torch.cat([part[lane].reshape(-1) for part in weights])


def unflatten(vector, like):
    out, at = [], 0
    for part in like:
        size = part[0].numel()
        out.append(vector[at : at + size].reshape(1, *part.shape[1:]))
        at += size
    return out


def mlp(each, target, sizes=(INPUTS, 4, 3), **options):
    engine = MlpEngine(each, sizes, target, **options)
    theta, w = (engine.init(generators(seed, range(LANES))) for seed in (0, 1))

    def predict(vector, x):
        return engine.predict(unflatten(vector, theta), x.reshape(1, 1, -1))[0, 0]

    return engine, theta, w, predict


@every_rule
@every_target
def test_linear_directions_are_the_oracle(each, target):
    batch = random_batch(target)
    theta, w = np.random.default_rng(1).normal(size=(2, LANES, target.outputs, INPUTS))
    g_theta, g_w = linear_directions(each, theta, w, batch)
    for lane in range(LANES):
        flat_theta, flat_w = torch.as_tensor(theta[lane].ravel()), torch.as_tensor(w[lane].ravel())
        predict = partial(literal.linear, target.outputs)
        expected = mean_over(batch, predict, flat_theta, flat_w, lane, partial(literal.directions, each))
        assert_close(g_theta[lane].ravel(), expected[0])
        assert_close(g_w[lane].ravel(), expected[1])


@every_rule
@every_target
def test_mlp_directions_are_the_oracle(each, target):
    engine, theta, w, predict = mlp(each, target)
    batch = random_batch(target)
    g_theta, g_w = engine.directions(theta, w, batch)
    for lane in range(LANES):
        points = flat(theta, lane), flat(w, lane)
        expected = mean_over(batch, predict, *points, lane, partial(literal.directions, each))
        assert_close(flat(g_theta, lane), expected[0])
        assert_close(flat(g_w, lane), expected[1])


class Stacked(torch.nn.Module):
    """One lane of an MlpEngine as a module of its own."""

    def __init__(self, engine, theta):
        super().__init__()
        self.engine = engine
        self.v = torch.nn.ParameterList([part[0].clone() for part in theta])

    def forward(self, x):
        return self.engine.predict([part[None] for part in self.v], x[None])[0]


def as_parameters(weights):
    return {f"v.{i}": part.clone() for i, part in enumerate(weights)}


@every_rule
@every_target
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_mlp_engine_equals_module_engine(each, target, activation):
    engine, theta, w, _ = mlp(each, target, activation=activation)
    batch = random_batch(target)
    module = ModuleEngine(each, Stacked(engine, theta))
    found, expected = (
        engine.directions(theta, w, batch),
        module.directions(as_parameters(theta), as_parameters(w), batch),
    )
    for ours, theirs in zip(found, expected, strict=True):
        for i, part in enumerate(ours):
            assert_close(part, theirs[f"v.{i}"])


@every_rule
@pytest.mark.parametrize("sizes", [(INPUTS,), (INPUTS, 5), (INPUTS, 4, 3, 2)], ids=str)
@pytest.mark.parametrize("pinned", [False, True])
def test_any_depth_and_a_pinned_logit_equal_the_module_engine(each, sizes, pinned):
    target = CdfTarget(-2, 2, 5)
    engine, theta, w, _ = mlp(each, target, sizes, pinned=pinned)
    assert theta[-1].shape[-1] == 5 - pinned
    batch = random_batch(target)
    module = ModuleEngine(each, Stacked(engine, theta))
    g_theta, g_w = engine.directions(theta, w, batch)
    m_theta, m_w = module.directions(as_parameters(theta), as_parameters(w), batch)
    for i in range(len(theta)):
        assert_close(g_theta[i], m_theta[f"v.{i}"])
        assert_close(g_w[i], m_w[f"v.{i}"])


@every_target
def test_gtd2_is_the_gradient_of_the_saddle_function_itself(target):
    engine, theta, w, predict = mlp(rules.gtd2, target)
    batch = random_batch(target)
    found = engine.directions(theta, w, batch)
    for lane in range(LANES):
        expected = mean_over(batch, predict, flat(theta, lane), flat(w, lane), lane, saddle)
        assert_close(flat(found[0], lane), expected[0])
        assert_close(flat(found[1], lane), expected[1])


@every_target
@pytest.mark.parametrize(
    ("name", "each"), [("gtd2", rules.gtd2), ("tdc", rules.tdc), ("greedy_gq", rules.greedy_gq(0.3))]
)
@pytest.mark.parametrize("kind", ["mlp", "linear"])
def test_directions_are_the_literal_sums_of_the_paper(name, each, target, kind):
    def published(predict, theta, w, s):
        d_theta, d_w = literal.published(name, *literal.parts(predict, theta, w, s), s.rho, w, 0.3)
        return -d_theta, d_w

    batch = random_batch(target)
    if kind == "mlp":
        engine, theta, w, predict = mlp(each, target)
        found = [
            torch.stack([flat(part, lane) for lane in range(LANES)]) for part in engine.directions(theta, w, batch)
        ]
        points = [(flat(theta, lane), flat(w, lane)) for lane in range(LANES)]
    else:
        theta, w = np.random.default_rng(1).normal(size=(2, LANES, target.outputs, INPUTS))
        found = [torch.as_tensor(part).flatten(1) for part in linear_directions(each, theta, w, batch)]
        points = [(torch.as_tensor(theta[i].ravel()), torch.as_tensor(w[i].ravel())) for i in range(LANES)]
        predict = partial(literal.linear, target.outputs)
    for lane, (theta_lane, w_lane) in enumerate(points):
        expected = mean_over(batch, predict, theta_lane, w_lane, lane, published)
        assert_close(found[0][lane], expected[0])
        assert_close(found[1][lane], expected[1])


@every_rule
@every_target
def test_a_step_is_its_directions(each, target):
    engine, theta, w, _ = mlp(each, target)
    batch = random_batch(target)
    for alpha, beta in ((0.1, 0.2), (np.array([0.1, 0.3, 0.01]), np.array([0.5, 0.2, 0.3]))):
        a, b = (torch.as_tensor(np.broadcast_to(s, (LANES,)).copy()).reshape(-1, 1, 1) for s in (alpha, beta))
        for make in ("mlp", "module"):
            one = engine if make == "mlp" else ModuleEngine(each, Stacked(engine, theta))
            at, aux = (
                ([p.clone() for p in theta], [p.clone() for p in w])
                if make == "mlp"
                else (as_parameters(theta), as_parameters(w))
            )
            g_theta, g_w = one.directions(at, aux, batch)
            keys = range(len(theta)) if make == "mlp" else list(at)
            expected = [(at[k] - a * g_theta[k], aux[k] + b * g_w[k]) for k in keys]
            one.step(at, aux, batch, alpha, beta)
            for k, (e_theta, e_w) in zip(keys, expected, strict=True):
                assert_close(at[k], e_theta)
                assert_close(aux[k], e_w)


@every_rule
def test_per_action_heads_use_the_taken_and_the_greedy_action(each):
    target = CdfTarget(-2, 2, 4)
    rng = np.random.default_rng(5)
    action = rng.integers(0, 3, size=(LANES, BATCH))
    engine, theta, w, _ = mlp(each, target, (INPUTS, 4), actions=3)
    batch = random_batch(target, action=action)
    g_theta, g_w = engine.directions(theta, w, batch)
    every_next = engine.predict(theta, torch.as_tensor(batch.x_next))
    best = target.mean(every_next).argmax(-1)
    for lane in range(LANES):
        found = []

        def chosen(which, vector, x):
            return engine.predict(unflatten(vector, theta), x.reshape(1, 1, -1))[0, 0][which]

        for i, s in enumerate(literal.samples_in(batch, lane)):
            here, there = (partial(chosen, int(which[lane, i])) for which in (action, best))
            found.append(literal.directions(each, here, flat(theta, lane), flat(w, lane), s, there))
        expected = [torch.stack(part).mean(0) for part in zip(*found, strict=True)]
        assert_close(flat(g_theta, lane), expected[0])
        assert_close(flat(g_w, lane), expected[1])


class Outputs(Stacked):
    """The last layer of an MlpEngine with actions, as a user's network returns it: [batch, actions · logits]."""

    def forward(self, x):
        for layer, v in enumerate(self.v):
            x = x @ v[:-1] + v[-1]
            x = self.engine.activation.function(x) if layer < len(self.v) - 1 else x
        return x


def acting_module(each, target, engine, theta):
    """The module engine of such a network."""
    return ModuleEngine(each, Outputs(engine, theta), target.head(False).predict, actions=3, value=target.mean)


@every_rule
@every_target
@pytest.mark.parametrize("given", [False, True], ids=["greedy", "given"])
def test_with_actions_the_mlp_engine_equals_the_module_engine(each, target, given):
    rng = np.random.default_rng(5)
    action, following = rng.integers(0, 3, size=(2, LANES, BATCH))
    engine, theta, w, _ = mlp(each, target, (INPUTS, 4), actions=3)
    module = acting_module(each, target, engine, theta)
    batch = random_batch(target, action=action, next_action=following if given else None)
    both = [*engine.directions(theta, w, batch)]
    theirs = module.directions(as_parameters(theta), as_parameters(w), batch)
    for ours, their in zip(both, theirs, strict=True):
        for i, part in enumerate(ours):
            assert_close(part, their[f"v.{i}"])
    x = torch.as_tensor(batch.x[0])
    everything = module.predict_all(as_parameters(theta), x)
    assert everything.shape == (LANES, BATCH, 3, target.outputs)
    assert_close(everything, engine.predict(theta, x.expand(LANES, *x.shape)))


@pytest.mark.parametrize("which", ["mlp", "module"])
def test_without_an_action_a_per_action_network_is_refused(which):
    target = ValueTarget()
    engine, theta, w, _ = mlp(rules.tdc, target, (INPUTS, 4), actions=3)
    if which == "module":
        engine, theta, w = acting_module(rules.tdc, target, engine, theta), as_parameters(theta), as_parameters(w)
    with pytest.raises(ValueError, match=r"batch.action must be given when actions=3"):
        engine.directions(theta, w, random_batch(target))


def test_a_cnn_has_actions_in_the_module_engine():
    """Pictures in, a law per action out: only the action that was taken is learnt."""
    target, rng = CdfTarget(-2, 2, 6), np.random.default_rng(3)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32, 12)
    ).double()
    engine = ModuleEngine(rules.greedy_gq(0.5), network, target.head(False).predict, actions=2, value=target.mean)
    theta = engine.init(LANES)
    w = {name: torch.as_tensor(rng.normal(size=part.shape)) for name, part in theta.items()}
    x, x_next = rng.normal(size=(2, LANES, BATCH, 1, 6, 6))
    shift = target.shift(rng.normal(size=(LANES, BATCH)), np.full((LANES, BATCH), 0.0))
    batch = Batch(x, x_next, shift, np.ones((LANES, BATCH)), np.zeros((LANES, BATCH), dtype=int))
    _, g_w = engine.directions(theta, w, batch)
    assert (g_w["3.weight"][:, :6] != 0).any()
    assert (g_w["3.weight"][:, 6:] == 0).all()


@every_target
def test_tdc_with_zero_w_is_td_and_greedy_gq_zero_is_the_semi_gradient(target):
    batch = random_batch(target)
    for w_scale, left in ((0.0, rules.tdc), (1.0, rules.greedy_gq(0.0))):
        engine, theta, w, _ = mlp(left, target)
        w = [w_scale * part for part in w]
        other = MlpEngine(rules.td, (INPUTS, 4, 3), target)
        for a, b in zip(engine.directions(theta, w, batch)[0], other.directions(theta, w, batch)[0], strict=True):
            if left is rules.tdc:  # with w = 0 the curvature term is 0 too
                assert_close(a, b)
            torch.testing.assert_close(a, b, rtol=0, atol=1e-15)


def test_two_atoms_with_cramer_are_the_scalar_problem():
    """F₁ = (z₂ − v)/Δz maps a value to its two-atom law: directions map with it."""
    low, high = -3.0, 5.0
    spacing = high - low
    cdf, value = CdfTarget(low, high, 2), ValueTarget()
    rng = np.random.default_rng(0)
    x, x_next = rng.uniform(0, 1, size=(2, 1, 40, INPUTS))
    x[..., -1] = x_next[..., -1] = 1.0  # a constant feature carries z₂
    reward, discount = rng.uniform(-0.1, 0.1, size=(1, 40)), rng.choice([0.0, 0.9], size=(1, 40))
    rho = rng.uniform(0, 2, size=(1, 40))
    theta, w = rng.uniform(-0.5, 0.5, size=(2, 1, 1, INPUTS))
    theta_cdf = -theta / spacing
    theta_cdf[..., -1] += high / spacing
    for each in RULES[:-1]:
        scalar = linear_directions(each, theta, w, Batch(x, x_next, value.shift(reward, discount), rho))
        lifted = linear_directions(each, theta_cdf, -w / spacing, Batch(x, x_next, cdf.shift(reward, discount), rho))
        for ours, theirs in zip(lifted, scalar, strict=True):
            np.testing.assert_allclose(ours, -theirs / spacing, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inputs_that_are_not_finite_are_refused(bad):
    target = ValueTarget()
    good = random_batch(target)
    x = good.x.copy()
    x[1, 0, 2] = bad
    with pytest.raises(ValueError, match=r"x must be finite, got (nan|inf) at index \(1, 0, 2\)"):
        Batch(x, good.x_next, good.shift, good.rho)


def test_shapes_that_do_not_fit_are_refused():
    target = ValueTarget()
    batch = random_batch(target)
    with pytest.raises(ValueError, match=r"theta must have shape \(3, 1, 3\), got \(3, 1, 4\)"):
        linear_directions(rules.td, np.zeros((3, 1, 4)), np.zeros((3, 1, 4)), batch)
    with pytest.raises(ValueError, match=r"rho must have shape \(3, 2\), got \(3, 3\)"):
        Batch(batch.x, batch.x_next, batch.shift, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="no activation 'tan'; did you mean 'tanh'"):
        MlpEngine(rules.td, (3, 4), target, activation="tan")
    with pytest.raises(ValueError, match="sizes must be at least 1, got 0"):
        MlpEngine(rules.td, (3, 0), target)
    engine, theta, w, _ = mlp(rules.td, target)
    with pytest.raises(ValueError, match="alpha must be positive"):
        engine.step(theta, w, batch, -0.1, 0.1)


def test_the_oracles_tell_mutants_apart():
    """Curvature dropped or its sign flipped, ρ forgotten, s for s': each is off by far more than rounding."""
    target = CdfTarget(-2, 2, 6)
    batch = random_batch(target)
    engine, theta, w, predict = mlp(rules.gtd2, target)
    expected = mean_over(batch, predict, flat(theta, 0), flat(w, 0), 0, saddle)[0]
    without = flat(
        MlpEngine(rule(rules.gtd2.function, curvature=False), engine.sizes[:-1], target).directions(theta, w, batch)[0],
        0,
    )
    mutants = {
        "h dropped": without,
        "sign of h": 2 * without - expected,
        "rho forgotten": flat(
            engine.directions(theta, w, Batch(batch.x, batch.x_next, batch.shift, 0 * batch.rho + 1))[0], 0
        ),
        "s for s'": flat(engine.directions(theta, w, Batch(batch.x, batch.x, batch.shift, batch.rho))[0], 0),
    }
    for name, found in mutants.items():
        assert (found - expected).abs().max() > 1e-4, name
