"""The exact curve behind the sampled ones: where it is drawn, and what is said of it."""

import json
import re
from html import unescape

import matplotlib as mpl
import numpy as np
import pytest

from dgtd.harness.oracle.lstd import Lstd
from dgtd.harness.report.drawing import Styles, inline
from dgtd.harness.report.exact_lines import EXACT, exact_lines, exact_words, exactness
from tests.harness.experiment.test_agreement import planted
from tests.harness.report.shown import figures, written


def axis_with(found):
    """The lines on the axis, by label or mark."""
    mpl.use("Agg")
    from matplotlib.figure import Figure

    axis = Figure().add_subplot()
    styles = Styles(found.experiment.entrants)
    said = exact_lines(axis, found.entries, found.lstd.get("boyan"), styles)
    return axis.lines, said, styles


def test_the_line_is_the_root_of_the_expectation_thin_behind_and_hidden_with_its_rule():
    found = planted(0.0)
    (gtd2, tdc, key), _, styles = axis_with(found)
    for line, entry in zip((gtd2, tdc), found.entries, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), entry.times[1:])
        np.testing.assert_allclose(line.get_ydata(), np.sqrt(entry.exact[1:]))
        assert line.get_gid() == styles.gid(entry.who)
        assert line.get_zorder() < 2  # that of the medians
        assert line.get_linewidth() < styles.line(entry.who)["lw"]
        assert line.get_alpha() < 1
    assert key.get_label() == EXACT


def test_where_the_curve_has_left_for_infinity_there_is_no_line():
    found = planted(0.0)
    found.entries[0].exact[5:] = np.nan
    (gtd2, *_), _, _ = axis_with(found)
    assert np.isfinite(gtd2.get_ydata()).sum() == 4
    assert exact_words(found.entries[0])[3:5] == [f", exact {np.sqrt(found.entries[0].exact[4]):.3g}", ""]


def test_a_curve_far_beyond_its_start_leaves_the_picture_and_does_not_shrink_the_lanes():
    found = planted(0.0)
    found.entries[0].exact[5:] = 101.0 * found.entries[0].exact[0]
    (gtd2, *_), _, _ = axis_with(found)
    assert np.isfinite(gtd2.get_ydata()).sum() == 4


def test_lstd_is_dotted_from_its_first_step_on():
    found = planted(0.0)
    found.lstd["boyan"] = Lstd(4.0, 40)
    (*_, line), said, _ = axis_with(found)
    assert line.get_linestyle() == ":"
    assert line.get_xdata()[0] >= 40
    assert line.get_ydata()[-1] == pytest.approx(np.sqrt(4.0 / 1000))
    assert said[-1].words[-1] == "0.0632"


def test_only_the_panel_of_rmspbe_has_them_and_its_caption_says_what_is_missing():
    found = planted(0.0)
    found.lstd["boyan"] = Lstd(4.0, 40)
    found.entries[1].exact, found.entries[1].why_not_exact = None, "it would take more than 5 s"
    figure = next(each for each in figures(found) if each.name == "learning-boyan")
    assert f"Thin lines: {EXACT}" in figure.words
    assert "Without an exact curve: TDC (it would take more than 5 s)." in figure.words
    assert "Dotted: what LSTD reaches" in figure.words
    names, words = [], []
    for panel in inline(figure):
        said = json.loads(re.search(r"<script[^>]*>(.*)</script>", panel)[1])
        names.append([curve["name"] for curve in said["curves"]])
        words.append(["exact" in curve["words"][-1] for curve in said["curves"]])
    assert names == [["GTD2", "TDC", "LSTD, about"], ["GTD2", "TDC"]]
    assert words == [[True, False, False], [False, False]]


def test_a_comparison_without_exact_curves_says_nothing_of_them():
    found = planted(0.0)
    for entry in found.entries:
        entry.exact = None
    assert exactness(found) == []
    assert "Thin lines" not in next(each for each in figures(found) if each.name == "learning-boyan").words


ABOVE = r"Farther than that: TDC on boyan at step [\d,]+ \(9.0 standard errors above\)\."


@pytest.mark.parametrize(("shift", "words"), [(0.0, "None is farther."), (9.0, ABOVE)])
def test_one_sentence_says_how_far_and_flags_only_what_chance_does_not_explain(shift, words):
    (sentence,) = exactness(planted(shift))
    assert re.search(words, sentence)
    assert "the mean over 30 lanes is farthest for" in sentence


@pytest.mark.slow
def test_the_sentence_is_on_the_page(tmp_path):
    found = planted(9.0)
    text = unescape(written(found, "dgtd compare", tmp_path).read_text(encoding="utf-8"))
    assert f"<li>{exactness(found)[0]}</li>" in text


def test_skewed_lanes_far_below_the_curve_are_not_flagged_and_the_sentence_says_why():
    found = planted(0.0)
    exponential = -np.log(1 - (np.arange(30) + 0.5) / 30)
    found.entries[1].lanes.curves[1:] = np.sqrt(exponential)[None, :, None]
    found.entries[1].exact[1:] = 2.5 * exponential.mean()
    (sentence,) = exactness(found)
    assert float(re.search(r"TDC on boyan at step 1 \(([\d.]+) standard errors below", sentence)[1]) > 6
    assert "Farther" not in sentence
    assert "None is flagged: the lanes are skewed" in sentence


def test_an_expectation_of_lanes_too_rare_to_be_seen_is_not_a_number_of_standard_errors():
    """Where second moments grow and every path shrinks, as TDC's on θ → 2θ at large steps."""
    found = planted(0.0)
    found.entries[1].exact[1:] = 1e33
    (sentence,) = exactness(found)
    assert "(more than 1000 standard errors below)" in sentence
    assert len(sentence) < 500
