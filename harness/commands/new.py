"""`dgtd new`: a rule, a problem, a world, a trainer or a suite to start from, that works before it is changed."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from dgtd.harness.commands.command import Command
from dgtd.harness.commands.output import say

app = typer.Typer(help="A rule, problem, world, trainer or suite to start from.", no_args_is_help=True)
TEMPLATES = Path(__file__).parents[1] / "templates"
Name = typer.Argument(help="Its name, as Python allows it.")


@app.command(cls=Command)
def rule(name: str = Name) -> None:
    """A file NAME.py with a rule."""
    _write(Path(f"{_checked(name)}.py"), "rule.py.txt", name)
    say(f"{name}.py is a rule: dgtd rule check {name}.py:{name}")


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
