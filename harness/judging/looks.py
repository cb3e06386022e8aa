"""Judging until it is decided: how far it may go is declared before the first look and stored; figures share 5 %.

A claim about a figure may be judged at several looks, at each with twice the lanes of the one before. It spends of its
share the part √t by the time it has a share t of all the lanes that were declared: a union bound over the looks, so
that any kind of claim may be judged, and any may stop for any reason.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dgtd.algorithms.digest import digest
from dgtd.harness.judging.claims import FINDINGS, Claim, Need, Setting
from dgtd.harness.judging.sequential import looks
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job

BATCHES = 5  # doublings of the first batch, unless it is said how many seeds there may be
UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PART = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>s|m|min|h|seeds?)")


@dataclass(frozen=True)
class AtMost:
    """How far to go: `seeds` is part of the test, and `seconds` is not; None: no limit of that kind."""

    seeds: int | None = None
    seconds: float | None = None

    @staticmethod
    def of(text: str | None, until_decided: bool = True) -> AtMost:
        """'2000 seeds', '2h', or both with a comma."""
        if text is not None and not until_decided:
            raise ValueError("at_most goes with until_decided")
        seeds, seconds = None, None
        for part in [] if text is None else text.split(","):
            match = _PART.fullmatch(part.strip())
            if match is None or not float(match["number"]) > 0:
                raise ValueError(f"at_most must be as in '2h', '2000 seeds' or '2h,2000 seeds', got {text!r}")
            if match["unit"].startswith("seed"):
                seeds = int(float(match["number"]))
            else:
                seconds = float(match["number"]) * UNITS[match["unit"]]
        return AtMost(seeds, seconds)

    @property
    def options(self) -> list[str]:
        """As a command's; how long it may take is the reader's affair."""
        return ["--until-decided", *([] if self.seeds is None else ["--at-most", f"{self.seeds} seeds"])]

    def looks(self, first: int) -> tuple[int, ...]:
        """Numbers of seeds at which it is asked what is decided, from the first batch on."""
        most = first * 2**BATCHES if self.seeds is None else self.seeds
        if most < first:
            raise ValueError(f"at_most must allow the first batch of {first} seeds, got {most} seeds")
        return looks(first, most)


# ---------------------------------------------------------------------- what was declared


def declared(experiment: str, looks: list[int]) -> list[int]:
    """A job, so that what was declared is in the store."""
    return looks


def declaration(experiment: str, at: tuple[int, ...], store: Store, what: str) -> Job:
    """What is to be stored before the first look; ValueError if the same experiment was declared otherwise.

    A test that went on beyond its last look would no longer keep its error rate.
    """
    job = Job.of(declared, experiment=experiment, looks=list(at))
    for other in store.parameters_of(job.function):
        if other["experiment"] == experiment and other["looks"] != list(at):
            raise ValueError(
                f"at_most of {what} was declared: {other['looks'][-1]} seeds, from {other['looks'][0]} on; "
                "going elsewhere is a new experiment: take another --seed"
            )
    return job


# ---------------------------------------------------------------------- claims about figures

# Judges some claims, each in a setting of its own; what somebody interrupted is left out. Gives verdicts by id.
JudgedAt = Callable[[list[tuple[Claim, Setting]]], dict[str, str]]


@dataclass(frozen=True)
class Looks:
    """At how many lanes a claim is judged, and what part of its share of the error rate each look may spend."""

    sizes: tuple[int, ...]

    @staticmethod
    def of(claim: Claim, setting: Setting, needs: Callable[[Claim, Setting], list[Need]]) -> Looks:
        """As long as there are more lanes to be had: a claim whose needs do not grow is judged once."""
        sizes: list[int] = []
        for look in itertools.count() if setting.most is not None else range(BATCHES + 1):
            size = _size(needs(claim, replace(setting, look=look)))
            if sizes and size <= sizes[-1]:
                break
            sizes.append(size)
        return Looks(tuple(sizes))

    @property
    def parts(self) -> list[float]:
        reached = np.sqrt(np.array(self.sizes) / self.sizes[-1])
        return np.diff(reached, prepend=0.0).tolist()


def _size(needs: list[Need]) -> int:
    """Of the evidence: the lanes of a run, or as many jobs as there are."""
    return max([each.seeds for each in needs if isinstance(each, Request)], default=len(needs))


def declarations(claims: dict[str, tuple[Looks, list[Need]]], store: Store) -> list[Job]:
    """One for each claim that may grow; its first needs say which experiment it is."""
    return [
        declaration(digest(id_, sorted(map(_hash, needs))), looks.sizes, store, f"claim {id_!r}")
        for id_, (looks, needs) in claims.items() if len(looks.sizes) > 1
    ]  # fmt: skip


def _hash(need: Need) -> str:
    return run_hash(need.spec) if isinstance(need, Request) else need.hash


def findings(
    claims: list[Claim], setting: Setting, judged_at: JudgedAt, looks: dict[str, Looks], seconds: float | None,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Each figure's claims share FINDINGS, by Holm's steps: what is decided leaves its share to the rest.

    With some of a figure's claims alone the first share is that of all of them, so that what is decided then is decided
    among all of them, too. After so many seconds no further look is begun.
    """
    begun = time.monotonic()
    by_figure = itertools.groupby(sorted(claims, key=lambda claim: claim.family), lambda claim: claim.family)
    left = {family: list(some) for family, some in by_figure}
    open_ = {family: max(setting.figures.get(family, 0), len(some)) for family, some in left.items()}
    for look in range(max(len(each.sizes) for each in looks.values()) if looks else 0):
        at = time.monotonic()
        for family, some in left.items():
            growing = [claim for claim in some if look < len(looks[claim.id].sizes)]
            while growing:
                share = FINDINGS / open_[family]
                rates = {claim.id: share * looks[claim.id].parts[look] for claim in growing}
                found = judged_at([(c, replace(setting, look=look, false_alarm=rates[c.id])) for c in growing])
                still = [claim for claim in growing if found.get(claim.id) == "INCONCLUSIVE"]
                if len(still) == len(growing):
                    break
                open_[family] -= len(growing) - len(still)
                left[family] = [claim for claim in left[family] if claim in still or claim not in growing]
                growing = still
        more = [c for some in left.values() for c in some if look + 1 < len(looks[c.id].sizes)]
        now = time.monotonic()
        if not more or (seconds is not None and now - begun + (now - at) > seconds):  # the next is as large as all
            return
        say(f"look {look + 1} leaves {len(more)} open: once more, with twice the seeds")
