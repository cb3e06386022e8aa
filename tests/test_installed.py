"""The package as a user has it: a wheel in an environment of its own, used in a repository that has packages `harness`
and `algorithms` itself. Nothing there may stand in our way, and the user's own files are found."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.forked import PYTEST, Nursery

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SOURCES = ("dgtd", "algorithms", "harness", "suites", "pyproject.toml", "README.md", "LICENSE")
IN_THE_WAY = "raise ImportError('a package of the user, in the current folder, was imported for ours')\n"
RULE = """
import numpy as np
from dgtd.algorithms.rule import Cotangents, Promise, rule
from helpers import clipped

@rule(promises={Promise.LINEAR_COST})
def mine(delta, u, rho):
    return Cotangents(-clipped(rho) * delta, clipped(rho) * u, clipped(rho) * delta - u)
"""
HELPERS = "import numpy as np\n\n\ndef clipped(rho):\n    return np.minimum(rho, 1.0)\n"
RUN = ("--alpha", "0.05", "--beta", "0.05", "--steps", "50", "--seeds", "2")
COMPARE = ("--problems", "two_state", "--rules", "gtd2,mine.py:mine", *RUN, "--atoms", "5")
# Every command, in an order in which each finds what it needs; those with an exit code of their own say which.
COMMANDS = [
    ("--version",),
    ("doctor",),
    ("rule", "list"),
    ("rule", "show", "gtd2"),
    ("rule", "check", "mine.py:mine"),
    ("problem", "list"),
    ("problem", "show", "baird"),
    ("problem", "check", "two_state"),
    ("world", "list"),
    ("world", "show", "cartpole-v1"),
    ("certify", "gtd2", "--problem", "baird", "--alpha", "0.01", "--beta", "0.01"),
    ("curve", "gtd2", "--problem", "boyan", "--alpha", "0.05", "--beta", "0.1", "--steps", "50"),
    ("run", "--problem", "two_state", "--rule", "mine.py:mine", *RUN, "--executor", "pool", "--workers", "1"),
    ("sweep", "--problem", "two_state", "--rule", "tdc", "--alphas", "0.05", "--ratios", "1", *RUN[4:]),
    (
        "sweep",
        "--exact",
        "--problem",
        "two_state",
        "--rule",
        "tdc",
        "--map",
        "m.png",
        "--alphas",
        "1,0.1",
        "--ratios",
        "1",
    ),
    ("compare", *COMPARE),
    ("runs",),
    ("export", "--curves", "--out", "curves.csv"),
    ("store", "info"),
    ("store", "check"),
    ("store", "backup", "copy.sqlite"),
    ("store", "clean"),
    ("diff", "results/compare", "results/compare"),
    ("suite", "contraction", "--claim", "contraction/kl"),
    ("suite", "cost", "--rule", "mine.py:mine", "--claim", "cost/mlp/mine/flops"),
    ("suite", "policy_iteration", "--profile", "full", "--dry-run"),  # reads data of the package
    ("card", "gtd3"),  # there is none: all is loaded, and nothing is run
    ("figures", "--only", "9"),  # there is none: every figure is loaded, and none is run
    ("explain", "contraction/kl"),
    ("new", "rule", "own"),
    ("new", "problem", "house"),
    ("new", "suite", "peace"),
    ("new", "benchmark", "pace"),
    ("gate", "no-such-commit"),
]
# The script, as an interpreter begins it that has imported other people's packages before.
SCRIPT = """
import os, runpy, sys
del sys.argv[0]
sys.path[:] = [os.path.dirname(sys.argv[0]), *filter(None, sys.path)]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
CODES = {("gate", "no-such-commit"): 2, ("card", "gtd3"): 2, ("figures", "--only", "9"): 2}


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An environment with the wheel, and with the packages that it depends on as they are here."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        whole = ROOT / name
        if whole.is_dir():
            shutil.copytree(whole, source / name, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
        else:
            shutil.copy(whole, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    quietly(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    made = folder / "env" / "bin" / "python"
    quietly(*pip, "--python", str(made), "install", "--no-deps", "--no-index", str(wheel))
    # A path file inside a folder that a path file names is not read: our editable install does not follow.
    (site,) = (folder / "env").glob("lib/*/site-packages")
    (site / "present.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return made


@pytest.fixture(scope="module")
def nursery(python):
    """A process of that environment, which has imported other people's packages and nothing of ours."""
    made = Nursery(str(python), environment())
    yield made
    made.close()


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    for package in ("harness", "algorithms", "suites"):
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text(IN_THE_WAY)
    (folder / "mine.py").write_text(RULE)
    (folder / "helpers.py").write_text(HELPERS)
    return folder


def quietly(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def environment():
    """Without what makes this process find this checkout."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "DGTD_STORE", "COLUMNS")}


def test_the_wheel_is_what_is_imported(python):
    code = "from dgtd import algorithms, harness, suites; print(*(m.__file__ for m in (algorithms, harness, suites)))"
    found = quietly(str(python), "-c", code, env=environment(), cwd=python.parent).stdout.split()
    assert all(Path(file).is_relative_to(python.parents[1]) for file in found)


def test_every_command_and_an_own_rule_work_beside_packages_of_the_same_names(python, nursery, repository):
    script = str(python.parent / "dgtd")
    for words in COMMANDS:
        # Some in processes of their own, the others as forks of one.
        if words[0] in ("--version", "doctor") or "pool" in words:
            done = subprocess.run([script, *words], capture_output=True, text=True, cwd=repository, env=environment())
        else:
            done = nursery.run(SCRIPT, [script, *words], repository, environment(), None)
        assert done.returncode == CODES.get(words, 0), f"dgtd {' '.join(words)}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        assert "was imported for ours" not in done.stderr
    assert (repository / "results" / "compare" / "report.html").exists()
    assert "mine" in (repository / "curves.csv").read_text()


def test_the_users_packages_stay_the_users(python, repository):
    """Packages of ours have one name, so theirs are met by every other."""
    words = [str(python), "-c", "import dgtd; import harness"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=repository, env=environment())
    assert done.returncode == 1
    assert "was imported for ours" in done.stderr


def test_one_package_is_installed(python):
    (site,) = python.parents[1].glob("lib/*/site-packages")
    assert {file.name for file in site.iterdir() if not file.name.endswith((".dist-info", ".pth"))} == {"dgtd"}


@pytest.fixture
def foreign(tmp_path):
    """Somebody's repository with packages of the same names, and tests of them."""
    for package in ("harness", "algorithms", "suites"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(f"NAME = {package!r}\n")
    (tmp_path / "tests").mkdir()
    test = "import harness, algorithms, suites\n\n\ndef test_mine():\n    assert harness.NAME == 'harness'\n"
    (tmp_path / "tests" / "test_mine.py").write_text(test)
    (tmp_path / "conftest.py").write_text("import sys\nsys.path.insert(0, '.')\n")
    return tmp_path


def test_the_tests_of_another_repository_are_left_alone(python, nursery, foreign):
    """Its own tests pass, nothing of ours is loaded, and the suites run beside it."""
    pytest_ = "import runpy, sys; sys.argv[0] = 'pytest'; runpy.run_module('pytest', run_name='__main__')"
    for start in (["-c", pytest_], ["-m", "pytest"]):
        done = quietly(str(python), *start, "-q", "-p", "no:cacheprovider", "tests", cwd=foreign, env=environment())
        assert "1 passed" in done.stdout
    plain = quietly(str(python), "-m", "pytest", "--help", cwd=foreign, env=environment()).stdout
    assert "--dgtd-rule" not in plain
    options = quietly(str(python), "-m", "pytest", "-p", "dgtd", "--help", cwd=foreign, env=environment()).stdout
    assert "--dgtd-rule" in options
    quietly(str(python), "-c", "import dgtd, harness; assert harness.NAME == 'harness'", cwd=foreign, env=environment())
    suites = (
        "--pyargs",
        "dgtd.suites",
        "-q",
        "-W",
        "error::pytest.PytestWarning",
        "-p",
        "no:cacheprovider",
        "-k",
        "gradients and random_walk and value",
    )
    done = nursery.run(PYTEST, [*suites], foreign, environment() | {"DGTD_EXECUTOR": "in-process"}, None)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "failed" not in done.stdout


def test_no_command_is_left_out():
    from typer.main import get_command

    from dgtd.harness.cli import app

    every = set()
    for name, command in get_command(app).commands.items():
        every |= {(name, sub) for sub in command.commands} if hasattr(command, "commands") else {(name,)}
    tried = {words[:1] for words in COMMANDS} | {words[:2] for words in COMMANDS}
    assert every <= tried
