"""What commands print and write: names as they stand, in any locale, and nothing of a rule file's own on stdout."""

import io
import json
import os
import sys
from xml.etree import ElementTree

import pytest

from dgtd.algorithms.checks import whole
from dgtd.harness.commands import output
from dgtd.harness.commands.carry_out import progress
from dgtd.harness.judging.claims import Claim
from dgtd.harness.judging.ledger import Entry
from dgtd.harness.judging.verdicts import Finding, Verdict
from dgtd.harness.report.document import as_junit, draw_all
from dgtd.harness.report.drawing import Figure, Panel, inline, save
from dgtd.harness.report.problems import draw
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.spec import PredictorSpec, Probe, Request, log_times
from dgtd.harness.runs.store import Store
from tests.forked import Nursery
from tests.harness.runs.lanes import spec
from tests.harness.test_cli import COMMAND, dgtd

STRANGE = ("[/x]", "[bold]b[/bold]", "$x_{$", "\\1", ":warning:", "[link=http://a]a[/link]", "α 名前", "100 %")
NOISY = """
print("loaded")
from dgtd.algorithms.rule import Cotangents, rule
@rule
def noisy(delta, u, rho):
    print("called")
    return Cotangents(-rho * u, rho * u, rho * delta - u)
"""
RUN = ("--problem", "two_state", "--alpha", ".01", "--beta", ".01", "--steps", "20", "--seeds", "2")


@pytest.mark.parametrize("name", STRANGE)
def test_a_table_shows_names_as_they_stand(capsys, name):
    output.print_table(f"title {name}", [f"column {name}"], [[f"cell {name}"]])
    shown = capsys.readouterr().out
    for part in ("title", "column", "cell"):
        assert f"{part} {name}" in shown


def test_no_name_moves_the_cursor(capsys):
    output.print_table("\x1b[2J", ["\x07"], [["\x1b[31mred\u202e"]])
    output.say("\x1b[31m")
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("name", STRANGE)
def test_a_progress_bar_shows_names_as_they_stand(monkeypatch, name):
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    with progress(name) as tick:
        tick(1, 2, name)


@pytest.mark.parametrize("name", [*STRANGE, "$", "$$", "$\\frac$", "_hidden"])
def test_figures_take_any_name(tmp_path, name):
    def line(axis):
        axis.plot([1, 2], [1, 2], label=name)

    figure = Figure("name", name, name, (Panel(name, line, True),))
    save(figure, tmp_path / "x.svg", tmp_path / "x.png")
    (svg,) = inline(figure)
    assert ElementTree.fromstring(svg).get("aria-label") == f"{name}. {name}"
    texts = [element.text for element in ElementTree.parse(tmp_path / "x.svg").iter() if element.tag.endswith("text")]
    assert name in texts


@pytest.mark.slow
def test_pictures_of_problems_and_claims_take_any_name(tmp_path):
    from dataclasses import replace

    from dgtd.harness.plugins import find_problem

    problem = find_problem("two_state")
    draw(replace(problem, summary="$x_{$ \\frac"), tmp_path / "problem.png")
    claim = Claim("a/b", "$x_{$", "", check=lambda setting: None)
    finding = Finding(Verdict.PASS, 1.0, 1.0, 1.0, 2.0, 1, 0.0, words="$y_{$", flips="")
    assert len(draw_all([Entry(claim, finding, "")], tmp_path, lambda done, total: None)) == 1


def test_junit_is_xml_whatever_an_error_says():
    claim = Claim("a/b", "says", "", check=lambda setting: None)
    text = as_junit([Entry(claim, None, "", error="\x00\x1b[31m <&> \ufffe")], "title \x07")
    assert ElementTree.fromstring(text)[0][0].get("message") == "��[31m <&> �"


def test_junit_has_times_and_evidence(tmp_path):
    words = ("suite", "contraction", "--junit", "j.xml", "--store", "s.sqlite", "--executor", "in-process")
    assert dgtd(*words, cwd=tmp_path).returncode == 0
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    cases = suite.findall("testcase")
    times = [float(case.get("time")) for case in cases]
    assert max(times) > 0
    assert float(suite.get("time")) == pytest.approx(sum(times), abs=0.01)
    for case in cases:
        says, verdict, command = case.find("system-out").text.split("\n")
        assert says
        assert verdict.split(":")[0] in ("PASS", "CAUGHT", "VACUOUS")
        assert f"--claim {case.get('name')}" in command.replace("'", "")
    assert dgtd(*words, cwd=tmp_path).returncode == 0  # from the store: the times are those of the runs
    assert [float(case.get("time")) for case in ElementTree.parse(tmp_path / "j.xml").iter("testcase")] == times


@pytest.mark.parametrize("executor", ["in-process", "pool"])
def test_what_a_rule_file_prints_goes_to_stderr(tmp_path, executor):
    (tmp_path / "noisy.py").write_text(NOISY)
    where = ("--executor", executor, "--store", "s.sqlite", "--json")
    words = ("run", "--rule", "noisy.py:noisy", "--predictor", "mlp(3,torch)", *RUN, *where)
    done = dgtd(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rule"] == "noisy"
    assert {"loaded", "called"} <= set(done.stderr.split())


def test_a_check_of_a_rule_that_prints_is_json(tmp_path):
    (tmp_path / "noisy.py").write_text(NOISY)
    done = dgtd("rule", "check", "noisy.py:noisy", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == []
    assert "called" in done.stderr


ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


@pytest.fixture(scope="module")
def ascii_terminal():
    """Commands of an interpreter that was started where there is ASCII alone: what it prints in is decided then."""
    env = os.environ | ASCII
    nursery = Nursery(env=env)
    yield lambda *words, cwd, code=COMMAND: nursery.run(code, [*words], cwd, env, None)
    nursery.close()


def test_an_ascii_terminal_knows_no_greek(tmp_path, ascii_terminal):
    """So the commands of the two tests below meet what these are about."""
    done = ascii_terminal(cwd=tmp_path, code="import sys; print(sys.stderr.encoding); print('√')")
    assert (done.returncode, done.stdout) == (1, "ascii\n")
    assert "UnicodeEncodeError" in done.stderr


def test_an_ascii_terminal_costs_no_file_and_no_number(tmp_path, ascii_terminal):
    files = ("--markdown", "m.md", "--junit", "j.xml", "--document", "d.md")
    words = ("suite", "contraction", "--claim", "contraction/cramer", "--store", "s.sqlite")
    done = ascii_terminal(*words, *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stdout
    assert "√γ" in (tmp_path / "d.json").read_text(encoding="utf-8")
    assert "contraction/cramer" in (tmp_path / "m.md").read_text(encoding="utf-8")
    ElementTree.parse(tmp_path / "j.xml")
    plain = json.loads(ascii_terminal(*words, "--json", cwd=tmp_path).stdout)
    assert plain == json.loads(dgtd(*words, "--json", cwd=tmp_path).stdout)


def test_an_ascii_terminal_gets_a_report(tmp_path, ascii_terminal):
    words = ("--problems", "two_state", "--alpha", "0.05", "--beta", "0.1", "--seeds", "2", "--steps", "50")
    done = ascii_terminal("compare", *words, "--store", "s.sqlite", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "α" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_why_lanes_have_no_numbers_is_said_on_stderr(tmp_path):
    (tmp_path / "late.py").write_text(
        "import os\nfrom dgtd.algorithms.rule import Cotangents, rule\ncalls = [0]\n@rule\ndef late(delta, u, rho):\n"
        "    calls[0] += 1\n    if calls[0] > 250:\n        raise OverflowError('too late')\n"
        "    return Cotangents(-rho * u, rho * u, rho * delta - u)\n"
    )
    predictor = ("--predictor", "mlp(3,torch)")  # torch calls the rule at every step
    words = ("run", "--rule", "late.py:late", *predictor, *RUN, "--steps", "500", "--store", "s.sqlite")
    done = dgtd(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "too late" in done.stderr


def test_limits_hold_for_callers_too(tmp_path):
    for seconds in (float("inf"), float("nan"), 0.0, -1.0, 1e12):
        with Store(tmp_path / "s.sqlite") as store, pytest.raises(ValueError, match="timeout must be"):
            execute([Request(spec(), 1)], store, InProcess, timeout=seconds)
    for workers in (0, 1_000_000, 1.5):
        with pytest.raises(ValueError, match="workers must be"):
            executor_maker("pool", workers, None)
    with pytest.raises(ValueError, match="scheduler 'tcp://x' goes with --executor dask"):
        executor_maker("pool", None, "tcp://x")
    for seeds in (0, 4_000_000_000, 1.5, True):
        with pytest.raises(ValueError, match="seeds must be"):
            Request(spec(), seeds)
    for steps in (0, 10**9, 2.5):
        with pytest.raises(ValueError, match="steps must be"):
            log_times(steps)
    with pytest.raises(ValueError, match="steps must be at most"):
        Probe((0, 10**9))
    for hidden in ((0,), (10**9,), (10**4, 10**4)):
        with pytest.raises(ValueError, match="layer"):
            PredictorSpec("mlp", hidden)
    with pytest.raises(ValueError, match="n must be a whole number, got 'x'"):
        whole("n", "x", 0)
