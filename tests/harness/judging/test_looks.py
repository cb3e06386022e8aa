"""Claims about figures, judged until they are decided: who grows, what each look may spend, where it ends."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from dgtd.harness.judging.claims import FINDINGS, Claim, Setting
from dgtd.harness.judging.ledger import Workshop, collect, exit_code, judge, needs_of
from dgtd.harness.judging.looks import BATCHES, AtMost, Looks, findings
from dgtd.harness.judging.statistics import Interval, mean_interval, proportion_interval
from dgtd.harness.judging.verdicts import Verdict, below
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job
from tests.harness.test_cli import dgtd

SETTING = Setting("ci", 3)
COHORT = 10


def sample(seed, cohort, name):
    """Ten gaps; what `up` plants is half a standard deviation above 0."""
    gaps = np.random.default_rng([seed, cohort, len(name)]).normal(size=COHORT)
    return (gaps + {"up": 0.5, "none": 0.0}[name]).tolist()


def claim(name, grows=True, asked=None, matters=None):
    def needs(setting):
        cohorts = range(setting.lanes(COHORT) // COHORT if grows else 1)
        return [Job.of(sample, seed=setting.seed, cohort=k, name=name) for k in cohorts]

    def judged(evidence, setting):
        gaps = np.concatenate(evidence)
        if asked is not None:
            asked.append((len(gaps), setting.false_alarm))
        return below(mean_interval(gaps, setting.false_alarm), 0.0, setting.false_alarm, "planted", matters)

    return Claim(f"planted/{name}", "no gap is above 0", "Figure 9", needs=needs, judge=judged, figure=True)


def decided(claims, until, store=":memory:", setting=SETTING):
    with Store(store) as kept:
        return judge(claims, setting, workshop=Workshop(kept), until=until)


def test_it_goes_on_until_it_is_decided_and_no_further():
    asked = []
    (entry,) = decided([claim("up", asked=asked)], AtMost())
    assert entry.status == "NOT REPLICATED"
    assert exit_code([entry], until_decided=True) == 0
    sizes = [n for n, _ in asked]
    assert sizes == [10 * 2**k for k in range(len(sizes))]
    assert 1 < len(sizes) < BATCHES + 1  # neither at once nor at the very end


def test_every_look_has_its_part_of_the_share_and_what_cannot_grow_has_all_of_it_at_once():
    asked, still = [], []
    found = decided([claim("none", asked=asked), claim("up", grows=False, asked=still)], AtMost(320))
    assert [entry.status for entry in found] == ["INCONCLUSIVE", "INCONCLUSIVE"]
    assert exit_code(found, until_decided=True) == 3
    assert exit_code(found) == 0
    assert still == [(10, FINDINGS / 2)]
    reached = np.sqrt([1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1])
    parts = [0.5, *(0.5 * np.diff(reached) / (1 - reached[0]))]
    assert asked == [(10 * 2**k, pytest.approx(FINDINGS / 2 * part)) for k, part in enumerate(parts)]
    assert sum(rate for _, rate in asked) == pytest.approx(FINDINGS / 2)


def test_it_ends_where_no_difference_matters():
    asked = []
    (entry,) = decided([claim("none", asked=asked, matters=(-0.6, 0.6))], AtMost())
    assert entry.status == "NO DIFFERENCE"
    assert asked[-1][0] < 320


def test_going_further_than_was_declared_is_refused_and_the_same_again_is_not(tmp_path):
    store = tmp_path / "s.sqlite"
    first = decided([claim("none")], AtMost(40), store)
    assert [entry.finding.n for entry in first] == [40]
    assert decided([claim("none")], AtMost(40, seconds=1e9), store)[0].finding == first[0].finding
    with pytest.raises(ValueError, match="at_most of claim 'planted/none' was declared: 4 seeds, from 1 on"):
        decided([claim("none")], AtMost(80), store)
    assert decided([claim("none")], AtMost(80), store, replace(SETTING, seed=4))[0].finding.n == 80


def test_no_look_is_begun_that_may_not_end_in_time_and_what_is_stored_costs_none(tmp_path, monkeypatch):
    """If a cohort took a second: looks at 10, 20 and 40 lanes take 1, 1 and 2 s, and the next would take 4."""
    monkeypatch.setattr(Workshop, "seconds", lambda self, needs: float(len(list(needs))))
    for seconds in (3.5, 0.5):  # the second time all of it is stored, and the next look is not
        asked = []
        decided([claim("none", asked=asked)], AtMost(320, seconds), tmp_path / "s.sqlite")
        assert [n for n, _ in asked] == [10, 20, 40]


def test_a_first_look_alone_spends_what_a_plain_judgement_spends():
    """So that whoever goes on after a plain judgement has not spent anything twice."""
    plain, first = [], []
    decided([claim("none", asked=plain)], None)
    decided([claim("none", asked=first)], AtMost(20))
    assert plain == first[:1] == [(10, FINDINGS / 2)]
    assert sum(rate for _, rate in first) == pytest.approx(FINDINGS)


def test_an_interruption_at_a_later_look_leaves_no_verdict(monkeypatch):
    import dgtd.harness.judging.ledger as ledger

    run = ledger.execute

    def execute(requests, store, make, jobs=(), **more):
        listed = list(jobs)
        return run(requests, store, make, jobs=listed[:1] if len(listed) == 2 else listed, **more)

    monkeypatch.setattr(ledger, "execute", execute)
    asked = []
    assert decided([claim("none", asked=asked)], AtMost(320)) == []
    assert [n for n, _ in asked] == [10]


def test_a_claim_that_raises_lends_its_share_to_nobody():
    def raises(evidence, setting):
        raise ValueError("no numbers")

    asked = []
    broken = replace(claim("up"), judge=raises)
    found = decided([broken, claim("none", grows=False, asked=asked)], None)
    assert [entry.status for entry in found] == ["ERROR", "INCONCLUSIVE"]
    assert asked == [(10, FINDINGS / 4)]


def test_needs_that_grow_by_themselves_end_at_what_was_declared():
    def needs(setting):
        return [Job.of(sample, seed=0, cohort=k, name="none") for k in range(10 * 3**setting.look)]

    looks = Looks.of(replace(claim("none"), needs=needs), replace(SETTING, most=100), lambda each, at: each.needs(at))
    assert looks.sizes == (10, 30, 90)
    with pytest.raises(ValueError, match="at_most must allow the first batch of 10 seeds, got 9"):
        Looks.of(replace(claim("none"), needs=needs), replace(SETTING, most=9), lambda each, at: each.needs(at))


def test_the_commands_repeat_the_looks():
    (entry,) = decided([claim("none")], AtMost(20))
    assert entry.command.endswith("--until-decided --at-most '20 seeds'")


# ---------------------------------------------------------------------- the error rate

FAMILY, TRIALS = 4, 2000


def false_words(looks, rng):
    """Whether any of a family of true nulls is ever rejected; z of each look is of all lanes so far."""
    path = rng.normal(size=(FAMILY, looks.sizes[-1])).cumsum(1)
    claims = [Claim(f"x/{k}", "", "Figure 9", needs=list, judge=min, figure=True) for k in range(FAMILY)]
    rejected = []

    def judged_at(some):
        out = {}
        for each, at in some:
            n = looks.sizes[at.look]
            z = path[int(each.id[2:]), n - 1] / np.sqrt(n)
            out[each.id] = "FAIL" if abs(z) > normal(at.false_alarm) else "INCONCLUSIVE"
            rejected.extend([each.id] if out[each.id] == "FAIL" else [])
        return out

    findings(claims, SETTING, judged_at, dict.fromkeys((each.id for each in claims), looks))
    return bool(rejected)


def normal(alpha):
    return -ndtri(alpha / 2)


SIZES = tuple(10 * 2**k for k in range(6))
WRONG = Looks(SIZES, (1.0,) * 6)  # the whole share again at each look


@pytest.mark.parametrize(("looks", "holds"), [(Looks.at(SIZES), True), (WRONG, False)], ids=["ours", "wrong"])
def test_a_figure_has_a_false_word_in_five_per_cent_of_all_cases_at_most(looks, holds):
    """2000 planted families, all true. False alarm of this test: 1e-6; the wrong kind has some 15 %."""
    rng = np.random.default_rng(11)
    wrong = sum(false_words(looks, rng) for _ in range(TRIALS))
    assert (proportion_interval(wrong, TRIALS, 1e-6).low <= FINDINGS) == holds


# ---------------------------------------------------------------------- ours


def test_every_statement_about_a_figure_can_grow():
    """But for the search, whose sample is of settings."""
    made = itertools.chain.from_iterable(collect(name, None, "full") for name in ("evaluation", "policy_iteration"))
    figures = [each for each in [*made, *collect("control", None, "full")] if each.figure]
    assert len(figures) > 30
    for each in figures:
        sizes = Looks.of(each, Setting("full", 0), lambda some, at: needs_of(some, at, None)).sizes
        assert len(sizes) == BATCHES + 1, each.id
        assert sizes == tuple(sizes[0] * 2**k for k in range(len(sizes)))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-2, -1, "PASS"), (1, 2, "FAIL"), (-1, 1, "NO DIFFERENCE"), (-1, 1.1, "INCONCLUSIVE"), (-1.5, 0.5, "INCONCLUSIVE"),
     (-0.5, 0, "PASS"), (0.1, 0.2, "NO DIFFERENCE"), (0.1, 1.1, "FAIL")],
)  # fmt: skip
def test_what_lies_between_two_bounds_is_no_difference(low, high, verdict):
    assert below(Interval((low + high) / 2, low, high, 9), 0.0, 0.01, "", (-1.0, 1.0)).verdict is Verdict(verdict)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["suite", "evaluation", "--at-most", "2h"], "at_most goes with until_decided"),
        (["figures", "--until-decided", "--at-most", "soon"], "at_most must be as in"),
        (["suite", "gradients", "--until-decided"], "until_decided needs a question to decide"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_exit_code_2(tmp_path, words, says):
    found = dgtd(*words, "--store", str(tmp_path / "s"))
    assert found.returncode == 2
    assert says in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
