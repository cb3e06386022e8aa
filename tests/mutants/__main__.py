"""`python -m tests.mutants`: the listed faults, or with --sample a random sample of all."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.mutants import campaign, sample
from tests.mutants.catalogue import MUTANTS, room_of
from tests.mutants.results import Results

ROOT = Path(__file__).parents[2]


def options(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once; one per core by default")
    parser.add_argument("--only", default="", help="listed faults whose name, file or room contains this")
    parser.add_argument("--list", action="store_true", help="print the listed faults and stop")
    parser.add_argument("--sample", type=int, help="this many faults drawn from all sites, instead of the list")
    parser.add_argument("--faults", type=Path, help="a JSON list of faults, tried as the drawn ones are")
    parser.add_argument("--seed", type=int, help="of the draw; a fresh one by default, and printed")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "mutants.jsonl", help="where results live")
    parser.add_argument("--source", type=Path, default=ROOT, help="another checkout to break")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """What is asked for."""
    given = options(words)
    mutants = [m for m in MUTANTS if given.only in m.name or given.only in m.file or given.only == room_of(m)]
    if given.list:
        for mutant in mutants:
            print(f"{room_of(mutant):14} {mutant.name:60} {', '.join(mutant.caught_by)}")
        return 0
    with tempfile.TemporaryDirectory(prefix="dgtd-mutants-") as folder:
        root, work, results = given.source.resolve(), Path(folder), Results(given.results)
        if given.sample is None and given.faults is None:
            return campaign.main(root, work, results, given.jobs, mutants)
        return sample.main(root, work, results, given.jobs, given.sample, given.seed, given.faults)


if __name__ == "__main__":
    sys.exit(main())
