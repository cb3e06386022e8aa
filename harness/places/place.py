"""Places: a finite problem or a world, by name, behind one protocol."""

from __future__ import annotations

from typing import Protocol

from dgtd.harness.oracle.metrics import Score
from dgtd.harness.places.world import find_world, is_world
from dgtd.harness.plugins import find_problem


class Place(Protocol):
    """What the harness knows of where learning happens. A `Problem` and a `WorldInfo` are places."""

    @property
    def name(self) -> str:
        """As it is stored."""

    @property
    def summary(self) -> str:
        """One line."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Numbers of a lane: the first is tested, the others are described. Each says what a diverged lane counts."""

    @property
    def learner(self) -> str:
        """The kind of learner that fits, unless a user names another."""

    @property
    def acts(self) -> bool:
        """Whether lanes act there, rather than sample a table."""

    @property
    def rising(self) -> tuple[str, ...]:
        """Metrics of which more is better."""

    @property
    def returns(self) -> tuple[float, float]:
        """Where returns lie, for the atoms of return distributions."""

    @property
    def identity(self) -> str:
        """What decides its numbers, beside our own code: runs are stored under it."""


def find_place(name: str) -> Place:
    return find_world(name) if is_world(name) else find_problem(name)
