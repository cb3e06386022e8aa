"""Maps of step sizes: classes, the boundary between them, and what is refused."""

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.harness.experiment import zones
from dgtd.harness.experiment.search import Grid
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.rule_files import reference

TWO = {"problem": "two_state", "target": "value", "atoms": 21, "projection": "cramer"}


def test_a_column_has_a_class_at_each_alpha_in_their_order():
    """TD on θ → 2θ diverges below α = 0.625, and is heavy-tailed at α = 1."""
    found = zones.zones(rules.td, ratio=1.0, alphas=[1.0, 0.1], **TWO)
    assert found == {"kinds": ["heavy-tailed", "diverging"], "edge": None}


def test_the_edge_is_where_the_radius_is_1():
    found = zones.zones(rules.gtd2, ratio=1.0, alphas=[2.0, 0.01], **TWO)
    assert found["kinds"] == ["diverging", "stable"]
    problem = find_problem("two_state")
    inside, outside = (
        mean_square(Dynamics(rules.gtd2, problem.mdp, problem.target(), alpha, alpha)).radius
        for alpha in (found["edge"], 1.1 * found["edge"])
    )
    assert inside < 1 < outside


def test_a_slow_turn_does_not_pass_for_decay():
    """TDC with β/α = 1/16 grows and turns; 4000 steps catch a part of one turn, in which paths shrink."""
    problem = find_problem("two_state")
    assert zones.zone(rules.tdc, problem.mdp, problem.target(), 2.0**-7, 2.0**-11) == "diverging"


def test_maps_are_sorted_whatever_the_order_of_the_grid():
    grid = Grid((0.1, 0.4, 0.2), (4.0, 1.0))
    columns = [{"kinds": ["a4", "c4", "b4"], "edge": 0.3}, {"kinds": ["stable", "c1", "stable"], "edge": None}]
    found = zones.Zones.of(grid, columns)
    assert found.kinds.tolist() == [["stable", "a4"], ["stable", "b4"], ["c1", "c4"]]
    assert np.isnan(found.edges[0])
    assert found.edges[1] == 0.3
    assert found.largest_stable().tolist() == [0.2, 0.0]


def test_what_has_no_map_is_refused():
    with pytest.raises(ValueError, match="nonlinear predictor"):
        zones.zone_jobs(reference("gtd2"), "spiral", "value", 21, "cramer", zones.FINE)
    with pytest.raises(ValueError, match=r"a map needs at most 64 unknowns, and baird \(cdf\) has 320"):
        zones.zone_jobs(reference("gtd2"), "baird", "cdf", 21, "cramer", zones.FINE)
