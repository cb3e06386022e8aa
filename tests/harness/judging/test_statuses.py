"""What the ledger says of a claim, a control and a figure, and which exit code it sets."""

from dataclasses import replace

import pytest

from dgtd.harness.judging.claims import Claim
from dgtd.harness.judging.ledger import Entry, exit_code
from dgtd.harness.judging.verdicts import Verdict, exactly

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def entry(verdict=None, error="", **rest):
    finding = None if verdict is None else replace(exactly(0.0, 0.5, ""), verdict=verdict)
    return Entry(Claim("x/y", "", "", lambda setting: None, **rest), finding, "", error)


@pytest.mark.parametrize("verdict", Verdict)
def test_a_status_is_the_verdict_but_of_a_control_and_of_a_figure_that_failed(verdict):
    for figure in (False, True):
        caught = "CAUGHT" if verdict is FAIL else "MISSED"
        assert entry(verdict, control=True, figure=figure).status == caught
    small = verdict is Verdict.SMALL  # a word for figures: theory holds, fails or is open
    assert entry(verdict).status == ("INCONCLUSIVE" if small else verdict)
    assert entry(verdict, figure=True).status == ("NOT REPLICATED" if verdict is FAIL else verdict)


def test_no_finding_is_not_promised_or_an_error():
    assert (entry().status, entry(error="it raised").status) == ("NOT PROMISED", "ERROR")


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([entry(PASS), entry(FAIL, control=True), entry()], 0),  # caught
        ([entry(PASS), entry(FAIL), entry(INCONCLUSIVE)], 1),
        ([entry(PASS), entry(FAIL, control=True), entry(INCONCLUSIVE)], 3),
        ([entry()], 4),
        ([], 4),
        ([entry(PASS), entry(Verdict.VACUOUS)], 0),
        ([entry(PASS), entry()], 0),  # one of two was not promised
        ([entry(error="x"), entry(FAIL), entry(PASS)], 5),  # broken before failed
        ([entry(error="x", figure=True), entry(PASS)], 5),
        ([entry(FAIL, figure=True), entry(INCONCLUSIVE, figure=True), entry(PASS), entry()], 0),
        ([entry(FAIL, figure=True), entry(INCONCLUSIVE)], 3),
        ([entry(FAIL, control=True), entry(FAIL)], 1),
        ([entry(INCONCLUSIVE, control=True), entry(PASS)], 1),  # missed
        ([entry(INCONCLUSIVE), entry(PASS, control=True)], 1),
    ],
)
def test_exit_codes_of_what_the_table_shows(entries, code):
    assert exit_code(entries) == code
