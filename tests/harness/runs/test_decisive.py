"""What a run is stored under has the sources of all that its lanes' numbers come from: by who imports whom."""

import ast
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from dgtd.harness.runs.fingerprint import DECISIVE

ROOT = Path(__file__).parents[3]
# What a worker imports, and no number of a lane comes from.
ASIDE = {
    "dgtd.harness": "names for users, looked up when they are asked for",
    "dgtd.harness.runs.database": "how a store is opened",
    "dgtd.harness.runs.fingerprint": "under what a run is stored",
    "dgtd.harness.runs.timeouts": "when a run is stopped",
}


def file_of(module: str) -> Path | None:
    """Of a module of ours."""
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file if file.is_file() else None


@cache
def imports(module: str) -> set[str]:
    """Modules of ours, at the top or inside a function, but not for type checkers; and the packages they are in."""
    file = file_of(module)
    assert file is not None, module
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        todo += ast.iter_child_nodes(node)
    parents = {name.rpartition(".")[0] for name in found}
    return {name for name in found | parents if name.startswith(("dgtd.algorithms", "dgtd.harness")) and file_of(name)}


def reached(begin: set[str]) -> set[str]:
    """All that these modules import, and they."""
    found, todo = set(), list(begin)
    while todo:
        if (module := todo.pop()) not in found:
            found.add(module)
            todo += imports(module)
    return found


def begin() -> set[str]:
    """The worker, the trainers and worlds that pyproject.toml declares, and what puts a run's problem together."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    declared = {value.split(":")[0] for kind in ("trainers", "worlds") for value in points[f"dgtd.{kind}"].values()}
    return {"dgtd.harness.runs.work", *(name for name in declared if name.startswith("dgtd.harness."))}


def covered(module: str, decisive: tuple[str, ...]) -> bool:
    """A package covers all that is in it; an __init__ that is a docstring decides nothing."""
    file = file_of(module)
    assert file is not None
    empty = file.name == "__init__.py" and len(ast.parse(file.read_text(encoding="utf-8")).body) < 2
    return empty or any(module == name or module.startswith(f"{name}.") for name in decisive)


def missing(decisive: tuple[str, ...]) -> set[str]:
    return {module for module in reached(begin()) if not covered(module, decisive)}


def test_all_that_a_worker_imports_is_decisive_or_named_as_being_aside():
    assert missing(DECISIVE) == set(ASIDE)


@pytest.mark.parametrize("left_out", DECISIVE)
def test_each_decisive_module_is_reached_and_would_be_missed(left_out):
    assert find_spec(left_out) is not None
    assert missing(tuple(name for name in DECISIVE if name != left_out)) > set(ASIDE)


def test_the_walk_reaches_what_lanes_are_made_of():
    """By name, so that a walk that stops early is seen."""
    known = (
        "algorithms.rules", "algorithms.fast.network_kernels", "algorithms.fast.elementary", "algorithms.streams",
        "harness.oracle.mdp", "harness.oracle.metrics", "harness.oracle.saddle", "harness.places.cartpole",
        "harness.runs.acting_spec", "harness.runs.lanes", "harness.runs.trainers.trainer",
        "harness.runs.trainers.world", "harness.runs.trainers.table", "harness.runs.checkpoints",
    )  # fmt: skip
    assert {f"dgtd.{name}" for name in known} <= reached(begin())
