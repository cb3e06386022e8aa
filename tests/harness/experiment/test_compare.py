"""`dgtd compare` and `dgtd sweep` as a user meets them."""

import inspect
import json
import re
import sqlite3
from contextlib import closing
from html import escape
from pathlib import Path

import html5lib
import numpy as np
import pytest

from dgtd.harness.commands.compare import _drawn, _print, content_key, repeat, split
from dgtd.harness.commands.compare import compare as compare_command
from dgtd.harness.experiment.experiment import Entrant, entrants
from dgtd.harness.experiment.search import Grid
from dgtd.harness.judging.statistics import median_interval
from dgtd.harness.report.words import answer as sentences
from dgtd.harness.report.words import details, sparkline
from dgtd.harness.runs.rule_files import reference
from tests.harness.experiment.test_comparison import weighed
from tests.harness.report.shown import written
from tests.harness.test_cli import dgtd

SMALL = ["--problems", "boyan,two_state", "--steps", "2000", "--alphas", "0.02,0.1", "--ratios", "1,4", "--atoms", "5"]


def answer(found):
    """As one text."""
    return " ".join([*sentences(found), *details(found)])


def small(folder: Path, *more: str):
    return dgtd("compare", *SMALL, "--out", str(folder / "out"), "--store", str(folder / "s.sqlite"), *more)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    found = small(folder, "--seeds", "20", "--json")
    assert found.returncode == 0, found.stderr
    return folder, json.loads(found.stdout)


def without_times(document):
    return re.sub(r'"(microseconds_\w+|sweep_seconds)": [^,}]+', "", json.dumps(document, sort_keys=True))


def test_json_has_every_number_for_every_problem_and_rule(done):
    _, found = done
    assert set(found["problems"]) == {"boyan", "two_state"}
    for rules in found["problems"].values():
        assert list(rules) == ["GTD2", "TDC", "distributional GTD2", "distributional TDC"]
        for name, numbers in rules.items():
            for number in ("final", "auc"):
                interval = numbers["metrics"]["rmspbe"][number]
                assert interval["low"] <= interval["estimate"] <= interval["high"]
            assert ("cramer" in numbers["metrics"]) == name.startswith("distributional")
            assert set(numbers["variance_ratio"]) == ({"final", "auc"} if name.startswith("dist") else set())
            for ratio in numbers["variance_ratio"].values():
                assert {"estimate", "low", "high", "p"} <= set(ratio)
            assert numbers["of"] == 20
            assert 0 <= numbers["diverged"] <= 20
            assert numbers["microseconds_per_step"] > 0
            assert len(numbers["sweep"]) == 4
    tested = [test for test in found["tests"] if test["p_holm"] is not None]
    assert {(test["metric"], test["number"]) for test in tested} == {("rmspbe", "auc")}
    assert all(0 <= test["p"] <= test["p_holm"] <= 1 for test in tested)
    assert all(test["winner"] is None for test in found["tests"] if test not in tested)


def test_json_has_the_exact_curve_of_every_linear_rule_beside_its_lanes(done):
    """Lanes of boyan and two_state are not flagged: false alarm about 1e-2, on these seeds."""
    folder, found = done
    for rules in found["problems"].values():
        for numbers in rules.values():
            exact = numbers["exact"]
            assert len(exact["mspbe"]) == len(exact["steps"]) == len(exact["standard_errors_away"])
            assert exact["mspbe"][0] == pytest.approx(exact["lanes_mspbe"][0], rel=1e-9)
    seen = found["exact"]["agreement"]
    assert seen["curves"] == 8
    assert seen["outside"] == []
    assert found["exact"]["lstd"]["boyan"]["steps_times_mspbe"] == pytest.approx(3.3193731691742)
    drawn = (folder / "out" / "figures" / "learning-boyan.svg").read_text()
    assert "root of the exact expected MSPBE" in drawn
    assert "LSTD, first order in 1/n" in drawn


def test_the_same_command_gives_the_same_numbers_from_the_store_and_from_nothing(done, tmp_path):
    folder, first = done
    with closing(sqlite3.connect(folder / "s.sqlite")) as store:
        before = list(store.iterdump())
        again = json.loads(small(folder, "--seeds", "20", "--json").stdout)
        assert list(store.iterdump()) == before  # each lane's own seconds too: nothing was run again
    fresh = json.loads(small(tmp_path, "--seeds", "20", "--json").stdout)
    for other in (again, fresh):
        for key in ("problems", "tests"):
            assert without_times(other[key]) == without_times(first[key])
    assert (tmp_path / "out" / "figures" / "learning-boyan.svg").read_text() == (
        folder / "out" / "figures" / "learning-boyan.svg"
    ).read_text()
    other_seed = json.loads(small(folder, "--seeds", "20", "--seed", "1", "--json").stdout)
    assert without_times(other_seed["problems"]) != without_times(first["problems"])


def test_a_report_is_drawn_again_only_if_something_changed(done):
    folder, first = done
    page = folder / "out" / "report.html"
    small(folder, "--seeds", "20")
    drawn = page.stat().st_mtime_ns
    small(folder, "--seeds", "20")
    assert page.stat().st_mtime_ns == drawn
    page.unlink()
    small(folder, "--seeds", "20")
    assert page.exists()
    numbers = first["problems"]["boyan"]["GTD2"]
    key = content_key(first)
    numbers["microseconds_per_step"] *= 2
    assert content_key(first) == key
    numbers["metrics"]["rmspbe"]["final"]["estimate"] *= 2
    assert content_key(first) != key
    numbers["metrics"]["rmspbe"]["final"]["estimate"] /= 2


def test_fewer_seeds_are_a_prefix(done):
    """The step sizes come from the sweep's own seeds, so lanes 0 … 4 are the same lanes."""
    from dgtd.harness.runs.store import Store

    folder, first = done
    few = json.loads(small(folder, "--seeds", "5", "--json").stdout)
    with Store(folder / "s.sqlite") as store:
        for problem, rules in few["problems"].items():
            for name, numbers in rules.items():
                assert numbers["run"] == first["problems"][problem][name]["run"]
                lanes = store.lanes(numbers["run"], 5)
                final = median_interval([lane.curves[-1, 0] for lane in lanes], 0.05).estimate
                assert numbers["metrics"]["rmspbe"]["final"]["estimate"] == pytest.approx(final, rel=1e-12)


def test_the_terminal_shows_a_table_an_answer_the_report_and_the_command(done):
    folder, _ = done
    shown = small(folder, "--seeds", "20").stdout
    for words in (
        "distributional GTD2",
        "instead of values",
        "report: ",
        "again:  dgtd compare --problems boyan,two_state",
    ):
        assert words in shown.replace("\n", " ") or words in shown
    assert re.search("[▁▂▃▄▅▆▇█]{8}", shown)
    assert (folder / "out" / "report.html").exists()
    for kind in ("svg", "pdf", "png"):
        assert (folder / "out" / "figures" / f"sensitivity.{kind}").stat().st_size > 3000


def test_a_users_rule_takes_part_and_what_the_user_typed_is_escaped(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dgtd.algorithms.rule import Cotangents, rule\n"
        "@rule\n"
        "def mine(delta, u, rho):\n"
        "    return Cotangents(prediction=-rho * delta, target=rho * u, tangent=rho * delta - u)\n"
    )
    words = ["--problems", "boyan", "--rules", f"gtd2,{file}:mine", "--alpha", "0.05", "--beta", "0.1", "--seeds", "4"]
    store = ["--store", str(tmp_path / "s"), "--out", str(tmp_path / "<i>out")]
    found = dgtd("compare", *words, "--steps", "500", *store)
    assert found.returncode == 0, found.stderr
    text = (tmp_path / "<i>out" / "report.html").read_text()
    assert "<i>" not in text
    assert "&lt;i&gt;out" in text
    assert "distributional mine" in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--problems", "bard"], "no problem 'bard'; did you mean 'baird'?"),
        (["--rules", "gtd3"], "no rule 'gtd3'; did you mean 'gtd2'?"),
        (["--targets", "vlue"], "did you mean 'value'?"),
        (["--projection", "cramr"], "did you mean 'cramer'?"),
        (["--seeds", "1"], "seeds must be at least 2 for an interval, got 1"),
        (["--out", "/proc/nowhere"], "can't write to '/proc/nowhere'"),
        (["--alphas", "1,x"], "alphas must be numbers"),
        (["--alphas", "0"], "alpha must be positive"),
        (["--alpha", "0.1"], "alpha and beta must be given together"),
        (["--problems", ","], "at least one problem"),
        (["--problems", "spiral"], "must give 21 outputs for this target"),
        (["--steps", "0"], "steps"),
    ],
)
def test_bad_input_is_one_line_and_code_2(words, complaint, tmp_path):
    found = dgtd("compare", "--store", str(tmp_path / "s.sqlite"), *words)
    assert found.returncode == 2
    assert complaint in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_a_sweep_without_a_stable_point_says_what_diverged_and_keeps_its_runs(tmp_path):
    store = ["--store", str(tmp_path / "s.sqlite")]
    found = dgtd("sweep", "--problem", "baird", "--rule", "td", "--alphas", "0.1", "--ratios", "1", *store)
    assert found.returncode == 0
    words = " ".join(found.stdout.split())
    assert "No stable step sizes for TD on baird: each of 1 settings had lanes that diverged" in words
    assert "α=0.1 β=0.1: 16 of 16" in words
    assert "30 diverged" in words
    kept = json.loads(dgtd("runs", "--json", *store).stdout)
    assert sorted(run["outcomes"]["diverged"] for run in kept) == [16, 32]


def test_a_sweep_shows_its_grid_and_judges_on_fresh_seeds(tmp_path):
    words = ["--problem", "boyan", "--rule", "gtd2", "--alphas", "0.01,0.1,8", "--ratios", "1", "--steps", "2000"]
    files = ["--store", str(tmp_path / "s.sqlite"), "--plot", str(tmp_path / "sweep.png")]
    shown = dgtd("sweep", *words, *files)
    assert shown.returncode == 0, shown.stderr
    assert "× 16 of 16" in shown.stdout
    assert "chosen: α = 0.1, β = 0.1" in shown.stdout
    assert (tmp_path / "sweep.png").stat().st_size > 5000
    found = json.loads(dgtd("sweep", *words, *files, "--json").stdout)
    numbers = found["problems"]["boyan"]["GTD2"]
    chosen = next(s for s in numbers["sweep"] if s["alpha"] == 0.1)
    assert chosen["area"] != numbers["metrics"]["rmspbe"]["auc"]["estimate"]  # other seeds


def test_a_sweep_on_four_seeds_says_how_many_an_interval_needs(tmp_path):
    words = ["--problem", "boyan", "--rule", "gtd2", "--alphas", "0.1", "--ratios", "1", "--steps", "200"]
    shown = dgtd("sweep", *words, "--seeds", "4", "--store", str(tmp_path / "s.sqlite"))
    assert shown.returncode == 0, shown.stderr
    assert "inf" not in shown.stdout
    assert "a 95% interval of a median needs 6 seeds, so none is shown" in shown.stdout


# ---------------------------------------------------------------------- the analysis


def test_rules_of_one_name_are_told_apart_and_one_rule_is_one(tmp_path):
    head = "from dgtd.algorithms.rule import Cotangents\n"
    source = head + "def mine(delta, u, rho):\n    return Cotangents(-u, rho * u, {})\n"
    for name, tangent in (("a", "rho * delta - u"), ("b", "rho * (delta - u)")):
        (tmp_path / f"{name}.py").write_text(source.format(tangent))
    a, b = (f"{tmp_path}/{name}.py:mine" for name in "ab")
    labels = [who.label for who in entrants((a, b, "gtd2", a), ("value",))]
    assert labels == [a, b, "GTD2"]
    assert len(entrants(("tdrc(1)", "tdrc(1.0)"), ("value",))) == 1


def test_problems_whose_names_look_alike_have_figures_of_their_own(tmp_path):
    words = ["--problems", "boyan,boyan()", "--alpha", "0.05", "--beta", "0.1", "--seeds", "2", "--steps", "200"]
    found = dgtd("compare", *words, "--store", str(tmp_path / "s"), "--out", str(tmp_path / "out"))
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "out" / "figures" / "learning-boyan-2.svg").exists()
    assert "interval of a median needs 6 seeds, so none is shown" in " ".join(found.stdout.split())
    assert "2 seeds can't decide 12 tests, whatever they show" in found.stderr


def test_a_rule_that_fails_in_a_sweep_is_one_line(tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(
        "from dgtd.algorithms.rule import Cotangents, rule\n"
        "class Odd:\n    factor = 1.0\n"
        "@rule(linear=False)\n"
        "def odd(delta, u, rho):\n"
        "    return Cotangents(-rho * delta * getattr(Odd, 'factor'), rho * u, rho * delta - u)\n"
    )
    words = ["--problem", "boyan", "--rule", f"{file}:odd", "--alphas", "0.1", "--ratios", "1"]
    found = dgtd("sweep", *words, "--store", str(tmp_path / "s.sqlite"))
    assert found.returncode == 2
    assert "bug" not in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    two = dgtd("sweep", "--problem", "boyan", "--rule", "gtd2,tdc", "--store", str(tmp_path / "s.sqlite"))
    assert "a sweep is of one rule" in two.stderr


def test_everything_diverged_is_still_a_report(tmp_path):
    words = ["--problems", "two_state", "--rules", "td", "--alpha", "1e200", "--beta", "1", "--seeds", "4"]
    found = dgtd("compare", *words, "--steps", "500", "--store", str(tmp_path / "s"), "--out", str(tmp_path / "out"))
    assert found.returncode == 0, found.stderr
    assert "instead of values: no comparison, since both diverge." in " ".join(found.stdout.split())
    assert "distributional TD on two_state diverges at α = 1e+200, in all 4 seeds" in " ".join(found.stdout.split())
    assert "every lane diverged" in (tmp_path / "out" / "report.html").read_text()


def test_the_command_that_is_shown_repeats_the_run():
    options = dict.fromkeys(inspect.signature(compare_command).parameters)
    for name, parameter in inspect.signature(compare_command).parameters.items():
        options[name] = parameter.default.default
    assert repeat(options) == "dgtd compare"
    assert repeat(options | {"alpha": 0.01234567891, "seeds": 5}) == "dgtd compare --seeds 5 --alpha 0.01234567891"
    assert repeat(options | {"explore_steps": 7}) == "dgtd compare --explore-steps 7"


@pytest.mark.slow
def test_a_users_own_files_beside_the_figures_stay(tmp_path):
    """What the last report showed is removed; whatever else lies there is the user's, however it is called."""
    figures = tmp_path / "figures"
    figures.mkdir()
    own = [figures / name for name in ("learning-mine.png", "law-notes.pdf", "spread.txt", "survival.old.svg")]
    for path in own:
        path.write_text("mine")
    found = weighed([np.linspace(0.1, 0.3, 6)])
    written(found, "dgtd compare", tmp_path)
    ours = {path.name for path in figures.iterdir()} - {path.name for path in own}
    assert "learning-boyan.svg" in ours
    html = tmp_path / "report.html"
    html.write_text(html.read_text(encoding="utf-8").replace("learning-boyan", "learning-before"), encoding="utf-8")
    (figures / "learning-before.svg").write_text("by the last report")
    written(found, "dgtd compare", tmp_path)
    assert not (figures / "learning-before.svg").exists()
    assert [path.read_text() for path in own] == ["mine"] * 4


@pytest.mark.parametrize("content", ["[]", "3", "null", '"key"', "{", "[{}]", '{"key": []}', "", "\x00"])
def test_whatever_compare_json_holds_the_report_is_drawn_again(tmp_path, content):
    (tmp_path / "compare.json").write_text(content)
    (tmp_path / "report.html").write_text('<figure data-file="x">')
    assert not _drawn(tmp_path, "key")


RULES = ("gtd2", "tdc", "td", "gtd2_sb", "tdc_sb", "residual_gradient")
STRANGE_LABELS = ("$x_{$", "a\\1\\g<9>", "[/x] [bold]", "<b>&amp;", "%s {0}", "名前")


@pytest.mark.slow
def test_names_with_markup_are_names_in_figures_page_and_table(tmp_path, capsys):
    people = [Entrant(reference(rule), "value", label) for rule, label in zip(RULES, STRANGE_LABELS, strict=True)]
    found = weighed([np.linspace(0.1, 0.3, 6)] * len(people), people)
    html = written(found, "dgtd compare --rules '$x$\\1'", tmp_path).read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(html)
    _print(found, tmp_path, "dgtd compare '[/x]'")
    shown = capsys.readouterr().out
    for who in found.experiment.entrants:
        assert escape(who.label) in html
        assert who.alias.split()[0] in shown
    drawn = (tmp_path / "figures" / "learning-boyan.svg").read_text(encoding="utf-8")
    assert "$x_{$" in drawn


def test_names_are_split_outside_brackets_only():
    assert split("a, random_mdp(states=3, seed=1),a,") == ("a", "random_mdp(states=3, seed=1)")
    assert split("a,random_mdp(states=3,b") == ("a", "random_mdp(states=3,b")


def test_sparklines_show_falls_and_losses():
    assert sparkline(np.geomspace(1, 1e-3, 8), 8) == "█▇▆▅▄▃▂▁"
    assert sparkline(np.array([1.0, np.inf, np.nan])) == "▁××"


def test_a_grid_needs_points():
    with pytest.raises(ValueError, match="at least one alpha"):
        Grid(alphas=())


def test_the_page_is_html_with_ids_that_are_unique(done, tmp_path):
    folder, _ = done
    text = (folder / "out" / "report.html").read_text()
    html5lib.HTMLParser(strict=True).parse(text)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    assert referred <= set(ids)
    assert not re.search(r'(?:src|href)="(?!#)', text)  # nothing from elsewhere
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.slow
def test_a_page_of_one_rule_without_distributions_is_a_page(tmp_path):
    found = weighed([np.linspace(0.1, 0.3, 6)])
    assert "was not compared" in answer(found)
    path = written(found, "dgtd compare", tmp_path)
    html5lib.HTMLParser(strict=True).parse(path.read_text())
