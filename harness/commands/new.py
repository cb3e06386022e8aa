"""`dgtd new`: a rule, problem, world, trainer, suite or benchmark to start from, that works before it is changed."""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution, distributions
from pathlib import Path

import typer

from dgtd.harness.commands.command import Command
from dgtd.harness.commands.output import say

app = typer.Typer(help="A rule, problem, world, trainer, suite or benchmark to start from.", no_args_is_help=True)
TEMPLATES = Path(__file__).parents[1] / "templates"
Name = typer.Argument(help="Its name, as Python allows it.")


@app.command(cls=Command)
def rule(name: str = Name) -> None:
    """A file NAME.py with a rule."""
    _write(Path(f"{_checked(name)}.py"), "rule.py.txt", name)
    say(f"{name}.py is a rule: dgtd rule check {name}.py:{name}")


@app.command(cls=Command)
def benchmark(name: str = Name) -> None:
    """asv in this folder, the root of a repository: the work and time of a rule's and a network's step, by commit."""
    steps = Path("benchmarks", f"{_checked(name)}_steps.py")
    if Path("asv.conf.json").exists():
        raise ValueError("file 'asv.conf.json' exists already: asv is set up here")
    steps.parent.mkdir(exist_ok=True)
    (steps.parent / "__init__.py").touch()
    _write(steps, "benchmark.py.txt", name)
    _write(Path("asv.conf.json"), "asv.conf.json.txt", name, **_asv_settings())
    again = "then after a change: dgtd gate HEAD~1 (pip install asv virtualenv)"
    if Path("pyproject.toml").exists():
        say(f"{steps} is a benchmark: write there where your rule is (RULE), commit, {again}")
        return
    if not Path(f"{name}.py").exists():
        _write(Path(f"{name}.py"), "rule.py.txt", name)
    _write(Path("pyproject.toml"), "pyproject.toml.txt", name, kind="rule", function=name)
    say(f"{steps} is a benchmark of {name}.py: commit both, {again}")


def _asv_settings() -> dict[str, str]:
    """What is installed here is known to work: these versions exactly. Us too, from where we came, if from no index."""
    us = distribution("dgtd-bench")
    origin = json.loads(us.read_text("direct_url.json") or "{}")
    came = "--editable " * origin.get("dir_info", {}).get("editable", False) + origin.get("url", "")
    names = [re.split(r"[^\w.-]", each)[0] for each in us.requires or () if "extra ==" not in each]
    names += ["pip+setuptools", "pip+asv_runner", *([] if came else ["dgtd-bench"])]
    found = {name: list(distributions(name=name.removeprefix("pip+"))) for name in names}
    versions = {name: each[0].version.split("+")[0] for name, each in found.items() if each}
    head = subprocess.run(["git", "symbolic-ref", "--short", "HEAD"], capture_output=True, text=True, check=False)
    ours = f"in-dir={{env_dir}} python -m pip install --no-deps --no-build-isolation {came}"
    return {
        "branch": head.stdout.strip() or "main",
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "requirements": f",\n{' ' * 12}".join(f'"{name}": ["{each}"]' for name, each in versions.items()),
        "also": f"{json.dumps(ours)},\n{' ' * 8}" if came else "",
    }


# What a package brings: in words, and the command that looks at it.
PACKAGES = {
    "problem": ("a problem", "dgtd problem check"),
    "world": ("a world", "dgtd world show"),
    "trainer": ("a kind of learner", "compare --learner"),
    "suite": ("a suite of claims", "dgtd suite"),
}


def _brings(kind: str, look: str) -> Callable[..., None]:
    def make(name: str = Name) -> None:
        _package(kind, name)
        say(f"{name}/ brings a {kind}: pip install --no-build-isolation --editable {name}, then {look} {name}")

    return make


for _kind, (_words, _look) in PACKAGES.items():
    _help = f"A folder NAME with a package that brings {_words}."
    app.command(_kind, cls=Command, help=_help)(_brings(_kind, _look))


def _checked(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name) or not name.isascii():
        raise ValueError(f"name must be letters, digits and underscores, and no word of Python's, got {name!r}")
    if name in sys.stdlib_module_names or name == "dgtd":
        raise ValueError(f"name {name!r} is a module that exists already: take another")
    return name


def _package(kind: str, name: str) -> None:
    folder = Path(_checked(name))
    if folder.exists():
        raise ValueError(f"folder {name!r} exists already: take another name")
    folder.mkdir()
    _write(folder / f"{name}.py", f"{kind}.py.txt", name)
    function = "claims" if kind == "suite" else name
    _write(folder / "pyproject.toml", "pyproject.toml.txt", name, kind=kind, function=function)


def _write(path: Path, template: str, name: str, **rest: str) -> None:
    if path.exists():
        raise ValueError(f"file {str(path)!r} exists already: take another name")
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    path.write_text(text.format(name=name, **rest), encoding="utf-8")
