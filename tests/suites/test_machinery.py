"""The suite about the machinery: it passes and draws nothing, and its checks fail on what is wrong."""

import numpy as np
import pytest

from algorithms.rules import gtd2
from harness.experiment import comparison as comparing
from harness.experiment import contest as contesting
from harness.judging import ledger as judging
from harness.judging.claims import Setting
from harness.judging.statistics import Interval, holm, mean_interval, median_interval, proportion_interval
from harness.judging.verdicts import Verdict, exactly
from harness.runs import store as storing
from harness.runs.spec import Outcome
from suites import machinery
from suites.machinery import comparison, intervals, ledger, runs, significance, store, sweeps, verdicts
from suites.machinery.cases import all_hold

SETTING = Setting("ci", 0, 1e-4)
CLAIMS = machinery.claims()
PASS, FAIL = Verdict.PASS, Verdict.FAIL


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_holds_and_every_control_is_caught(claim):
    found = claim.check(SETTING)
    assert found.verdict is (FAIL if claim.control else PASS), found.words
    assert (found.false_alarm, claim.sampled, claim.seeded) == (0.0, False, False)


def test_ids_are_unique_sentences_are_plain_and_a_users_rule_has_no_part_in_it():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.suite for claim in CLAIMS} == {"machinery"}
    assert all(claim.says and claim.source and not claim.says.endswith(".") for claim in CLAIMS)
    assert sum(claim.control for claim in CLAIMS) == 3
    assert machinery.claims(gtd2) == []


def test_one_case_that_does_not_hold_fails_and_no_cases_are_no_proof():
    assert all_hold([("a", True), ("b", True)]).verdict is PASS
    found = all_hold([("a", True), ("b", False), ("c", False)])
    assert (found.verdict, found.estimate) == (FAIL, 2.0)
    assert found.words == "1 of 3 cases hold; not: b"
    assert all_hold([]).verdict is FAIL


# ---------------------------------------------------------------------- wrong intervals and tests


def wider(factor):
    def interval(values, false_alarm):
        right = mean_interval(values, false_alarm)
        half = factor * (right.high - right.low) / 2
        return Interval(right.estimate, right.estimate - half, right.estimate + half, right.n)

    return interval


def test_the_checks_of_means_and_shares_see_small_errors():
    assert intervals.mean_is_students(wider(1.0), SETTING).verdict is PASS
    assert intervals.mean_is_students(wider(1.0 + 1e-6), SETTING).verdict is FAIL
    assert intervals.share_has_its_tails(proportion_interval, SETTING).verdict is PASS
    for wrong in (lambda k, n, level: proportion_interval(k, n, level * 1.001), no_number):
        assert intervals.share_has_its_tails(wrong, SETTING).verdict is FAIL


def no_number(successes, n, false_alarm):
    return Interval(successes / n, np.nan, np.nan, n)


def test_the_check_of_holm_sees_a_list_that_is_not_monotone_and_bonferroni():
    def not_monotone(p):
        order = np.argsort(np.argsort(p))
        return np.minimum((len(p) - order) * np.asarray(p), 1.0)

    for wrong in (not_monotone, lambda p: np.minimum(len(p) * np.asarray(p), 1.0)):
        assert significance.closed_over_subsets(wrong, SETTING).verdict is FAIL
    assert significance.closed_over_subsets(holm, SETTING).verdict is PASS


def test_the_check_of_medians_sees_the_next_order_statistics(monkeypatch):
    monkeypatch.setattr(intervals, "median_interval", lambda x, level: median_interval(x, level / 2))
    assert intervals.median_is_binomial(SETTING).verdict is FAIL


# ---------------------------------------------------------------------- wrong verdicts, ledgers, stores, comparisons


def test_the_check_of_exact_checks_is_not_decided_by_one(monkeypatch):
    """A number that is none passes there: the check of that must still fail."""

    def lenient(error, margin, words, wrong="", **evidence):
        return exactly(error if error > margin else min(margin, 0.0), margin, words, wrong, **evidence)

    monkeypatch.setattr(verdicts, "exactly", lenient)
    found = verdicts.margins_are_kept(SETTING)
    assert (found.verdict, found.estimate) == (FAIL, 2.0)
    assert "nan against 0.5" in found.words


@pytest.mark.parametrize(
    ("check", "where", "name", "wrong"),
    [
        (ledger.failures_are_looked_at_again, judging, "FRESH", 0),
        (ledger.failures_are_looked_at_again, judging, "ALARMS", ()),
        (ledger.shares_add_up, ledger, "BUDGET", 2e-3),
        (store.flipped_bits_are_found, storing, "_differs", lambda row, mark: False),
        (store.settled_rows_stay, storing, "_SETTLED", "'converged'"),
        (runs.second_deaths_are_failures, runs, "DEATHS", 3),
        (sweeps.sweeps_have_their_own_lanes, contesting, "SWEEP_SEED", 0),
        (sweeps.smallest_mean_is_chosen, contesting, "areas", lambda t, curves: -curves.mean(1)),
        (sweeps.areas_are_trapezoids, sweeps, "areas", lambda t, curves: curves.mean(1)),
        (comparison.all_tests_are_corrected, comparing, "holm", lambda p: p),
        (comparison.lower_curves_win, comparing, "tidy", lambda values: values),
    ],
)
def test_a_check_fails_where_the_machinery_is_wrong(monkeypatch, check, where, name, wrong):
    assert check(SETTING).verdict is PASS
    monkeypatch.setattr(where, name, wrong)
    assert check(SETTING).verdict is FAIL


def test_the_check_of_settled_cohorts_sees_a_failure_that_counts(monkeypatch):
    monkeypatch.setattr(Outcome, "settled", property(lambda outcome: outcome is not Outcome.INTERRUPTED))
    assert store.whole_cohorts_are_settled(SETTING).verdict is FAIL
