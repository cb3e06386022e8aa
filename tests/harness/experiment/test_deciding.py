"""Divergence is a result; a difference has a size; a comparison runs until it is decided."""

import json

import numpy as np
import pytest

from dgtd.harness.experiment.comparison import _lost_too, duels
from dgtd.harness.experiment.deciding import share_of
from dgtd.harness.experiment.zones import outlook
from dgtd.harness.judging.looks import AtMost
from tests.harness.experiment.test_comparison import weighed
from tests.harness.test_cli import dgtd

WRONG_SIGN = """from dgtd.algorithms.rule import Cotangents, rule

@rule
def wrong_sign(delta, u, rho):
    return Cotangents(prediction=rho * u, target=-rho * u, tangent=rho * delta - u)
"""
SMALL = ["--targets", "value", "--seeds", "8", "--steps", "20000"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("deciding")
    (made / "mine.py").write_text(WRONG_SIGN)
    return made


def compared(folder, *words, code=0, out="out"):
    store = ["--store", str(folder / "s.sqlite"), "--out", str(folder / out)]
    done = dgtd("compare", *words, *store, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


@pytest.mark.slow
def test_rules_that_diverge_are_in_the_comparison_and_change_nobody_elses_numbers(folder):
    rules = f"gtd2,td,{folder / 'mine.py'}:wrong_sign"
    both = compared(folder, "--problems", "baird,boyan", "--rules", rules, *SMALL)
    alone = compared(folder, "--problems", "baird,boyan", "--rules", "gtd2", *SMALL, out="alone")
    for problem in ("baird", "boyan"):
        ours, theirs = (found["problems"][problem]["GTD2"] for found in (both, alone))
        assert [ours[key] for key in ("run", "alpha", "beta", "diverged")] == [
            theirs[key] for key in ("run", "alpha", "beta", "diverged")
        ]
        for metric, numbers in theirs["metrics"].items():
            for number, interval in numbers.items():
                assert {**ours["metrics"][metric][number], "winner": None} == {**interval, "winner": None}
    assert both["problems"]["baird"]["TD"]["diverged"] == 8
    assert both["problems"]["boyan"]["TD"]["diverged"] == 0
    words = " ".join(both["answer"])
    assert "TD on baird diverges at every step size tried" in words
    assert "Its mean diverges at every α, however small: at this one it grows tenfold in" in words
    assert "A smaller step only delays it." in words
    assert "wrong_sign on baird diverges at every step size tried" in words


def test_td_has_no_beta_to_search_for(folder):
    found = compared(folder, "--problems", "boyan", "--rules", "td", "--alphas", "0.1,0.02", "--targets", "value",
                     "--seeds", "4", "--steps", "200", out="td")  # fmt: skip
    assert len(found["problems"]["boyan"]["TD"]["sweep"]) == 2
    alone = compared(folder, "--problems", "boyan", "--rules", "td", "--alpha", "0.1", "--targets", "value",
                     "--seeds", "4", "--steps", "200", out="alpha")  # fmt: skip
    assert alone["problems"]["boyan"]["TD"]["alpha"] == 0.1


@pytest.mark.parametrize(
    ("rule", "problem", "growth", "below"),
    [("td", "baird", 0.2392504642, None), ("gtd2", "baird", 0.0, 0.0139), ("td", "two_state", 0.2, None)],
)
def test_the_certificates_word(rule, problem, growth, below):
    """TD's mean grows at −eig(A): 0.23925 on Baird's star, 0.2 on θ → 2θ."""
    from dgtd.algorithms.rules import find_rule

    found = outlook(find_rule(rule), problem, "value", 21, "cramer", 4.0)
    assert found["growth"] == pytest.approx(growth, abs=1e-9)
    assert (found["stable_below"] is None) if below is None else found["stable_below"] == pytest.approx(below, rel=0.06)


def test_a_seed_that_ends_above_its_start_counts_as_diverged_only_if_the_certificate_says_so():
    """Planted: of eight seeds three end at twice their start, and none overflows."""
    entry = weighed([np.full(8, 0.2), np.full(8, 0.3)]).entries[1]
    error = entry.lanes.names.index("rmspbe")
    entry.lanes.curves[-1, :, error] = 0.5 * entry.lanes.curves[0, :, error]
    entry.lanes.curves[-1, :3, error] = 2 * entry.lanes.curves[0, :3, error]
    for growth, lost in ((0.0, 0), (0.2, 3)):
        entry.outlook = {"growth": growth, "stable_below": None}
        assert _lost_too(entry).lost.sum() == lost


def test_sizes_come_before_p_values():
    base = np.random.default_rng(0).uniform(0.2, 0.3, 30)
    for change, small, winner in ((1.001, True, "GTD2"), (1.05, False, "GTD2"), (1.0, True, None)):
        (duel,) = [each for each in weighed([base, base * change]).duels if each.primary]
        assert (duel.small, duel.winner, duel.open) == (small, winner, False)
    gap = np.random.default_rng(1).normal(0.0, 0.05, 30)
    (duel,) = [each for each in weighed([base, base + gap]).duels if each.primary]
    assert (duel.small, duel.winner, duel.open) == (False, None, True)
    found = weighed([base, base])
    assert len(duels(found.experiment, found.entries)) == len(found.duels)


@pytest.mark.slow
def test_a_comparison_runs_until_it_is_decided_and_no_further_than_was_declared(folder):
    words = ["--problems", "boyan,two_state", "--rules", "gtd2,tdc", "--targets", "value", "--seeds", "8", "--steps",
             "500", "--alpha", "0.05", "--beta", "0.1", "--matters", "10%", "--until-decided"]  # fmt: skip
    found = compared(folder, *words, "--at-most", "64 seeds", out="until")
    assert found["seeds"] in (8, 16, 32, 64)
    tested = [test for test in found["tests"] if test["p_holm"] is not None]
    assert all(test["winner"] or test["identical"] or test["small"] for test in tested)
    assert "--until-decided --at-most '64 seeds'" in found["command"]
    again = compared(folder, *words, "--at-most", "64 seeds", out="again")
    assert again["tests"] == found["tests"]
    refused = compared(folder, *words, "--at-most", "128 seeds", code=2)
    assert "was declared: 64 seeds" in refused
    assert len(refused.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_budget_that_ends_with_open_questions_has_exit_code_3(folder):
    words = ["--problems", "random_walk", "--rules", "gtd2,gtd2_sb", "--targets", "value", "--seeds", "8", "--steps",
             "500", "--alpha", "0.05", "--beta", "0.1", "--matters", "1e-6", "--until-decided"]  # fmt: skip
    found = compared(folder, *words, "--at-most", "9 seeds", code=3, out="open")
    assert "seeds would tell" in " ".join(found["answer"]) or "too close for a guess" in " ".join(found["answer"])


@pytest.mark.parametrize(
    ("text", "seeds", "seconds"), [("2h", None, 7200), ("90 seeds, 5m", 90, 300), (None, None, None)]
)
def test_how_far_to_go(text, seeds, seconds):
    assert AtMost.of(text) == AtMost(seeds, seconds)


def test_doubling_batches_end_at_what_was_declared():
    assert AtMost(100).looks(30) == (30, 60, 100)
    assert AtMost().looks(10) == (10, 20, 40, 80, 160, 320)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--matters", "-1"], "matters must be a share"),
        (["--matters", "x"], "matters must be a share"),
        (["--at-most", "2h"], "at_most goes with until_decided"),
        (["--until-decided", "--at-most", "0h"], "at_most must be as in"),
        (["--until-decided", "--at-most", "10 seeds"], "at_most must allow the first batch of 30 seeds"),
        (["--until-decided", "--rules", "td", "--targets", "value"], "until_decided needs a question to decide"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_exit_code_2(tmp_path, words, says):
    found = dgtd("compare", "--store", str(tmp_path / "s"), *words)
    assert found.returncode == 2
    assert says in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_shares():
    assert (share_of("2%"), share_of("0.02")) == (0.02, 0.02)
