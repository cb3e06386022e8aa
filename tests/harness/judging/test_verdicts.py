"""Verdicts on planted numbers, at the margins and on NaN; and the second look that a FAIL must survive."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dgtd.algorithms.rule import Promise
from dgtd.algorithms.rules import td
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.ledger import exit_code, judge
from dgtd.harness.judging.statistics import Interval, Sprt
from dgtd.harness.judging.verdicts import Verdict, agrees, below, confirmed, exactly, largest, seldom, unlikely
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.work import Job
from tests.harness.runs.lanes import spec

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
SETTING = Setting("ci", 7, 1e-3)


def agreeing(error, margin, words=""):
    return agrees(error, margin, SETTING, 16, words)


# ---------------------------------------------------------------------- one verdict


def keeps_its_margin(check):
    for margin in (0.5, -0.95):  # an error, a slope
        for number in (np.nextafter(margin, -1), margin):
            assert check(number, margin, "").verdict is PASS
        for number in (np.nextafter(margin, 1), np.nan, np.inf):
            assert check(number, margin, "").verdict is FAIL


@pytest.mark.parametrize("check", [exactly, agreeing])
def test_a_number_passes_up_to_its_margin_and_nan_never_does(check):
    keeps_its_margin(check)


def test_a_check_that_passes_where_a_number_is_none_is_seen():
    with pytest.raises(AssertionError):
        keeps_its_margin(lambda error, margin, words: exactly(error if error > margin else margin, margin, words))


@pytest.mark.parametrize(("p", "verdict"), [(0.01, FAIL), (0.0101, PASS), (np.nan, FAIL)])
def test_a_p_value_passes_above_its_level(p, verdict):
    assert unlikely(p, 0.01, 9, "").verdict is verdict


def test_exact_and_sampled_checks_keep_what_they_weighed():
    found = exactly(0.2, 0.5, "words", kept=[1])
    assert (found.estimate, found.low, found.high, found.margin, found.n) == (0.2, 0.2, 0.2, 0.5, 1)
    assert found.evidence == {"kept": [1]}
    found = agrees(0.7, 0.5, SETTING, 16, "words", kept=[2])
    assert (found.estimate, found.margin, found.n, found.false_alarm) == (0.7, 0.5, 16, SETTING.false_alarm)
    assert found.evidence == {"kept": [2]}
    assert found.flips.startswith("a number at most 5.0e-01 in 16 lanes")


@pytest.mark.parametrize(
    ("low", "estimate", "high", "verdict"),
    [
        (0.1, 0.2, 0.3, PASS),
        (0.1, 0.2, 0.5, PASS),  # touches from below
        (0.1, 0.2, 0.6, INCONCLUSIVE),  # the estimate alone decides nothing
        (0.4, 0.7, 0.9, INCONCLUSIVE),
        (0.5, 0.7, 0.9, INCONCLUSIVE),  # 0.5 itself would still be right
        (0.6, 0.7, 0.9, FAIL),
        (-np.inf, 0.2, np.inf, INCONCLUSIVE),
        (-np.inf, 0.2, 0.4, PASS),
        (0.6, 1.0, np.inf, FAIL),
        (np.nan, np.nan, np.nan, INCONCLUSIVE),
        (0.1, 0.2, np.nan, INCONCLUSIVE),
    ],
)
def test_below_passes_at_the_upper_end_and_fails_at_the_lower(low, estimate, high, verdict):
    found = below(Interval(estimate, low, high, 9), 0.5, 1e-3, "")
    assert found.verdict is verdict
    np.testing.assert_equal((found.low, found.estimate, found.high), (low, estimate, high))
    assert (found.margin, found.n, found.false_alarm) == (0.5, 9, 1e-3)


AROUND_0 = product((-np.inf, -1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0, np.inf))


@pytest.mark.parametrize(("low", "estimate", "high"), [each for each in AROUND_0 if sorted(each) == list(each)])
def test_the_whole_interval_decides(low, estimate, high):
    expected = PASS if high <= 0 else FAIL if low > 0 else INCONCLUSIVE
    assert below(Interval(estimate, low, high, 9), 0.0, 0.01, "").verdict is expected


def test_an_open_verdict_says_how_many_seeds_would_settle_it():
    """Half the width is ¼, the estimate ⅛ from the margin: the width must halve, so lanes times four, and one."""
    found = below(Interval(0.25, 0.0, 0.5, 9), 0.375, 1e-3, "")
    assert found.needed == 9 * 4 + 1
    assert found.detectable == 0.25
    assert below(Interval(0.2, 0.1, 0.3, 9), 0.5, 1e-3, "").needed is None
    assert below(Interval(0.8, 0.7, 0.9, 9), 0.5, 1e-3, "").needed is None


def test_seldom_counts_the_lanes_that_the_test_used_and_no_others():
    test = Sprt(0.01, 0.20, 1e-3, 1e-2, 200)
    clean = [False] * test.lanes_if_clean
    found = seldom(test, clean + [True] * 50, "")
    assert (found.verdict, found.n, found.estimate, found.low) == (PASS, len(clean), 0.0, 0.0)
    assert found.high == pytest.approx(stats.beta.isf(1e-3 / 2, 1, len(clean)))
    assert (found.margin, found.detectable, found.false_alarm) == (0.01, 0.20, 1e-3)
    found = seldom(test, [False, True, True, True, True] + [False] * 150, "")
    assert (found.verdict, found.estimate, found.needed) == (FAIL, pytest.approx((found.n - 1) / found.n), None)
    found = seldom(test, [False] * 3, "")
    assert (found.verdict, found.n) == (INCONCLUSIVE, 3)
    assert found.needed == test.lanes_if_clean


@pytest.mark.parametrize(
    ("lanes", "verdict", "used", "needed"),
    [
        ("xx......", FAIL, 2, None),
        ("........", PASS, 4, None),
        ("...", INCONCLUSIVE, 3, 4),
        ("x......", INCONCLUSIVE, 7, 4),
        ("x.......", PASS, 8, None),
        ("x.x.x...", FAIL, 5, None),
    ],
)
def test_seldom_by_hand(lanes, verdict, used, needed):
    """One failure weighs log 5, a clean lane log(5/9); FAIL is at log 18, PASS at log(2/19)."""
    test = Sprt(good=0.1, bad=0.5, false_alarm=0.05, miss=0.1, most=8)
    found = seldom(test, [each == "x" for each in lanes], "")
    assert (found.verdict, found.n, found.needed) == (verdict, used, needed)
    assert found.estimate == lanes[:used].count("x") / used


def test_a_second_fail_stands_with_its_own_numbers_and_the_product_of_the_rates():
    first = below(Interval(0.8, 0.7, 0.9, 9), 0.5, 1e-2, "the first")
    again = below(Interval(0.6, 0.55, 0.65, 12), 0.5, 1e-3, "the second")
    found = confirmed(first, again)
    assert (found.verdict, found.estimate, found.n) == (FAIL, 0.6, 12)
    assert found.false_alarm == pytest.approx(1e-5, rel=1e-12)
    assert found.words == "the second (confirmed on fresh seeds)"


@pytest.mark.parametrize("verdict", [PASS, INCONCLUSIVE, Verdict.VACUOUS])
def test_a_fail_that_does_not_come_again_is_open_with_the_first_numbers(verdict):
    first = below(Interval(0.8, 0.7, 0.9, 9), 0.5, 1e-2, "the first")
    again = replace(below(Interval(0.1, 0.0, 0.2, 12), 0.5, 1e-3, "the second"), verdict=verdict)
    found = confirmed(first, again)
    assert (found.verdict, found.estimate, found.n) == (INCONCLUSIVE, 0.8, 9)
    assert found.false_alarm == pytest.approx(1e-5, rel=1e-12)
    assert found.words == "the first (failed once, and on fresh seeds did not: the second)"


# ---------------------------------------------------------------------- the second look


def draw(seed):
    """What a job finds: a number of its seed."""
    return {"seed": seed, "number": float(np.random.default_rng(seed).normal())}


def breaks(seed):
    return 1 / 0


class Toy:
    """A claim that writes down which seeds it asked for and what it was shown; `says[i]` is its i-th verdict."""

    def __init__(self, *says, id_="x/toy", second=draw, **rest):
        self.says, self.second, self.asked, self.shown = says, second, [], []
        self.claim = Claim(id_, "", "", needs=self.needs, judge=self.judge, **rest)

    def needs(self, setting):
        self.asked.append(setting.seed)
        return [Job.of(self.second if len(self.asked) > 1 else draw, seed=setting.seed)]

    def judge(self, evidence, setting):
        said = self.says[len(self.shown)]
        self.shown.append((setting.seed, evidence[0]["seed"], evidence[0]["number"], setting.false_alarm))
        if said is RuntimeError:
            raise RuntimeError("the second look broke")
        return replace(exactly(0.0, 0.5, str(said)), verdict=said, false_alarm=setting.false_alarm)


def judged(*toys):
    return [entry.status for entry in judge([toy.claim for toy in toys], SETTING)]


def test_a_fail_is_looked_at_again_on_evidence_from_another_seed():
    toy = Toy(FAIL, FAIL)
    assert judged(toy) == ["FAIL"]
    assert toy.asked[0] == 7
    assert len(toy.asked) == len(set(toy.asked)) == 2
    for asked, (seed, evidence_seed, _, false_alarm) in zip(toy.asked, toy.shown, strict=True):
        assert asked == seed == evidence_seed
        assert false_alarm == 1e-3
    assert toy.shown[0][2] != toy.shown[1][2]


@pytest.mark.parametrize(("name", "wrong"), [("FRESH", 0), ("ALARMS", ())])
def test_a_second_look_at_the_same_seed_and_none_at_all_are_seen(monkeypatch, name, wrong):
    monkeypatch.setattr(f"dgtd.harness.judging.ledger.{name}", wrong)
    with pytest.raises(AssertionError):
        test_a_fail_is_looked_at_again_on_evidence_from_another_seed()


def test_the_second_look_runs_lanes_of_its_own():
    curves = []

    def sees(evidence, setting):
        curves.append(evidence[0].curves[-1])
        return replace(exactly(1.0, 0.5, ""), false_alarm=setting.false_alarm)

    def needs(setting):
        return [Request(spec(steps=20, root_seed=setting.seed), 16)]

    (entry,) = judge([Claim("x/lanes", "", "", needs=needs, judge=sees)], SETTING)
    assert entry.status == "FAIL"
    assert len(curves) == 2
    assert (curves[0] != curves[1]).any(axis=-1).all()  # every lane, not some


@pytest.mark.parametrize("second", [PASS, INCONCLUSIVE])
def test_a_fail_that_does_not_come_again_is_inconclusive(second):
    toy = Toy(FAIL, second)
    entries = judge([toy.claim], SETTING)
    assert [entry.status for entry in entries] == ["INCONCLUSIVE"]
    assert len(toy.shown) == 2
    assert exit_code(entries) == 3
    assert "--seed 7" in entries[0].command  # the seed that was asked for, not the fresh one


def test_only_what_failed_is_looked_at_again():
    fine, open_, bad = Toy(PASS, id_="x/fine"), Toy(INCONCLUSIVE, id_="x/open"), Toy(FAIL, FAIL, id_="x/bad")
    assert judged(fine, bad, open_) == ["PASS", "FAIL", "INCONCLUSIVE"]
    assert (fine.asked, open_.asked) == ([7], [7])
    assert len(bad.asked) == 2


@pytest.mark.parametrize(("says", "status"), [(FAIL, "CAUGHT"), (PASS, "MISSED"), (INCONCLUSIVE, "MISSED")])
def test_a_control_is_not_looked_at_twice(says, status):
    toy = Toy(says, control=True)
    entries = judge([toy.claim], SETTING)
    assert [entry.status for entry in entries] == [status]
    assert (toy.asked, len(toy.shown)) == ([7], 1)
    assert exit_code(entries) == (0 if status == "CAUGHT" else 1)


def test_a_figure_is_looked_at_once_and_sets_no_exit_code():
    toy = Toy(FAIL, figure=True)
    entries = judge([toy.claim], SETTING)
    assert [entry.status for entry in entries] == ["NOT REPLICATED"]
    assert len(toy.shown) == 1
    assert exit_code(entries) == 0


def of_figure(number, name, p, asked):
    """A statement that is decided as soon as its share of the error rate is at least p."""

    def judged(evidence, setting):
        asked.append((name, setting.false_alarm))
        found = unlikely(p, setting.false_alarm, 9, "planted")
        return replace(found, verdict=INCONCLUSIVE if p > setting.false_alarm else FAIL)

    made = Toy(PASS, figure=True, id_=f"x/{number}/{name}").claim
    return replace(made, source=f"Figure {number}, left", judge=judged)


def test_what_is_said_of_a_figure_shares_five_per_cent_by_holms_steps():
    """0.005, 0.01 and 0.02 of four: 0.00625, then 0.0083, where 0.01 is not decided; alone in its figure 0.02 is.

    That is half of 5 %: the other half is for looks with more lanes.
    """
    asked = []
    claims = [of_figure(1, name, p, asked) for name, p in (("a", 0.005), ("b", 0.01), ("c", 0.02), ("d", 0.9))]
    claims.append(of_figure(2, "e", 0.02, asked))
    found = {entry.claim.id: entry.status for entry in judge(claims, SETTING)}
    assert found == {"x/1/a": "NOT REPLICATED", **dict.fromkeys(("x/1/b", "x/1/c", "x/1/d"), "INCONCLUSIVE"),
                     "x/2/e": "NOT REPLICATED"}  # fmt: skip
    assert [round(rate, 6) for name, rate in asked if name == "d"] == [0.00625, 0.008333]
    # 0.01 would be decided if 0.005 and one more were.
    closer = [of_figure(1, name, p, asked) for name, p in (("a", 0.005), ("b", 0.01), ("c", 0.008), ("d", 0.9))]
    assert [entry.status for entry in judge(closer, SETTING)].count("NOT REPLICATED") == 3


def test_a_statement_alone_has_the_share_that_it_has_among_all_of_its_figure():
    asked = []
    judge([of_figure(1, "a", 0.9, asked)], replace(SETTING, figures={"Figure 1": 20}))
    assert asked == [("a", 0.00125)]


@pytest.mark.parametrize("toy", [Toy(FAIL, RuntimeError), Toy(FAIL, FAIL, second=breaks)], ids=["judge", "evidence"])
def test_a_second_look_that_raises_is_an_error_and_no_verdict(toy):
    (entry,) = judge([toy.claim], SETTING)
    assert entry.status == "ERROR"
    assert entry.finding is None
    assert exit_code([entry]) == 5


def test_an_exact_fail_stands_at_once(monkeypatch):
    calls = []

    def check(setting):
        calls.append(setting.seed)
        return exactly(1.0, 0.5, "off")

    claim = Claim("toy/exact", "", "", check=check)
    monkeypatch.setattr("dgtd.harness.judging.ledger.find_suites", lambda name: {name: lambda rule: [claim]})
    (entry,) = judge([claim], SETTING)
    assert (entry.status, entry.finding.false_alarm, calls) == ("FAIL", 0.0, [7])


@pytest.mark.parametrize("promise", Promise)
def test_what_a_rule_did_not_promise_is_not_run(promise):
    toy = Toy(PASS, rule=td, promise=promise)
    assert judged(toy) == ["PASS" if promise in td.promises else "NOT PROMISED"]
    assert toy.asked == ([7] if promise in td.promises else [])
    assert 0 < len(td.promises) < len(Promise)


# ---------------------------------------------------------------------- numbers


def test_a_finding_comes_back_from_json_as_it_went():
    found = below(Interval(0.4, 0.2, 0.6, 9), 0.5, 1e-3, "words", x=[1, 2])
    assert type(found).of(json.loads(json.dumps(found.as_dict()))) == found


def test_the_largest_error_is_not_a_number_if_one_is_none():
    assert largest(0.0, [1.0, 3.0], np.array([[2.0]])) == 3.0
    for errors in ((0.0, np.nan), (np.nan, 0.0), (0.0, [1.0, np.nan, 2.0])):
        assert exactly(largest(*errors), 1.0, "").verdict is FAIL
