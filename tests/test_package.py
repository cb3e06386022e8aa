"""The packages' public names: there, typed, and not imported before they are asked for."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", ["dgtd.algorithms", "dgtd.harness", "dgtd.suites", "dgtd"])
def test_every_public_name_can_be_imported(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert (ROOT / package.replace(".", "/") / "py.typed").exists()


def test_a_wrong_name_is_an_attribute_error():
    from dgtd import algorithms

    with pytest.raises(AttributeError, match=r"module 'dgtd\.algorithms' has no attribute 'LinearEngin'"):
        _ = algorithms.LinearEngin


def test_an_index_is_all_that_an_installation_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(one for each in extras for one in each),
    ]
    assert not [each for each in wanted if "@" in each or "/" in each]  # no address, no folder
    pinned = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    names = {re.split(r"[^\w-]", each)[0].lower() for each in project["project"]["dependencies"]}
    assert names <= pinned


ENTRIES = """
import dgtd, torch
where = {"store": "s.sqlite", "executor": "in-process"}
given = {"steps": 20, "seeds": 2, "alpha": 0.05, "beta": 0.05, "atoms": 5}
dgtd.compare("gtd2,td", "two_state,boyan", **given, **where).report("page.html")
dgtd.curve("gtd2", "two_state", 0.05, 0.05), dgtd.certify("gtd2", "two_state", 0.05, 0.05)
print([entry.status for entry in dgtd.suite("gradients", claim="gradients/random_walk/value/mlp/gtd2", **where)])
network = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.ELU(), torch.nn.Linear(3, 1))
table = {"x": [[1.0]] * 80, "reward": [1.0] * 80, "gamma": [0.5] * 80, "x_next": [[1.0]] * 80}
print(len(dgtd.learn("tdc", network, table, 0.1, 0.1).errors))
"""


def test_no_warning_reaches_a_user(tmp_path):
    """Under Python's own -W error, in a process without pytest's filters."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", ENTRIES], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    passed, steps = done.stdout.strip().splitlines()
    assert (set(eval(passed)), steps) == ({"PASS"}, "80")


def test_the_packages_alone_import_nothing_heavy():
    ours, heavy = "dgtd, dgtd.algorithms, dgtd.harness, dgtd.suites", ("torch", "numba", "numpy")
    code = f"import sys, {ours}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"
