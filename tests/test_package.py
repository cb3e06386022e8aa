"""The packages' public names: there, typed, and not imported before they are asked for."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", ["dgtd.algorithms", "dgtd.harness", "dgtd.suites", "dgtd"])
def test_every_public_name_can_be_imported(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert (ROOT / package.replace(".", "/") / "py.typed").exists()


def test_a_wrong_name_is_an_attribute_error():
    from dgtd import algorithms

    with pytest.raises(AttributeError, match=r"module 'dgtd\.algorithms' has no attribute 'LinearEngin'"):
        _ = algorithms.LinearEngin


def test_the_packages_alone_import_nothing_heavy():
    ours, heavy = "dgtd, dgtd.algorithms, dgtd.harness, dgtd.suites", ("torch", "numba", "numpy")
    code = f"import sys, {ours}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"
