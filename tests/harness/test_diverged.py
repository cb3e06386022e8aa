"""A lane that diverged counts the same wherever it is looked at: suite, compare, run and export."""

import csv
import json

import numpy as np
import pytest

from dgtd.harness.places.world import find_place
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.store import Store
from dgtd.suites.returns import final_returns
from tests.harness.test_cli import dgtd

LOST = (
    "--begin", "64", "--batch", "16", "--every", "1", "--steps", "400", "--seeds", "3", "--beta", "3",
)  # fmt: skip


@pytest.mark.slow
def test_an_agent_that_diverged_counts_as_infinitely_bad_in_all_four(tmp_path):
    """Without a distribution, w overflows at such a β."""
    store = tmp_path / "s.sqlite"
    words = ["--problems", "cartpole-v0", "--rules", "dqn,greedy_gq(0.5)", "--targets", "value", "--alpha", "1e-3"]
    done = dgtd("compare", *words, *LOST, "--out", str(tmp_path / "out"), "--store", str(store), "--json")
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)["problems"]["cartpole-v0"]["greedy_gq(eta=0.5)"]
    assert compared["diverged"] == 3
    assert compared["lanes"] == ["-inf"] * 3 or compared["lanes"] == [None] * 3 or compared["lanes"] == [-np.inf] * 3
    words = ["--problem", "cartpole-v0", "--rule", "greedy_gq(0.5)", "--target", "value", "--alpha", "1e-3"]
    found = json.loads(dgtd("run", *words, *LOST, "--store", str(store), "--json").stdout)
    label = find_place("cartpole-v0").scores[0].label
    assert found["outcomes"] == {"diverged": 3}
    assert set(map(str, found["final"][label].values())) == set(map(str, compared["lanes"]))
    text = dgtd("export", "--store", str(store), "--rule", "greedy_gq(eta=0.5)").stdout
    assert {float(row["score"]) for row in csv.DictReader(text.splitlines())} == {-np.inf}
    with Store(store) as opened:
        (run,) = {row["run"] for row in opened.rows() if row["rule"] != "td" and row["run"] == compared["run"]}
        spec = RunSpec.from_json(opened.specs()[run])
        np.testing.assert_array_equal(final_returns(opened.settled_lanes(spec, 3)), [-np.inf] * 3)


@pytest.mark.slow
def test_so_does_a_rule_on_a_finite_problem(tmp_path):
    store = str(tmp_path / "s.sqlite")
    words = ["--problem", "baird", "--rule", "td", "--alpha", "0.1", "--beta", "0.1", "--steps", "5000", "--seeds", "4"]
    found = json.loads(dgtd("run", *words, "--store", store, "--json").stdout)
    assert found["outcomes"] == {"diverged": 4}
    final = {name: {str(value) for value in each.values()} for name, each in found["final"].items()}
    assert len(set(map(tuple, final.values()))) == 1  # every number is the same infinity
    text = dgtd("export", "--store", store).stdout
    assert {float(row["score"]) for row in csv.DictReader(text.splitlines())} == {np.inf}
