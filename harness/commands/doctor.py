"""`dgtd doctor`: is everything here, and does it work?"""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.rules import gtd2
from dgtd.harness.commands.output import AsJson, print_json, print_table
from dgtd.harness.oracle.objectives import Objective, linear
from dgtd.harness.oracle.theorem import small_problem

PACKAGES = ("dgtd-bench", "torch", "numpy", "numba", "scipy", "gymnasium", "matplotlib")
EXTRAS = ("distributed", "pandas", "pyarrow")


def doctor(as_json: bool = AsJson) -> int:
    """Versions, cores, and a small run of every engine."""
    facts = {"python": sys.version.split()[0], "system": platform.platform(), "cores": str(os.cpu_count())}
    for name in (*PACKAGES, *EXTRAS):
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed (an extra)"
    facts["engines"] = _engines()
    if as_json:
        print_json(facts)
    else:
        print_table("", ["what", "found"], [[key, value] for key, value in facts.items()])
    return 0 if facts["engines"] == "agree" else 1


def _engines() -> str:
    problem = small_problem()
    mdp, target = problem.mdp, problem.target("value")
    count, k = len(mdp.table.probability), mdp.features.shape[1]
    batch = mdp.table.batch(np.arange(count)[:, None], mdp.features, target)
    at, aux = np.full((count, 1, k), 2.0), np.full((count, 1, k), 0.5)
    found = mdp.mass @ directions(gtd2, at, aux, batch)[1][:, 0]
    exact = Objective(mdp, target, linear(mdp.features)).mean_update(gtd2, [2.0] * k, [0.5] * k)[1]
    return "agree" if np.allclose(found, exact) else f"disagree: {found} and {exact}"
