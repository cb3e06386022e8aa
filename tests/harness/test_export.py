"""Numbers out of the store: final ones, whole curves, and tables for a paper."""

import csv
import io
import json
import re
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from dgtd.harness.experiment.search import SWEEP_SEED
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from tests.harness.runs.lanes import spec
from tests.harness.test_cli import ROOT, dgtd

REPORTED, SWEEP = spec(steps=50), spec(steps=50, root_seed=SWEEP_SEED)
LAW = spec(steps=50, target="cdf", atoms=5, rule="tdc")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "s.sqlite"
    with Store(path) as made:
        execute([Request(each, 4) for each in (REPORTED, SWEEP, LAW)], made, InProcess)
    return path


def table(store, *words):
    done = dgtd("export", "--store", str(store), *words)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout, newline="")))


def test_curves_are_tidy_and_are_what_is_stored(store):
    rows = table(
        store, "--curves", "--problem", "baird", "--rule", "gtd2", "--purpose", "reported", "--metric", "rmspbe"
    )
    with Store(store) as made:
        trial = made.settled_lanes(REPORTED, 16)
    found = np.array([float(row["value"]) for row in rows]).reshape(16, -1)
    np.testing.assert_array_equal(found, trial.of("rmspbe").T)
    assert [int(row["step"]) for row in rows[: len(REPORTED.times())]] == REPORTED.times().tolist()
    assert {(row["rule"], row["predictor"], row["purpose"]) for row in rows} == {("gtd2", "linear", "reported")}
    assert list(rows[0])[-4:] == ["seed", "step", "metric", "value"]


def test_laws_are_what_is_stored(store):
    rows = table(store, "--laws")
    assert {(row["rule"], row["target"], row["state"], row["action"]) for row in rows} == {
        ("tdc", "cdf", "most visited", "")
    }
    with Store(store) as made:
        laws = np.stack([lane.law for lane in made.lanes(run_hash(LAW))])
    np.testing.assert_array_equal(np.array([float(row["F"]) for row in rows]).reshape(16, -1), laws)
    assert [float(row["z"]) for row in rows[:4]] == [-1, -0.5, 0, 0.5]
    assert list(rows[0])[-5:] == ["seed", "state", "action", "z", "F"]


@pytest.mark.slow
def test_laws_of_worlds_have_states_and_actions(tmp_path):
    where = ["--store", str(tmp_path / "s.sqlite"), "--steps", "40", "--seeds", "2", "--atoms", "3"]
    for words in (["--rule", "c51"], ["--rule", "tdc", "--target", "cdf", "--learner", "policy-iteration"]):
        done = dgtd("run", "--problem", "cartpole-v0", *words, "--states", "0,0,0.1,0;0,0,0,1", *where)
        assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "s.sqlite", "--laws")
    found = {(row["rule"], row["state"], row["action"], float(row["z"])) for row in rows}
    states = ("0 0 0.1 0", "0 0 0 1")
    agents = {("td", state, action, z) for state in states for action in ("0", "1") for z in (0.0, 50.0)}
    assert found == agents | {("tdc", state, "", z) for state in states for z in (0.0, 5.0)}
    assert len(rows) == 2 * len(found)


def test_sweep_and_reported_lanes_are_told_apart(store):
    assert {row["root_seed"] for row in table(store, "--purpose", "sweep")} == {str(SWEEP_SEED)}
    assert {row["root_seed"] for row in table(store, "--purpose", "reported")} == {"0"}
    assert len(table(store)) == 48


def test_pandas_reads_it_in_one_line(store, tmp_path):
    import pandas as pd

    assert dgtd("export", "--curves", "--out", str(tmp_path / "c.csv"), "--store", str(store)).returncode == 0
    wide = pd.read_csv(tmp_path / "c.csv").pivot_table(index="step", columns=["rule", "metric"], values="value")
    assert wide["gtd2"]["rmspbe"].notna().all()
    out = tmp_path / "c.parquet"
    assert dgtd("export", "--curves", "--format", "parquet", "--out", str(out), "--store", str(store)).returncode == 0
    assert len(pd.read_parquet(out)) == len(pd.read_csv(tmp_path / "c.csv"))


def test_a_latex_table_has_a_line_per_reported_run(store):
    text = dgtd("export", "--format", "latex", "--store", str(store)).stdout
    lines = text.splitlines()
    assert lines[2] == r"\toprule"
    assert lines[-1] == r"\end{tabular}"
    body = [line for line in lines if line.startswith("baird &")]
    assert len(body) == 2
    assert any("distributional tdc" in line for line in body)
    assert all(line.count("&") == 8 and line.endswith(r" \\") for line in body)
    assert "--" in next(line for line in body if "distributional" not in line)  # a value has no Cramér distance


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--problem", "bairt"], "no problem in the store 'bairt'; did you mean 'baird'?"),
        (["--rule", "gtd3"], "no rule in the store 'gtd3'"),
        (["--purpose", "fun"], "purpose must be 'reported' or 'sweep', got 'fun'"),
        (["--metric", "rmspbe"], "metric goes with --curves"),
        (["--curves", "--format", "latex"], "leave --curves out"),
        (["--laws", "--format", "latex"], "leave --laws out"),
        (["--laws", "--curves"], "two tables"),
        (["--format", "xls"], "format must be 'csv', 'parquet' or 'latex', got 'xls'"),
    ],
)
def test_a_wrong_filter_is_one_line(store, words, says):
    done = dgtd("export", "--store", str(store), *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------------- dgtd runs


def listed(store, *words):
    done = dgtd("runs", "--store", str(store), "--json", *words)
    assert done.returncode == 0, done.stderr
    return {run["run"] for run in json.loads(done.stdout)}


def test_runs_are_filtered_by_problem_rule_and_age(store, tmp_path):
    path = tmp_path / "s.sqlite"
    shutil.copy(store, path)
    of = {"sweep": run_hash(SWEEP), "reported": run_hash(REPORTED), "law": run_hash(LAW)}
    now = datetime.now(UTC)
    ages = {"sweep": timedelta(hours=1), "reported": timedelta(hours=5), "law": timedelta(days=4)}
    with closing(sqlite3.connect(path)) as made, made:
        for name, age in ages.items():
            when = (now - age).isoformat(timespec="seconds")
            made.execute("UPDATE runs SET created = ? WHERE hash = ?", [when, of[name]])
    day = (now - timedelta(days=2)).date().isoformat()
    for words, names in (
        ([], ["sweep", "reported", "law"]),
        (["--problem", "baird"], ["sweep", "reported", "law"]),
        (["--rule", "tdc"], ["law"]),
        (["--rules", "gtd2"], ["sweep", "reported"]),
        (["--since", "2h"], ["sweep"]),
        (["--since", "90m", "--rule", "tdc"], []),
        (["--since", "0.5d"], ["sweep", "reported"]),
        (["--since", "3d"], ["sweep", "reported"]),
        (["--since", "1w"], ["sweep", "reported", "law"]),
        (["--since", day], ["sweep", "reported"]),
        (["--since", (now - timedelta(hours=2)).isoformat()], ["sweep"]),
    ):
        assert listed(path, *words) == {of[name] for name in names}, words
    plain = dgtd("runs", "--store", str(path), "--rule", "tdc").stdout
    assert of["law"] in plain
    assert of["reported"] not in plain


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--since", "yesterday"], "since must be a date, as in 2026-05-31, or an age, as in 2h or 3d"),
        (["--since", "3y"], "got '3y'"),
        (["--since", "-2h"], "got '-2h'"),
        (["--since", ""], "got ''"),
        (["--since", "9999999999999d"], "got '9999999999999d'"),
        (["--since", "2026-13-01"], "got '2026-13-01'"),
        (["--problem", "bairt"], "no problem in the store 'bairt'; did you mean 'baird'?"),
        (["--rule", "gtd3"], "no rule in the store 'gtd3'; did you mean 'gtd2'?"),
    ],
)  # fmt: skip
def test_a_wrong_filter_of_runs_is_one_line(store, words, says):
    done = dgtd("runs", "--store", str(store), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_documented_schema_is_the_stores_and_the_bytes_are_as_it_says(store):
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    documented = {
        name: [re.sub(r"\(.*?\)", "", column).strip() for column in re.sub(r"\([^)]*\)", "", columns).split(",")]
        for name, columns in re.findall(r"^\| `(\w+)` \| (.*) \|$", text.split("## Numbers out")[0], re.MULTILINE)
        if name in ("runs", "lanes", "jobs", "machines")
    }
    with closing(sqlite3.connect(store)) as made:
        tables = [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        real = {name: [row[1] for row in made.execute(f"PRAGMA table_info({name})")] for name in tables}
        rows, blob = made.execute(
            "SELECT checkpoints, curves FROM lanes WHERE run = ?", [run_hash(REPORTED)]
        ).fetchone()
    assert documented.keys() == real.keys()
    for name, columns in real.items():
        assert set(documented[name]) == set(columns), name
    with Store(store) as opened:
        curves = opened.lanes(run_hash(REPORTED))[0].curves
    np.testing.assert_array_equal(np.frombuffer(blob).reshape(rows, -1), curves)


def test_the_documented_columns_are_those_of_a_curve(store):
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8").split("## Numbers out")[1]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    assert [name for cell in cells for name in re.findall(r"`(\w+)`", cell)] == list(table(store, "--curves")[0])
