"""`make torture`: kill -9 at fifty random moments of a run."""

import sys
import tempfile
from pathlib import Path

from tests.harness.runs.test_runs import check_kills

if __name__ == "__main__":
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        hit = check_kills(Path(folder), kills, seed=1)
    print(f"{hit} kills: no finished cohort lost, none repeated, the final table equal bit for bit")
