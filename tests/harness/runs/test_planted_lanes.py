"""Planted lanes: what of them is settled, stored, run again or called lost, and which draws they share."""

from itertools import chain

import numpy as np
import pytest

from dgtd.algorithms.rules import RULES
from dgtd.harness.runs import store as storing
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import FAR, Outcome, Request, seeds_of
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import trainer_of
from tests.harness.planted import FAILED, FINE, LOST, SIZE, Workers, lanes_with, outcomes_in, run_of, save
from tests.harness.runs.lanes import rows
from tests.harness.runs.test_store import flip

SETTLED = (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED)
RUN = run_of()


# ---------------------------------------------------------------------- the store


@pytest.mark.parametrize("second", [None, *Outcome])
@pytest.mark.parametrize("first", Outcome)
def test_a_cohort_is_settled_if_each_of_its_lanes_is(first, second):
    assert first.settled is (first in SETTLED)
    with Store(":memory:") as store:
        save(store, RUN, {0: first} if second is None else {0: first, 1: second})
        save(store, RUN, {2: FINE, 3: FINE})
        whole = first in SETTLED and second in SETTLED
        assert store.settled(run_hash(RUN), SIZE) == ({0, 1} if whole else {1})


def test_a_failure_that_is_called_settled_is_seen(monkeypatch):
    monkeypatch.setattr(Outcome, "settled", property(lambda outcome: outcome is not Outcome.INTERRUPTED))
    with pytest.raises(AssertionError):
        test_a_cohort_is_settled_if_each_of_its_lanes_is(FAILED, FINE)


@pytest.mark.parametrize("after", [FINE, FAILED])
@pytest.mark.parametrize("before", Outcome)
def test_a_settled_row_is_never_overwritten_and_any_other_is(before, after):
    with Store(":memory:") as store:
        save(store, RUN, {0: before}, height=1.0)
        first = rows(store, RUN)
        save(store, RUN, {0: after}, height=2.0)
        assert (rows(store, RUN) == first) is (before in SETTLED)


def test_a_store_that_overwrites_is_seen(monkeypatch):
    monkeypatch.setattr(storing, "_SETTLED", "'converged'")
    with pytest.raises(AssertionError):
        test_a_settled_row_is_never_overwritten_and_any_other_is(Outcome.DIVERGED, FINE)


def test_a_lane_with_a_flipped_bit_is_named_and_no_result_any_more(tmp_path):
    path, said = tmp_path / "s.sqlite", []
    with Store(path, say=said.append) as store:
        save(store, RUN, dict.fromkeys(range(4), FINE))
        assert store.damaged() == ([], [])
        assert store.settled(run_hash(RUN), SIZE) == {0, 1}
    assert not said
    flip(path, "lanes", "curves", "seed = 1")
    with Store(path, say=said.append) as store:
        assert store.damaged() == ([(run_hash(RUN), 1)], [])
        assert list(outcomes_in(store, RUN)) == [0, 2, 3]
        assert store.settled(run_hash(RUN), SIZE) == {1}
    assert any("damaged" in words for words in said)


def test_a_store_that_looks_at_no_checksum_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(storing, "_differs", lambda row, mark: False)
    with pytest.raises(AssertionError):
        test_a_lane_with_a_flipped_bit_is_named_and_no_result_any_more(tmp_path)


# ---------------------------------------------------------------------- what is run


def test_a_second_command_runs_what_failed_and_more_seeds_what_is_new():
    """Five lanes in cohorts of two, of which the second fails; then the same again, then nine lanes."""
    with Store(":memory:") as store:
        for seeds, failing, expected in ((5, [1], [0, 1, 2]), (5, [], [1]), (5, [], []), (9, [], [3, 4]), (9, [], [])):
            workers = Workers(failing)
            summary = execute([Request(RUN, seeds)], store, lambda crew=workers: crew)
            assert sorted(workers.asked) == expected
            assert (summary.done, summary.expected) == (len(expected), -(-seeds // SIZE))
        assert outcomes_in(store, RUN) == dict.fromkeys(range(10), FINE)


@pytest.mark.parametrize("size", range(1, 8))
def test_the_cohorts_of_a_run_hold_every_seed_once(size):
    run = run_of(cohort=size)
    listed = list(chain.from_iterable(seeds_of(run, cohort) for cohort in Request(run, 20).cohorts))
    assert listed == list(range(len(listed)))
    assert 20 <= len(listed) < 20 + size


# ---------------------------------------------------------------------- what becomes of lanes

LANES = {  # size at three checkpoints, the step of an overflow, the outcome
    "calm": ([1.0, 2.0, 1.0], -1, FINE),
    "grows, not far": ([1.0, FAR / 2, FAR / 2], -1, FINE),
    "overflowed": ([1.0, 2.0, 1.0], 7, LOST),
    "far at its end": ([1.0, 2.0, 2 * FAR], -1, LOST),
    "was far and came back": ([1.0, 2 * FAR, 1.0], -1, LOST),
    "ends in infinity": ([1.0, 2.0, np.inf], -1, LOST),
    "not a number": ([1.0, 2.0, np.nan], -1, LOST),
}


def test_lanes_that_overflowed_are_not_finite_or_went_far_have_diverged_and_no_others():
    sizes, died, outcomes = zip(*LANES.values(), strict=True)
    found = lanes_with(np.array(sizes), died)
    assert dict(zip(LANES, (lane.outcome for lane in found), strict=True)) == dict(zip(LANES, outcomes, strict=True))
    assert [lane.seed for lane in found] == list(range(len(LANES)))


def streams(run):
    """Of lanes 0 to 7: what their transitions are drawn from."""
    return [tuple(each) for each in trainer_of(run).streams(range(8)).tolist()]


def test_lanes_of_equal_seeds_share_their_draws_and_other_problems_and_seeds_have_others():
    known = streams(RUN)
    assert len(set(known)) == 8
    for other in (*(run_of(name) for name in RULES), run_of(alpha=0.3)):
        assert streams(other) == known
    for other in (run_of(problem="random_walk"), run_of(root_seed=1)):
        assert not set(streams(other)) & set(known)
