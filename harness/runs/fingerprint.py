"""Under which hash a run is stored: of what its parts do where that is finite, of their sources where it is not.

A finite problem is its arrays, so a plug-in that changes a reward is another problem. A rule that is linear in (δ, u)
is its coefficients at the problem's ratios; any other is its source with all that it uses. Our own code is its sources.
"""

import hashlib
import json
import platform
import sys
from dataclasses import asdict
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dgtd.algorithms.digest import digest
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.places.world import find_place
from dgtd.harness.plugins import installed
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import FileRef, RunSpec

# Whatever decides a lane's numbers. Finite problems are their arrays, so no suite is among it.
DECISIVE = (
    "dgtd.algorithms",
    *(
        f"dgtd.harness.{module}"
        for module in (
            "oracle", "plugins", "places", "runs.trainers", "runs.spec", "runs.acting_spec", "runs.lanes", "runs.work",
            "runs.predictors", "runs.rule_files", "runs.checkpoints",
        )
    ),
)  # fmt: skip


def parts_of(spec: RunSpec) -> dict[str, str]:
    """What the run depends on, part by part: where two differ, this says why."""
    place = find_place(spec.place.problem)
    ratios = np.unique(place.mdp.table.rho) if isinstance(place, Problem) else np.ones(1)
    settings = asdict(spec)
    settings["learner"].pop("rule")
    settings["learner"]["predictor"].pop("file")
    rule, network = spec.learner.rule, spec.learner.predictor.file
    update = resolve(rule)
    weighed = spec.learner.iteration is not None and spec.learner.iteration.behave > 0  # by ratios of any size
    source = [update.source_hash] if weighed else []
    return {
        "settings": digest(settings),
        "problem": place.identity,
        "rule": digest(update.fingerprint(ratios), "" if update.linear else _sources(rule), *source),
        "predictor": "" if network is None else digest(network.function, _sources(network)),
        "trainer": _of_trainer(spec.learner.trainer),
        "code": of_code(DECISIVE),
    }


def _of_trainer(name: str) -> str:
    """A user's trainer by its module's source; ours is our own code."""
    points = installed("trainers")
    module = points[name].module if name in points else ""
    return "" if module.startswith("dgtd.") or not module else of_code((module,))


def _sources(ref: FileRef) -> list[str]:
    return [source for _, _, source in ref.files]


@lru_cache(maxsize=4096)
def run_hash(spec: RunSpec) -> str:
    """The content hash under which lanes are stored."""
    return digest(parts_of(spec))


@cache
def of_code(modules: tuple[str, ...]) -> str:
    """The sources of modules, and of packages with everything in them."""
    hasher = hashlib.sha256()
    for name in modules:
        found = find_spec(name)
        if found is None or found.origin is None:
            raise ImportError(f"no module {name!r}")
        file = Path(found.origin)
        inside = sorted(file.parent.rglob("*.py")) if found.submodule_search_locations else [file]
        for source in inside:
            hasher.update(f"{name}/{source.relative_to(file.parent).as_posix()}\0".encode() + source.read_bytes())
    return hasher.hexdigest()[:16]


@cache
def machine_facts() -> str:
    """Where and with what a lane was run, as JSON: told by whoever runs it."""
    packages = {name: version(name) for name in ("numpy", "numba", "torch", "scipy", "dgtd-bench")}
    where = {"machine": platform.machine(), "system": platform.platform(), "python": sys.version.split()[0]}
    return json.dumps(where | packages, sort_keys=True)
