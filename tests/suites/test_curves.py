"""The test of sampled means against the exact curve: what it weighs, and that it can fail."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from dgtd.algorithms.rules import gtd2, td
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.suites.instrument import curves

SETTING = Setting("ci", 0, 1e-5)
CASE = curves.CASES["boyan/last"]


@pytest.fixture(scope="module")
def evidence():
    return curves.sampled_means(gtd2, 2000, 0, **asdict(CASE))


@pytest.mark.slow
def test_right_lanes_pass_on_twenty_seeds():
    """False alarm of the whole test: 20 × 1e-5."""
    for seed in range(20):
        found = curves.means_agree(gtd2, (CASE,), [curves.sampled_means(gtd2, 500, seed, **asdict(CASE))], SETTING)
        assert found.verdict is Verdict.PASS, (seed, found.words)


def test_a_mean_that_is_five_standard_errors_off_fails(evidence):
    """Errors are those of the mean over lanes: 2000 lanes again, and the means differ by that much."""
    other = curves.sampled_means(gtd2, 2000, 1, **asdict(CASE))
    gap = np.abs(np.array(evidence["means"]) - other["means"])
    varies = np.array(evidence["errors"]) > 1e-12
    away = gap[varies] / np.array(evidence["errors"])[varies]
    assert 1.0 < away.max() < 8.0
    moved = np.array(evidence["means"])
    moved[3, 5] += 6.5 * evidence["errors"][3][5]
    found = curves.means_agree(gtd2, (CASE,), [evidence | {"means": moved.tolist()}], SETTING)
    assert found.verdict is Verdict.FAIL
    assert "after 10 steps" in found.words


def test_a_number_that_does_not_vary_must_be_the_expected_one():
    means, expected = np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]])
    errors = np.array([[0.0, 0.1]])
    assert curves.distances(means, errors, expected).tolist() == [[0.0, 0.0]]
    assert curves.distances(means + 1e-6, errors, expected)[0, 0] == np.inf


def test_means_that_are_not_numbers_do_not_pass(evidence):
    lost = np.array(evidence["means"])
    lost[2, 2] = np.nan
    assert curves.means_agree(gtd2, (CASE,), [evidence | {"means": lost.tolist()}], SETTING).verdict is not Verdict.PASS


def test_only_checkpoints_before_the_mean_square_grows_are_compared():
    """A right rule at steps that are too large for it is not called wrong."""
    wild = replace(curves.CASES["baird/last"], alpha=0.5, beta=0.5)
    found = curves.means_agree(td, (wild,), [curves.sampled_means(td, 500, 0, **asdict(wild))], SETTING)
    assert found.verdict is Verdict.PASS
    assert "at 2 checkpoints" in found.words
