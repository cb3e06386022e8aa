"""Metrics and the Bellman backup, against sums over states, actions and next states in plain loops."""

from functools import cache

import numpy as np
import pytest
import torch

from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions
from dgtd.harness.oracle.metrics import Metrics
from dgtd.harness.oracle.returns import Backup, projected_law, true_law
from dgtd.harness.oracle.theorem import small_problem
from dgtd.harness.plugins import find_problem

# On Baird's star C is singular. Discounts are 1, 1, 0.8 and 0.99, and d is uneven on the first three.
NAMES = ["random_walk", "boyan", "small", "baird"]
TARGETS = {
    "random_walk": CdfTarget(-1.25, 1.25, 11),
    "boyan": CdfTarget(-38.0, 2.0, 41),
    "small": CdfTarget(-1.7, 2.1, 5),
    "baird": CdfTarget(-1.0, 1.0, 4),
}


@cache
def mdp_of(name):
    return small_problem().mdp if name == "small" else find_problem(name).mdp


def rows(mdp):
    """(state, action, probability, next state, reward, ends) of everything that can happen."""
    o = mdp.transitions
    columns = (o.state, o.action, o.probability, o.next_state, o.reward, o.ends)
    return [tuple(part.item() for part in row) for row in zip(*columns, strict=True)]


@cache
def visits(name):
    """Shares of visits under the behaviour, by following the chain: all visits of an episode, or the late ones."""
    mdp = mdp_of(name)
    episodic = any(row[-1] for row in rows(mdp))
    now = mdp.start.copy() if episodic else np.full(mdp.states, 1 / mdp.states)
    total = np.zeros(mdp.states)
    for _ in range(400):
        total = total + now if episodic else now
        after = np.zeros(mdp.states)
        for s, a, p, to, _, ends in rows(mdp):
            if not ends:
                after[to] += now[s] * mdp.behaviour[s, a] * p
        now = after
    return total / total.sum()


def expected(mdp, of_outcome):
    """Σ over actions and next states, under the target policy, of a number or vector per state."""
    out = [0.0] * mdp.states
    for s, a, p, to, r, ends in rows(mdp):
        out[s] = out[s] + mdp.target[s, a] * p * of_outcome(to, r, 0.0 if ends else mdp.gamma)
    return np.array(out)


def value_backup(mdp, v):
    return expected(mdp, lambda to, r, gamma: r + gamma * v[to])


def split(target, atom, r, gamma):
    """C51: mass at r + γz, moved into the range, goes to the two atoms beside it."""
    place = (min(max(r + gamma * target.support[atom], target.v_min), target.v_max) - target.v_min) / target.spacing
    below = min(int(np.floor(place + 1e-12)), target.atoms - 2)
    return {below: 1 - (place - below), below + 1: place - below}


def law_backup(mdp, target, F):
    """F(z_1) … F(z_{m−1}) of r + γZ(s'), atom by atom."""

    def of_outcome(to, r, gamma):
        cdf = np.zeros(target.atoms)
        before = 0.0
        for atom in range(target.atoms):
            at = F[to, atom] if atom < target.outputs else 1.0
            if target.projection == "cramer":
                for where, share in split(target, atom, r, gamma).items():
                    cdf[where:] += (at - before) * share
            else:  # `floor`: mass counts at the atoms that it does not exceed
                cdf[target.support >= r + gamma * target.support[atom] - 1e-9] += at - before
            before = at
        return cdf[: target.outputs]

    return expected(mdp, of_outcome)


def projected_norm(name, error):
    """√Σ d(s)(Π error)(s)², Π by least squares weighted with d."""
    X, d = mdp_of(name).features, visits(name)
    root = np.sqrt(d)
    c = np.linalg.lstsq(root[:, None] * X, root * error, rcond=1e-10)[0]
    return np.sqrt(sum(d[s] * (X[s] @ c) ** 2 for s in range(len(d))))


def value_of(target, F):
    """Σ z_k p_k of each state."""
    if isinstance(target, ValueTarget):
        return F[:, 0]
    masses = [np.diff(np.concatenate([[0.0], row, [1.0]])) for row in F]
    return np.array([sum(z * p for z, p in zip(target.support, mass, strict=True)) for mass in masses])


@cache
def true_values(name):
    v = np.zeros(mdp_of(name).states)
    for _ in range(400):
        v = value_backup(mdp_of(name), v)
    return v


def brute(name, target, F):
    """Every metric but `cramer`, of one prediction [states, n]."""
    mdp, d, v = mdp_of(name), visits(name), value_of(target, F)
    out = {
        "rmspbe": projected_norm(name, value_backup(mdp, v) - v),
        "rmsve": np.sqrt(sum(d[s] * (v[s] - true_values(name)[s]) ** 2 for s in range(mdp.states))),
        "size": np.sqrt(sum(v[s] ** 2 for s in range(mdp.states)) / mdp.states),
    }
    if not isinstance(target, ValueTarget):
        error = law_backup(mdp, target, F) - F
        out["rdmspbe"] = np.sqrt(sum(projected_norm(name, error[:, j]) ** 2 for j in range(target.outputs)))
        laws = [np.concatenate([[0.0], row, [1.0]]) for row in F]
        out["improper"] = sum(bool((np.diff(law) < 0).any()) for law in laws) / mdp.states
    return out


def predictions(name, target, *lead):
    return np.random.default_rng(3).normal(size=(*lead, mdp_of(name).states, target.outputs))


@pytest.mark.parametrize("kind", ["value", "cdf"])
@pytest.mark.parametrize("name", NAMES)
def test_metrics_are_their_sums_over_the_table(name, kind):
    target = ValueTarget() if kind == "value" else TARGETS[name]
    F = predictions(name, target)
    known = brute(name, target, F)
    found = dict(zip(target.metrics, Metrics(mdp_of(name), target)(F), strict=True))
    assert set(known) | {"cramer"} >= set(found)
    for metric, value in known.items():
        assert found[metric] == pytest.approx(value, rel=1e-9), metric


def test_metrics_come_in_the_order_that_is_asked_for():
    target = TARGETS["small"]
    F, metrics = predictions("small", target), Metrics(mdp_of("small"), target)
    known = brute("small", target, F)
    for names in (("size", "rmspbe"), ("rmspbe", "size"), ("rdmspbe",)):
        np.testing.assert_allclose(metrics(F, names), [known[name] for name in names], rtol=1e-9)


@pytest.mark.parametrize("name", ["small", "baird"])
def test_linear_predictors_are_measured_by_what_they_predict(name):
    mdp, target = mdp_of(name), TARGETS[name]
    theta = np.random.default_rng(4).normal(size=(2, target.outputs, mdp.features.shape[1]))
    found = Metrics(mdp, target).of_linear(theta)
    for lane in range(2):
        F = np.array([[theta[lane, j] @ mdp.features[s] for j in range(target.outputs)] for s in range(mdp.states)])
        known = brute(name, target, F)
        np.testing.assert_allclose(found[lane, :4], [known[each] for each in target.metrics[:4]], rtol=1e-9)


@pytest.mark.parametrize("target", [ValueTarget(), TARGETS["small"]], ids=lambda target: target.kind)
def test_a_batch_of_any_shape_is_its_predictions_one_by_one(target):
    metrics = Metrics(mdp_of("small"), target)
    batch = predictions("small", target, 3, 2)
    found = metrics(batch)
    assert found.shape == (3, 2, len(target.metrics))
    for index in np.ndindex(3, 2):
        np.testing.assert_allclose(found[index], metrics(batch[index]), rtol=1e-12)
    assert metrics(batch[0, 0]).shape == (len(target.metrics),)


@pytest.mark.parametrize("target", [ValueTarget(), TARGETS["small"]], ids=lambda target: target.kind)
def test_a_lane_that_is_not_a_number_stays_so_and_harms_no_other(target):
    metrics = Metrics(mdp_of("small"), target)
    batch = predictions("small", target, 4)
    alone = metrics(batch)
    batch[1] = np.nan
    batch[2, 0, 0] = np.nan  # one entry is enough
    found = metrics(batch)
    assert np.isnan(found[1:3]).all()
    np.testing.assert_array_equal(found[[0, 3]], alone[[0, 3]])
    batch[2] = np.inf
    assert not np.isfinite(metrics(batch)[2]).any()


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_zero_at_the_fixed_points_and_nowhere_near(name):
    mdp = mdp_of(name)
    of_value = Metrics(mdp, ValueTarget())
    assert of_value.of_linear(mdp.theta_td[None])[0] < 1e-9
    assert of_value.of_linear(1.1 * mdp.theta_td[None] + 0.1)[0] > 1e-4
    assert of_value(true_values(name)[:, None], ("rmsve",)) < 1e-9
    target = TARGETS[name]
    of_law = Metrics(mdp, target)
    law = projected_law(mdp, target).cdf
    assert of_law(law, ("rdmspbe",)) < 1e-9
    assert of_law(law + 0.1 * np.arange(mdp.states)[:, None], ("rdmspbe",)) > 1e-2
    assert of_law(true_law(mdp, target).cdf, ("cramer",)) < 1e-9


def walks_law(target):
    """Returns are ∓1, and v is their mean."""
    left = (1 - true_values("random_walk")) / 2
    z = target.support[:-1]
    return np.where(z < -1 - 1e-9, 0.0, np.where(z < 1 - 1e-9, left[:, None], 1.0))


def boyans_law(target):
    """Returns are whole numbers: the chance of each, from the last state backwards."""
    chance = [{} for _ in range(13)]
    for s in reversed(range(13)):
        for here, _, p, to, r, ends in rows(mdp_of("boyan")):
            if here == s:
                for later, share in ({0.0: 1.0} if ends else chance[to]).items():
                    chance[s][r + later] = chance[s].get(r + later, 0.0) + p * share
    cdf = [[sum(p for g, p in each.items() if g <= z + 1e-9) for z in target.support[:-1]] for each in chance]
    return np.array(cdf)


@pytest.mark.parametrize(("name", "law"), [("random_walk", walks_law), ("boyan", boyans_law)])
def test_cramer_is_the_weighted_distance_to_the_law_of_the_return(name, law):
    target, d = TARGETS[name], visits(name)
    F, G = predictions(name, target), law(target)
    gaps = [sum((F[s, j] - G[s, j]) ** 2 for j in range(target.outputs)) for s in range(len(d))]
    known = np.sqrt(sum(d[s] * target.spacing * gap for s, gap in enumerate(gaps)))
    assert Metrics(mdp_of(name), target)(F, ("cramer",))[0] == pytest.approx(known, rel=1e-9)


# ---------------------------------------------------------------------- the backup


def uneven():
    """Two actions, an end, and rewards that move laws by more than the range, both ways and off the grid."""
    moves = [(0, 0, 0.3, 1, 0.4, False), (0, 0, 0.7, 0, -5.0, False), (0, 1, 1.0, 1, 0.13, True)]
    moves += [(1, 0, 1.0, 0, 5.0, False), (1, 1, 0.5, 1, -0.45, False), (1, 1, 0.5, 0, -0.2, True)]
    return FiniteMDP(
        "uneven", Transitions.of(moves), gamma=0.7, behaviour=np.full((2, 2), 0.5),
        target=np.array([[0.8, 0.2], [0.1, 0.9]]), features=np.eye(2), theta_initial=np.zeros(2), weights=[0.3, 0.7],
    )  # fmt: skip


@pytest.mark.parametrize("projection", ["cramer", "floor"])
@pytest.mark.parametrize("name", [*NAMES, "uneven"])
def test_the_backup_of_laws_moves_mass_atom_by_atom(name, projection):
    mdp = uneven() if name == "uneven" else mdp_of(name)
    range_ = (-1.0, 1.5) if name == "uneven" else (TARGETS[name].v_min, TARGETS[name].v_max)
    target = CdfTarget(*range_, 6, projection)
    backup = Backup.of(mdp, target)
    batch = np.random.default_rng(5).normal(size=(2, 2, mdp.states, target.outputs))
    found = backup(batch)
    for index in np.ndindex(2, 2):
        known = law_backup(mdp, target, batch[index])
        np.testing.assert_allclose(found[index], known, atol=1e-12)
        np.testing.assert_allclose(backup.tensor(torch.as_tensor(batch[index])).numpy(), known, atol=1e-12)


@pytest.mark.parametrize("name", [*NAMES, "uneven"])
def test_the_backup_of_values_is_the_expected_reward_and_next_value(name):
    mdp = uneven() if name == "uneven" else mdp_of(name)
    v = np.random.default_rng(6).normal(size=mdp.states)
    backup = Backup.of(mdp, ValueTarget())
    np.testing.assert_allclose(backup(v[:, None])[:, 0], value_backup(mdp, v), atol=1e-12)


def test_the_tensor_backup_has_the_backups_matrix_as_its_derivative():
    target = TARGETS["small"]
    backup = Backup.of(mdp_of("small"), target)
    F = torch.as_tensor(predictions("small", target))
    slope = torch.autograd.functional.jacobian(lambda flat: backup.tensor(flat.reshape(F.shape)).flatten(), F.flatten())
    zero = law_backup(mdp_of("small"), target, np.zeros(F.shape)).ravel()
    for i, one in enumerate(np.eye(F.numel())):
        column = law_backup(mdp_of("small"), target, one.reshape(F.shape)).ravel() - zero
        np.testing.assert_allclose(slope[:, i].numpy(), column, atol=1e-12)
