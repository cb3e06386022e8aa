"""LSTD's error after n transitions: by hand, by autocovariances one by one, and against LSTD itself."""

import numpy as np
import pytest

from dgtd.harness.oracle.lstd import long_run_covariance, lstd
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions
from dgtd.harness.plugins import find_problem


def coin(**rest):
    """One state, feature 2, rewards ±1 by a fair coin: θ̂ is the mean reward over 2(1 − γ), at every n."""
    rows = [(0, 0, 0.5, 0, reward, False) for reward in (1.0, -1.0)]
    one = np.ones((1, 1))
    return FiniteMDP("coin", Transitions.of(rows), 0.9, one, one, np.full((1, 1), 2.0), np.zeros(1), **rest)


def alternating(**rest):
    """s₁ → s₂ → s₁, one feature, rewards 1 and −1: what one transition adds to the sum, the next one takes away."""
    rows = [(0, 0, 1.0, 1, 1.0, False), (1, 0, 1.0, 0, -1.0, False)]
    sure = np.ones((2, 1))
    return FiniteMDP("alternating", Transitions.of(rows), 0.5, sure, sure, np.ones((2, 1)), np.zeros(1), **rest)


def sticky(**rest):
    """Three states with two features, off-policy, with episodes; states repeat, so errors come in rows of one sign."""
    rows = []
    for s in range(3):
        for a in range(2):
            stay, end = 0.8 if a == 0 else 0.65, 0.02 + 0.06 * s
            rows += [(s, a, stay, s, float(s), False), (s, a, 1 - stay - end, (s + 1) % 3, 1.0 - s, False)]
            rows += [(s, a, end, s, 2.0 * a, True)]
    behaviour, target = np.tile([0.5, 0.5], (3, 1)), np.tile([0.7, 0.3], (3, 1))
    features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -0.5]])
    start = np.array([0.6, 0.4, 0.0])
    return FiniteMDP("sticky", Transitions.of(rows), 0.6, behaviour, target, features, np.zeros(2), start, **rest)


def solved(mdp, steps, lanes, seed=0):
    """MSPBE of LSTD after so many transitions, [lanes]: the sampler is written out, nothing of the engine is used."""
    rng, table = np.random.default_rng(seed), mdp.table
    ends_at = np.cumsum(table.probability) + 1e-12  # a state's outcomes sum to 1, so state s has (s, s + 1]
    begin = np.cumsum(table.start)
    state = np.searchsorted(begin, rng.random(lanes))
    k = mdp.features.shape[1]
    A, b = np.zeros((lanes, k, k)), np.zeros((lanes, k))
    for _ in range(steps):
        o = np.searchsorted(ends_at, state + rng.random(lanes))
        x, x_next = mdp.features[state], mdp.features[table.next_state[o]]
        A += (table.rho[o, None] * x)[:, :, None] * (x - table.discount[o, None] * x_next)[:, None, :]
        b += (table.rho[o] * table.reward[o])[:, None] * x
        anew = np.searchsorted(begin, rng.random(lanes))
        state = np.where(table.ends[o] | mdp.iid, anew, table.next_state[o])
    gap = mdp.b - np.linalg.solve(A, b[..., None])[..., 0] @ mdp.A.T
    return (gap @ mdp.C_inverse * gap).sum(1)


@pytest.mark.parametrize("rest", [{}, {"weights": np.ones(1)}])
def test_on_one_state_it_is_the_variance_of_the_reward(rest):
    mdp = coin(**rest)
    assert lstd(mdp).limit == pytest.approx(1.0, rel=1e-12)
    assert 100 * solved(mdp, 100, 4000).mean() == pytest.approx(1.0, abs=5 * np.sqrt(2 / 4000))


def test_what_the_next_transition_takes_away_does_not_count():
    """A chain of period 2: sums of g stay between 0 and 1, so n·E MSPBE goes to 0; independent draws keep it at 1."""
    assert lstd(alternating()).limit == pytest.approx(0.0, abs=1e-12)
    assert lstd(alternating(weights=np.full(2, 0.5))).limit == pytest.approx(1.0, rel=1e-12)


def test_the_fundamental_matrix_sums_all_autocovariances():
    mdp = sticky()
    table, values = mdp.table, mdp.features @ mdp.theta_td
    delta = table.reward + table.discount * values[table.next_state] - values[table.state]
    g = (table.rho * delta)[:, None] * mdp.features[table.state]
    after = np.where(table.ends[:, None], table.start, np.eye(3)[table.next_state])  # of the next state, [outcomes, 3]
    P, h = np.zeros((3, 3)), np.zeros((3, 2))
    np.add.at(P, table.state, table.probability[:, None] * after)
    np.add.at(h, table.state, table.probability[:, None] * g)
    total = g.T @ (mdp.mass[:, None] * g)
    for _ in range(2000):
        later = g.T @ (mdp.mass[:, None] * (after @ h))
        total += later + later.T
        h = P @ h
    np.testing.assert_allclose(long_run_covariance(mdp), total, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("independent", [False, True])
def test_lstd_itself_has_that_error(independent):
    """4000 lanes; 5 standard errors and 1 % for the order 1/n² (n = 1500). Either sampling is far from the other."""
    mdp = sticky()
    mdp = mdp.with_(weights=mdp.d) if independent else mdp
    found = 1500 * solved(mdp, 1500, 4000)
    margin = 5 * found.std() / np.sqrt(len(found)) + 0.01 * found.mean()
    assert abs(found.mean() - lstd(mdp).limit) < margin
    wrong = lstd(sticky() if independent else sticky(weights=mdp.d)).limit  # autocovariances added, or left out
    assert abs(found.mean() - wrong) > 2 * margin


def test_it_is_shown_from_ten_transitions_per_feature_on():
    found = lstd(sticky())
    np.testing.assert_array_equal(found.mspbe([1, 19, 20, 40]), [np.nan, np.nan, found.limit / 20, found.limit / 40])


def test_there_is_none_where_a_is_singular():
    assert lstd(find_problem("baird").mdp) is None


def test_states_that_are_never_seen_do_not_matter():
    mdp = sticky()
    o = mdp.transitions
    rows = list(zip(o.state, o.action, o.probability, o.next_state, o.reward, o.ends, strict=True))
    rows += [(3, a, 1.0, 3, 5.0, False) for a in range(2)]  # nothing leads there, and nothing leads out
    more = {name: np.vstack([getattr(mdp, name), [0.5, 0.5]]) for name in ("behaviour", "target")}
    features = np.vstack([mdp.features, [3.0, 1.0]])
    larger = mdp.with_(transitions=Transitions.of(rows), features=features, start=np.append(mdp.start, 0.0), **more)
    assert lstd(larger).limit == pytest.approx(lstd(mdp).limit, rel=1e-12)
