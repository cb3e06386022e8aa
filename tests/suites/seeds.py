"""`make seeds`: every suite's ci profile on many seeds, and every verdict that is not the usual one."""

import sys
import time
from collections import Counter

from harness.judging.claims import Setting
from harness.judging.ledger import Workshop, collect, judge, share
from harness.runs.executors import InProcess, pool
from harness.runs.store import Store

USUAL = ("PASS", "CAUGHT", "VACUOUS")


def flips(first: int, last: int, make=InProcess) -> list[tuple[int, str, str, str]]:
    """(seed, claim, status, words) of each unusual verdict; what a figure shows is a finding, not a flip."""
    out = []
    spent = share(None, "ci")
    for seed in range(first, last):
        start = time.perf_counter()
        with Store(":memory:") as store:
            entries = judge(collect("all", None, "ci"), Setting("ci", seed, spent), workshop=Workshop(store, make))
        found = [
            (seed, e.claim.id, e.status, e.finding.words)
            for e in entries
            if e.status not in USUAL and not e.claim.figure
        ]
        print(
            seed, dict(Counter(e.status for e in entries)), f"{time.perf_counter() - start:.0f} s", *found, flush=True
        )
        out += found
    return out


if __name__ == "__main__":
    first, last = (int(word) for word in sys.argv[1:3])
    found = flips(first, last, pool)
    print(
        f"{last - first} seeds: {len(found)} flips, {sum(status == 'FAIL' for _, _, status, _ in found)} of them FAIL"
    )
    sys.exit(0 if len(found) <= 1 else 1)
