"""The suites' options for pytest: `pytest -p dgtd --pyargs dgtd.suites --dgtd-suite cost`. It never loads by itself.

PYTEST_DONT_REWRITE: it asserts nothing, and may have been imported before pytest knows that it is a plug-in.
"""

import os
from typing import Any

import pytest

# option → (default, help); without the plugin the defaults hold
OPTIONS: dict[str, tuple[Any, str]] = {
    "rule": (None, "judge this rule: a name, or path/to/file.py:function"),
    "profile": ("ci", "ci, full or paper"),
    "seed": (0, "another seed, other points and lanes"),
    "suite": ("all", "one suite, or all"),
    "store": (None, "the file that evidence lives in; none: it is forgotten"),
    "executor": (os.environ.get("DGTD_EXECUTOR", "pool"), "in-process, pool or dask"),
    "workers": (None, "processes of the pool; one per core by default"),
    "scheduler": (None, "address of a Dask scheduler"),
    "timeout": (None, "seconds that a cohort or a job may take"),
}
KINDS = {"seed": int, "workers": int, "timeout": float}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `dgtd suite`, each with --dgtd- before it."""
    group = parser.getgroup("dgtd")
    for name, (default, words) in OPTIONS.items():
        group.addoption(f"--dgtd-{name}", default=default, type=KINDS.get(name, str), help=words)


def option(config: pytest.Config, name: str) -> Any:
    """What was given, or the default."""
    return config.getoption(f"--dgtd-{name}", OPTIONS[name][0])
