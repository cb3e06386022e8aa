"""`dgtd new benchmark`: its benchmarks run before they are changed, see what a rule costs, and asv takes them."""

import ast
import importlib.util
import json
import math
import os
import subprocess
import sys
from importlib.metadata import version
from itertools import product

import pytest

from dgtd.harness.cli import main
from tests.harness.asv.scratch import OFFLINE, git
from tests.harness.test_cli import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which the command was given; its module is importable, as asv's installation makes it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    made(tmp_path, "new", "benchmark", "pace")
    yield tmp_path
    sys.modules.pop("pace", None)


def made(folder, *words):
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    assert stopped.value.code == 0


def measured(folder):
    """Every benchmark × parameter: what it returns."""
    path = folder / "benchmarks" / "pace_steps.py"
    spec = importlib.util.spec_from_file_location("pace_steps", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {}
    for kind in (each for each in vars(module).values() if isinstance(each, type)):
        for method in (name for name in vars(kind) if name.startswith(("track_", "time_"))):
            for parameters in product(*kind.params):
                suite = kind()
                suite.setup(*parameters)
                found[method, *parameters] = getattr(suite, method)(*parameters)
    return found


def test_every_benchmark_runs_and_tracks_exact_numbers(folder):
    found = measured(folder)
    tracked = {key: value for key, value in found.items() if key[0].startswith("track_")}
    assert {key[0] for key in found} == {"track_work", "track_flop_ratio", "time_steps"}
    assert {key[1] for key in found} == {"6-50-30", "64-256-256-50", "my network"}
    assert all(math.isfinite(value) and value > 0 for value in tracked.values())
    assert {key: value for key, value in measured(folder).items() if key in tracked} == tracked
    # 6-50-30: what tests/harness/cost/test_work.py counts by hand, over (7·50 + 51·30)·2 + 50·30 of backprop.
    assert found["track_flop_ratio", "6-50-30"] == pytest.approx(20_340 / (2 * (6 * 50 + 50 * 30) + 50 * 30))
    assert all(value <= 4.0 for key, value in tracked.items() if key == ("track_flop_ratio", "64-256-256-50"))


def test_a_rule_that_does_more_work_is_seen(folder):
    before = measured(folder)
    source = folder / "pace.py"
    text = source.read_text()
    assert "target=rho * u," in text
    source.write_text(
        text.replace("target=rho * u,", "target=rho * u + 0.0 * delta * delta,").replace(
            "@rule(", "@rule(linear=False, "
        )
    )
    sys.modules.pop("pace")
    after = measured(folder)
    assert after["track_work", "6-50-30"] > before["track_work", "6-50-30"]


def test_a_commit_without_the_rule_is_skipped_and_not_measured_by_another(folder):
    (folder / "pace.py").unlink()
    sys.modules.pop("pace", None)
    with pytest.raises(NotImplementedError, match="no pace in pace"):
        measured(folder)


def test_times_are_of_loops_inside(folder):
    tree = ast.parse((folder / "benchmarks" / "pace_steps.py").read_text())
    timed = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name.startswith("time_")]
    assert timed
    assert all(isinstance(each.body[-1], ast.For) for each in timed)


def test_the_settings_are_exact_versions_without_dependencies_on_one_thread(folder):
    found = json.loads((folder / "asv.conf.json").read_text())
    wanted = found["matrix"]["req"]
    assert {"torch", "numpy", "numba", "pip+setuptools"} <= set(wanted)
    for name, (each,) in wanted.items():
        assert each == version(name.removeprefix("pip+")).split("+")[0]
    assert found["matrix"]["env_nobuild"]["OMP_NUM_THREADS"] == ["1"]
    assert all("--no-deps" in command for command in found["install_command"])
    ours = json.loads((ROOT / "asv.conf.json").read_text())
    same = ("environment_type", "launch_method", "build_command", "uninstall_command", "version", "dvcs")
    assert {name: found[name] for name in same} == {name: ours[name] for name in same}


def test_what_is_there_stays_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("mine")
    made(tmp_path, "new", "benchmark", "pace")
    assert "write there where your rule is" in capsys.readouterr().out
    assert (tmp_path / "pyproject.toml").read_text() == "mine"
    assert not (tmp_path / "pace.py").exists()
    with pytest.raises(SystemExit) as stopped:
        main(["new", "benchmark", "other"])
    assert stopped.value.code == 2
    assert "asv.conf.json" in capsys.readouterr().err
    assert not (tmp_path / "benchmarks" / "other_steps.py").exists()


def test_the_gate_without_asv_says_what_to_write(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["gate", "HEAD~1"])
    said = capsys.readouterr()
    assert (stopped.value.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert "`dgtd new benchmark NAME`" in said.err


@pytest.mark.slow
def test_asv_finds_and_runs_them(folder):
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a rule")
    path = os.pathsep.join([str(ROOT), str(folder), OFFLINE["ASV_PYTHONPATH"]])
    here = os.environ | OFFLINE | {"ASV_PYTHONPATH": path, "HOME": str(folder)}

    def asv(*words):
        done = subprocess.run(
            [sys.executable, "-m", "asv", *words], cwd=folder, env=here, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    existing = ("-E", f"existing:{sys.executable}")
    asv("machine", "--yes")
    assert "No problems found" in asv("check", *existing)
    said = asv("run", "--quick", "--bench", "track_work", *existing)  # a process each, which imports torch
    assert said.count(" ok\n") == 1
    assert "n/a" not in said
    assert "failed" not in said
