"""Figure 1's search: the same points for all forms on lanes of their own, its finalists, and the record it leaves."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.search import points
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.ledger import Workshop, judge
from dgtd.harness.judging.statistics import Interval
from dgtd.harness.judging.verdicts import Verdict, below
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job
from dgtd.suites.policy_iteration import figure_one, search
from dgtd.suites.policy_iteration.search import FINALISTS, FORMS, SEARCHED, V0, chosen, finalists, number, record
from tests.suites.test_figure_one import lanes

PAPER = Setting("paper", 0, 0.01)


def level(height, count=4):
    return lanes(np.full(10, height), 1.0, count)


def test_every_form_is_searched_at_the_same_points_on_lanes_of_their_own():
    for form in FORMS:
        needs = search.searched(form, PAPER)
        assert [need.spec.learner.alpha for need in needs] == [point.alpha for point in points(SEARCHED)]
        again = search.meeting(form, PAPER)
        assert [need.spec.learner.alpha for need in again] == [points(SEARCHED)[i].alpha for i in finalists(form)]
        best = figure_one.at_its_best(form, V0, PAPER)
        assert best.spec.learner.alpha == chosen(form).alpha
        for some, purpose in ((needs, "search"), (again, "finalists"), ([best], "figure 1")):
            assert {dict(need.spec.axes)["purpose"] for need in some} == {purpose}


def test_a_quick_look_has_the_first_lanes_of_the_whole():
    form = ("tdc", "cdf")
    quick, whole = (figure_one.at_its_best(form, V0, Setting(profile)) for profile in ("ci", "full"))
    assert quick.spec == whole.spec
    assert (quick.seeds, whole.seeds) == (10, 30)
    assert quick.spec.learner.cohort == 10


@pytest.mark.parametrize(("height", "verdict"), [(100, Verdict.PASS), (9, Verdict.FAIL)])
def test_how_much_of_the_space_works(height, verdict):
    trials = [level(height) for _ in range(SEARCHED)]
    trials[5] = level(170)
    found = search.how_much_works(("tdc", "cdf"), trials, PAPER)
    assert found.verdict is verdict
    assert f"best: 5 (170: {points(SEARCHED)[5].shown('cdf')})" in found.words


def test_the_record_is_of_every_form_and_setting():
    for form in FORMS:
        name = "/".join(form)
        assert len(record()["search"][name]) == SEARCHED
        assert len(record()["runoff"][name]) == FINALISTS
        assert number(form) in finalists(form)
        assert record()["runoff"][name][finalists(form).index(number(form))] == max(record()["runoff"][name])
        least = min(record()["search"][name][i] for i in finalists(form))
        assert sum(each > least for each in record()["search"][name]) < FINALISTS


def test_a_choice_that_is_not_the_best_of_the_finalists_is_told():
    for form in FORMS:
        means = record()["runoff"]["/".join(form)]
        assert search.earns_most(form, [level(each, 8) for each in means], PAPER).verdict is Verdict.PASS
        other = [level(10 if i == number(form) else 50, 8) for i in finalists(form)]
        assert search.earns_most(form, other, PAPER).verdict is Verdict.FAIL


def ledger(search, runoff):
    """As `dgtd suite --json` prints it."""
    claims = [
        {"id": f"policy_iteration/{V0}/{target}/{rule}/{kind}", "finding": {"evidence": {"returns": values}}}
        for rule, target in FORMS
        for kind, values in (("search", search), ("finalists", runoff))
        if values
    ]
    return {"seed": 3, "claims": claims}


def test_what_a_ledger_says_is_written_down(monkeypatch):
    means, runoff = [10.0 + i for i in range(SEARCHED)], [1.0, 3.0, 2.0, 0.0]
    first = search.written(ledger(means, runoff))
    assert first["seed"] == 3
    assert set(first["search"]) == {"/".join(form) for form in FORMS}
    assert not first["runoff"]  # of other finalists: they have to run first
    monkeypatch.setattr(search, "record", lambda: first)
    assert finalists(("tdc", "cdf")) == [63, 62, 61, 60]
    assert number(("tdc", "cdf")) == 63
    second = search.written(ledger(means, runoff))
    monkeypatch.setattr(search, "record", lambda: second)
    assert number(("tdc", "cdf")) == 62
    assert json.loads(search.as_text(second)) == second
    with pytest.raises(ValueError, match="the search of every form"):
        search.written(ledger([], runoff))


def fails(seed):
    return [seed]


def test_a_search_that_fails_is_not_run_again_on_fresh_seeds():
    claim = Claim(
        id="x/search", says="s", source="ours", figure=True, confirm=False,
        needs=lambda setting: [Job.of(fails, seed=setting.seed)],
        judge=lambda evidence, setting: below(Interval(2.0, 1.5, 2.5, 4), 1.0, 0.01, f"seed {evidence[0][0]}"),
    )  # fmt: skip
    with Store(":memory:") as store:
        (once,) = judge([claim], PAPER, workshop=Workshop(store))
        (theory,) = judge([replace(claim, confirm=True, figure=False)], PAPER, workshop=Workshop(store))
    assert once.status == "NOT REPLICATED"
    assert once.words == "seed 0"
    assert "confirmed on fresh seeds" in theory.words
    assert all(made.confirm is False for made in search.claims())
