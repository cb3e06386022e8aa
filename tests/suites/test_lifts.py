"""Claims about lifts: what they are built on, and versions of the code that they fail."""

import numpy as np

from dgtd.algorithms.rules import gtd2, td
from dgtd.algorithms.targets import CdfTarget, Shift, ValueTarget
from dgtd.harness.judging.claims import Setting
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.oracle.metrics import Metrics
from dgtd.harness.plugins import find_problem
from dgtd.suites.instrument import lifts
from dgtd.suites.stability import exact

TD, *CONTROLS = lifts.claims()


def test_the_mean_of_a_lift_is_tds_to_rounding_and_its_controls_are_caught():
    assert TD.check(Setting()).verdict == "PASS"
    assert [claim.check(Setting()).verdict for claim in CONTROLS] == ["FAIL", "FAIL"]


def test_a_constant_that_forgets_the_reference_is_seen(monkeypatch):
    right = Shift.around
    for wrong in (
        lambda shift, reference: shift,
        lambda shift, reference: right(shift, 1.001 * reference),
        lambda shift, reference: Shift(shift.row, shift.weight, shift.constant - reference),
    ):
        monkeypatch.setattr(Shift, "around", wrong)
        assert TD.check(Setting()).verdict == "FAIL"


def test_a_start_that_is_a_little_off_is_seen(monkeypatch):
    right = CdfTarget.start
    monkeypatch.setattr(CdfTarget, "start", lambda target, theta: right(target, theta) * (1 + 1e-9))
    assert TD.check(Setting()).verdict == "FAIL"


def test_td_alone_has_that_path_where_returns_are_discounted(monkeypatch):
    """GTD2 moves along Tᵀu too, and T's rows do not add up to γ."""
    monkeypatch.setattr(lifts, "td", gtd2)
    assert TD.check(Setting()).verdict == "FAIL"


def test_improper_counts_states_whose_mass_falls_below_0():
    problem = find_problem("random_walk")
    for target in (problem.target("cdf", 4), problem.target("cdf", 4, linear=False)):
        laws = np.array([[0.2, 0.5, 1.0], [0.0, 0.0, 0.0], [0.5, 0.4, 0.9], [-1e-6, 0.5, 1.0], [0.1, 0.5, 1 + 1e-6]])
        F = laws - (target.reference if target.linear else 0.0)
        measure = Metrics(problem.mdp, target)
        assert measure(F, ("improper",)).tolist() == [0.6]
        assert measure(F + 1e-12, ("improper",)).tolist() == [0.6]
        F[1, 0] = np.nan
        assert np.isnan(measure(F, ("improper",))).all()


def test_the_largest_stable_step_is_where_the_radius_is_1():
    mdp = find_problem("random_walk_on_policy").mdp
    independent = mdp.with_(weights=mdp.d)
    edge = exact.edge_of_values(independent)
    low, high = (mean_square(Dynamics(td, independent, ValueTarget(), edge * by, 1.0)) for by in (1 - 1e-6, 1 + 1e-6))
    assert low.high < 1 < high.low


def test_a_lift_with_atoms_that_move_differently_is_told_from_tds():
    right, wrong = exact.lifts()
    assert right.check(Setting()).verdict == "PASS"
    assert wrong.check(Setting()).verdict == "FAIL"
