"""`dgtd.compare`: the comparison of the command line as a function, and what it found as an object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from inspect import signature
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtd.algorithms.checks import finite
from dgtd.given import AnyProblem, AnyRule, check, checked, many, places_of, rule_of, where_of
from dgtd.harness.commands.compare import PROBLEMS, ROUNDS, compared_with, document_of, grid
from dgtd.harness.commands.output import plain
from dgtd.harness.experiment.comparison import ALPHA, Comparison
from dgtd.harness.experiment.deciding import with_looks
from dgtd.harness.experiment.experiment import MATTERS, Experiment, entrants
from dgtd.harness.judging.looks import AtMost
from dgtd.harness.judging.statistics import median_interval
from dgtd.harness.report.drawing import Styles, as_png, save
from dgtd.harness.report.figures import at_place
from dgtd.harness.report.page import rendered
from dgtd.harness.report.page import write as write_page
from dgtd.harness.report.sections import page
from dgtd.harness.report.words import answer
from dgtd.harness.runs.predictors import parse

if TYPE_CHECKING:
    import pandas as pd


class Picture(bytes):
    """A PNG that a notebook shows."""

    def __repr__(self) -> str:
        return f"a picture, {len(self)} bytes of PNG"

    def _repr_png_(self) -> bytes:
        return self


class Result:
    """What a comparison found. `comparison` has every lane, test and choice of step sizes behind it."""

    def __init__(self, comparison: Comparison, command: str) -> None:
        self.comparison, self.command = comparison, command

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Every number at every checkpoint of every lane: problem, rule, target, seed, step, metric, value."""
        import pandas as pd

        parts = []
        for entry in self.comparison.entries:
            lanes = entry.lanes
            step, seed, metric = np.meshgrid(lanes.times, range(entry.count), lanes.names, indexing="ij")
            who = {"problem": entry.place, "rule": entry.who.name, "target": entry.who.target}
            found = {"seed": seed.ravel(), "step": step.ravel(), "metric": metric.ravel()}
            parts.append(pd.DataFrame({**who, **found, "value": lanes.curves.ravel()}))
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row per problem and rule: step sizes, the median of what is tested, its interval, seeds that diverged."""
        import pandas as pd

        rows = []
        for entry in self.comparison.entries:
            label = next(iter(entry.scores))
            interval = median_interval(entry.tested, ALPHA)
            learner = entry.spec.learner
            rows.append(
                {"problem": entry.place, "rule": entry.who.label, "alpha": learner.alpha, "beta": learner.beta,
                 label: interval.estimate, "low": interval.low, "high": interval.high,
                 "diverged": entry.diverged, "of": entry.count}
            )  # fmt: skip
        return pd.DataFrame(rows)

    @property
    def winners(self) -> dict[str, str | None]:
        """Problem → who beat every other by paired tests (5 %, Holm over all of them); None if nobody did."""
        return {place: self.comparison.best(place) for place in self.comparison.experiment.places}

    @property
    def answer(self) -> list[str]:
        """What was found, in sentences."""
        return answer(self.comparison)

    @property
    def document(self) -> dict[str, Any]:
        """The same numbers as `dgtd compare --json`."""
        found: dict[str, Any] = plain(document_of(self.comparison))
        return found

    def report(self, path: str | Path = "results/compare") -> Path:
        """Write the page: one file if the path ends in .html, else a folder with the figures for papers beside it."""
        made, path = page(self.comparison, self.command), Path(path)
        if path.suffix != ".html":
            return write_page(made, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rendered(made), encoding="utf-8")
        return path

    def plot(self, path: str | Path | None = None, problem: str | None = None) -> Path | Picture:
        """Draw the learning curves on one problem (the first, unless named): to a png, svg or pdf, or in a notebook."""
        place = problem or self.comparison.experiment.places[0]
        if place not in self.comparison.experiment.places:
            raise ValueError(f"no problem {place!r} in this comparison: {', '.join(self.comparison.experiment.places)}")
        figure, *_ = at_place(self.comparison, place, Styles(self.comparison.experiment.entrants))
        if path is None:
            return Picture(as_png(figure))
        save(figure, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return "\n  · ".join(self.answer)

    def _repr_html_(self) -> str:
        from html import escape

        head, *lines = map(escape, self.answer)
        return (
            f"<p>{head}</p><ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>{self.summary.to_html(index=False)}"
        )


@checked
def compare(
    rules: AnyRule | Sequence[AnyRule] = ("gtd2", "tdc"),
    problems: AnyProblem | Sequence[AnyProblem] = PROBLEMS,
    targets: str | Sequence[str] = ("value", "cdf"),
    *,
    seeds: int = 30,
    steps: int = 50_000,
    alpha: float | None = None,
    beta: float | None = None,
    alphas: Sequence[float] | float | None = None,
    ratios: Sequence[float] | float | None = None,
    predictor: str | None = None,
    atoms: int | None = None,
    projection: str = "cramer",
    schedule: str = "constant",
    seed: int = 0,
    matters: float = MATTERS,
    until_decided: bool = False,
    at_most: str | None = None,
    **where: Any,
) -> Result:
    """Compare rules and their distributional forms on problems; step sizes by a sweep on seeds of its own.

    `rules`: names, `file.py:function`, rules or functions of (delta, u, rho). `problems`: names or `dgtd.Problem`s.
    A difference below `matters` is too small to matter. `until_decided`: seeds are doubled until every test is settled,
    or `at_most` ends it ('2h', '2000 seeds' or both). `where`: store, executor, workers, scheduler, timeout, as on the
    command line. Same numbers as `dgtd compare`.

    >>> import dgtd, tempfile, pathlib
    >>> store = pathlib.Path(tempfile.mkdtemp()) / "results.sqlite"
    >>> result = dgtd.compare(["gtd2", "td"], "two_state", "value", seeds=8, steps=400, alpha=0.05, beta=0.2,
    ...                       store=store, executor="in-process")
    >>> result.winners
    {'two_state': 'GTD2'}
    >>> sorted(result.frame.columns)
    ['metric', 'problem', 'rule', 'seed', 'step', 'target', 'value']
    """
    given = {name: value for name, value in locals().items() if name != "where"}
    return compare_in(given, where, ROUNDS if alphas is None and ratios is None else 0)


def compare_in(given: dict[str, Any], where: dict[str, Any], rounds: int) -> Result:
    """`given`: the arguments of `compare`; the default grid is extended at most so many times."""
    rules, problems = many(given["rules"]), many(given["problems"])
    for name in many(given["targets"]):
        check("target", name)
    place = where_of([*rules, *problems], **where)
    names = places_of(problems)
    sizes, shares = (_numbers(name, given[name]) for name in ("alphas", "ratios"))
    predictor, beta = given["predictor"], given["beta"]
    experiment = Experiment(
        names, entrants(tuple(map(rule_of, rules)), tuple(many(given["targets"]))), index(given["steps"]),
        index(given["seeds"]), given["atoms"], given["projection"], given["schedule"], index(given["seed"]),
        given["alpha"], beta, grid(sizes, shares, beta, "", names),
        predictor=None if predictor is None else parse(predictor), matters=given["matters"],
    )  # fmt: skip
    limit = AtMost.of(given["at_most"], given["until_decided"])
    if given["until_decided"]:
        experiment = with_looks(experiment, limit)
    found = compared_with(experiment, place, rounds, limit.seconds)
    if found is None:
        raise KeyboardInterrupt
    return Result(found, _command(given, experiment))


def _numbers(name: str, given: Any) -> str | None:
    """As the command line has them."""
    return None if given is None else ",".join(repr(float(each)) for each in np.atleast_1d(finite(name, given)))


def _command(given: dict[str, Any], experiment: Experiment) -> str:
    """The call again, without what is at its default."""
    usual = {name: each.default for name, each in signature(compare).parameters.items()}
    rules = list(dict.fromkeys(who.rule.name for who in experiment.entrants))
    more = [f"{name}={given[name]!r}" for name in given if name in usual and given[name] is not usual[name]]
    more = [each for each in more if each.split("=")[0] not in ("rules", "problems")]
    return f"dgtd.compare({', '.join([repr(rules), repr(list(experiment.places)), *more])})"
