"""What a user says of a learner, before its trainer has filled in the rest."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from algorithms.rules import PUBLISHED, Published
from harness.runs.rule_files import reference
from harness.runs.spec import FileRef, PredictorSpec, StepSchedule


def named(text: str) -> FileRef:
    """A published agent, or a rule."""
    return FileRef(text) if text in PUBLISHED else reference(text, PUBLISHED)


def published(rule: FileRef) -> Published | None:
    """The row of a published agent; None for a rule."""
    return None if rule.path else PUBLISHED.get(rule.name)


@dataclass(frozen=True)
class Words:
    """A rule, or a published agent by its name, at a place by name; None is what the user left open.

    settings   of the kind of learner: a `Control`'s or an `Iteration`'s
    """

    rule: FileRef
    place: str
    target: str = "value"
    alpha: float | None = None
    beta: float | None = None
    atoms: int | None = None
    projection: str = "cramer"
    predictor: PredictorSpec | None = None
    schedule: StepSchedule = field(default_factory=StepSchedule)
    radius: float | None = None
    cohort: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(rule: str | FileRef, place: str, **said: Any) -> Words:
        """What is no word of every learner is a setting of its kind."""
        if isinstance(rule, str):
            rule = named(rule)
        common = {each.name for each in fields(Words)}
        settings = {name: value for name, value in said.items() if name not in common}
        return Words(rule, place, **{name: said[name] for name in said if name in common}, settings=settings)

    def or_else(self, name: str, default: Any) -> Any:
        """What was said, or the default."""
        said = getattr(self, name)
        return default if said is None else said
