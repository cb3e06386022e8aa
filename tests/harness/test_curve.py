"""`dgtd curve` and `dgtd sweep --exact` as a user meets them."""

import json

import numpy as np
import pytest

from tests.harness.test_cli import dgtd

BOYAN = ("curve", "gtd2", "--problem", "boyan", "--alpha", "0.05", "--beta", "0.1")


def test_the_curve_is_printed_and_as_json_to_all_digits():
    done = dgtd(*BOYAN, "--trajectory", "--checkpoints", "4")
    assert done.returncode == 0, done.stderr
    assert "gtd2 on boyan (value), α = 0.05, β = 0.1, last iterate, along trajectories" in done.stdout
    assert "1.80489" in done.stdout  # √3.25764, after 1000 steps
    found = json.loads(dgtd(*BOYAN, "--trajectory", "--json").stdout)
    assert found["expected_squares"]["rmspbe"][-1] == pytest.approx(3.2576, abs=5e-5)
    assert found["steps"][-1] == 1000
    assert found["standard_errors_away"] is None


def test_what_lstd_reaches_is_printed_drawn_and_in_json(tmp_path):
    words = (*BOYAN, "--trajectory", "--checkpoints", "4")
    done = dgtd(*words, "--plot", str(tmp_path / "curve.svg"))
    assert "LSTD on n of these transitions: RMSPBE near 1.822/√n" in " ".join(done.stdout.split())
    assert "so 0.05761 after 1,000" in " ".join(done.stdout.split())
    assert "LSTD, first order in 1/n" in (tmp_path / "curve.svg").read_text()
    assert json.loads(dgtd(*words, "--json").stdout)["lstd"]["steps_times_mspbe"] == pytest.approx(3.3193731691742)
    star = ("curve", "gtd2", "--problem", "baird", "--alpha", "0.01", "--beta", "0.01", "--steps", "10")
    assert "LSTD has no unique solution here" in dgtd(*star).stdout


def test_lanes_are_a_stored_run_and_agree_with_the_curve(tmp_path):
    """False alarm: 1e-4, over 24 checkpoints and two metrics that vary."""
    words = (*BOYAN, "--lanes", "400", "--steps", "300", "--store", str(tmp_path / "s.sqlite"))
    found = json.loads(dgtd(*words, "--json").stdout)
    away = np.array([found["standard_errors_away"][name] for name in ("rmspbe", "rmsve")], dtype=float)
    assert np.isfinite(away).sum() > 20
    assert np.nanmax(np.abs(away)) < 5.0
    again = dgtd(*words, "--plot", str(tmp_path / "curve.png"))
    assert "400 lanes: the farthest of" in again.stdout
    assert (tmp_path / "curve.png").stat().st_size > 20_000
    (run,) = json.loads(dgtd("runs", "--store", str(tmp_path / "s.sqlite"), "--json").stdout)
    assert run["outcomes"] == {"budget spent": 400}


def test_a_curve_that_leaves_for_infinity_says_where():
    done = dgtd("curve", "td", "--problem", "baird", "--alpha", "0.5", "--beta", "0.5", "--steps", "3000")
    assert done.returncode == 0
    assert "the second moment grows without bound" in done.stdout


def test_an_exact_sweep_finds_the_smallest_area(tmp_path):
    words = (
        "sweep", "--exact", "--problem", "random_walk", "--rule", "gtd2", "--steps", "500",
        "--alphas", "0.5,0.125,0.03125", "--ratios", "0.5,2", "--store", str(tmp_path / "s.sqlite"),
    )  # fmt: skip
    found = json.loads(dgtd(*words, "--json").stdout)
    areas = {(each["alpha"], each["beta"]): each["area"] for each in found["settings"]}
    assert len(areas) == 6
    assert found["best"]["area"] <= min(areas.values())
    alpha, beta = found["best"]["alpha"], found["best"]["beta"]
    again = json.loads(
        dgtd("curve", "gtd2", "--problem", "random_walk", "--trajectory", "--steps", "500", "--json",
             "--alpha", str(alpha), "--beta", str(beta)).stdout
    )  # fmt: skip
    roots = np.sqrt(again["expected_squares"]["rmspbe"])
    assert np.trapezoid(roots, again["steps"]) / 500 == pytest.approx(found["best"]["area"], rel=1e-9)
    second = dgtd(*words, "--plot", str(tmp_path / "map.svg"))
    assert "best: α = " in second.stdout
    assert (tmp_path / "map.svg").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("curve", "gtd2", "--problem", "spiral"), "problem 'spiral' has a nonlinear predictor"),
        (("curve", "gtd2", "--problem", "kolter", "--trajectory"), "problem 'kolter' has no trajectory"),
        (("curve", "gtd2", "--problem", "taxi", "--trajectory"), "exact curves need 501 × 1000 × 1000 numbers"),
        (("curve", "gtd3", "--problem", "boyan"), "no rule 'gtd3'; did you mean 'gtd2'?"),
        (("curve", "gtd2", "--problem", "boyan", "--lanes", "1"), "lanes must be at least 2"),
        (("curve", "tdrc", "--problem", "boyan", "--mirror-prox"), "rules whose w does not decay"),
    ],
)
def test_what_has_no_exact_curve_is_one_line(words, line):
    done = dgtd(*words, "--alpha", "0.1", "--beta", "0.1")
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_exact_sweep_is_of_linear_predictors(tmp_path):
    store = tmp_path / "s.sqlite"
    words = ("sweep", "--exact", "--problem", "boyan", "--rule", "gtd2", "--store", str(store))
    done = dgtd(*words, "--predictor", "mlp(5)")
    assert done.returncode == 2
    assert "an exact sweep is of linear predictors, got --predictor mlp(5)" in done.stderr
    assert not store.exists()


SMALL = ("--alphas", "0.5,0.01", "--ratios", "1,4")


def test_a_map_of_step_sizes_is_drawn_and_stored(tmp_path):
    words = (
        "sweep", "--exact", "--rule", "gtd2,td", "--problem", "two_state", *SMALL, "--map", str(tmp_path / "map.svg"),
        "--store", str(tmp_path / "s.sqlite"),
    )  # fmt: skip
    found = json.loads(dgtd(*words, "--json").stdout)
    assert [each["rule"] for each in found["maps"]] == ["gtd2", "td"]
    assert found["maps"][0]["kinds"][0] == ["stable", "stable"]
    assert found["maps"][1]["kinds"][0] == ["diverging", "diverging"]
    drawn = (tmp_path / "map.svg").read_text()
    assert "gtd2 on two_state" in drawn
    assert "mean-square radius 1" in drawn
