"""Directions: what an engine computes of a transition, against the algorithm written out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly, largest
from harness.oracle.theorem import EXACT
from suites.instrument.points import (
    Net,
    first_weights,
    linear,
    make_mlp,
    make_module,
    make_small,
    of_module,
    off,
    to_module,
    vector,
)

SOURCE = "Algorithms 1 to 3, appendix"
KINDS = ("value", "cdf")
NETS = {
    "depth=0": Net(()),
    "depth=0,pinned": Net((), pinned=True),
    "depth=1,tanh": Net((3,)),
    "depth=1,tanh,pinned": Net((3,), pinned=True),
    "depth=2,relu,pinned": Net((3, 4), "relu", pinned=True),
    "depth=2,silu": Net((4, 3), "silu"),
    "depth=2,softplus": Net((3, 3), "softplus"),
    "depth=3,tanh,pinned": Net((3, 2, 3), pinned=True),
    "depth=3,silu,value": Net((3, 3, 2), "silu", "value"),
    "depth=1,tanh,value": Net((3,), target="value"),
    "batch=3,pinned": Net((3,), pinned=True, batch=3),
    "actions=3": Net((3,), actions=3, batch=2),
    "actions=3,greedy": Net((3,), actions=3, batch=2, greedy=True),
    "actions=2,value,greedy": Net((3,), target="value", actions=2, batch=2, greedy=True),
}
MODULES = ("depth=1,tanh", "depth=1,tanh,value", "depth=3,tanh,pinned", "batch=3,pinned")


def linear_directions(rule: Rule, problem: str, target: str) -> Claim:
    """On a problem with large ratios too."""
    where = f"at every transition of {problem} ({target})"
    return Claim(
        id=f"instrument/linear/{problem}/{target}/{rule.name}/written-out",
        says=f"{rule.name}: the linear engine's directions are the algorithm's {where}",
        source=SOURCE,
        check=partial(linear_is_written_out, rule, problem, target),
        rule=rule,
    )


def linear_is_written_out(rule: Rule, problem: str, target: str, setting: Setting) -> Finding:
    """Every outcome in a lane of its own, all at one random point."""
    import torch

    from algorithms.fast.linear import directions
    from algorithms.streams import generator
    from harness.oracle import literal
    from harness.plugins import find_problem

    world = find_problem(problem)
    mdp, goal = world.mdp, world.target(target, 5)
    table, n = mdp.table, goal.outputs
    outcomes = np.arange(len(table.probability))[:, None]
    theta, w = generator(setting.seed, purpose="point").normal(size=(2, n, mdp.features.shape[1]))
    thetas, ws = (np.array(np.broadcast_to(part, (len(outcomes), *part.shape)), order="C") for part in (theta, w))
    found = directions(rule, thetas, ws, table.batch(outcomes, mdp.features, goal))
    at, aux = (torch.as_tensor(part.ravel()) for part in (theta, w))
    each = [
        literal.directions(rule, partial(linear, n), at, aux, sample)
        for sample in literal.samples_of(table, mdp.features, goal)
    ]
    expected = [np.stack([one[i].numpy() for one in each]) for i in (0, 1)]
    whole = table.batch(outcomes.T, mdp.features, goal)  # all of them as one batch of one lane
    mean = directions(rule, theta[None].copy(), w[None].copy(), whole)
    ours = [
        np.concatenate([one.reshape(len(outcomes), -1), all_.reshape(1, -1)])
        for one, all_ in zip(found, mean, strict=True)
    ]
    theirs = [np.concatenate([part, part.mean(0, keepdims=True)]) for part in expected]
    return _written_out(ours, theirs, f"{len(each)} transitions and their mean")


def _written_out(found: list[Floats], expected: list[Floats], where: str) -> Finding:
    """G_θ and G_w, each as a share of its own largest entry."""
    errors = [off(ours, theirs) for ours, theirs in zip(found, expected, strict=True)]
    worst = int(np.argmax(errors))
    words = f"over {where} the directions are off by {largest(errors):.1e} of their size"
    return exactly(largest(errors), EXACT, words, f"{'G_θ' if worst == 0 else 'G_w'} is wrong")


def network_directions(rule: Rule, engine: str, name: str) -> Claim:
    """Heads, depths, activations, batches and actions."""
    return Claim(
        id=f"instrument/{engine}/{name}/{rule.name}/written-out",
        says=f"{rule.name}: the {engine} engine's directions are the algorithm's ({name})",
        source=SOURCE,
        check=partial(network_is_written_out, rule, engine, name),
        rule=rule,
    )


def network_is_written_out(rule: Rule, engine: str, name: str, setting: Setting, change: str = "") -> Finding:
    """Random weights, inputs and transitions; `change` names what a control does wrong."""
    import torch

    from algorithms.batch import Batch
    from algorithms.streams import generator
    from algorithms.targets import CdfTarget, ValueTarget
    from harness.oracle import literal

    net, inputs = NETS[name], 3
    rng = generator(setting.seed, purpose="transitions", net=name)
    goal = CdfTarget(-1.0, 2.0, 4) if net.target == "cdf" else ValueTarget()
    x, x_next = rng.normal(size=(2, 1, net.batch, inputs))
    reward, rho = rng.normal(0.0, 0.5, size=(1, net.batch)), rng.uniform(0.3, 3.0, size=(1, net.batch))
    shift = goal.shift(reward, np.where(np.arange(net.batch) == 1, 0.0, 0.9)[None])
    action, following = rng.integers(net.actions, size=(2, 1, net.batch))
    given = (action, None if net.greedy else following) if net.actions > 1 else (None, None)
    batch = Batch(x, x_next, shift, rho, *given)
    formula = literal.Network((inputs, *net.hidden), goal, net.activation, net.pinned, net.actions)
    judged = replace(rule, curvature=False) if change == "h dropped" else rule
    theta, w = (
        first_weights(net, goal, inputs, generator(setting.seed, purpose=part, net=name)) for part in ("theta", "w")
    )
    found = _directions(engine, judged, net, goal, theta, w, batch)
    at, aux = (torch.as_tensor(vector(part)) for part in (theta, w))
    expected = [np.zeros(len(at)), np.zeros(len(at))]
    for i in range(net.batch):
        sample = literal.Sample(
            torch.as_tensor(x[0, i]), torch.as_tensor(x_next[0, i]), torch.as_tensor(shift.matrix()[0, i]),
            torch.as_tensor(shift.constant[0, i]), float(rho[0, i]),
        )  # fmt: skip
        later = formula.greedy(at, sample.x_next) if net.greedy else int(following[0, i])
        used = formula.at(int(action[0, i])), formula.at(later)
        for total, part in zip(expected, literal.directions(rule, used[0], at, aux, sample, used[1]), strict=True):
            total += part.numpy() / net.batch
    return _written_out([vector(part) for part in found], expected, f"{net.batch} samples")


def _directions(engine: str, rule: Rule, net: Net, goal: Any, theta: list, w: list, batch: Any) -> list[list]:
    """The engine's (G_θ, G_w), laid out as the mlp engine's weights."""
    if engine == "mlp":
        return [*make_mlp(rule, net, goal, batch.x.shape[-1]).directions(theta, w, batch)]
    if engine == "small":
        small = make_small(rule, net, goal, batch.x.shape[-1])
        return [*small.directions(small.flat(theta), small.flat(w), batch)]
    made = make_module(rule, net, goal, theta)
    return [of_module(part) for part in made.directions(to_module(theta), to_module(w), batch)]
