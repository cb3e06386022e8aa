"""Judging until it is decided: how far it may go is declared before the first look and stored; figures share 5 %.

A claim about a figure may be judged at several looks, at each with twice the lanes of the one before. It spends half of
its share at the first, which is also all that a judgement without further looks spends: whoever goes on later has not
spent anything twice. Of the other half the part √t is spent by the time it has a share t of all the lanes that were
declared. Errors of all looks add up to the share at most, so that any kind of claim may be judged, and any may stop for
any reason.
"""

from __future__ import annotations

import itertools
import re
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
                seeds = int(match["number"]) if match["number"].isdecimal() else 0
            else:
                seconds = float(match["number"]) * UNITS[match["unit"]]
        if seeds == 0:
            raise ValueError(f"at_most must be a whole number of seeds, got {text!r}")
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
DECIDED = ("PASS", "NOT REPLICATED", "NO DIFFERENCE", "VACUOUS")  # what raised lends its share to nobody
FIRST = 0.5  # the part of a claim's share that its first look may spend
MANY = 64  # looks


@dataclass(frozen=True)
class Looks:
    """At how many lanes a claim is judged, and what part of its share of the error rate each look may spend."""

    sizes: tuple[int, ...] = (1,)
    parts: tuple[float, ...] = (FIRST,)

    @staticmethod
    def at(sizes: tuple[int, ...]) -> Looks:
        """Once with all of the share, if there are no more lanes to be had."""
        if len(sizes) == 1:
            return Looks(sizes, (1.0,))
        reached = np.sqrt(np.array(sizes) / sizes[-1])
        return Looks(sizes, (FIRST, *((1 - FIRST) * np.diff(reached) / (1 - reached[0])).tolist()))

    @staticmethod
    def of(claim: Claim, setting: Setting, needs: Callable[[Claim, Setting], list[Need]]) -> Looks:
        """As long as there are more lanes to be had: a claim whose needs do not grow is judged once."""
        sizes: list[int] = []
        for look in range(BATCHES + 1 if setting.most is None else MANY):
            size = _size(needs(claim, replace(setting, look=look)))
            if sizes and (size <= sizes[-1] or (setting.most is not None and size > setting.most)):
                break
            sizes.append(size)
        if setting.most is not None and sizes[0] > setting.most:
            raise ValueError(f"at_most must allow the first batch of {sizes[0]} seeds, got {setting.most} seeds")
        return Looks.at(tuple(sizes))


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
    claims: list[Claim], setting: Setting, judged_at: JudgedAt, looks: dict[str, Looks],
    may: Callable[[list[Claim], int], bool] = lambda claims, look: True,
) -> None:  # fmt: skip
    """Each figure's claims share FINDINGS, by Holm's steps: what is decided leaves its share to the rest.

    With some of a figure's claims alone the first share is that of all of them, so that what is decided then is decided
    among all of them, too. `may` is asked whether these claims may be looked at once more.
    """
    by_figure = itertools.groupby(sorted(claims, key=lambda claim: claim.family), lambda claim: claim.family)
    left = {family: list(some) for family, some in by_figure}
    open_ = {family: max(setting.figures.get(family, 0), len(some)) for family, some in left.items()}
    for look in itertools.count():
        for family, some in left.items():
            growing = [claim for claim in some if look < len(looks[claim.id].sizes)]
            while growing:
                share = FINDINGS / open_[family]
                rates = {claim.id: share * looks[claim.id].parts[look] for claim in growing}
                found = judged_at([(c, replace(setting, look=look, false_alarm=rates[c.id])) for c in growing])
                if len(found) < len(growing):  # somebody interrupted
                    return
                decided = sum(verdict in DECIDED for verdict in found.values())
                open_[family] -= decided
                some[:] = [claim for claim in some if found.get(claim.id, "INCONCLUSIVE") == "INCONCLUSIVE"]
                growing = [claim for claim in growing if found[claim.id] == "INCONCLUSIVE"] if decided else []
        more = [c for some in left.values() for c in some if look + 1 < len(looks[c.id].sizes)]
        if not more or not may(more, look + 1):
            return
