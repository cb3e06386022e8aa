"""TDRC's Figure 1 without seeds: what it compares, and what its checks must not let pass."""

import numpy as np
import pytest

from dgtd.algorithms.rules import td
from dgtd.harness.judging.claims import Setting
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.plugins import find_problem
from dgtd.suites import corrections

CLAIMS = {claim.id: claim for claim in corrections.claims()}


@pytest.mark.parametrize("rho", [0.0, 0.4, 1.0, 7.0])
def test_vtrace_is_td_with_a_ratio_of_one_at_most(rho):
    delta, u = np.array([0.3, -2.0]), np.array([1.0, 5.0])
    np.testing.assert_allclose(
        np.stack(corrections.vtrace(delta, u, rho)[:2]), np.stack(td(delta, u, min(rho, 1.0))[:2])
    )


def test_an_area_is_the_mean_over_the_steps_of_the_root_of_the_expected_mspbe():
    """Against every step of the curve: log-spaced ones make a sum of trapezoids, within a per cent of it."""
    problem = find_problem("random_walk")
    curve = Moments(td, problem.mdp, problem.target()).run(2**-4, 2**-4, range(corrections.STEPS + 1)).of("rmspbe")
    found = corrections.areas("TD", "random_walk", [(-4, 0)])[-4, 0]
    assert found == pytest.approx(np.sqrt(curve).mean(), rel=1e-2)


@pytest.mark.parametrize("id_", ["evaluation/corrections/random_walk", "evaluation/corrections/two_state/no-step"])
def test_claims_hold(id_):
    assert CLAIMS[id_].check(Setting()).verdict == "PASS"


def test_another_algorithm_in_its_place_and_a_step_size_beside_the_best_are_caught(monkeypatch):
    assert CLAIMS["evaluation/control/corrections/gtd2"].check(Setting()).verdict == "FAIL"
    walk = corrections.CHOSEN["random_walk"]
    monkeypatch.setitem(corrections.CHOSEN, "random_walk", walk | {"TDRC": (-3, 0)})
    found = CLAIMS["evaluation/corrections/random_walk"].check(Setting())
    assert found.verdict == "FAIL"
    assert "another step size is better for TDRC" in found.words


def test_tdc_falls_on_two_states_and_is_told_from_tdrc():
    assert corrections.rises("two_state", ("TDC",), Setting()).verdict == "FAIL"


@pytest.mark.slow
@pytest.mark.parametrize("id_", [id_ for id_ in CLAIMS if "control" not in id_])
def test_the_chosen_step_sizes_are_the_best_of_the_whole_grids(id_):
    assert CLAIMS[id_].check(Setting("full")).verdict == "PASS"
