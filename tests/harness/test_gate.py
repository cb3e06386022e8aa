"""The gate on a small repository of its own: asv runs for real, in a virtualenv that sees this one's packages."""

import subprocess
import sysconfig

import pytest

from harness import gate
from harness.gate import BAD, BROKEN, BUILD, NOTHING, PASSED, TURNS, WORSE, Gate, Side, compare, judge

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "tiny"
version = "0.0.1"
[tool.setuptools]
packages = ["tiny"]
"""
PACKAGE = """
def step(parameters):
    for i in range(len(parameters)):
        parameters[i] = parameters[i] + 1
"""
BENCHMARKS = """
import tiny

class Touched(list):
    touches = 0
    def __getitem__(self, i):
        self.touches += 1
        return super().__getitem__(i)

class Steps:
    version = "1"
    params = [1000, 20000]
    sample_time = 0.02
    warmup_time = 0.02
    repeat = (5, 10, 0.5)

    def setup(self, size):
        self.parameters = Touched(range(size))

    def time_step(self, size):
        tiny.step(self.parameters)

class Work:
    version = "1"

    def track_touches(self):
        parameters = Touched(range(100))
        tiny.step(parameters)
        return parameters.touches
"""
CONFIG = """{
    "version": 1, "project": "tiny", "repo": ".", "branches": ["main"], "dvcs": "git",
    "environment_type": "virtualenv", "pythons": ["3.11"], "benchmark_dir": "benchmarks",
    "env_dir": ".asv/env", "results_dir": ".asv/results", "html_dir": ".asv/html", "launch_method": "spawn",
    "build_command": ["python -m pip wheel --no-deps --no-build-isolation -w {build_cache_dir} {build_dir}"],
    "install_command": ["in-dir={env_dir} python -m pip install --no-deps --force-reinstall {wheel_file}"]
}"""


def git(root, *words):
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    done = subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A repository with a commit for every thing that can happen, and its commits by name."""
    root = tmp_path_factory.mktemp("scratch")
    (root / "tiny").mkdir()
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "__init__.py").write_text("")
    (root / "benchmarks" / "steps.py").write_text(BENCHMARKS)
    (root / "asv.conf.json").write_text(CONFIG)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / ".gitignore").write_text(".asv/\n__pycache__/\n")
    git(root, "init", "-q", "-b", "main")
    versions = {
        "base": PACKAGE,
        "same": PACKAGE + "\n# nothing changed\n",
        "extra pass": PACKAGE + "    sum(parameters[i] for i in range(len(parameters)))\n",
        "slower": PACKAGE + "    for i in range(len(parameters) * 3 // 2):\n        i + 1 + i * i - i\n",
        "broken": PACKAGE.replace("def step", "def stride"),
        "mended": PACKAGE,
    }
    commits = {}
    for name, source in versions.items():
        (root / "tiny" / "__init__.py").write_text(source)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", name)
        commits[name] = git(root, "rev-parse", "HEAD")
    (root / "setup.py").write_text("raise SystemExit('no build today')\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "no build")
    commits["no build"] = git(root, "rev-parse", "HEAD")
    git(root, "rm", "-q", "setup.py")
    git(root, "commit", "-q", "-m", "builds again")
    return root, commits


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """asv and pip find everything in this environment's packages, and nowhere else."""
    monkeypatch.setenv("ASV_PYTHONPATH", sysconfig.get_paths()["purelib"])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow
def test_every_outcome_has_its_own_code_and_words(scratch, offline, monkeypatch, capsys):
    root, commits = scratch

    def outcome(head, base="base", turns=("base", "head")):
        report = compare(Gate(root, turns=turns), commits[base], commits[head])
        return report.code, "\n".join(report.lines)

    code, words = outcome("same", turns=TURNS)
    assert code == PASSED, words
    assert "3 numbers compared" in words
    code, words = outcome("extra pass")
    assert code == WORSE
    assert "grew: steps.Work.track_touches()  100 → 200" in words
    code, words = outcome("slower", turns=TURNS)
    assert code == WORSE
    assert "slower: steps.Steps.time_step(20000)" in words
    assert "grew" not in words
    code, words = outcome("broken")
    assert code == BROKEN
    assert "broken at HEAD: steps.Work.track_touches()" in words
    code, words = outcome("no build")
    assert code == BUILD
    assert words == "build failed: HEAD"
    code, words = outcome("same", base="no build")
    assert (code, words) == (BUILD, "build failed: BASE")
    monkeypatch.chdir(root)
    capsys.readouterr()
    assert gate.main([commits["base"], commits["same"], "--bench", "nonesuch"]) == NOTHING
    assert capsys.readouterr().out == "no benchmark matches 'nonesuch'\n"


def side(broken=(), **numbers):
    return Side(numbers={(f"b.{name}", ""): value for name, value in numbers.items()}, broken=set(broken))


def test_judging():
    base = side(time_a=1.0, track_b=100.0, peakmem_c=50.0)
    assert judge(base, base)[0].code == PASSED
    report, slow = judge(base, side(time_a=1.29, track_b=99.0, peakmem_c=60.0))
    assert (report.code, slow) == (PASSED, [])
    report, slow = judge(base, side(time_a=1.31, track_b=100.0, peakmem_c=50.0))
    assert (report.code, slow) == (WORSE, [("b.time_a", "")])
    report, slow = judge(base, side(time_a=1.0, track_b=101.0, peakmem_c=50.0))
    assert (report.code, slow) == (WORSE, [])
    assert report.lines[0].startswith("grew: b.track_b")
    assert judge(base, side(time_z=1.0))[0].code == NOTHING
    assert judge(base, side(time_z=1.0, broken=[("b.time_a", "")]))[0].code == BROKEN
    known = side(broken=[("b.time_z", "")], time_a=1.0)
    assert judge(known, known)[0].code == PASSED  # it was broken before
    assert judge(Side(built=False), base)[0].lines == ["build failed: BASE"]


def test_a_time_that_looks_slower_counts_only_if_it_is_so_twice():
    class Fake(Gate):
        def __init__(self, heads):
            self.heads = iter(heads)

        def resolve(self, name):
            return name

        def measure(self, commits, keys=None):
            return {"base": side(time_a=1.0, track_b=1.0), "head": next(self.heads)}

    once = Fake([side(time_a=2.0, track_b=1.0), side(time_a=1.0)])
    assert compare(once, "a", "b").code == PASSED
    twice = Fake([side(time_a=2.0, track_b=1.0), side(time_a=1.6)])
    assert compare(twice, "a", "b").code == WORSE


def test_bad_input_is_one_line_and_code_2(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    assert gate.main(["no-such-commit"]) == BAD
    assert capsys.readouterr().out == f"no commit 'no-such-commit' in {tmp_path}\n"
    with pytest.raises(SystemExit) as stopped:
        gate.main(["HEAD", "--factor", "0.5"])
    assert stopped.value.code == 2
