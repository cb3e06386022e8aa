"""A sample of `python -m tests.harness.experiment.choices`: both sweeps choose step sizes that are as good."""

import pytest

from dgtd.harness.experiment.experiment import Entrant, Experiment
from dgtd.harness.experiment.search import Choice, Grid
from dgtd.harness.runs.rule_files import reference
from tests.harness.experiment import choices

GRID = Grid((0.5, 0.125, 0.03125), (0.25, 1.0, 4.0))


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["boyan", "random_walk"])
def test_the_sampled_choice_is_as_good_by_the_exact_area(problem, tmp_path):
    """Six other seeds lost 0.6 % at most."""
    assert choices.chosen(problem, "gtd2", 500, tmp_path, grid=GRID).loss < choices.MARGIN


@pytest.mark.slow
def test_a_poor_choice_is_seen(tmp_path, monkeypatch):
    poor = {("boyan", Entrant(reference("gtd2"), "value")): Choice((0.03125, 0.0078125))}
    monkeypatch.setattr(Experiment, "choose", lambda self, store: poor)
    assert choices.chosen("boyan", "gtd2", 200, tmp_path, grid=GRID).loss > 0.2
