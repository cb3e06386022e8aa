"""Learners by name at places by name: what a user says, completed by the kind of learner that fits the place."""

from __future__ import annotations

from typing import Any

from harness.places.place import find_place
from harness.runs.spec import Learner, PlaceSpec, Probe, RunSpec, States
from harness.runs.trainers.trainer import trainer_class
from harness.runs.words import Words


def kind_at(place: str, kind: str = "") -> Any:
    """The class of a kind of learner: the place's own, unless one is named."""
    return trainer_class(kind or find_place(place).learner)


def learner(kind: str, rule: str, place: str, **said: Any) -> Learner:
    """A learner of a kind, with its defaults for whatever was not said."""
    made: Learner = kind_at(place, kind).learner(Words.of(rule, place, **said), kind)
    return made


def agent_learner(rule: str, world: str, target: str = "cdf", *said: Any, **more: Any) -> Learner:
    """An agent; `said` are α, β and the number of atoms."""
    return learner("agent", rule, world, target=target, **_named(said), **more)


def iterating_learner(rule: str, world: str, target: str = "value", *said: Any, **more: Any) -> Learner:
    """Policy iteration; `said` are α, β and the number of atoms."""
    return learner("policy-iteration", rule, world, target=target, **_named(said), **more)


def _named(said: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("alpha", "beta", "atoms"), said, strict=False))


def run_spec(place: str, made: Learner, steps: int, seed: int = 0, purpose: str = "", states: States = ()) -> RunSpec:
    """A run from its first step on, with the checkpoints of its kind; return distributions are kept at these states.

    purpose   names the lanes' streams; '' for those that every learner on a finite problem shares
    """
    times = trainer_class(made.trainer).times(steps)
    axes = (("purpose", purpose or ("lanes" if find_place(place).acts else "transitions")),)
    return RunSpec(PlaceSpec(place), made, Probe(times, states=states), seed, axes)
