"""The command line as a user meets it: in a process of its own, by what it prints and how it exits."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests import forked

ROOT = Path(__file__).parents[2]


COMMAND = "from dgtd.harness.cli import main; main()"


def dgtd(*words: str, cwd: Path | None = None, env: dict | None = None) -> subprocess.CompletedProcess:
    """The command, in this environment or another."""
    return forked.run(COMMAND, *words, cwd=cwd or ROOT, env=env)


def test_problem_show_has_its_keys_and_published_numbers():
    shown = json.loads(dgtd("problem", "show", "baird", "--json").stdout)
    assert list(shown) == [
        "name", "states", "actions", "features", "gamma", "d", "v", "theta_initial", "theta_td",
        "eigenvalues_A", "mspbe_initial", "rmspbe_initial", "msve_initial", "rmsve_initial",
    ]  # fmt: skip
    real = [re for re, im in shown["eigenvalues_A"]]
    np.testing.assert_allclose(real, [-0.23925, -0.02218, 0, *[0.57143] * 5], atol=5e-6)
    assert shown["rmspbe_initial"] ** 2 == pytest.approx(shown["mspbe_initial"])


def test_problem_list_names_every_problem_once():
    rows = json.loads(dgtd("problem", "list", "--json").stdout)
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names) >= 18
    assert {"baird", "boyan", "grid_world", "taxi"} <= set(names)
    features = {row["name"]: row["features"] for row in rows}
    assert features["baird"] == 8
    assert features["spiral"] is None  # nonlinear: three one-hot inputs, one parameter


def test_certify_has_its_keys():
    found = json.loads(
        dgtd("certify", "td", "--problem", "two-state", "--alpha", "1", "--beta", "0.1", "--json").stdout
    )
    assert {"rule", "problem", "target", "alpha", "beta", "mean_abscissa", "mean_radius", "mean_square_radius"} <= set(
        found
    )
    assert {"mean_square_bracket", "lyapunov", "class", "stable"} <= set(found)
    assert found["class"] == "heavy-tailed"
    assert found["stable"] is False
    assert found["mean_square_radius"] == pytest.approx(2.2)


def test_certify_says_for_which_sampling_it_is_exact():
    pooled = dgtd("certify", "gtd2", "--problem", "random_walk", "--alpha", "0.1", "--beta", "0.1").stdout
    by_state = dgtd(
        "certify", "gtd2", "--problem", "random_walk", "--alpha", "0.1", "--beta", "0.1", "--trajectory"
    ).stdout
    assert "i.i.d. transitions" in " ".join(pooled.split())
    assert "trajectories" in " ".join(by_state.split())
    assert "STABLE" in pooled


@pytest.mark.parametrize("name", ["baird", "taxi", "spiral"])
def test_plots_are_written(tmp_path, name):
    for ending in ("png", "svg"):
        path = tmp_path / f"picture.{ending}"
        assert dgtd("problem", "show", name, "--plot", str(path)).returncode == 0
        assert path.stat().st_size > 10_000


CERTIFY = ["certify", "td", "--problem", "baird", "--alpha", "1", "--beta", "1"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["problem", "show", "bard"], "no problem 'bard'; did you mean 'baird'?"),
        (["problem", "show", "random_mdp(states=two)"], "states must be a number, got 'two'"),
        (["problem", "show", "random_mdp(stats=2)"], "no parameter 'stats'; did you mean 'states'?"),
        (["problem", "show", "random_mdp(3)"], "write key=value, got '3'"),
        (["problem", "show", "a b"], "write a name"),
        (["problem", "show", "random_mdp(gamma=1.0)"], "gamma must be below 1"),
        (["problem", "show", "random_walk(features=tabluar)"], "did you mean 'tabular'?"),
        (["problem", "show", "baird", "--plot", "x.foo"], "plot must end in png, svg or pdf, got 'x.foo'"),
        (["problem", "show", "baird", "--plot", "/no/such/folder/x.png"], "No such file or directory"),
        (["problem", "shw"], "Did you mean 'show'?"),
        (["certify", "gtd3", "--problem", "baird", "--alpha", "1", "--beta", "1"], "did you mean 'gtd2'?"),
        (["certify", "gtd2", "--problem", "baird", "--alpha", "0", "--beta", "1"], "alpha must be positive"),
        (["certify", "gtd2", "--problem", "baird", "--alpha", "x", "--beta", "1"], "Invalid value for '--alpha'"),
        (["certify", "gtd2", "--problem", "baird", "--beta", "1"], "Missing option '--alpha'"),
        (["certify", "gtd2", "--problem", "spiral", "--alpha", "1", "--beta", "1"], "nonlinear predictor"),
        ([*CERTIFY, "--target", "cfd"], "no target 'cfd'; did you mean 'cdf'?"),
        (["rule", "show", "tdd"], "did you mean 'td'?"),
        (["--nonsense"], "No such option"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_code_2(words, says):
    done = dgtd(*words)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_debug_shows_the_traceback():
    assert "Traceback" in dgtd("--debug", "problem", "show", "bard").stderr


def test_help_loads_neither_torch_nor_numba():
    heavy = ("torch", "numba", "scipy", "matplotlib")
    code = f"import sys, dgtd.harness.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
    start = time.perf_counter()
    assert "certify" in dgtd("--help").stdout
    assert time.perf_counter() - start < 5  # the speed itself is a benchmark
