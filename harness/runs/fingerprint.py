"""Under which hash a run is stored: of what its parts do where that is finite, of their sources where it is not.

A finite problem is its arrays, so a plug-in that changes a reward is another problem. A rule that is linear in (δ, u)
is its coefficients at the problem's ratios; any other is its source with all that it uses. Our own code is its sources.
"""

from __future__ import annotations

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

from algorithms.digest import digest
from harness.oracle.problem import Problem
from harness.plugins import find_problem
from harness.runs.rule_files import resolve
from harness.runs.spec import FileRef, RunSpec
from harness.worlds.world import find_world

# Whatever decides a lane's numbers. Finite problems are their arrays, so no suite is among it.
DECISIVE = (
    "algorithms", "harness.oracle", "harness.plugins", "harness.worlds", "harness.runs.acting",
    "harness.runs.acting_spec", "harness.runs.iterating", "harness.runs.spec", "harness.runs.trial",
    "harness.runs.cohort", "harness.runs.learning", "harness.runs.predictors", "harness.runs.rule_files",
    "harness.runs.checkpoints", "harness.runs.checkpoint_file", "harness.runs.bookkeeping",
)  # fmt: skip


def parts_of(spec: RunSpec) -> dict[str, str]:
    """What the run depends on, part by part: where two differ, this says why."""
    if spec.place.is_world:  # its own code is ours; what else decides is a package
        place, ratios = digest("world", find_world(spec.place.problem).version), np.ones(1)
    else:
        problem = find_problem(spec.place.problem)
        place, ratios = of_problem(problem), np.unique(problem.mdp.table.rho)
    settings = asdict(spec)
    settings["learner"].pop("rule")
    settings["learner"]["predictor"].pop("file")
    rule, network = spec.learner.rule, spec.learner.predictor.file
    update = resolve(rule)
    weighed = spec.learner.iteration is not None and spec.learner.iteration.behave > 0  # by ratios of any size
    source = [update.source_hash] if weighed else []
    return {
        "settings": digest(settings),
        "problem": place,
        "rule": digest(update.fingerprint(ratios), "" if update.linear else _sources(rule), *source),
        "predictor": "" if network is None else digest(network.function, _sources(network)),
        "code": of_code(DECISIVE),
    }


def _sources(ref: FileRef) -> list[str]:
    return [source for _, _, source in ref.files]


@lru_cache(maxsize=4096)
def run_hash(spec: RunSpec) -> str:
    """The content hash under which lanes are stored."""
    return digest(parts_of(spec))


def of_problem(problem: Problem) -> str:
    """The arrays behind simulator and evaluator; a network of the problem's own by its source."""
    mdp = problem.mdp
    arrays = (
        asdict(mdp.transitions), mdp.gamma, mdp.behaviour, mdp.target, mdp.features, mdp.theta_initial, mdp.start,
        mdp.weights,
    )  # fmt: skip
    return digest(arrays, problem.support, problem.network)


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
