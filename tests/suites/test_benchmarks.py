"""Every asv benchmark × parameter in-process, as asv would call it, and the versions that asv installs."""

import importlib
import inspect
import itertools
import json
import math
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # every benchmark once, ten seconds

ROOT = Path(__file__).parents[2]
CONFIG = json.loads((ROOT / "asv.conf.json").read_text())


def cases():
    """(class, method, parameters) of everything asv would discover."""
    folder = ROOT / CONFIG["benchmark_dir"]
    sys.path.insert(0, str(folder.parent))
    try:
        modules = [importlib.import_module(f"benchmarks.{m.name}") for m in pkgutil.iter_modules([str(folder)])]
    finally:
        sys.path.remove(str(folder.parent))
    for module in modules:
        for name, made in inspect.getmembers(module, inspect.isclass):
            if made.__module__ != module.__name__ or not hasattr(made, "params"):  # what benchmarks share has none
                continue
            methods = [m for m in vars(made) if re.match("time_|track_|peakmem_", m)]
            for parameters in itertools.product(*made.params):
                yield pytest.param(made, methods, parameters, id=f"{module.__name__}.{name}-{parameters}")


@pytest.mark.parametrize(("made", "methods", "parameters"), list(cases()))
def test_a_benchmark_runs_and_tracks_something_lower_is_better(made, methods, parameters):
    assert methods
    assert made.version  # or asv throws old results away with every touch of the code
    benchmark = made()
    benchmark.setup(*parameters)
    for method in methods:
        value = getattr(benchmark, method)(*parameters)
        if method.startswith("track_"):  # asv mistakes anything else for an improvement
            assert math.isfinite(value)
            assert 0 < value < 10**9


def test_a_commit_that_lacks_an_import_skips_the_benchmark(monkeypatch):
    made = next(case.values[0] for case in cases() if case.values[0].__name__ == "Linear")
    for name in ("dgtd.algorithms.fast.linear", "algorithms"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NotImplementedError):
        made().setup("gtd2", made.params[1][0])


def test_a_name_is_taken_from_where_an_older_commit_has_it(monkeypatch):
    made = next(case.values[0] for case in cases() if case.values[0].__name__ == "Linear")
    common = sys.modules[made.__module__.rpartition(".")[0] + ".common"]
    older = type(sys)("algorithms.engines.linear")
    older.LinearEngine = "older"
    for name, found in {"dgtd.algorithms.fast.linear": None, "algorithms": type(sys)("algorithms"),
                        "algorithms.fast": None, "algorithms.engines": type(sys)("algorithms.engines"),
                        "algorithms.engines.linear": older}.items():  # fmt: skip
        monkeypatch.setitem(sys.modules, name, found)
    assert common.take("dgtd.algorithms.fast.linear", "LinearEngine") == "older"


def test_asv_installs_what_the_constraints_file_says():
    pinned = dict(
        line.lower().split("==")
        for line in (ROOT / "constraints.txt").read_text().split()
        if "==" in line and line[0] != "#"
    )
    required = {name.removeprefix("pip+"): versions for name, versions in CONFIG["matrix"]["req"].items()}
    assert {name: [pinned[name]] for name in required} == required
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.match(r"[\w-]+", each)[0] for each in project["dependencies"]}
    assert needed <= set(required)


def test_the_keys_of_the_configuration_are_asvs():
    """asv accepts a mistyped key in silence."""
    from asv.config import Config

    known = set(vars(Config()))
    assert set(CONFIG) - {"version"} <= known
