"""A rule, problem and suite to start from: each works before it is changed, and its check sees what is wrong."""

import re
import sys
from importlib.metadata import EntryPoint

import pytest

from dgtd.harness import plugins
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.conformance import examine_problem, examine_suite
from dgtd.harness.judging.ledger import collect, judge
from tests.harness.test_cli import ROOT, dgtd


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretend that a package was installed from its folder."""

    def install(kind, name, function):
        monkeypatch.syspath_prepend(str(tmp_path / name))
        before = plugins.installed

        def found(group):
            point = EntryPoint(name, f"{name}:{function}", f"dgtd.{group}")
            return before(group) | ({name: point} if group == kind else {})

        for module in ("dgtd.harness.plugins", "dgtd.harness.judging.ledger"):
            monkeypatch.setattr(f"{module}.installed", found)

    yield install
    for name in ("house", "peace"):
        sys.modules.pop(name, None)


def rewrite(source, text):
    """New text, and no compiled file of the old one: both may have been written within one second."""
    source.write_text(text)
    for file in source.parent.glob("__pycache__/*"):
        file.unlink()
    sys.modules.pop(source.stem)


def test_a_new_rule_is_what_it_says(tmp_path):
    assert dgtd("new", "rule", "fine", cwd=tmp_path).returncode == 0
    done = dgtd("rule", "check", "fine.py:fine", cwd=tmp_path)
    assert done.stdout == "fine.py:fine is what it says\n"


def test_a_new_problem_is_whole_and_a_broken_one_is_not(tmp_path, installed):
    assert dgtd("new", "problem", "house", cwd=tmp_path).returncode == 0
    text = (tmp_path / "house" / "pyproject.toml").read_text()
    assert '[project.entry-points."dgtd.problems"]\nhouse = "house:house"' in text
    installed("problems", "house", "house")
    assert examine_problem("house") == []
    source = tmp_path / "house" / "house.py"
    whole = source.read_text()
    for old, new, check in (
        ('name="house"', 'name="other"', "name"),
        ('source="where it comes from"', 'source=""', "source"),
        ("to, 0.0, False", "to, 50.0, False", "support"),
        ("np.array([[1.0], [2.0]])", "np.random.default_rng().normal(size=(2, 1))", "same twice"),
    ):
        assert old in whole
        rewrite(source, whole.replace(old, new))
        assert check in {complaint.check for complaint in examine_problem("house")}


def test_a_new_suite_passes_its_check_and_its_claims(tmp_path, installed):
    assert dgtd("new", "suite", "peace", cwd=tmp_path).returncode == 0
    installed("suites", "peace", "claims")
    assert examine_suite("peace") == []
    entries = judge(collect("peace", None, "ci"), Setting("ci", 0, 1e-3))
    assert [entry.status for entry in entries] == ["PASS", "CAUGHT"]
    source = tmp_path / "peace" / "peace.py"
    rewrite(source, source.read_text().replace('id="peace/control', 'id="war/control').replace("where it is said", ""))
    assert {complaint.check for complaint in examine_suite("peace")} == {"peace/gtd2/zero", "war/control/restless"}


def test_the_sampled_claim_in_the_docs_passes_gtd2_and_fails_td():
    from dgtd.algorithms import rules

    text = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scope: dict = {}
    exec(block, scope)
    entries = judge([scope["falls"](rule) for rule in (rules.gtd2, rules.td)], Setting("ci", 0, 1e-3))
    assert [entry.status for entry in entries] == ["PASS", "FAIL"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(plugins.installed("problems")))
def test_our_own_problems_pass(name):
    assert examine_problem(name) == []


@pytest.mark.parametrize("name", sorted(plugins.installed("suites")))
def test_our_own_suites_pass(name):
    assert examine_suite(name) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rule", "two words"], "name must be letters, digits and underscores"),
        (["rule", "lambda"], "no word of Python's, got 'lambda'"),
        (["problem", "json"], "name 'json' is a module that exists already"),
        (["suite", "dgtd"], "name 'dgtd' is a module that exists already"),
        (["rule", ""], "name must be letters"),
    ],
)
def test_a_wrong_name_is_one_line_and_writes_nothing(tmp_path, words, says):
    done = dgtd("new", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "fine.py").write_text("mine")
    assert "exists already" in dgtd("new", "rule", "fine", cwd=tmp_path).stderr
    assert (tmp_path / "fine.py").read_text() == "mine"
    assert dgtd("new", "problem", "house", cwd=tmp_path).returncode == 0
    assert dgtd("new", "problem", "house", cwd=tmp_path).returncode == 2
