"""A rule on one's own network and transitions: the update is the paper's, and a training loop can stop and go on."""

import doctest
import io

import numpy as np
import pytest
import torch

import dgtd
from dgtd import learning
from dgtd.algorithms.targets import CdfTarget

RNG = np.random.default_rng(0)


def table(count=40, inputs=3):
    return {
        "x": RNG.normal(size=(count, inputs)), "x_next": RNG.normal(size=(count, inputs)),
        "reward": RNG.normal(size=count), "gamma": np.where(RNG.random(count) < 0.2, 0.0, 0.9),
        "rho": RNG.random(count) * 2,
    }  # fmt: skip


def linear(inputs=3, outputs=1):
    torch.manual_seed(1)
    return torch.nn.Linear(inputs, outputs, bias=False)


def test_the_example_is_right():
    assert doctest.testmod(learning).failed == 0


@pytest.mark.parametrize("rule", ["gtd2", "tdc", "td"])
def test_a_linear_module_takes_the_published_steps(rule):
    """Sutton et al. 2009, written out with numpy, ρ as Maei has it."""
    data, module = table(), linear()
    theta, w = module.weight.detach().numpy()[0].astype(float).copy(), np.zeros(3)
    learner = dgtd.learn(rule, module, data, 0.05, 0.1)
    for x, y, r, g, rho in zip(*(data[name] for name in ("x", "x_next", "reward", "gamma", "rho")), strict=True):
        delta, u = r + g * theta @ y - theta @ x, w @ x
        move = {"gtd2": rho * u * (x - g * y), "tdc": rho * (delta * x - g * u * y), "td": rho * delta * x}[rule]
        theta, w = theta + 0.05 * move, w + (0.0 if rule == "td" else 0.1) * (rho * delta - u) * x
    np.testing.assert_allclose(learner.state_dict()["theta"]["weight"][0].numpy(), theta, rtol=1e-12)
    if rule != "td":
        np.testing.assert_allclose(learner.state_dict()["w"]["weight"][0].numpy(), w, rtol=1e-12)


def test_a_return_distribution_learns_its_mean():
    data = {"x": np.ones((4000, 1)), "x_next": np.ones((4000, 1)), "gamma": np.zeros(4000),
            "reward": RNG.choice([0.0, 1.0], 4000, p=[0.25, 0.75])}  # fmt: skip
    target = CdfTarget(-0.5, 1.5, 11)
    module = torch.nn.Linear(1, 11, bias=False)
    learner = dgtd.learn("gtd2", module, data, 0.5, 0.5, target=target, batch=20, passes=5)
    assert learner.predict([[1.0]])[0] == pytest.approx(0.75, abs=0.08)


def test_what_is_saved_does_not_go_on_learning():
    """Weights and biases, compiled (layers) and by the module engine (one linear layer)."""
    data = table()
    for network in (linear(), torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))):
        learner = learning.Learner("gtd2", network)
        learner.step(data, 0.05, 0.1)
        saved = learner.state_dict()
        kept = {(kind, name): part.clone() for kind in ("theta", "w") for name, part in saved[kind].items()}
        learner.step(data, 0.05, 0.1)
        assert all(torch.equal(part, saved[kind][name]) for (kind, name), part in kept.items())


def test_a_loop_of_steps_is_the_run_and_goes_on_from_its_state():
    data = table()
    whole = dgtd.learn("gtd2", linear(), data, 0.05, 0.1, batch=4)
    parts = [{name: part[i : i + 4] for name, part in data.items()} for i in range(0, 40, 4)]
    first = learning.Learner("gtd2", linear())
    for part in parts[:5]:
        first.step(part, 0.05, 0.1)
    second = learning.Learner("gtd2", linear())
    second.load_state_dict(first.state_dict())
    for part in parts[5:]:
        second.step(part, 0.05, 0.1)
    assert torch.equal(second.state_dict()["theta"]["weight"], whole.state_dict()["theta"]["weight"])
    assert torch.equal(second.state_dict()["w"]["weight"], whole.state_dict()["w"]["weight"])
    assert first.errors + second.errors == whole.errors


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reward": np.full(40, np.nan)}, "reward must be finite"),
        ({"rho": np.full(40, -1.0)}, "rho must not be negative"),
        ({"rho": np.ones(39)}, "rho must have shape"),
        ({"gamma": np.full(40, 1.5)}, "gamma must be in"),
        ({"x_next": np.ones((40, 2))}, "x_next must have shape"),
    ],
)
def test_wrong_transitions_are_refused_before_any_step(change, says):
    with pytest.raises(ValueError, match=says):
        dgtd.learn("gtd2", linear(), table() | change, 0.1, 0.1)


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)), "write LayerNorm for BatchNorm"),
        (torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(3, 1)), "nothing for Dropout"),
        (lambda x: x, "network must be a torch.nn.Module"),
    ],
)
def test_a_network_that_is_no_function_of_its_weights_is_refused(network, says):
    with pytest.raises(ValueError, match=says):
        dgtd.learn("gtd2", network, table(), 0.1, 0.1)


class Flat(torch.nn.Module):
    """A value per row, [B] where [B, 1] is meant: in three ways, two of which look right for some B."""

    def __init__(self, way):
        super().__init__()
        self.inner, self.way = torch.nn.Linear(3, 1), way

    def forward(self, x):
        return self.way(self.inner(x))


@pytest.mark.parametrize("batch", [1, 2, 40])
@pytest.mark.parametrize(
    ("way", "shape"),
    [
        (lambda y: y.squeeze(-1), r"\[2\] and not \[2, 1\] for 2 inputs"),
        (lambda y: y.squeeze(), r"\[2\] and not \[2, 1\] for 2 inputs"),
        (lambda y: y.reshape(1, -1), r"\[1, 2\] and not \[2, 1\] for 2 inputs"),
        (lambda y: y if len(y) > 1 else y[0], r"\[1\] and not \[1, 1\] for 1 inputs"),
    ],
    ids=["last", "all", "row", "one alone"],
)
def test_a_network_without_a_column_of_outputs_is_refused_at_every_batch(way, shape, batch):
    with pytest.raises(ValueError, match=f"network must give 1 outputs for this target, got shape {shape}"):
        dgtd.learn("gtd2", Flat(way), table(), 0.1, 0.1, batch=batch)


def test_a_prediction_from_other_inputs_names_them():
    learner = dgtd.learn("gtd2", linear(), table(), 0.1, 0.1)
    with pytest.raises(ValueError, match="network can't take 2 inputs"):
        learner.predict(np.ones((1, 2)))
    assert learner.predict(np.ones((0, 3))).shape == (0,)


def test_transitions_without_a_part_name_it():
    with pytest.raises(ValueError, match="must have 'gamma'"):
        dgtd.learn("gtd2", linear(), [{"x": [[1.0]], "reward": [0.0], "x_next": [[1.0]]}], 0.1, 0.1)


def test_the_greedy_next_action_is_the_one_of_the_largest_mean():
    target, x = CdfTarget(0.0, 4.0, 5), np.ones((1, 1))
    module = torch.nn.Linear(1, 10, bias=False)
    logits = torch.tensor([0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0])  # means near 1.1 and near 2.9
    module.weight.data[:, 0] = logits
    data = {"x": x, "x_next": x, "reward": [0.0], "gamma": [1.0], "action": [0]}
    given = {**data, "next_action": [1]}
    ours, theirs = (learning.Learner("td", module, target, actions=2) for _ in range(2))
    assert ours.step(data, 0.1, 0.1) == theirs.step(given, 0.1, 0.1)


def test_the_users_network_stays_as_it_is_and_takes_what_was_learned():
    module = linear()
    before = module.weight.detach().clone()
    learner = dgtd.learn("td", module, table(), 0.05, 0.05)
    assert module.weight.dtype == torch.float32
    assert torch.equal(module.weight, before)
    module.load_state_dict(learner.state_dict()["theta"])
    assert not torch.equal(module.weight, before)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rhos": np.ones(40)}, "did you mean 'rho'"),
        ({"action": np.full(40, 2)}, "action must be in"),
        ({"x": np.zeros((0, 3)), "x_next": np.zeros((0, 3)), "reward": [], "gamma": [], "rho": []}, "at least 1"),
    ],
)
def test_more_that_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        dgtd.learn("td", linear(), table() | change, 0.1, 0.1)


def test_networks_and_states_that_do_not_fit_are_refused():
    frozen = linear()
    frozen.weight.requires_grad_(False)
    for network, says in ((frozen, "must require a gradient"), (linear(outputs=2), "must give 1 outputs")):
        with pytest.raises(ValueError, match=says):
            dgtd.learn("td", network, table(), 0.1, 0.1)
    learner = learning.Learner("td", linear())
    with pytest.raises(ValueError, match="state must have 'theta' and 'w'"):
        learner.load_state_dict(linear().state_dict())
    with pytest.raises(ValueError, match="an iterator is read once"):
        dgtd.learn("td", linear(), iter([table()]), 0.1, 0.1, passes=2)


LAYERS = {
    "tanh": torch.nn.Tanh, "relu": torch.nn.ReLU, "silu": torch.nn.SiLU, "softplus": torch.nn.Softplus,
}  # fmt: skip


def layered(kind, outputs, hooked=False):
    """A plain network; one with a hook that does nothing must go through torch.func."""
    torch.manual_seed(3)
    inner = torch.nn.Sequential(torch.nn.Linear(3, 5), LAYERS[kind]())
    network = torch.nn.Sequential(inner, torch.nn.Linear(5, 4), LAYERS[kind](), torch.nn.Linear(4, outputs))
    if hooked:
        network[1].register_forward_hook(lambda module, given, found: found)
    return network


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize(("rule", "target", "actions"), [
    ("gtd2", None, 1), ("tdc", CdfTarget(-2.0, 2.0, 6), 1), ("td", None, 3), ("tdrc", CdfTarget(-2.0, 2.0, 6), 3),
])  # fmt: skip
def test_compiled_updates_are_those_of_the_module(kind, batch, rule, target, actions):
    data = table(50)
    if actions > 1:
        data |= {"action": RNG.integers(0, actions, 50)}
    outputs = actions * (target.atoms if target else 1)
    found = [
        dgtd.learn(rule, layered(kind, outputs, hooked), data, 0.05, 0.1, target=target, actions=actions, batch=batch)
        for hooked in (False, True)
    ]
    assert [type(each._updates).__name__ for each in found] == ["Compiled", "ByModule"]
    np.testing.assert_allclose(*(each.errors for each in found), rtol=1e-9)
    assert len(found[0].errors) == -(-50 // batch)
    for weights in ("theta", "w"):
        for name, part in found[0].state_dict()[weights].items():
            torch.testing.assert_close(part, found[1].state_dict()[weights][name], rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(*(each.predict(data["x"]) for each in found), rtol=1e-8) if actions == 1 else None


def test_many_transitions_go_through_in_order(monkeypatch):
    data = table(50)
    whole = dgtd.learn("gtd2", layered("tanh", 1), data, 0.05, 0.1, batch=3)
    monkeypatch.setattr("dgtd.updates.AT_ONCE", 7)
    parts = dgtd.learn("gtd2", layered("tanh", 1), data, 0.05, 0.1, batch=3)
    assert parts.errors == whole.errors


@pytest.mark.parametrize(
    "network",
    [
        torch.nn.Linear(3, 1, bias=False),
        torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2), torch.nn.ReLU(),
                            torch.nn.Linear(2, 1)),
        torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LeakyReLU(), torch.nn.Linear(2, 1)),
        torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softplus(2.0), torch.nn.Linear(2, 1)),
        torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Tanh()),
    ],
    ids=["no bias", "two activations", "another activation", "another softplus", "an activation at the end"],
)  # fmt: skip
def test_what_is_no_plain_network_goes_through_torch(network):
    assert type(learning.Learner("td", network)._updates).__name__ == "ByModule"


def test_a_network_that_diverges_says_so_in_its_errors():
    learner = dgtd.learn("td", layered("relu", 1), table(), 1e150, 0.1)
    assert np.isfinite(learner.errors[0])
    assert np.isnan(learner.errors[-1])


@pytest.mark.parametrize(("before", "after"), [(False, False), (True, True), (False, True), (True, False)])
def test_a_state_that_was_saved_goes_on_in_either_engine(before, after):
    """Compiled, and through torch.func (a hook makes a network go there): one state, by the network's own names."""
    data, target = table(60), CdfTarget(-2.0, 2.0, 6)
    halves = [{name: part[some] for name, part in data.items()} for some in (slice(0, 30), slice(30, 60))]
    whole = dgtd.learn("gtd2", layered("tanh", 6, before), data, 0.05, 0.1, target=target, batch=3)
    first = dgtd.learn("gtd2", layered("tanh", 6, before), halves[0], 0.05, 0.1, target=target, batch=3)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = learning.Learner("gtd2", layered("tanh", 6, after), target)
    second.load_state_dict(torch.load(file, weights_only=True))
    gained = second.run(halves[1], 3, 0.05, 0.1)
    kinds = {False: "Compiled", True: "ByModule"}
    assert [type(each._updates).__name__ for each in (first, second)] == [kinds[before], kinds[after]]
    assert set(second.state_dict()["w"]) == set(layered("tanh", 6).state_dict())
    exact = before == after
    np.testing.assert_allclose([*first.errors, *gained], whole.errors, rtol=0.0 if exact else 1e-9)
    for kind in ("theta", "w"):
        for name, part in second.state_dict()[kind].items():
            same = whole.state_dict()[kind][name]
            torch.testing.assert_close(part, same, rtol=0.0 if exact else 1e-8, atol=0.0 if exact else 1e-12)


def test_a_state_is_a_copy_of_what_the_learner_has():
    for hooked in (False, True):
        learner = learning.Learner("gtd2", layered("tanh", 1, hooked))
        state = learner.state_dict()
        before = {kind: {name: part.clone() for name, part in state[kind].items()} for kind in state}
        learner.step(table(5), 0.1, 0.1)
        for kind, parts in before.items():
            assert all(torch.equal(state[kind][name], part) for name, part in parts.items())
