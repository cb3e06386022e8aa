"""A small repository with a commit for every thing that can happen, for the gate's tests.

python -m tests.harness.asv.scratch 10      # ten times: how often does the gate cry wolf, and how often does it sleep?
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from dgtd.harness.asv.gate import Code, Gate, compare

# asv and pip find everything in this environment's packages, and nowhere else.
OFFLINE = {"ASV_PYTHONPATH": sysconfig.get_paths()["purelib"], "PIP_NO_INDEX": "1"}
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
# Two clocks. By the processor's, a busy machine makes equal commits differ now and then, and the gate then says so: how
# often is what `make asv-aa` counts. Tests of what the gate says go by a clock that counts the lines that run.
PROCESSOR = """
import time

clock, RUNS = time.process_time, {"warmup_time": 0.02, "repeat": (10, 5000, 0.4)}
"""
COUNTED = """
import sys

import tiny

RUNS = {"warmup_time": 0, "repeat": 2}
lines = 0

def count(frame, event, argument):
    global lines
    if frame.f_code.co_filename != tiny.__file__:
        return None
    lines += event == "line"
    return count

def clock():
    sys.settrace(count)
    return lines * 1e-6
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
    warmup_time, repeat = RUNS["warmup_time"], RUNS["repeat"]
    timer = staticmethod(clock)

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
    "build_cache_size": 10,
    "build_command": ["python -m pip wheel --no-deps --no-build-isolation -w {build_cache_dir} {build_dir}"],
    "install_command": ["in-dir={env_dir} python -m pip install --no-deps --force-reinstall {wheel_file}"]
}"""


def git(root, *words):
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    done = subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def build(root: Path, clock: str = COUNTED) -> dict[str, str]:
    """Make the repository; its commits by name."""
    (root / "tiny").mkdir()
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "__init__.py").write_text("")
    (root / "benchmarks" / "steps.py").write_text(clock + BENCHMARKS)
    (root / "asv.conf.json").write_text(CONFIG)
    (root / "pyproject.toml").write_text(PROJECT)
    (root / ".gitignore").write_text(".asv/\n__pycache__/\n")
    git(root, "init", "-q", "-b", "main")
    versions = {
        "base": PACKAGE,
        "same": PACKAGE + "\n# nothing changed\n",
        "extra pass": PACKAGE + "    sum(parameters[i] for i in range(len(parameters)))\n",
        "slower": PACKAGE + "    for i in range(len(parameters) * 7 // 4): i + 1 + i * i - i\n",
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
    return commits


def main(times: int) -> int:
    """Two commits whose code is the same, and two of which one is 1.5 times slower, judged again and again."""
    os.environ |= OFFLINE
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        commits = build(root, PROCESSOR)
        right = {"same": 0, "slower": 0}
        for i in range(times):
            for head, expected in (("same", Code.PASSED), ("slower", Code.WORSE)):
                report = compare(Gate(root), commits["base"], commits[head])
                right[head] += report.code == expected
                print(i, head, report.code, *report.lines, flush=True)
    print(f"A/A: {right['same']} of {times} passed; 1.5 times slower: {right['slower']} of {times} caught")
    return 0 if right == {"same": times, "slower": times} else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
