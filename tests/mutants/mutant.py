"""A mutant: one deliberate fault in a file of ours or in a user's rule, and what must catch it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RULE_FILE = "mine.py"  # a user's rule, at the top of the copy
RULE = f"{RULE_FILE}:mine"


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
    """In `file`, `old` becomes `new`. `caught_by` lists catchers, claims first; each must pass without the fault."""

    name: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, ...] = ()

    @property
    def catchers(self) -> list[Catcher]:
        """What must catch it, in this order."""
        return [Catcher(text) for text in self.caught_by]

    @property
    def rule(self) -> str:
        """The text of the right rule that a user brings; empty if the fault is in a file of ours."""
        return ""

    def prepare(self, folder: Path) -> None:
        """Put into a copy what the catchers need, still without the fault."""

    def apply(self, folder: Path) -> None:
        """Put the fault into a copy of the sources."""
        path = folder / self.file
        path.write_text(changed(self, path.read_text(encoding="utf-8")), encoding="utf-8")


@dataclass(frozen=True)
class UserMutant(Mutant):
    """A fault in a rule that a user brings: `right` is the rule file without it, and the claims judge the rule."""

    right: str = ""

    @property
    def rule(self) -> str:
        """The text of the right rule."""
        return self.right

    def prepare(self, folder: Path) -> None:
        """The user's rule file."""
        (folder / RULE_FILE).write_text(self.right, encoding="utf-8")


def of_user(name: str, right: str, old: str, new: str, *caught_by: str) -> UserMutant:
    """A fault in a user's rule `mine`."""
    return UserMutant(name, RULE_FILE, old, new, caught_by, right)


def changed(mutant: Mutant, text: str) -> str:
    """The text with the fault; ValueError if `old` is not there exactly once."""
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"mutant {mutant.name!r}: {mutant.old!r} must be in {mutant.file} once, it is {count} times")
    if mutant.old == mutant.new:
        raise ValueError(f"mutant {mutant.name!r} changes nothing")
    return text.replace(mutant.old, mutant.new)
