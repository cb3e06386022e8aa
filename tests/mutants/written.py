"""Faults that somebody wrote, tried as the drawn ones are: by all that may see them, not by a check of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import Mutant, changed


@dataclass(frozen=True)
class Written:
    """A fault of a list; `line` is where it begins."""

    mutant: Mutant
    line: int
    kind: str = "written"

    @staticmethod
    def of(mutant: Mutant, sources: Path) -> Written:
        """ValueError if it does not fit the sources."""
        text = (sources / mutant.file).read_text(encoding="utf-8")
        changed(mutant, text)
        return Written(mutant, text[: text.index(mutant.old)].count("\n") + 1)

    @property
    def file(self) -> str:
        return self.mutant.file

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}  {self.mutant.name}"

    def apply(self, folder: Path) -> None:
        """Make it, in a copy of the sources."""
        self.mutant.apply(folder)


def listed(path: Path, sources: Path) -> list[Written]:
    """Of a JSON file: [{"name", "file", "old", "new"}, …]."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Written.of(Mutant(each["name"], each["file"], each["old"], each["new"]), sources) for each in found]
