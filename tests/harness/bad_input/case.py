"""A bad command, and how commands are varied option by option."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """Words of a command line that must be refused, and what the message must name."""

    family: str
    words: tuple[str, ...]
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.family}: dgtd {' '.join(map(ascii, self.words))}"


STORE = ("--store", "none.sqlite")
IN_PROCESS = ("--executor", "in-process", *STORE)
RUN = (
    "run", "--problem", "two_state", "--rule", "gtd2", "--alpha", "0.01", "--beta", "0.01", "--steps", "50",
    "--seeds", "2", *IN_PROCESS,
)  # fmt: skip
SWEEP = (
    "sweep", "--problem", "two_state", "--rule", "gtd2", "--steps", "50", "--seeds", "2", "--sweep-seeds", "2",
    *IN_PROCESS,
)  # fmt: skip
COMPARE = (
    "compare", "--problems", "two_state", "--rules", "gtd2,tdc", "--steps", "50", "--seeds", "2", "--out", "made",
    *IN_PROCESS,
)  # fmt: skip
SUITE = ("suite", "contraction", *IN_PROCESS)
EXPLAIN = ("explain", "contraction/cramer", *IN_PROCESS)
CERTIFY = ("certify", "gtd2", "--problem", "two_state", "--alpha", "0.01", "--beta", "0.01")


def having(command: tuple[str, ...], option: str, *value: str) -> tuple[str, ...]:
    """The command with this value of an option, instead of the one it has."""
    if option not in command:
        return (*command, option, *value)
    at = command.index(option)
    return (*command[: at + 1], *value, *command[at + 2 :])


def without(command: tuple[str, ...], option: str) -> tuple[str, ...]:
    """The command without an option and its value."""
    at = command.index(option)
    return (*command[:at], *command[at + 2 :])
