"""The paper's figures as data: every sentence has claims, needs are those of the claims, and pictures are drawn."""

import numpy as np
import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.plugins import installed
from dgtd.harness.report.drawing import inline
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request
from dgtd.suites.figures import one, search, three, two
from dgtd.suites.figures.search import stated
from dgtd.suites.policy_iteration.search import FORMS, SEARCHED
from tests.suites.test_figure_one_law import planted

FIGURES = {"one": one, "two": two, "three": three}


def trial(names, lanes=4):
    rng = np.random.default_rng(1)
    times = np.arange(6) * 100
    return Lanes(times, 10 + rng.random((6, lanes, len(names))), np.full(lanes, -1), names, np.zeros((lanes, 0)))


def evidence(module, setting):
    """Planted, for each need."""
    names = ("rmspbe",) if module is two else ("return",)
    return [trial(names) if isinstance(need, Request) else planted(1.0, 4) for need in module.needs(setting)]


def test_they_are_found_by_entry_points():
    made = [point.load()() for point in installed("figures").values()]
    assert sorted(each.number for each in made) == [1, 2, 3]


@pytest.mark.parametrize("profile", ["ci", "full", "paper"])
@pytest.mark.parametrize("name", FIGURES)
def test_every_sentence_has_claims_and_they_are_findings(name, profile):
    said = FIGURES[name].figure().statements(Setting(profile))
    claims = [claim for each in said for claim in each.claims]
    assert claims or (profile == "ci" and name != "two")
    assert all(claim.figure and profile in claim.profiles for claim in claims)
    assert len({claim.id for claim in claims}) == len(claims)
    later = ("LunarLander", "ViZDoom")
    assert profile == "ci" or all(each.claims for each in said if not any(word in each.says for word in later))


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_drawn_is_what_is_judged(name):
    module, setting = FIGURES[name], Setting("full")
    judged = [need for said in module.statements(setting) for claim in said.claims for need in claim.needs(setting)]
    assert all(need in judged for need in module.needs(setting))


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_are_drawn(name):
    made = FIGURES[name].draw(evidence(FIGURES[name], Setting("ci")))
    assert len({each.name for each in made}) == len(made)
    for each in made:
        assert all("<svg" in panel for panel in inline(each))


def test_a_pattern_that_fits_no_claim_is_a_mistake():
    made = one.figure_one.claims()
    with pytest.raises(ValueError, match="no claim fits"):
        stated(made, {"a sentence": ("policy_iteration/*/none",)}, "full")
    assert stated(made, {"a sentence": ("?policy_iteration/*/none",)}, "full")[0].claims == ()


def test_the_search_is_shown_as_it_was(monkeypatch):
    earned = {"/".join(form): [20.0] * (SEARCHED - 2) + [61.0, 170.0] for form in FORMS}
    record = {"seed": 0, "search": earned, "runoff": {}}
    monkeypatch.setattr("dgtd.suites.policy_iteration.search.record", lambda: record)
    ranked, scattered = search.pictures()
    assert "GTD2 2, TDC 2, distributional GTD2 2, distributional TDC 2" in ranked.words
    (svg,) = inline(ranked)
    assert '"words":["170","61","20"' in svg
    assert len(scattered.panels) == len(FORMS)
    points = search.points(SEARCHED)[-2:]
    replayed = sum(point.replayed for point in points)
    assert f"TDC learns at 2: replay {replayed}, online {2 - replayed}" in scattered.words
