"""Problems from a file of the user's: `file.py:function`, in every command, and never stale."""

import json
import re

import pytest

from dgtd.harness.plugins import canonical_problem, find_problem
from tests.harness.test_cli import ROOT, dgtd

TEXT = (ROOT / "harness/templates/problem.py.txt").read_text(encoding="utf-8").replace("{name}", "house")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(TEXT)
    return tmp_path


def test_it_is_found_with_its_parameters(folder):
    assert find_problem("own.py:house").mdp.gamma == 0.9
    assert find_problem("own.py:house(gamma=0.5)").mdp.gamma == 0.5
    assert canonical_problem("own.py:house(gamma=0.9)") == "own.py:house"


def test_a_file_that_changed_is_another_problem(folder):
    before = find_problem("own.py:house").identity
    (folder / "own.py").write_text(TEXT.replace("np.array([[1.0], [2.0]])", "np.array([[1.0], [3.0]])"))
    assert find_problem("own.py:house").identity != before


def test_it_may_import_a_file_beside_it(folder):
    (folder / "own_help.py").write_text("FEATURES = [[1.0], [5.0]]\n")
    text = "import own_help\n" + TEXT.replace("np.array([[1.0], [2.0]])", "np.array(own_help.FEATURES)")
    (folder / "own.py").write_text(text)
    assert find_problem("own.py:house").mdp.features.tolist() == [[1.0], [5.0]]


@pytest.mark.slow
def test_it_takes_part_in_a_comparison_in_other_processes(folder):
    words = ("--alpha", "0.05", "--beta", "0.05", "--steps", "50", "--seeds", "4", "--executor", "pool", "--json")
    done = dgtd("compare", "--problems", "own.py:house,two_state", "--rules", "gtd2,td", "--targets", "value", *words,
                cwd=folder)  # fmt: skip
    found = json.loads(done.stdout)["problems"]
    assert set(found) == {"own.py:house", "two_state"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("none.py:house", "no file 'none.py'"),
        ("own.py:hose", "did you mean 'house'"),
        ("own.py:house(gama=1)", "did you mean 'gamma'"),
        ("own.py:np", "no function in own.py 'np'"),
        ("broken.py:house", "raised SyntaxError"),
        ("leaves.py:house", "raised SystemExit"),
    ],
)
def test_a_mistake_is_one_line(folder, text, says):
    (folder / "broken.py").write_text("def house(:\n")
    (folder / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(ValueError, match=re.escape(says)):
        find_problem(text)
