"""A claim: a sentence with an id and a source, and an exact check, or the runs it needs and how they are judged."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dgtd.algorithms.names import look_up
from dgtd.algorithms.rule import Promise, Rule
from dgtd.harness.judging.verdicts import Finding
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.work import Job

BUDGET = 1e-3  # chance of any false FAIL in one run of every suite together, split over the sampled checks
FINDINGS = 0.05  # chance of any false word on one of the paper's figures: what a reader of a figure expects
PROFILES = ("ci", "full", "paper")
FULL = PROFILES[1:]  # of claims that take too long for CI


@dataclass(frozen=True)
class Setting:
    """How hard to look: the profile, the seed, and the false-alarm rate that this check may spend.

    figures   how many claims each of the paper's figures has in this profile: they share a budget of its own
    look      how often the lanes of a figure's claim have been doubled; most: and how many there may be
    """

    profile: str = "ci"
    seed: int = 0
    false_alarm: float = BUDGET
    figures: Mapping[str, int] = field(default_factory=dict)
    look: int = 0
    most: int | None = None

    def __post_init__(self) -> None:
        look_up("profile", self.profile, dict.fromkeys(PROFILES))
        if self.seed < 0:
            raise ValueError(f"seed must be 0 or more, got {self.seed}")

    def lanes(self, first: int) -> int:
        """How many, if there are so many at the first look: what a figure's claim asks of its lanes."""
        grown = first * 2**self.look
        return grown if self.most is None else max(first, min(grown, self.most))


Need = Request | Job
Needs = Callable[[Setting], Sequence[Need]]
# Takes what was needed, in order: a Lanes for a run, for a job what its function returned.
Judge = Callable[[list[Any], Setting], Finding]


@dataclass(frozen=True)
class Claim:
    """Exact (`check`, nothing sampled), or sampled: `needs` names runs and jobs, `judge` weighs what they gave.

    control   a wrong algorithm that the same check must FAIL: the check's own proof that it can
    promise   what a rule must have promised for the claim to bind it
    figure    what a figure of the paper shows: if it does not hold here, that is a finding, and no failure of ours
    confirm   False where a FAIL stands as it is: its sample is of settings, and fresh seeds would cost as much again
    seeded    False for an exact check that draws no points: it is computed once for all seeds
    file      of a suite that is no package: the text that names it; whoever loads it fills it in
    """

    id: str
    says: str
    source: str
    check: Callable[[Setting], Finding] | None = None
    needs: Needs | None = None
    judge: Judge | None = None
    rule: Rule | None = None
    promise: Promise | None = None
    control: bool = False
    figure: bool = False
    confirm: bool = True
    seeded: bool = True
    profiles: tuple[str, ...] = PROFILES
    file: str = ""

    def __post_init__(self) -> None:
        exact, sampled = self.check is not None, self.needs is not None and self.judge is not None
        if exact == sampled:
            raise ValueError(f"claim {self.id!r} must have a check, or needs and a judge")
        if sampled and not self.seeded:
            raise ValueError(f"claim {self.id!r} is sampled, so its seed matters")

    @property
    def suite(self) -> str:
        """The first word of the id, or the file."""
        return self.file or self.id.split("/")[0]

    @property
    def family(self) -> str:
        """The figure of the paper that it is about, as its source names it."""
        match = re.match(r"Figure \d+", self.source)
        return match[0] if match else self.source

    @property
    def sampled(self) -> bool:
        """Whether it rests on sampled numbers: it has a share of a budget; a FAIL of theory is confirmed."""
        return self.needs is not None

    @property
    def promised(self) -> bool:
        """Whether the rule that it is about claims this of itself."""
        return self.promise is None or self.rule is None or self.promise in self.rule.promises


Suite = Callable[[Rule | None], list[Claim]]  # claims about a user's rule, or about the suite's own
