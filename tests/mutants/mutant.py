"""A mutant: one deliberate fault in a file of ours, and what must catch it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Catcher:
    """A claim that must not pass, or a test that must fail.

    text   'claim:ID', 'claim:ID=STATUS' for one status alone, or 'test:file::function'
    """

    text: str

    def __post_init__(self) -> None:
        if self.kind not in ("claim", "test"):
            raise ValueError(f"a catcher is 'claim:…' or 'test:…', got {self.text!r}")
        if self.kind == "test" and "::" not in self.text:
            raise ValueError(f"a test is 'test:file::function', got {self.text!r}")

    @property
    def kind(self) -> str:
        """claim or test."""
        return self.text.split(":")[0]

    @property
    def name(self) -> str:
        """The claim's id, or the test's."""
        text = self.text.partition(":")[2]
        return text.rpartition("=")[0] if self._status else text

    @property
    def statuses(self) -> tuple[str, ...]:
        """What a claim says when it has caught something."""
        return (self._status,) if self._status else ("FAIL", "MISSED", "ERROR")

    @property
    def _status(self) -> str:
        last = self.text.rpartition("=")[2]
        return last if last in ("NOT REPLICATED", "INCONCLUSIVE") else ""

    @property
    def suite(self) -> str:
        """The suite of a claim."""
        return self.name.split("/")[0]


@dataclass(frozen=True)
class Mutant:
    """In `file`, `old` becomes `new`. `caught_by` lists claims and tests; one must catch it."""

    name: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, ...] = ()

    @property
    def catchers(self) -> list[Catcher]:
        """What must catch it, in this order."""
        return [Catcher(text) for text in self.caught_by]

    def apply(self, folder: Path) -> None:
        """Put the fault into a copy of the sources."""
        path = folder / self.file
        path.write_text(changed(self, path.read_text(encoding="utf-8")), encoding="utf-8")


def changed(mutant: Mutant, text: str) -> str:
    """The text with the fault; ValueError if `old` is not there exactly once."""
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"mutant {mutant.name!r}: {mutant.old!r} must be in {mutant.file} once, it is {count} times")
    if mutant.old == mutant.new:
        raise ValueError(f"mutant {mutant.name!r} changes nothing")
    return text.replace(mutant.old, mutant.new)
