"""The direction of imports, and that no room reads another room's files by path."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports import counts, inside_functions

ROOT = Path(__file__).parents[1]
ROOMS = ("algorithms", "harness", "suites")  # a room may import those before it
FILES = sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))
# Inside the harness: what is exactly true knows nothing of runs, and runs know nothing of verdicts.
INSIDE = ("oracle", "places", "runs", "judging", "experiment", "report", "commands")
ENTRIES = ("cli", "gate", "plugins")


def room_of(module: str) -> str:
    """The second word, dgtd.harness.… in the first place."""
    return module.removeprefix("dgtd.").split(".")[0] if module.startswith("dgtd.") else ""


def imports(file: Path) -> set[str]:
    """Every module that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def climbs(file: Path) -> list[str]:
    """Imports that go up: suites → harness → algorithms is the way down."""
    here = ROOMS.index(file.relative_to(ROOT).parts[0])
    return [name for name in imports(file) if room_of(name) in ROOMS and ROOMS.index(room_of(name)) > here]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_down(file):
    assert climbs(file) == []


def test_rules_and_experience_know_no_engine():
    for file in FILES:
        inside = file.relative_to(ROOT).parts
        # A target brings its head, an agent its networks, and the package lists its public names.
        knows = ("fast", "targets.py", "agents.py", "__init__.py")
        if inside[0] == "algorithms" and inside[1] not in knows:
            fast = [name for name in imports(file) if name.startswith("dgtd.algorithms.fast")]
            assert not [name for name in fast if name.split(".")[3] != "compiling"], file  # the compiler is no engine


def test_inside_the_harness_imports_go_down_too():
    up = []
    for file in FILES:
        parts = file.relative_to(ROOT).parts
        if parts[0] != "harness" or parts[1] not in INSIDE:
            continue
        for name in imports(file):
            words = name.removeprefix("dgtd.").split(".")
            if words[0] == "harness" and words[1] in INSIDE and INSIDE.index(words[1]) > INSIDE.index(parts[1]):
                up.append(f"{'/'.join(parts)}: {name}")
    assert up == []


def strings(file: Path) -> list[str]:
    """Every text in the code, without docstrings."""
    tree = ast.parse(file.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
    ]


def names_of_suites() -> set[str]:
    """Problems and suites that our own plug-ins bring: the harness finds them, and names none."""
    text = (ROOT / "pyproject.toml").read_text()
    tables = re.findall(r'\[project.entry-points."dgtd.(?:problems|suites)"\]\n((?:\w+ = .*\n)+)', text)
    assert len(tables) == 2
    return {line.split(" = ")[0] for table in tables for line in table.splitlines()}


# What the command line offers unless told otherwise is a choice of names, as a user would make it.
DEFAULTS = {"harness/commands/compare.py", "harness/commands/card.py"}


def test_no_module_names_files_or_plug_ins_of_another_room():
    known, wrong = (
        names_of_suites() - {"cost", "rates", "control", "instrument"},
        [],
    )  # words that mean something else, too
    for file in FILES:
        place = file.relative_to(ROOT).as_posix()
        if place.startswith("suites/") or place in DEFAULTS:
            continue
        for text in strings(file):
            if text in known or re.match(r"(suites|tests)/", text):
                wrong.append(f"{place}: {text!r}")
    assert wrong == []


def test_a_module_that_climbs_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_architecture.ROOT", tmp_path)
    bad = tmp_path / "algorithms" / "bad.py"
    bad.parent.mkdir()
    bad.write_text("def f():\n    from dgtd.harness.oracle import mdp\n    import dgtd.suites.rates\n")
    assert sorted(climbs(bad)) == ["dgtd.harness.oracle.mdp", "dgtd.suites.rates"]


MOST = 60  # what starts a command quickly, and benchmarks that must run on older commits


def test_few_imports_of_ours_hide_inside_functions():
    assert counts().total() <= MOST, counts()
    assert inside_functions("import numpy\ndef f():\n    from dgtd.harness import x\n    import scipy\n") == 1


def test_the_contracts_about_imports_are_kept():
    """As pyproject.toml states them: layers, and no cycle between packages."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    contracts = (ROOT / "pyproject.toml").read_text().count("[[tool.importlinter.contracts]]")
    assert f"Contracts: {contracts} kept, 0 broken." in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
