"""pytest's side of the suites, loaded by its entry point: `pytest suites`, or `pytest --pyargs suites`."""

from __future__ import annotations

import os

import pytest

from dgtd.harness.judging.ledger import collect
from dgtd.harness.runs.rule_files import reference, resolve


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `dgtd suite`, each with --dgtd- before it."""
    group = parser.getgroup("dgtd")
    group.addoption("--dgtd-rule", default=None, help="judge this rule: a name, or path/to/file.py:function")
    group.addoption("--dgtd-profile", default="ci", help="ci, full or paper")
    group.addoption("--dgtd-seed", default=0, type=int, help="another seed, other points and lanes")
    group.addoption("--dgtd-suite", default="all", help="one suite, or all")
    group.addoption("--dgtd-store", default=None, help="the file that evidence lives in; none: it is forgotten")
    group.addoption("--dgtd-executor", default=os.environ.get("DGTD_EXECUTOR", "pool"), help="in-process, pool or dask")
    group.addoption("--dgtd-workers", default=None, type=int, help="processes of the pool; one per core by default")
    group.addoption("--dgtd-scheduler", default=None, help="address of a Dask scheduler")
    group.addoption("--dgtd-timeout", default=None, type=float, help="seconds that a cohort or a job may take")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dgtd_claim" not in metafunc.fixturenames:
        return

    option = metafunc.config.getoption
    try:
        rule = resolve(reference(option("--dgtd-rule"))) if option("--dgtd-rule") else None
        claims = collect(option("--dgtd-suite"), rule, option("--dgtd-profile"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize("dgtd_claim", claims, ids=[claim.id for claim in claims])
