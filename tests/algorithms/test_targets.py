"""CDF targets against their definitions, computed the long way."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgtd.algorithms.targets import (
    PROJECTIONS,
    CdfTarget,
    ValueTarget,
    cramer_distance,
)
from dgtd.harness.plugins import find_problem


def decimals(low, high):
    """Numbers with few digits: ties on the grid are common, near-ties inside the tolerance impossible."""
    return st.integers(int(low * 64), int(high * 64)).map(lambda n: n / 64)


targets = st.builds(
    lambda low, width, atoms, projection: CdfTarget(low, low + width, atoms, projection),
    decimals(-5, 5),
    decimals(0.5, 10),
    st.integers(2, 12),
    st.sampled_from(sorted(PROJECTIONS)),
)
rewards = decimals(-8, 8)
discounts = st.one_of(st.just(0.0), st.just(1.0), decimals(0.1, 1.0))


def law(seed: int, target: CdfTarget) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(target.atoms))


def shifted_cdf(target, p, r, gamma, z):
    """P(r + γZ ≤ z) for the discrete law p."""
    return p[r + gamma * target.support <= z + 1e-9 * target.spacing].sum()


@given(targets, rewards, discounts, st.integers(0, 99))
def test_every_projection_is_its_definition(target, r, gamma, seed):
    p = law(seed, target)
    F = np.cumsum(p)[:-1]
    shift = target.shift(r, gamma)
    g = shift.matrix() @ F + shift.constant
    z, dz = target.support, target.spacing
    if target.projection == "cramer":  # C51: clip, then split each mass between its neighbours
        masses = np.zeros(target.atoms)
        at = np.clip((np.clip(r + gamma * z, z[0], z[-1]) - z[0]) / dz, 0, target.atoms - 1)
        for mass, where in zip(p, at, strict=True):
            low = min(int(where), target.atoms - 2)
            masses[low] += mass * (1 - (where - low))
            masses[low + 1] += mass * (where - low)
        expected = np.cumsum(masses)[:-1]
    elif target.projection == "nearest-mass":  # each mass to the atom nearest to where it falls, or to an end
        masses = np.zeros(target.atoms)
        for mass, where in zip(p, r + gamma * z, strict=True):
            below = [j for j in range(target.atoms) if z[j] - dz / 2 <= where + 1e-9 * dz]
            masses[below[-1] if below else 0] += mass
        expected = np.cumsum(masses)[:-1]
    elif target.projection == "floor" or gamma == 0:
        expected = np.array([shifted_cdf(target, p, r, gamma, x) for x in z[:-1]])
        if target.projection == "floor":  # from V_max on F = 1, whatever lies beyond
            expected = np.where((z[:-1] - r) >= gamma * (z[-1] - 1e-9 * dz), 1.0, expected) if gamma else expected
    else:
        y = ((z[:-1] - r) / gamma - z[0]) / dz
        full = np.append(F, 1.0)
        index = np.clip(np.floor(y + 0.5 + 1e-9), 0, target.atoms - 1).astype(int)
        expected = np.where(y < -1e-9, 0.0, np.where(y >= target.atoms - 1 - 1e-9, 1.0, full[index]))
    np.testing.assert_allclose(g, expected, atol=1e-6)


@given(targets, rewards, discounts, st.integers(0, 99))
def test_the_torch_form_is_the_matrix_and_its_transpose_is_exact(target, r, gamma, seed):
    rng = np.random.default_rng(seed)
    f, cotangent = rng.normal(size=(2, target.outputs))
    shift = target.shift(r, gamma)
    tensors = shift.tensors(torch.float64)
    applied = tensors.apply(torch.as_tensor(f)).numpy()
    np.testing.assert_allclose(applied, shift.matrix() @ f + shift.constant, atol=1e-13)
    pulled = tensors.transpose(torch.as_tensor(cotangent)).numpy()
    np.testing.assert_allclose(pulled, shift.matrix().T @ cotangent, atol=1e-13)


@given(targets, rewards, discounts, st.integers(0, 99))
def test_a_law_stays_a_law(target, r, gamma, seed):
    shift = target.shift(r, gamma)
    g = shift.matrix() @ np.cumsum(law(seed, target))[:-1] + shift.constant
    assert (g >= -1e-12).all()
    assert (g <= 1 + 1e-12).all()
    assert (np.diff(g) >= -1e-12).all()


@given(st.floats(0.05, 1.0), st.integers(2, 30), st.integers(0, 99))
def test_cramer_keeps_the_mean_where_nothing_is_clipped(gamma, atoms, seed):
    target = CdfTarget(-2.0, 3.0, atoms)
    r = (1 - gamma) * 0.7  # a convex mean of the range and 0.7, so inside
    F = np.cumsum(law(seed, target))[:-1]
    shift = target.shift(r, gamma)
    assert target.mean(shift.matrix() @ F + shift.constant) == pytest.approx(r + gamma * target.mean(F), abs=1e-12)


@pytest.mark.parametrize("projection", sorted(PROJECTIONS))
def test_an_ended_episode_is_a_point_mass_at_the_reward(projection):
    target = CdfTarget(0.0, 4.0, 5, projection)
    assert target.point_mass(2.0).tolist() == [0, 0, 1, 1]
    assert target.point_mass(-1.0).tolist() == [1, 1, 1, 1]
    assert target.point_mass(9.0).tolist() == [0, 0, 0, 0]
    between = {"cramer": [0, 0, 0.75, 1], "nearest-mass": [0, 0, 1, 1]}.get(projection, [0, 0, 0, 1])
    assert target.point_mass(2.25).tolist() == between
    assert not target.shift(2.0, 0.0).weight.any()


def test_probabilities_and_mean_invert_the_cdf():
    target = CdfTarget(-1.0, 2.0, 7)
    p = law(3, target)
    F = np.cumsum(p)[:-1]
    np.testing.assert_allclose(target.probabilities(F), p, atol=1e-15)
    assert target.mean(F) == pytest.approx(p @ target.support, abs=1e-14)


def test_a_value_target_is_r_plus_gamma_v():
    shift = ValueTarget().shift([1.0, -2.0], [0.9, 0.0])
    g = shift.tensors(torch.float64).apply(torch.tensor([[3.0], [5.0]], dtype=torch.float64))
    assert g.tolist() == [[1.0 + 0.9 * 3.0], [-2.0]]


def test_cramer_distance_is_the_integral():
    target = CdfTarget(0.0, 1.0, 2)
    assert cramer_distance([1.0], [0.0], target.spacing) == 1.0  # point masses at 0 and at 1
    F, G = np.random.default_rng(0).random((2, 3, 4))
    assert cramer_distance(F, G, 0.5).max() == max(np.sqrt(0.5 * ((F - G) ** 2).sum(1)))


def test_half_way_between_two_atoms_nearest_takes_the_upper_one():
    """Atoms 0 … 4 and γ = 1. Shifted by ½, atom j asks for F at j − ½, and takes it at j; below 0 it is 0."""
    target = CdfTarget(0.0, 4.0, 5, "nearest")
    up, down = target.shift(0.5, 1.0), target.shift(-0.5, 1.0)
    assert up.matrix().tolist() == np.diag([0.0, 1.0, 1.0, 1.0]).tolist()
    assert up.constant.tolist() == [0.0] * 4
    assert down.matrix().tolist() == np.eye(4, k=1).tolist()  # F at j + ½ is taken at j + 1
    assert down.constant.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_half_way_between_two_atoms_mass_moves_to_the_upper_one():
    """Atoms 0 … 4 and γ = 1. Shifted by ½, all mass moves up an atom; by −½, it stays where it is."""
    target = CdfTarget(0.0, 4.0, 5, "nearest-mass")
    up, down = target.shift(0.5, 1.0), target.shift(-0.5, 1.0)
    assert up.matrix().tolist() == np.eye(4, k=-1).tolist()
    assert up.constant.tolist() == [0.0] * 4
    assert down.matrix().tolist() == np.eye(4).tolist()
    assert down.constant.tolist() == [0.0] * 4


def test_mass_skips_an_atom_where_neighbours_round_apart():
    """γ = 1, and a reward half a cell and the tolerance below an atom: float64 puts neighbours two atoms apart."""
    target = CdfTarget(-2.7, 4.3, 38, "nearest-mass")
    r = (np.arange(1000) / 7 - 60.5 - 1e-9) * target.spacing
    shift = target.shift(r, np.ones(1000))
    assert shift.weight[:, 1].any()  # a source that fills two rows
    laws = shift.matrix().sum(2) + shift.constant  # of all mass on the lowest atom
    assert (np.diff(laws) >= 0).all()


@pytest.mark.parametrize("projection", sorted(PROJECTIONS))
def test_rounding_in_float64_moves_no_index(projection):
    target = CdfTarget(-1.0, 1.0, 21, projection)
    exact = np.arange(-10, 11) * target.spacing
    for factor in (1 - 1e-12, 1 + 1e-12):
        assert (target.shift(exact, 1.0).row == target.shift(exact * factor, 1.0).row).all()


@pytest.mark.parametrize("projection", sorted(PROJECTIONS))
def test_an_engine_in_float32_has_the_indices_of_float64(projection):
    target = CdfTarget(-1.0, 1.0, 21, projection)
    shift = target.shift(np.arange(-10, 11) * target.spacing, 1.0)
    coarse = shift.tensors(torch.float32)
    assert coarse.weight.dtype is coarse.constant.dtype is torch.float32
    assert (coarse.row.numpy() == shift.row).all()
    f = np.random.default_rng(0).random((21, target.outputs))
    expected = (shift.matrix() @ f[..., None])[..., 0] + shift.constant
    np.testing.assert_allclose(coarse.apply(torch.as_tensor(f, dtype=torch.float32)).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0, 1.0, 1), "atoms must be at least 2, got 1"),
        ((1.0, 1.0, 5), "v_min must be below v_max, got v_min=1.0, v_max=1.0"),
        ((0.0, float("nan"), 5), "v_max=nan"),
        ((0.0, 1.0, 5, "neerest"), "no projection 'neerest'; did you mean 'nearest'?"),
    ],
)
def test_impossible_grids_are_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        CdfTarget(*arguments)


def test_impossible_transitions_are_refused():
    for target in (ValueTarget(), CdfTarget(0, 1, 3)):
        with pytest.raises(ValueError, match=r"discount must be in \[0, 1\], got 1.5"):
            target.shift(0.0, 1.5)
        with pytest.raises(ValueError, match="reward must be finite, got nan"):
            target.shift([0.0, float("nan")], 0.5)


@pytest.mark.parametrize("problem", ["boyan", "random_walk", "two_state", "random_walk_dependent"])
def test_a_lift_starts_from_the_mean_that_the_value_starts_from(problem):
    """Or a comparison of forms begins with a head start; also where no combination of features is constant."""
    world = find_problem(problem)
    X, target = world.mdp.features, world.target("cdf", 7)
    theta = np.random.default_rng(0).normal(size=X.shape[1])
    laws = target.laws(X @ target.start(theta).T)
    means = [np.linspace(*world.support, 7) @ np.diff([0.0, *law, 1.0]) for law in laws]
    np.testing.assert_allclose(means, X @ theta, rtol=0, atol=1e-12 * max(10.0, np.abs(X @ theta).max()))


@given(targets, rewards, discounts, st.integers(0, 99))
def test_a_linear_target_says_of_what_is_added_what_the_other_says_of_laws(target, r, gamma, seed):
    """δ is one number, whether F is predicted or what is added to the law of the return 0."""
    lift = target.of_linear()
    here, there = np.random.default_rng(seed).normal(size=(2, target.outputs))
    plain, moved = target.shift(r, gamma), lift.shift(r, gamma)
    of_laws = plain.matrix() @ lift.laws(there) + plain.constant - lift.laws(here)
    added = moved.matrix() @ there + moved.constant - here
    np.testing.assert_allclose(added, of_laws, rtol=0, atol=1e-11)
    assert lift.mean(here) == pytest.approx(target.mean(lift.laws(here)), abs=1e-11)


@given(targets)
def test_the_reference_is_the_law_of_0_and_off_the_range_keeps_its_mean(target):
    lift = target.of_linear()
    assert target.mean(lift.reference) == pytest.approx(0.0, abs=1e-12)
    masses = target.probabilities(lift.reference)
    z, dz = target.support, target.spacing
    if z[0] <= 0 <= z[-1]:
        np.testing.assert_allclose(masses, np.clip(1 - np.abs(z) / dz, 0, None), atol=1e-9)
    else:
        assert masses.min() < 0


def test_targets_of_networks_and_of_linear_predictors_do_not_stand_in_for_each_other():
    target = CdfTarget(-1.0, 1.0, 5)
    with pytest.raises(ValueError, match="target must be of linear predictors"):
        target.start(np.zeros(2))
    with pytest.raises(ValueError, match="target must be of networks"):
        target.of_linear().head().logits  # noqa: B018
    assert ValueTarget().of_linear() == ValueTarget()
