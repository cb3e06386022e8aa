"""A rule's card: what it shows of a rule of one's own, of one that diverges, and of one that has no exact curve."""

import json
import re

import pytest

from tests.harness.test_cli import dgtd

MINE = """
from dgtd.algorithms.rule import Cotangents, Promise, rule

@rule(promises={Promise.SOLVES_W})
def mine(delta, u, rho):
    "Half of it <b>all</b>."
    return Cotangents(prediction=-rho * delta, target=0.5 * rho * u, tangent=rho * delta - u)

@rule(promises=())
def away(delta, u, rho):
    return Cotangents(prediction=rho * delta, target=0 * u, tangent=0 * u)

@rule(promises=(), linear=False)
def bent(delta, u, rho):
    return Cotangents(prediction=-rho * delta * delta, target=0 * u, tangent=0 * u)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("card")
    (made / "mine.py").write_text(MINE)
    return made


def card(folder, name, *words):
    done = dgtd("card", name, "--out", "out", "--store", "s.sqlite", "--executor", "in-process", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, (folder / "out" / "report.html").read_text(encoding="utf-8")


def cells(page, rule, place):
    """Of its row in the table of exact errors."""
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    (found,) = [row for row in rows if row[:2] == [rule, place]]
    return found


@pytest.mark.slow
def test_a_card_has_the_formula_the_verdicts_and_exact_errors_beside_other_rules(folder):
    said, page = card(folder, "mine.py:mine")
    assert "theory:" in said
    assert "It promises: solves-w." in page
    assert "0.5 * rho * u" in page
    assert "Half of it &lt;b&gt;all&lt;/b&gt;." in page
    alphas = ",".join(str(2.0**-k) for k in range(0, 13, 2))
    words = ("--problem", "boyan", "--rule", "td", "--steps", "10000", "--alphas", alphas, "--ratios", "1")
    sweep = dgtd("sweep", "--exact", *words, "--json", "--store", "s.sqlite", cwd=folder)
    found = json.loads(sweep.stdout)
    best = min((each for each in found["settings"] if each["area"]), key=lambda each: each["area"])
    row = cells(page, "td", "boyan")
    assert row[3] == f"{best['alpha']:.3g}"
    assert row[4] == "–"  # it has no w
    assert min(float(cells(page, rule, "boyan")[2]) for rule in ("mine", "td", "gtd2", "tdc", "tdrc(kappa=1)")) == 1.0
    assert "mine on boyan" in page


@pytest.mark.slow
def test_a_rule_that_diverges_and_one_without_an_exact_curve_have_cards_too(folder):
    said, page = card(folder, "mine.py:away")
    assert "It promises: nothing." in page
    assert "theory:" in said  # what binds any rule
    assert cells(page, "away", "boyan")[2] != "1.00"
    assert "no exact curve" in card(folder, "mine.py:bent")[1]


def test_an_unknown_rule_is_one_line(tmp_path):
    done = dgtd("card", "gtd3", "--store", "s.sqlite", cwd=tmp_path)
    assert done.returncode == 2
    assert "gtd2" in done.stderr
    assert not (tmp_path / "s.sqlite").exists()
