"""Which panels a report shows, and what it says of the curves in them."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.experiment import Entrant
from dgtd.harness.report.drawing import COLUMN, Figure, Panel, Reading, Readings, inline, save
from dgtd.harness.runs.rule_files import reference
from tests.harness.experiment.test_comparison import FORMS, weighed
from tests.harness.report.shown import figures, written


def drawn(found):
    return {figure.name: figure for figure in figures(found)}


def value_forms(finals):
    people = [Entrant(reference(name), "value") for name in ("gtd2", "tdc")]
    return weighed(finals, people)


FALLING = np.linspace(0.1, 0.3, 8)


def test_a_panel_in_which_no_curve_moves_is_left_out_and_the_words_say_so():
    shown = drawn(value_forms([FALLING, FALLING]))
    assert [panel.title for panel in shown["learning-boyan"].panels] == ["RMSPBE", "value error"]
    assert shown["survival"].panels == ()
    assert shown["survival"].words.endswith("Left out, no lane diverged: boyan.")
    flat = drawn(value_forms([np.ones(8), np.ones(8)]))
    assert flat["learning-boyan"].panels == ()
    assert flat["learning-boyan"].words.endswith("Left out, flat: RMSPBE, value error.")


def test_a_panel_stays_if_one_of_its_curves_moves():
    shown = drawn(value_forms([np.ones(8), FALLING]))
    assert len(shown["learning-boyan"].panels) == 2


def test_a_panel_of_which_every_lane_diverged_is_left_out_with_its_own_words():
    shown = drawn(value_forms([np.full(8, np.inf), np.full(8, np.inf)]))
    assert shown["learning-boyan"].panels == ()
    assert "Left out, every lane diverged: RMSPBE, value error." in shown["learning-boyan"].words


def test_a_page_without_panels_is_a_page(tmp_path):
    text = written(value_forms([np.ones(8), np.ones(8)]), "dgtd compare", tmp_path).read_text(encoding="utf-8")
    assert "Left out, flat" in text
    assert not (tmp_path / "figures" / "learning-boyan.svg").exists()


def with_laws(low):
    """Two forms of GTD2; the learned law lies at `low` before its last atom."""
    found = weighed([FALLING, FALLING], FORMS)
    for entry in found.entries:
        atoms = found.experiment.atoms - 1
        law = np.linspace(low, 0.9, atoms) * np.ones((8, 1)) if entry.who.distributional else entry.lanes.law
        entry.lanes = replace(entry.lanes, law=law)
    return found


@pytest.mark.parametrize(("low", "explained"), [(-0.45, True), (0.0, False)])
def test_a_learned_law_outside_0_to_1_has_its_sentence(low, explained):
    words = drawn(with_laws(low))["law-boyan"].words
    assert ("leaves the range from 0 to 1" in words) is explained


def test_readings_are_the_medians_with_their_intervals_at_each_checkpoint():
    found = value_forms([FALLING, FALLING / 2])
    (panel, *_) = inline(drawn(found)["learning-boyan"])
    said = json.loads(re.search(r"<script[^>]*>(.*)</script>", panel)[1])
    assert said["at"][-1] == "step 1,000"
    assert [curve["name"] for curve in said["curves"]] == ["GTD2", "TDC"]
    assert said["curves"][0]["words"][-1] == "0.2 [0.1, 0.3]"
    assert said["curves"][1]["words"][-1] == "0.1 [0.05, 0.15]"
    assert said["x"] == sorted(said["x"])
    assert len(said["x"]) == len(said["at"]) == len(said["curves"][0]["words"])


def test_a_reading_lies_where_its_point_is_drawn():
    def draw(axis):
        axis.plot([0.0, 1.0], [0.0, 1.0], gid="curve-0")
        axis.set(xlim=(0.0, 1.0))
        return Readings(lambda x: f"x = {x:g}", [Reading("curve-0", "a", [0.0, 1.0], ["left", "right"])])

    (panel,) = inline(Figure("name", "title", "words", (Panel("panel", draw),)))
    said = json.loads(re.search(r"<script[^>]*>(.*)</script>", panel)[1])
    path = re.search(r'class="curve-0">\s*<path d="M ([\d.]+) [\d.]+\s*L ([\d.]+)', panel)
    np.testing.assert_allclose(said["x"], [float(path[1]), float(path[2])], atol=0.06)


def test_no_name_ends_the_script_that_holds_the_readings():
    def draw(axis):
        axis.plot([0.0, 1.0], [0.0, 1.0])
        return Readings(str, [Reading("curve-0", "</script><b>&", [0.0], ["1"])])

    (panel,) = inline(Figure("name", "title", "words", (Panel("panel", draw),)))
    said = re.search(r"<script[^>]*>(.*?)</script>", panel)[1]
    assert json.loads(said)["curves"][0]["name"] == "</script><b>&"
    assert panel.count("</script>") == 1


def test_figures_are_as_wide_as_a_papers_column_or_its_text(tmp_path):
    def line(axis):
        axis.plot([1, 2], [1, 2], label="a")

    one, four = (Figure("f", "t", "w", tuple(Panel(f"{i}", line) for i in range(n))) for n in (1, 4))
    widths = []
    for figure in (one, four):
        save(figure, tmp_path / "f.pdf")
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", (tmp_path / "f.pdf").read_bytes())
        widths.append(float(box[1]) / 72)
    assert widths == pytest.approx([COLUMN, 6.75], abs=0.01)
    assert COLUMN == 3.25


@pytest.mark.slow
def test_two_rules_of_one_name_have_their_full_names_everywhere(tmp_path):
    gtd2 = reference("gtd2")
    people = [
        Entrant(gtd2, "value", "a.py:mine"), Entrant(gtd2, "cdf", "a.py:mine"),
        Entrant(reference("tdc"), "value", "b.py:mine"), Entrant(reference("tdc"), "cdf", "b.py:mine"),
    ]  # fmt: skip
    found = weighed([FALLING, FALLING * 1.01, FALLING / 2, FALLING / 2.1], people)
    for entry in found.entries:
        entry.lanes = replace(entry.lanes, law=np.zeros((8, found.experiment.atoms - 1)))
    text = written(replace(found), "dgtd compare", tmp_path).read_text(encoding="utf-8")
    shown = re.sub("<[^>]+>", " ", text)
    assert "distributional a.py:mine" in shown
    assert not re.search(r"(?<!\.py:)\bmine\b", shown)
