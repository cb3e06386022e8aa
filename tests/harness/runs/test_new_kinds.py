"""A new trainer and new places, each one file from `dgtd new`: through compare, store, Dask and page."""

import json
import os

import pytest

from tests.harness.runs.test_dask import cluster
from tests.harness.test_cli import dgtd


def brought(folder, kind, name):
    """The folder of a new plug-in, declared as an installation would declare it."""
    assert dgtd("new", kind, name, cwd=folder).returncode == 0
    inside = folder / name / f"{name}-0.1.0.dist-info"
    inside.mkdir()
    (inside / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (inside / "entry_points.txt").write_text(f"[dgtd.{kind}s]\n{name} = {name}:{name}\n")
    return str(folder / name)


@pytest.fixture
def places(tmp_path):
    kinds = (("trainer", "plain"), ("problem", "house"), ("world", "corridor"))
    return os.pathsep.join(brought(tmp_path, kind, name) for kind, name in kinds)


def compared(folder, path, name, *words):
    out = folder / name
    done = dgtd(
        "compare", *words, "--store", str(folder / f"{name}.sqlite"), "--out", str(out), "--json", cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), (out / "report.html").read_text(encoding="utf-8")


TABLE = ("--rules", "gtd2,tdc", "--targets", "value,cdf", "--steps", "60", "--seeds", "6", "--atoms", "5")
SIZES = ("--alpha", "0.05", "--beta", "0.05")


@pytest.mark.slow
def test_a_new_trainer_on_a_new_problem_is_the_linear_one_in_numbers(tmp_path, places):
    words = ("--problems", "house", *TABLE, *SIZES)
    ours, page = compared(tmp_path, places, "plain", *words, "--learner", "plain")
    linear, _ = compared(tmp_path, places, "linear", *words)
    assert "--learner plain" in ours["command"]
    assert "house" in page
    for label, numbers in ours["problems"]["house"].items():
        found, expected = (each["metrics"]["rmspbe"]["final"]["estimate"] for each in
                           (numbers, linear["problems"]["house"][label]))  # fmt: skip
        assert found == pytest.approx(expected, rel=1e-9)
        assert numbers["run"] != linear["problems"]["house"][label]["run"]


@pytest.mark.slow
def test_they_run_on_dask_as_here(tmp_path, places, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", places)
    words = ("--problems", "house", *TABLE, *SIZES, "--learner", "plain")
    with cluster(tmp_path) as dask:
        dask.worker(places)
        dask.executor(1)
        there, _ = compared(tmp_path, places, "there", *words, "--executor", "dask", "--scheduler", dask.address)
    here, _ = compared(tmp_path, places, "here", *words)
    for label, numbers in here["problems"]["house"].items():
        assert there["problems"]["house"][label]["metrics"] == numbers["metrics"]


@pytest.mark.slow
def test_agents_act_in_a_new_world(tmp_path, places):
    found, page = compared(
        tmp_path, places, "world", "--problems", "corridor", "--rules", "dqn,c51", "--steps", "600", "--seeds", "3",
        "--alpha", "0.01", "--begin", "64", "--batch", "16", "--predictor", "mlp(8,relu)",
    )  # fmt: skip
    assert list(found["problems"]["corridor"]) == ["DQN", "C51"]
    assert "Learning in corridor" in page
