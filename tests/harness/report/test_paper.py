"""The page of the paper's figures: what is missing is run once, verdicts stand beside sentences, names are escaped."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from dgtd.harness.cli import main
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.statistics import Interval
from dgtd.harness.judging.verdicts import below
from dgtd.harness.report.drawing import Figure, inline
from dgtd.harness.report.panels import Bundle, Line, means, spreads
from dgtd.harness.report.paper import PaperFigure, Statement
from dgtd.harness.runs.work import Job

CALLS = []


def numbers(seed):
    CALLS.append(seed)
    return [float(seed), 2.0]


def claim(name, high, says="one is <b>less</b> than the other"):
    return Claim(
        id=f"planted/{name}", says=says, source="Figure 7", figure=True,
        needs=lambda setting: [Job.of(numbers, seed=setting.seed)],
        judge=lambda evidence, setting: below(Interval(high - 0.5, high - 1, high, 9), 1.0, 0.01, f"{evidence[0]}"),
    )  # fmt: skip


def curves(count=4, height=1.0):
    rng = np.random.default_rng(0)
    return Bundle(Line("a $name$ <i>", 0), np.arange(6) * 10, height * (1 + 0.1 * rng.random((count, 6))))


def planted(number, *claims):
    def draw(evidence):
        assert evidence == [[0.0, 2.0]]
        return [
            Figure(
                f"planted-{number}",
                "Planted",
                "words <i>",
                (means("m", [curves()], "y"), spreads("s", [curves()], "y")),
            )
        ]

    return PaperFigure(
        number, "a <title>", "ours & theirs",
        lambda setting: [Statement("one < two", claims), Statement("nothing", ())],
        lambda setting: [Job.of(numbers, seed=setting.seed)], draw,
    )  # fmt: skip


@dataclass
class Point:
    figure: PaperFigure

    def load(self):
        return lambda: self.figure


@pytest.fixture
def page(monkeypatch, tmp_path, capsys):
    made = {
        "b": Point(planted(8, claim("open", 1.5))),
        "a": Point(planted(7, claim("held", 0.5), claim("not", 2.5))),
    }
    from dgtd.harness import plugins

    original = plugins.installed
    from dgtd.harness.commands import figures  # who has asked before has a name of its own

    for place in (plugins, figures):
        monkeypatch.setattr(place, "installed", lambda group: made if group == "figures" else original(group))
    monkeypatch.chdir(tmp_path)
    CALLS.clear()

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main(["figures", "--executor", "in-process", "--out", "out", "--store", "s.sqlite", *words])
        return ended.value.code, capsys.readouterr(), tmp_path / "out"

    return run


def test_sentences_have_verdicts_and_nothing_is_run_twice(page):
    code, said, out = page("--json")
    assert code == 0  # findings set no code
    found = json.loads(said.out)
    assert [each["figure"] for each in found["figures"]] == [7, 8]
    statuses = [[c["status"] for s in each["statements"] for c in s["claims"]] for each in found["figures"]]
    assert statuses == [["PASS", "NOT REPLICATED"], ["INCONCLUSIVE"]]
    assert found["figures"][0]["verdicts"] == "1 PASS, 1 NOT REPLICATED"
    assert CALLS == [0]
    assert json.loads((out / "figures.json").read_text("utf-8")) == found
    page()
    assert len(CALLS) == 1


def test_the_page_stands_alone_and_shows_names_as_they_are(page):
    _, said, out = page()
    assert "2.5" in said.out or "NOT REPLICATED" in said.out
    text = (out / "report.html").read_text("utf-8")
    for word in ("one &lt; two", "a &lt;title&gt;", "ours &amp; theirs", "one is &lt;b&gt;less", "NOT REPLICATED"):
        assert word in text
    assert "<b>less" not in text
    assert text.index("Figure 7: ") < text.index("Figure 8: ")
    assert "quick look" in text
    assert {path.name for path in (out / "figures").iterdir()} == {
        f"planted-{number}.{kind}" for number in (7, 8) for kind in ("svg", "pdf", "png")
    }


def test_some_figures_leave_those_of_another_page_nowhere(page):
    page()
    _, said, out = page("--only", "8", "--json", "--profile", "full")
    assert [each["figure"] for each in json.loads(said.out)["figures"]] == [8]
    assert {path.stem for path in (out / "figures").iterdir()} == {"planted-8"}
    assert "quick look" not in (out / "report.html").read_text("utf-8")


def test_a_claim_that_raises_is_an_error(page, monkeypatch):
    monkeypatch.setattr("tests.harness.report.test_paper.below", lambda *_: 1 / 0)
    code, said, _ = page("--only", "8", "--json")
    assert code == 5
    assert "ZeroDivisionError" in json.loads(said.out)["figures"][0]["statements"][0]["claims"][0]["error"]


def test_bands_are_means_and_spreads_are_deviations():
    lanes = curves(5, 3.0)
    for make, expected in (
        (means, lanes.curves[:, 1:].mean(0)),
        (spreads, lanes.curves[:, 1:].std(0, ddof=1)),
    ):
        (svg,) = inline(Figure("f", "t", "w", (make("panel", [lanes], "y"),)))
        data = json.loads(svg.split('<script type="application/json">')[1].removesuffix("</script>"))
        said = [float(words.split(" ")[0]) for words in data["curves"][0]["words"]]
        np.testing.assert_allclose(said, expected, rtol=5e-3)
        assert data["at"][0] == "step 10"


def test_setting_profiles_are_checked_before_anything_is_loaded(page):
    code, said, _ = page("--profile", "all")
    assert code == 2
    assert said.err.count("\n") == 1
    assert Setting().profile == "ci"
