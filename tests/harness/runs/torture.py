"""`make torture`: kill -9 at random moments of a run, and of the whole ledger."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.harness.runs.test_kills import ROOT, check_kills


def suite(store: Path) -> list[str]:
    words = ["suite", "all", "--profile", "ci", "--json", "--store", str(store)]
    return [sys.executable, "-c", "from harness.cli import main; main()", *words]


def check_ledger_kills(folder: Path, kills: int, seed: int) -> int:
    """Kill the suite's process group until `kills` have hit, then let it finish: the ledger is the undisturbed one.

    Runs follow one on another in one store, and a store that is complete begins anew, so that kills hit all of it.
    """
    peace, war = folder / "peace.sqlite", folder / "war.sqlite"
    run = {"capture_output": True, "text": True, "cwd": ROOT}
    start = time.perf_counter()
    whole = json.loads(subprocess.run(suite(peace), check=True, **run).stdout)
    length, rng, hit = time.perf_counter() - start, random.Random(seed), 0
    while hit < kills:
        process = subprocess.Popen(
            suite(war), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
        )
        try:
            process.wait(timeout=rng.uniform(2.0, 0.3 * length))
            for part in folder.glob("war.sqlite*"):
                part.unlink()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            hit += 1
            print(f"ledger kill {hit}", flush=True)
    final = json.loads(subprocess.run(suite(war), check=True, **run).stdout)
    assert final == whole
    return hit


if __name__ == "__main__":
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    of_ledger = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as folder:
        hit = check_kills(Path(folder), kills, seed=1)
        print(f"{hit} kills: no finished cohort lost, none repeated, the final table equal bit for bit", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        hit = check_ledger_kills(Path(folder), of_ledger, seed=1)
    print(f"{hit} kills of the suite: the final ledger is the undisturbed one")
