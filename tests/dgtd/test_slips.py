"""What a caller gets wrong is a ValueError that names the argument, before any step and before there is a store."""

import numpy as np
import pytest
import torch

import dgtd
from dgtd.algorithms.targets import CdfTarget

GIVEN = {"steps": 20, "seeds": 2, "alpha": 0.1, "beta": 0.1}
TABLE = {"x": [[1.0, 2.0]] * 4, "reward": [1.0] * 4, "gamma": [0.5] * 4, "x_next": [[1.0, 2.0]] * 4}
LINEAR = torch.nn.Linear(2, 1)


def compare(*given, **more):
    return dgtd.compare(*(given or ("gtd2", "boyan")), **GIVEN | more)


def learn(network=LINEAR, alpha=0.1, **more):
    changed = {name: more.pop(name) for name in list(more) if name in (*TABLE, "rho", "action")}
    return dgtd.learn(more.pop("rule", "gtd2"), network, TABLE | changed, alpha, 0.1, **more)


def mdp(**changes):
    return dgtd.problem("two_state").mdp.with_(**changes)


def problem(**changes):
    return dgtd.Problem(**{"mdp": mdp(), "summary": "", "source": "", "support": (-1.0, 1.0)} | changes)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: compare(steps="100"), "steps must be a whole number, got '100'"),
        (lambda: compare(steps=100.5), "steps must be a whole number, got 100.5"),
        (lambda: compare(seeds=None), "seeds must be a whole number, got None"),
        (lambda: compare(alpha="x"), "alpha must be a number, got 'x'"),
        (lambda: compare(alphas="x"), "alphas must be numbers"),
        (lambda: compare(ratios=["a"]), "ratios must be numbers"),
        (lambda: compare("gtd2", "boyan", 3), "target must be text, got 3"),
        (lambda: compare("gtd2", "boyan", "cfd"), "no target 'cfd'; did you mean 'cdf'"),
        (lambda: compare(predictor=3), "predictor must be text, got 3"),
        (lambda: compare(predictor="lineer"), "did you mean 'linear'"),
        (lambda: compare(projection="cramr", targets="cdf"), "did you mean 'cramer'"),
        (lambda: compare(schedule=3), "schedule must be text"),
        (lambda: compare(schedule="constnt"), "did you mean 'constant'"),
        (lambda: compare(atoms="x"), "atoms must be a whole number"),
        (lambda: compare(workers="x"), "workers must be a whole number"),
        (lambda: compare(timeout="x"), "timeout must be a number, got 'x'"),
        (lambda: compare(store=3), "store must name a file, got 3"),
        (lambda: compare(executor="pol"), "did you mean 'pool'"),
        (lambda: compare(timout=3), "no argument 'timout'; did you mean 'timeout'"),
        (lambda: compare(None, "boyan"), "rule must be a name or a function"),
        (lambda: compare([], "boyan"), "at least one rule"),
        (lambda: compare("gtd2", "boyn"), "did you mean 'boyan'"),
        (lambda: dgtd.run("gtd2", "boyan", None), "alpha must be a number, got None"),
        (lambda: dgtd.run("gtd2", "boyan", True), "alpha must be a number, got True"),
        (lambda: dgtd.run("gtd2", "boyan", 0.1, steps="x"), "steps must be a whole number"),
        (lambda: dgtd.run("gtd2", "boyan", 0.1, stor="x"), "no argument 'stor'; did you mean 'store'"),
        (lambda: dgtd.sweep("gtd2", "boyan", step=3), "no argument 'step'; did you mean 'steps'"),
        (lambda: dgtd.sweep("gtd2", "boyan", steps="3"), "steps must be a whole number"),
        (lambda: dgtd.sweep(3, "boyan"), "rule must be a name or a function"),
        (lambda: dgtd.curve("gtd2", "boyan", "x", 0.1), "alpha must be a number"),
        (lambda: dgtd.curve("gtd2", "boyan", 0.1, 0.1, steps="x"), "steps must be a whole number"),
        (lambda: dgtd.certify("gtd2", "boyan", 0.1, "x"), "beta must be a number"),
        (lambda: dgtd.suite("gradient"), "no suite 'gradient'; did you mean 'gradients'"),
        (lambda: dgtd.suite(3), "name must be text, got 3"),
        (lambda: dgtd.suite("contraction", claim=3), "claim must be text"),
        (lambda: dgtd.suite("contraction", profile="cii"), "did you mean 'ci'"),
        (lambda: dgtd.suite("contraction", seed="x"), "seed must be a whole number"),
        (lambda: dgtd.suite("contraction", 3), "rule must be a name or a function"),
        (lambda: dgtd.explain("contractin/kl"), "did you mean 'contraction'"),
        (lambda: dgtd.explain(3), "claim must be text"),
        (lambda: dgtd.problem(3), "name must be text"),
        (lambda: dgtd.world("cartpole-v9"), "did you mean 'cartpole-v1'"),
        (lambda: dgtd.world(3), "name must be text"),
    ],
)  # fmt: skip
def test_a_call_names_what_is_wrong_with_it_and_writes_nothing(call, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=says):
        call()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mdp(features=np.eye(3)), r"features must have shape \(2, any\), got \(3, 3\)"),
        (lambda: mdp(theta_initial=np.ones(5)), "theta_initial must have shape"),
        (lambda: mdp(behaviour=np.ones((3, 2)) / 2), "must have shape"),
        (lambda: mdp(target=np.ones((2, 3)) / 3), "target must have shape"),
        (lambda: mdp(start=np.ones(3) / 3), "start must have shape"),
        (lambda: mdp(weights=np.ones(3)), "weights must have shape"),
        (lambda: mdp(gamma="x"), "gamma must be numbers"),
        (lambda: mdp(features=np.array([[np.nan], [1.0]])), "features must be finite"),
        (lambda: problem(mdp=3), "mdp must be a FiniteMDP, got int"),
        (lambda: problem(support=(1.0,)), r"support must have shape \(2\)"),
        (lambda: problem(support=(1.0, -1.0)), "support must be"),
        (lambda: problem(support="ab"), "support must be numbers"),
    ],
)  # fmt: skip
def test_a_problem_whose_parts_disagree_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: learn(alpha="x"), "alpha must be numbers"),
        (lambda: learn(alpha=float("nan")), "alpha must be positive and finite"),
        (lambda: learn(batch="x"), "batch must be a whole number"),
        (lambda: learn(batch=0), "batch must be at least 1"),
        (lambda: learn(batch=1.5), "batch must be a whole number, got 1.5"),
        (lambda: learn(passes=-1), "passes must be at least 1"),
        (lambda: learn(passes="x"), "passes must be a whole number"),
        (lambda: learn(target="cdf"), "target must be ValueTarget"),
        (lambda: learn(target=CdfTarget), "target must be ValueTarget"),
        (lambda: learn(target=CdfTarget(0.0, 1.0, 5)), "network must give 5 outputs"),
        (lambda: learn(actions="x"), "actions must be a whole number"),
        (lambda: learn(actions=0), "actions must be at least 1"),
        (lambda: learn(actions=2), "must have 'action'"),
        (lambda: learn(torch.nn.Linear(2, 2), action=[0.5] * 4, actions=2), "action must be whole numbers"),
        (lambda: learn("x"), "network must be a torch.nn.Module, got str"),
        (lambda: learn(torch.nn.Linear), "network must be a torch.nn.Module, got type"),
        (lambda: learn(rule="gtd22"), "did you mean 'gtd2'"),
        (lambda: learn(rule=3), "rule must be a name or a function"),
        (lambda: dgtd.learn("gtd2", LINEAR, 3, 0.1, 0.1), "transitions must be a mapping"),
        (lambda: dgtd.learn("gtd2", LINEAR, [3], 0.1, 0.1), "transitions must be a mapping"),
        (lambda: learn(x="abc"), "x must be numbers"),
        (lambda: learn(x=[[1.0], [1.0, 2.0]]), "x must be numbers"),
        (lambda: learn(x=1.0), "x must have shape"),
        (lambda: learn(x=[[1.0]] * 4, x_next=[[1.0]] * 4), "network can't take 1 inputs"),
        (lambda: learn(x=[[np.nan, 1.0]] * 4), "x must be finite"),
        (lambda: learn(x_next=[[np.nan, 1.0]] * 4), "x_next must be finite"),
        (lambda: learn(reward=[np.inf] * 4), "reward must be finite"),
        (lambda: learn(gamma=[np.nan] * 4), "gamma must be finite"),
        (lambda: learn(rho=[-1.0] * 4), "rho must not be negative"),
        (lambda: learn(rho=[np.nan] * 4), "rho must be finite"),
    ],
)  # fmt: skip
def test_what_can_not_be_learned_from_is_refused_before_any_step(call, says, monkeypatch):
    monkeypatch.setattr("dgtd.updates.Compiled.run", None)  # a step would be a TypeError
    monkeypatch.setattr("dgtd.updates.ByModule.run", None)
    with pytest.raises(ValueError, match=says):
        call()
