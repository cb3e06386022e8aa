"""Checkpoints: save, load and go on is to go on; what is torn or of something else is never believed."""

import json
import os
import time
from dataclasses import replace

import numpy as np
import pytest

from dgtd.algorithms.agents import Players
from dgtd.algorithms.replay import Replay, joined, refill
from dgtd.algorithms.stepping import Adam
from dgtd.harness.places.cartpole import CartPole
from dgtd.harness.places.gym import GymWorld
from dgtd.harness.runs import checkpoints
from dgtd.harness.runs.checkpoints import (
    FOLDER,
    KEPT,
    BadCheckpointError,
    Checkpoints,
    name_of,
    read,
    read_label,
    write,
)
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Outcome, Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import Progress
from dgtd.harness.runs.trainers.world import Book, Playing
from dgtd.harness.runs.work import Cohort, Task, carry_out
from tests.harness.runs.agents import AGENTS, KilledError, agent, cohort, keeper
from tests.harness.runs.lanes import rows, spec


@pytest.fixture(autouse=True)
def _at_every_look(monkeypatch):
    """However long a write takes, the next one is not put off."""
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


def killed(what, folder, ticks):
    """A cohort that ends in the middle, its last checkpoint behind it."""
    with pytest.raises(KilledError):
        cohort(what, keeper(folder, []), ticks)


def resumed(what, folder):
    """What comes of going on, how often the clock was looked at, and what was said."""
    said = []
    return *cohort(what, keeper(folder, said)), said


@pytest.mark.parametrize("world", ["cartpole-v0", "gym:Acrobot-v1", "cartpole-deaf", "treadmill"])
@pytest.mark.parametrize("name", AGENTS)
def test_save_load_and_go_on_is_to_go_on(name, world, tmp_path):
    what = agent(name, world)
    whole, looks = cohort(what)
    killed(what, tmp_path, ticks=0.6 * looks)
    found, again, said = resumed(what, tmp_path)
    assert found == whole
    assert again < 0.5 * looks
    assert [line.rpartition(" from step ")[0] for line in said] == ["lanes 0 to 2 of run a run go on"]


def test_writing_checkpoints_changes_nothing(tmp_path):
    what = agent("c51")
    assert cohort(what, keeper(tmp_path, []))[0] == cohort(what)[0]


def forgets(kind, *names):
    """`restore` of a kind, but for some of its arrays."""
    original = kind.restore

    def restore(self, saved):
        arrays = self.state() if hasattr(self, "state") else joined(**self.parts())
        now = {name: np.array(array) for name, array in arrays.items()}
        original(self, saved | {name: now[name] for name in names})

    return kind, restore


SABOTAGE = {
    "optimiser": forgets(Adam, "first", "second", "count"),
    "moments": forgets(Adam, "second"),
    "steps of the optimiser": forgets(Adam, "count"),
    "weights": forgets(Players, "theta"),
    "frozen copy": forgets(Players, "frozen"),
    "draws of the replay": forgets(Replay, "streams"),
    "world": forgets(CartPole, "state"),
    "ages of episodes": forgets(CartPole, "age"),
    "starts": forgets(CartPole, "streams"),
    "episodes so far": forgets(Book, "episode"),
    "exploration": forgets(Playing, "own/explores"),
    "curves": forgets(Progress, "curves"),
}


@pytest.mark.parametrize("forgotten", SABOTAGE)
def test_a_checkpoint_that_forgets_something_is_seen(forgotten, tmp_path, monkeypatch):
    begin = CartPole.__init__
    monkeypatch.setattr(
        CartPole, "__init__", lambda self, streams, _: begin(self, streams, 5)
    )  # before they fall, and no checkpoint is taken where one begins
    what = agent("dqn")
    whole, looks = cohort(what)
    killed(what, tmp_path, ticks=0.57 * looks)
    kind, restore = SABOTAGE[forgotten]
    monkeypatch.setattr(kind, "restore", restore)
    assert resumed(what, tmp_path)[0] != whole


def test_a_checkpoint_that_forgets_the_replays_position_is_seen(tmp_path, monkeypatch):
    what = agent("dqn")
    whole, looks = cohort(what)
    killed(what, tmp_path, ticks=0.6 * looks)
    original = Replay.restore

    def restore(self, saved):
        original(self, saved)
        self.added = self.capacity  # full, and the next one overwrites the first

    monkeypatch.setattr(Replay, "restore", restore)
    assert resumed(what, tmp_path)[0] != whole


def test_an_environment_that_goes_elsewhere_is_not_believed(tmp_path, monkeypatch):
    """Actions are taken again; one that is forgotten leads to another observation."""
    what = agent("dqn", "gym:Acrobot-v1")
    whole, looks = cohort(what)
    killed(what, tmp_path, ticks=0.6 * looks)
    original = GymWorld._again
    monkeypatch.setattr(GymWorld, "_again", lambda self, lane, n, taken: original(self, lane, n, taken[:-1]))
    found, again, said = resumed(what, tmp_path)
    assert (found, again) == (whole, looks)  # from the beginning
    assert len(said) == 1
    assert "is removed, the same seeds and actions did not lead to the same observations" in said[0]


# ---------------------------------------------------------------------- files


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[len(data) // 2] ^= 1
    elif how == "torn":
        del data[len(data) * 2 // 3 :]
    elif how == "empty":
        data.clear()
    elif how == "text":
        data[:] = b"something else, and not ours\n" * 100
    elif how == "label":
        data[40] = 0
    else:  # another format, its checksum right
        data[:] = data.replace(b'"format": 2', b'"format": 9')
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["flipped", "torn", "empty", "text", "label", "format"])
def test_a_damaged_checkpoint_is_removed_in_one_line_and_the_cohort_starts_again(how, tmp_path):
    what = agent("dqn", steps=300)
    whole, looks = cohort(what)
    killed(what, tmp_path, ticks=0.6 * looks)
    path = keeper(tmp_path, []).path
    damage(path, how)
    said = []
    kept = keeper(tmp_path, said)
    assert kept.load() is None
    assert not path.exists()
    assert len(said) == 1
    assert "is removed, it " in said[0]
    assert cohort(what, kept) == (whole, looks)


@pytest.mark.parametrize("other", [{"run": "another"}, {"seeds": [3, 6]}, {"code": "x"}, {"machine": "another torch"}])
def test_a_checkpoint_of_something_else_is_not_believed(other, tmp_path):
    ours, said = keeper(tmp_path, [], code="ours", machine="this"), []
    ours.write(5, {"a": np.arange(3)})
    assert list(ours.load()["a"]) == [0, 1, 2]
    theirs = keeper(tmp_path, said, **{"code": "ours", "machine": "this"} | other)
    assert theirs.load() is None
    assert f"it is of another {next(iter(other))}" in said[0]
    assert not ours.path.exists()


def test_lanes_of_another_shape_are_not_restored(tmp_path):
    """A label that lies: the file is whole, its arrays are of a smaller cohort."""
    killed(agent("dqn", lanes=2), tmp_path, ticks=30)
    what = agent("dqn")
    found, _, said = resumed(what, tmp_path)
    assert found == cohort(what)[0]
    assert "of shape" in said[0]


def test_every_kind_of_array_comes_back_as_it_was(tmp_path):
    state = {
        "doubles": np.array([[np.nan, -0.0], [np.inf, 1e-310]]), "single": np.float32(1) / np.arange(1, 5, dtype="f4"),
        "words": np.array([2**64 - 1], dtype=np.uint64), "flags": np.array([True, False]), "none": np.zeros((0, 4)),
        "number": np.array(7), "slice": np.arange(12.0).reshape(3, 4)[:, :2],
    }  # fmt: skip
    path = tmp_path / "c.checkpoint"
    write(path, {"run": "r"}, state)
    label, found = read(path, {"run": "r"})
    for name, array in state.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
    assert read_label(path) == label
    assert os.listdir(tmp_path) == ["c.checkpoint"]
    with pytest.raises(ValueError, match="saved state must have 'more', got doubles"):
        refill({"more": np.zeros(1)}, found)


def test_an_array_of_objects_is_refused(tmp_path):
    path = tmp_path / "c.checkpoint"
    write(path, {}, {"a": np.array(["2026-01-01"], dtype="datetime64[D]")})
    with pytest.raises(BadCheckpointError, match="it has an array of <M8"):
        read(path, {})


def test_a_full_disk_is_one_line_and_no_failure(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write", full)
    what, said = agent("dqn", steps=300), []
    assert cohort(what, keeper(tmp_path, said))[0] == cohort(what)[0]
    assert len(said) == 1
    assert said[0].endswith("can't be written: No space left on device")


def test_a_limit_that_rings_meanwhile_is_heard_and_the_checkpoint_stays(tmp_path, monkeypatch):
    kept, said = keeper(tmp_path, []), []
    kept.write(1, {"a": np.zeros(1)})

    def rings(*_):
        raise TimeoutError("run took more than 1 s")

    for name in ("read", "write"):
        monkeypatch.setattr(checkpoints, name, rings)
    late = keeper(tmp_path, said)
    with pytest.raises(TimeoutError):
        late.load()
    with pytest.raises(TimeoutError):
        late.write(2, {})
    assert kept.path.exists()
    assert not said


def test_a_worker_that_does_not_see_the_store_writes_nothing(tmp_path):
    kept = keeper(tmp_path, [])
    (tmp_path / "s.sqlite").unlink()
    kept.write(1, {"a": np.zeros(1)})
    assert not list(tmp_path.iterdir())


def test_a_slow_disk_gets_fewer_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SHARE", 0.01)
    monkeypatch.setattr(checkpoints, "write", lambda *_: time.sleep(0.05))
    kept = keeper(tmp_path, [])
    start = time.monotonic()
    kept.write(1, {})
    assert kept._next - start > 100 * 0.05


# ---------------------------------------------------------------------- the folder beside the store


def test_the_checkpoint_is_gone_when_its_cohort_is_stored(tmp_path, monkeypatch):
    monkeypatch.setenv(checkpoints.VARIABLE, "1e-9")
    what, written = agent("dqn", steps=300), []
    monkeypatch.setattr(checkpoints, "write", lambda path, *rest: (write(path, *rest), written.append(path)))
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(what, 3)], store, InProcess)
        assert store.checkpoints.size() == {}
    assert {path.name for path in written} == {name_of(run_hash(what), range(3))}
    assert not list(tmp_path.glob("*.checkpoints"))


def test_a_cohort_that_timed_out_goes_on_and_one_that_failed_does_not(tmp_path, monkeypatch):
    what = agent("dqn", steps=300)
    with Store(tmp_path / "s.sqlite") as store:
        folder = store.checkpoints
        task = replace(Task.of(Cohort(what, 0)), checkpoints=str(folder.path), every=1e-9)
        for outcome, stays in ((Outcome.TIMED_OUT, True), (Outcome.INTERRUPTED, True), (Outcome.FAILED, False)):
            carry_out(task)
            assert folder.size()["files"] == 1
            monkeypatch.setattr(
                "dgtd.harness.runs.driver.carry_out",
                lambda task, outcome=outcome: replace(
                    carry_out(task),
                    outcome=outcome,
                    lanes=tuple(replace(lane, outcome=outcome) for lane in carry_out(task).lanes),
                ),
            )
            execute([Request(what, 3)], store, InProcess)
            assert bool(folder.size()) is stays


def test_a_rule_that_is_run_twice_is_run_from_its_beginning_the_second_time(tmp_path):
    """The second run neither reads nor writes a checkpoint: two results that agree are of two runs."""
    what = agent("dqn", steps=300)
    (tmp_path / "s.sqlite").touch()
    folder = Checkpoints.beside(tmp_path / "s.sqlite")
    task = replace(Task.of(Cohort(what, 0, twice=True)), checkpoints=str(folder.path), every=1e-9)
    first = carry_out(task)
    second = carry_out(task)  # its first half goes on from the file
    assert not first.unsteady
    assert not second.unsteady
    assert second.seconds > 0
    assert [lane.curves.tobytes() for lane in first.lanes] == [lane.curves.tobytes() for lane in second.lanes]


def test_what_nobody_goes_on_from_is_removed_by_the_next_run(tmp_path):
    what, said = agent("dqn", steps=100), []
    with Store(tmp_path / "s.sqlite", say=said.append) as store:
        execute([Request(what, 3)], store, InProcess)
        before = rows(store, what)
        folder = store.checkpoints
        folder.path.mkdir()
        ours = Task.of(Cohort(what, 0)).parts["code"]
        names = {
            name_of(run_hash(what), range(3)): {"code": ours},  # stored meanwhile
            name_of("0" * 16, range(3)): {"code": "before"},
            name_of("1" * 16, range(3)): {"code": ours},  # somebody may go on from this one
            name_of("2" * 16, range(3)): {"code": ours},
        }
        for name, label in names.items():
            write(folder.path / name, label, {"a": np.zeros(3)})
        long_ago = time.time() - KEPT - 60
        os.utime(folder.path / name_of("2" * 16, range(3)), (long_ago, long_ago))
        (folder.path / "torn.checkpoint").write_bytes(b"dg")
        (folder.path / "notes.txt").write_text("a user's")
        execute([Request(what, 3)], store, InProcess)
        assert sorted(path.name for path in folder.path.iterdir()) == [name_of("1" * 16, range(3)), "notes.txt"]
        assert said == [f"3 checkpoints in {str(folder.path)!r} are removed: damaged, of other code, old"]
        assert rows(store, what) == before


def test_every_run_has_checkpoints_but_not_in_memory(tmp_path, monkeypatch):
    monkeypatch.setenv(checkpoints.VARIABLE, "1e-9")
    tasks = []

    class Spy(InProcess):
        def submit(self, fn, /, task):
            tasks.append(task.checkpoints)
            return super().submit(fn, task)

    with Store(tmp_path / "s.sqlite") as store, Store(":memory:") as memory:
        execute([Request(spec(steps=10), 4)], store, Spy)
        execute([Request(agent("dqn", steps=100), 3)], memory, Spy)
        execute([Request(agent("dqn", steps=100), 3)], store, Spy)
    folder = str(tmp_path / f"s.sqlite{FOLDER}")
    assert tasks == [folder, "", folder]


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf"])
def test_a_wrong_interval_is_an_error_before_anything_runs(text, tmp_path, monkeypatch):
    monkeypatch.setenv(checkpoints.VARIABLE, text)
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(ValueError, match=f"seconds, got '{text}'"):
        execute([Request(spec(steps=10), 4)], store, InProcess)


def test_the_commands_count_and_remove_what_is_left(tmp_path, capsys):
    from dgtd.harness.commands.store import clean, info

    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        execute([Request(spec(steps=10), 4)], store, InProcess)
        store.checkpoints.path.mkdir()
        write(store.checkpoints.path / "a.checkpoint", {}, {"a": np.zeros(100)})
    info(path, as_json=True)
    found = json.loads(capsys.readouterr().out)["checkpoints"]
    assert found["files"] == 1
    assert found["bytes"] > 800
    info(path, as_json=False)
    assert f"checkpoints 1 files, {found['bytes']} bytes" in capsys.readouterr().out
    clean(path)
    assert f"removed: 1 files, {found['bytes']} bytes" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.checkpoints"))
    with pytest.raises(ValueError, match="no store"):
        clean(tmp_path / "other.sqlite")
