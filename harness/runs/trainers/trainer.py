"""The protocol of everything that runs lanes, and the one loop that runs it."""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.names import look_up
from dgtd.algorithms.replay import State, joined, part_of, refill
from dgtd.algorithms.targets import Target
from dgtd.harness.plugins import answering, installed
from dgtd.harness.runs.checkpoints import Keeper
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import RunSpec

# Lanes run in slices of about so many seconds: compiled code hears neither an alarm nor Ctrl-C.
SLICE, FIRST_SLICE = 0.25, 64


class Trainer(Protocol):
    """What the lanes of a run share: a rule, a predictor and a target at a place. Made from data by `of(spec)`.

    A state has `steps` that every lane has taken, and `died` [lanes], the first step that was not finite, or −1.
    """

    @property
    def spec(self) -> RunSpec:
        """What it was made from."""

    @property
    def target(self) -> Target:
        """A value, or a return distribution."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of `measure`."""

    def start(self, seeds: range) -> Any:
        """The lanes of these seeds before their first step; each seed has streams of its own."""

    def advance(self, state: Any, steps: int) -> None:
        """So many steps more, in place. How a run is divided into calls must not change its numbers."""

    def measure(self, state: Any) -> Floats:
        """[lanes, names]: what is written down at a checkpoint; NaN where a lane is lost."""

    def laws(self, state: Any) -> Floats:
        """[lanes, n]: the last return distributions, flat; n = 0 for a value."""

    def arrays(self, state: Any) -> State | None:
        """All that changes from step to step, as named arrays: the arrays themselves. None: they can't be kept."""

    def restore(self, state: Any, saved: State) -> None:
        """Bring fresh lanes to where `arrays` was taken; ValueError if they are of other lanes."""


def trainer_class(name: str) -> Any:
    """By its entry point in `dgtd.trainers`: ours are declared like anyone's."""
    points = installed("trainers")
    look_up("learner", name, points)
    with answering(f"learner {name!r}"):
        return points[name].load()


def trainer_of(spec: RunSpec) -> Trainer:
    """From data to something that runs; ValueError if the learner can't run at its place."""
    with answering(f"learner {spec.learner.trainer!r}"):
        made: Trainer = trainer_class(spec.learner.trainer).of(spec)
    return made


@lru_cache(maxsize=32)
def prepared(spec: RunSpec) -> Trainer:
    """What the cohorts of a run share, with everything compiled: one step of a lane that is thrown away."""
    made = trainer_of(spec)
    made.advance(made.start(range(1)), 1)
    return made


def train(
    trainer: Trainer, seeds: range, tick: Callable[[], None] = lambda: None, keeper: Keeper | None = None
) -> Lanes:
    """Run lanes from checkpoint to checkpoint; `tick` is called several times a second, and may raise to stop.

    With a keeper the lanes go on from its file, and are written there now and then.
    """
    times = trainer.spec.times()
    state, progress = trainer.start(seeds), Progress(len(times), len(seeds), len(trainer.names))
    if trainer.arrays(state) is None:
        keeper = None
    elif keeper is not None:
        state = _entered(trainer, state, progress, seeds, keeper)
    length, stepping = FIRST_SLICE, 0.0
    for i in range(progress.closed, len(times)):
        while (left := int(times[i]) - state.steps) > 0:
            start, spent = time.perf_counter(), time.process_time()
            trainer.advance(state, min(length, left))
            seconds = time.perf_counter() - start
            stepping += time.process_time() - spent  # of the processor: on a busy machine the clock says more
            length = max(1, int(length * min(2.0, SLICE / max(seconds, 1e-6))))
            tick()
            if keeper is not None and keeper.due():
                progress.steps = state.steps
                keeper.write(state.steps, joined(lanes=trainer.arrays(state) or {}, run=progress.state()))
        progress.curves[i] = trainer.measure(state)
        progress.closed = i + 1
        tick()
    before = 0.0 if keeper is None else keeper.before
    return Lanes(times, progress.curves, state.died, trainer.names, trainer.laws(state), seconds=stepping + before)


class Progress:
    """The curves so far, `closed` of their rows complete, and the steps that were taken."""

    def __init__(self, checkpoints: int, lanes: int, names: int) -> None:
        self.curves = np.full((checkpoints, lanes, names), np.nan)
        self.closed = self.steps = 0

    def state(self) -> State:
        return {"curves": self.curves, "closed": np.array(self.closed), "steps": np.array(self.steps)}

    def restore(self, saved: State) -> None:
        own = self.state()
        refill(own, saved)
        self.closed, self.steps = int(own["closed"]), int(own["steps"])


def _entered(trainer: Trainer, state: Any, progress: Progress, seeds: range, keeper: Keeper) -> Any:
    """The lanes as their checkpoint has them, or as they are before their first step."""
    saved = keeper.load()
    if saved is None:
        return state
    try:
        trainer.restore(state, part_of(saved, "lanes"))
        progress.restore(part_of(saved, "run"))
        state.steps = progress.steps
    except (ValueError, TypeError, KeyError, IndexError) as error:  # arrays that are missing, or of another shape
        keeper.reject(str(error))
        progress.curves[:], progress.closed = np.nan, 0
        return trainer.start(seeds)  # half of the other may have been put back
    keeper.accept(state.steps)
    return state
