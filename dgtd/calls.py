"""One call each: a run, a sweep, an exact curve, a certificate, verdicts. The command line's options are arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtd.algorithms.names import unknown
from dgtd.comparing import Result, compare, compare_in
from dgtd.given import HERE, AnyProblem, AnyRule, check_call, checked, place_of, rule_of, where_of
from dgtd.harness.commands.carry_out import carried_out
from dgtd.harness.commands.output import open_store
from dgtd.harness.experiment.search import learner, run_spec
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import Entry, Workshop, collect, counts, judge, setting_for, suite_and_claim
from dgtd.harness.oracle.certificates import Certificate
from dgtd.harness.oracle.certificates import certify as certificate
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.places.world import WorldInfo, find_place, find_world
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.predictors import parse
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import Request, StepSchedule, log_times
from dgtd.harness.runs.trainers.trainer import trainer_of

if TYPE_CHECKING:
    import pandas as pd


@checked
def problem(name: str) -> Problem:
    """A problem by name, as in 'baird' or 'random_mdp(states=20)': its `mdp` has P, R, d, v, A, b, C and all else.

    >>> import dgtd
    >>> dgtd.problem("two_state").mdp.A
    array([[-0.2]])
    """
    return find_problem(name)


@checked
def world(name: str) -> WorldInfo:
    """A world by name, as in 'cartpole-v1' or 'gym:Acrobot-v1'."""
    return find_world(name)


@checked
def run(
    rule: AnyRule, problem: AnyProblem, alpha: float, beta: float | None = None, target: str = "value", *,
    steps: int = 20_000, seeds: int = 30, seed: int = 0, predictor: str | None = None, atoms: int | None = None,
    projection: str = "cramer", schedule: str = "constant", **where: Any,
) -> Lanes:  # fmt: skip
    """Run one rule on one problem: `of(metric)` [checkpoints, seeds], `times`, `died`, `lost`.

    >>> import dgtd, tempfile, pathlib
    >>> store = pathlib.Path(tempfile.mkdtemp()) / "results.sqlite"
    >>> found = dgtd.run("td", "two_state", 0.5, steps=200, seeds=4, store=store, executor="in-process")
    >>> found.of("rmspbe").shape[1]
    4
    """
    place, name, ref = where_of([rule, problem], **where), place_of(problem), rule_of(rule)
    acts, seeds = find_place(name).acts, index(seeds)
    made = learner(
        "", ref, name, target=target, alpha=alpha, beta=alpha if beta is None and not acts else beta, atoms=atoms,
        projection=projection, predictor=None if predictor is None else parse(predictor),
        schedule=StepSchedule(schedule), cohort=min(10, seeds) if acts else None,
    )  # fmt: skip
    spec = run_spec(name, made, index(steps), index(seed))
    trainer_of(spec)  # what can't run is said before there is a store
    with open_store(place.store) as store:
        if not carried_out(ref.name, [Request(spec, seeds)], store, place):
            raise KeyboardInterrupt
        return store.settled_lanes(spec, seeds)


def sweep(rule: AnyRule, problem: AnyProblem, target: str = "value", **more: Any) -> Result:
    """One rule over a grid of step sizes, the chosen ones on fresh seeds; the arguments of `compare`."""
    if isinstance(problem, str) and find_place(problem).acts:
        raise ValueError(f"a sweep is on finite problems, and {problem!r} is a world: `dgtd.compare` sweeps there")
    check_call(compare, {"targets": target} | more)
    usual = {name: each.default for name, each in signature(compare).parameters.items() if name != "where"}
    where = {name: more.pop(name) for name in list(more) if name not in usual}
    return compare_in(usual | more | {"rules": [rule], "problems": [problem], "targets": [target]}, where, 0)


@checked
def curve(
    rule: AnyRule, problem: AnyProblem, alpha: float, beta: float, target: str = "value", *, steps: int = 1000,
    atoms: int = 21, projection: str = "cramer", trajectory: bool = False, average: bool = False,
) -> pd.DataFrame:  # fmt: skip
    """Expected squared metrics after every number of steps, computed: no seeds, no noise. Linear rules only.

    >>> import dgtd
    >>> round(float(dgtd.curve("gtd2", "two_state", 0.05, 0.2, steps=1000).rmspbe.iloc[-1]), 3)
    0.622
    """
    import pandas as pd

    found, times = find_problem(place_of(problem)), log_times(steps)
    if found.network is not None:
        raise ValueError(f"problem {found.name!r} has a nonlinear predictor: exact curves are of linear ones")
    if trajectory and found.mdp.iid:
        raise ValueError(f"problem {found.name!r} has no trajectory: its transitions are independent")
    mdp = found.mdp if trajectory else found.mdp.with_(weights=found.mdp.d)
    moments = Moments(resolve(rule_of(rule)), mdp, found.target(target, atoms, projection))
    made = moments.run(alpha, beta, times, average=average)
    return pd.DataFrame({"step": times} | {name: np.sqrt(made.of(name)) for name in made.names})


@checked
def certify(
    rule: AnyRule, problem: AnyProblem, alpha: float, beta: float, target: str = "value", *, atoms: int = 21,
    projection: str = "cramer", trajectory: bool = False,
) -> Certificate:  # fmt: skip
    """What is exactly true of a linear rule's stability: radii of the mean and the mean square, Lyapunov exponent.

    >>> import dgtd
    >>> str(dgtd.certify("td", "baird", 0.01, 0.01).kind), str(dgtd.certify("gtd2", "two_state", 0.1, 0.1).kind)
    ('diverging', 'stable')
    """
    found = find_problem(place_of(problem))
    if found.network is not None:
        raise ValueError(f"problem {found.name!r} has a nonlinear predictor: no certificate exists for it")
    chosen = found.target(target, atoms, projection)
    return certificate(resolve(rule_of(rule)), found.mdp, chosen, alpha, beta, trajectory=trajectory)


class Ledger(Sequence[Entry]):
    """Claims with their verdicts."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    def __getitem__(self, at: Any) -> Any:
        return self.entries[at]

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return counts(self.entries)

    @property
    def frame(self) -> pd.DataFrame:
        """A row per claim: id, status, what it says, its evidence in words, the command that repeats it."""
        import pandas as pd

        rows = [
            {"id": each.claim.id, "status": each.status, "says": each.claim.says, "evidence": each.words,
             "again": each.command}
            for each in self.entries
        ]  # fmt: skip
        return pd.DataFrame(rows)


@checked
def suite(
    name: str = "all", rule: AnyRule | None = None, *, claim: str = "", profile: str = "ci", seed: int = 0, **where: Any
) -> Ledger:
    """Judge the claims of a suite, about our rules or about yours; `claim`: only those whose ids start so.

    >>> import dgtd
    >>> dgtd.suite("contraction", claim="contraction/kl", executor="in-process", store=":memory:")
    1 PASS
    """
    place = where_of([] if rule is None else [rule], **where)
    Setting(profile, seed)  # refuses a wrong profile before anything is loaded
    ref = None if rule is None else rule_of(rule)
    judged = None if ref is None else resolve(ref)
    every = collect(name, judged, profile)
    claims = [each for each in every if each.id.startswith(claim)]
    if not claims:
        raise unknown("claim", claim, [each.id for each in every])
    with open_store(place.store) as store:
        workshop = Workshop(store, place.make, place.timeout)
        text = None if ref is None else f"{ref.path}:{ref.function}" if ref.files else ref.name
        entries = judge(claims, setting_for(judged, profile, seed), text, workshop, judged)
    if len(entries) < len(claims):
        raise KeyboardInterrupt
    if ref is not None and ref.path == HERE:
        none = f"none: rule {ref.name!r} is a function of this process; as 'file.py:name' it has a command"
        entries = [replace(each, command=none) for each in entries]
    return Ledger(entries)


@checked
def explain(claim: str, rule: AnyRule | None = None, **more: Any) -> dict[str, Any]:
    """The evidence of one claim, its margin, and what would turn its verdict round."""
    name, own = suite_and_claim(claim)
    found = [each for each in suite(name, rule, claim=own, **more) if each.claim.id == own]
    if not found:
        raise ValueError(f"no claim {own!r}: dgtd.suite({name!r}).frame lists them")
    return found[0].as_dict()
