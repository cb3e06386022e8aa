"""`make seeds`: every suite's ci profile on many seeds, and every verdict that is not the usual one.

`python -m tests.suites.seeds FIRST LAST [RULE …]` judges our own rules, or each rule of a file; with `--suite NAME`
before them, one suite alone, at the share of the false-alarm budget that it has among all.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import Workshop, collect, judge, share
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import Store

USUAL = ("PASS", "CAUGHT", "VACUOUS", "NOT PROMISED")


def flips(store: Store, first: int, last: int, make=InProcess, rule: str | None = None, suite="all") -> list[tuple]:
    """(seed, claim, status, words) of each unusual verdict; what a figure shows is a finding, not a flip."""
    out = []
    judged = resolve(reference(rule)) if rule else None
    spent, claims = share(judged, "ci"), collect(suite, judged, "ci")
    for seed in range(first, last):
        start = time.perf_counter()
        entries = judge(claims, Setting("ci", seed, spent), rule, Workshop(store, make), judged)
        found = [(seed, e.claim.id, e.status, e.words) for e in entries if e.status not in USUAL and not e.claim.figure]
        seconds = time.perf_counter() - start
        print(rule or "", seed, dict(Counter(e.status for e in entries)), f"{seconds:.0f} s", *found, flush=True)
        out += found
    return out


def main(first: int, last: int, rules: list[str], suite: str) -> int:
    """One store for all seeds: checks that draw no points are computed once."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "seeds.sqlite") as store:
        make = executor_maker("pool")
        found = [flip for rule in rules or [None] for flip in flips(store, first, last, make, rule, suite)]
    fails = sum(status == "FAIL" for _, _, status, _ in found)
    print(f"{last - first} seeds: {len(found)} flips, {fails} of them FAIL")
    return 0 if len(found) <= 1 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("rules", nargs="*")
    parser.add_argument("--suite", default="all")
    given = parser.parse_intermixed_args()
    sys.exit(main(given.first, given.last, given.rules, given.suite))
