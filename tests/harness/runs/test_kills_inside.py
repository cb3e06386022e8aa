"""kill -9 in the middle of a cohort: the same command goes on from its checkpoint, to the last bit."""

import os
import shutil
import signal
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from dgtd.harness.places.cartpole import CartPole
from dgtd.harness.places.world import OneByOne
from dgtd.harness.runs.checkpoints import VARIABLE, BadCheckpointError, Checkpoints, read_label
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.spec import Request, RunSpec
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import prepared
from tests import forked
from tests.harness.runs.agents import agent
from tests.harness.runs.lanes import ROOT, run_all
from tests.harness.runs.processes import children
from tests.harness.runs.test_dask import cluster

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
LANDS = all(map(find_spec, ("Box2D", "pygame")))
SOON = "0.1"  # seconds between two checkpoints
COMMAND = (
    "import sys\n"
    "from dgtd.harness.runs.driver import execute\n"
    "from dgtd.harness.runs.executors import InProcess\n"
    "from dgtd.harness.runs.spec import Request, RunSpec\n"
    "from dgtd.harness.runs.store import Store\n"
    "execute([Request(RunSpec.from_json(sys.argv[2]), 2)], Store(sys.argv[1]), InProcess)\n"
)


def kept_step(store: Path) -> int:
    """The step of the checkpoint beside a store; 0 if there is none."""
    try:
        return max(
            (read_label(file)["step"] for file in Checkpoints.beside(store).path.glob("*.checkpoint")), default=0
        )
    except (BadCheckpointError, FileNotFoundError):  # it was removed between two lines
        return 0


def kill_inside(store: Path, what: RunSpec) -> int:
    """Start a run, kill it behind its second checkpoint, and say at which step that was written.

    On a busy machine the signal may come when the run is over: then that one is forgotten, and another is started.
    """
    for _ in range(10):
        if step := _killed(store, what):
            return step
        for file in store.parent.glob(f"{store.stem}*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    raise AssertionError("ten runs were over before they could be killed")


def _killed(store: Path, what: RunSpec) -> int:
    """The step of the last checkpoint of a run that was killed; 0 if it was over."""
    environment, words = os.environ | ONE_THREAD | {VARIABLE: SOON}, (str(store), what.to_json())
    deadline = time.monotonic() + 120
    with forked.started(COMMAND, *words, cwd=ROOT, env=environment) as process:
        while not (first := kept_step(store)) and not process.ended() and time.monotonic() < deadline:
            time.sleep(0.01)
        while kept_step(store) == first and not process.ended() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with Store(store) as opened:
        return kept_step(store) if not opened.counts()["lanes"] else 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "world", "steps"),
    [
        ("dqn", "cartpole-v1", 8_000),
        ("greedy_gq(0.5)", "cartpole-v1", 8_000),
        ("c51", "gym:Acrobot-v1", 4_000),
        pytest.param(
            "dqn", "gym:LunarLander-v3", 4_000,
            marks=pytest.mark.skipif(not LANDS, reason="LunarLander needs the extra 'box2d'"),
        ),
        pytest.param(
            "c51", "vizdoom-defend-the-center", 3_000,
            marks=pytest.mark.skipif(find_spec("vizdoom") is None, reason="needs the extra 'vizdoom'"),
        ),
    ],
)  # fmt: skip
def test_a_killed_cohort_goes_on_inside_and_its_curves_are_the_undisturbed_ones(
    name, world, steps, tmp_path, monkeypatch, capsys
):
    what, war = agent(name, world, steps, lanes=2), tmp_path / "war.sqlite"
    at = kill_inside(war, what)
    assert 0 < at < steps
    kind, taken = CartPole if world.startswith("cartpole") else OneByOne, []
    prepared(what)  # its one step of a lane that is thrown away is not counted
    step = kind.step
    monkeypatch.setattr(kind, "step", lambda self, actions: taken.append(1) or step(self, actions))
    found = run_all(war, [Request(what, 2)])[1]
    assert len(taken) == steps - at
    assert f"go on from step {at:,}" in capsys.readouterr().err
    assert found == run_all(tmp_path / "peace.sqlite", [Request(what, 2)])[1]
    assert len(taken) == 2 * steps - at
    assert not list(tmp_path.glob("*.checkpoints"))


@pytest.mark.slow
def test_a_killed_worker_of_a_pool_costs_no_more_than_what_came_after_the_checkpoint(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv(VARIABLE, SOON)
    what, war, steps = agent("dqn", "cartpole-v1", 12_000, lanes=2), tmp_path / "war.sqlite", []

    def kill_once(done, total):
        if not steps and kept_step(war):
            workers = [pid for pid, words in children(os.getpid()).items() if "spawn_main" in words]
            os.kill(workers[0], signal.SIGKILL)
            steps.append(kept_step(war))

    with Store(war) as store:
        execute([Request(what, 2)], store, executor_maker("pool", 1), progress=kill_once)
    assert f"go on from step {steps[0]:,}" in capfd.readouterr().err
    assert run_all(war, [Request(what, 2)])[1] == run_all(tmp_path / "peace.sqlite", [Request(what, 2)])[1]
    assert not list(tmp_path.glob("*.checkpoints"))


@pytest.mark.slow
def test_a_killed_worker_of_a_cluster_with_the_same_folder_does_not_either(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, SOON)
    what, war, steps = agent("dqn", "cartpole-v1", 12_000, lanes=2), tmp_path / "war.sqlite", []

    with cluster(tmp_path, workers=1) as dask, Store(war) as store:
        executor = dask.executor(1)

        def kill_once(done, total):
            if not steps and kept_step(war):
                dask.processes[1].kill()
                dask.processes[1].wait()
                dask.worker()
            if kept_step(war):
                steps.append(kept_step(war))

        execute([Request(what, 2)], store, lambda: executor, progress=kill_once)
    assert steps == sorted(steps)  # whoever starts again would write a smaller one
    assert steps[-1] > steps[0]
    assert run_all(war, [Request(what, 2)])[1] == run_all(tmp_path / "peace.sqlite", [Request(what, 2)], InProcess)[1]
    assert not list(tmp_path.glob("*.checkpoints"))
