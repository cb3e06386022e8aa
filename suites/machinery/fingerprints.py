"""Under which hash a run or a job is stored: another rule, problem or code is another run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding
from harness.oracle.problem import Problem
from harness.plugins import find_problem
from harness.runs.fingerprint import DECISIVE, of_code, of_problem, parts_of
from harness.runs.job import Job
from harness.runs.rule_files import reference
from suites.machinery.cases import all_hold, exact
from suites.machinery.planted import run_of
from suites.machinery.store import folder

RULE = """
from algorithms.rule import Cotangents, rule

GAIN = {gain}

@rule(linear={linear})
def mine(delta, u, rho):
    return Cotangents(-GAIN * rho * delta{bend}, rho * u, rho * delta - u)
"""


def claims() -> list[Claim]:
    """Rules, problems, code."""
    return [
        exact(
            "fingerprint/rule",
            "two rules of one name that differ in a constant have two fingerprints, and a copy of a rule has its own",
            "definitions",
            constants_are_seen,
        ),
        exact(
            "fingerprint/problem",
            "a problem with any one of its arrays changed, its rewards among them, is another problem",
            "definitions",
            arrays_are_seen,
        ),
        exact(
            "fingerprint/code",
            "the hash of a run covers the sources of all that decides its numbers, and that of a job its package",
            "definitions",
            code_is_seen,
        ),
    ]


def constants_are_seen(setting: Setting) -> Finding:
    """Rule files with the same function and a constant of 1 or 2, linear in δ and not."""
    with folder() as here:
        return all_hold(pairs_of_rules(here))


def pairs_of_rules(here: Path) -> Iterator[tuple[str, bool]]:
    """One after the other: only the constant may decide."""
    for linear, bend in ((True, ""), (False, " / (1 + abs(delta))")):
        marks = {}
        for name, gain in (("first", 1.0), ("copy", 1.0), ("second", 2.0)):
            file = here / f"{name}_{linear}.py"
            file.write_text(RULE.format(gain=gain, linear=linear, bend=bend), encoding="utf-8")
            marks[name] = parts_of(run_of().with_learner(rule=reference(f"{file}:mine")))["rule"]
        kind = "linear" if linear else "nonlinear"
        yield f"{kind} rules with two constants", marks["first"] != marks["second"]
        yield f"a copy of a {kind} rule", marks["first"] == marks["copy"]


def arrays_are_seen(setting: Setting) -> Finding:
    """The off-policy random walk, with one thing changed at a time."""
    problem = find_problem("random_walk")
    mdp, listed = problem.mdp, problem.mdp.transitions
    changes: dict[str, dict[str, Any]] = {
        "rewards": {"transitions": replace(listed, reward=2 * listed.reward)},
        "discount": {"gamma": mdp.gamma / 2},
        "features": {"features": 2 * mdp.features},
        "behaviour": {"behaviour": np.tile([0.3, 0.7], (mdp.states, 1))},
        "first weights": {"theta_initial": mdp.theta_initial + 1},
        "weights of states": {"weights": mdp.d},
    }
    known = of_problem(problem)
    cases = [("the same again", of_problem(Problem(mdp.with_(), "", "", problem.support)) == known)]
    for what, change in changes.items():
        other = Problem(mdp.with_(**change), "", "", problem.support)
        cases.append((f"other {what}", of_problem(other) != known))
    return all_hold(cases)


def code_is_seen(setting: Setting) -> Finding:
    """The mark of the code is that of all decisive modules, and of no fewer; a job's is of ours and its package."""
    mark = parts_of(run_of())["code"]
    cases = [("all decisive modules", mark == of_code(DECISIVE))]
    for name in DECISIVE:
        cases.append((f"without {name}", mark != of_code(tuple(each for each in DECISIVE if each != name))))
    job = Job.of(code_is_seen)
    cases.append(("a job of a suite", job.parts["code"] == of_code(("algorithms", "harness", "suites"))))
    cases.append(("a job of another package", replace(job, package="harness").parts["code"] != job.parts["code"]))
    cases.append(("a job's hash", replace(job, package="harness").hash != job.hash))
    with folder() as here:
        return all_hold([*cases, ("one digit of a source", len(marks_of_a_source(here)) == 2)])


def marks_of_a_source(here: Path) -> set[str]:
    """A package that is written with a 1, with a 2 and with a 1 again; nothing is imported, nor taken from a cache."""
    package = here / "dgtd_planted_package"
    package.mkdir()
    marks = []
    sys.path.insert(0, str(here))
    try:
        for value in (1, 2, 1):
            for name in ("__init__.py", "inner.py"):
                (package / name).write_text(f"VALUE = {value if name == 'inner.py' else 0}\n", encoding="utf-8")
            marks.append(of_code.__wrapped__((package.name,)))
    finally:
        sys.path.remove(str(here))
    return set(marks) if marks[0] == marks[2] else set()
