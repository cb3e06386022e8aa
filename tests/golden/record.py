"""Write the golden record anew: `python -m tests.golden.record`. The reason for doing so belongs in the CHANGELOG."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dgtd.harness.runs.store import Store

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Seed 0 holds every claim. Suites with long runs are held there alone: a second seed of them is two minutes of every
# test run, and what seeds do to their verdicts is what `make seeds` counts.
SEEDS: dict[int, tuple[str, ...]] = {0: (), 1: ("gradients/", "contraction/", "instrument/", "evaluation/")}
LANES = 4  # of every run: a cohort's first lanes
PLACES = ("baird", "random_walk", "boyan", "grid_world")
COMPARE = [
    "compare", "--problems", ",".join(PLACES), "--rules", "gtd2,tdc", "--steps", "2000", "--seeds", "8",
    "--alphas", "0.03125,0.0078125", "--ratios", "1,4", "--json",
]  # fmt: skip
DIVERGING = [
    "run", "--problem", "baird", "--rule", "td", "--alpha", "0.1", "--beta", "0.1", "--steps", "20000", "--seeds", "8",
    "--json",
]  # fmt: skip


def dgtd(words: list[str], codes: tuple[int, ...] = (0,)) -> Any:
    """The JSON that a command prints."""
    command = [sys.executable, "-c", "from dgtd.harness.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in codes, done.stderr
    return json.loads(done.stdout)


def ledgers() -> dict[int, dict[str, Any]]:
    """Seed → claim → what is held; one store, so that a check that draws no points is computed once."""
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed, starts in SEEDS.items():
            words = ["suite", "all", "--profile", "ci", "--seed", str(seed), "--store", f"{folder}/s.sqlite", "--json"]
            words += [word for start in starts for word in ("--claim", start)]
            out[seed] = {claim["id"]: held(claim) for claim in dgtd(words)["claims"]}
    return out


def held(claim: dict[str, Any]) -> dict[str, Any]:
    """Of one claim: the verdict and its numbers, no words. Of an agent in a world the verdict alone.

    An action is the largest of two values, so rounding, which differs from processor to processor, decides whole lanes.
    """
    if claim["id"].startswith("control/") and claim["finding"]["false_alarm"] > 0:
        return {"status": claim["status"], "exact": False, "n": claim["finding"]["n"]}
    numbers = {key: claim["finding"][key] for key in ("estimate", "low", "high", "margin", "n")}
    return {"status": claim["status"], "exact": claim["finding"]["false_alarm"] == 0, **numbers}


def comparison() -> dict[str, Any]:
    """Lanes of every run of a small comparison, of a run that diverges, and the comparison's paired tests."""
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", f"{folder}/s.sqlite"]
        found = dgtd([*COMPARE, *store, "--out", f"{folder}/out"])
        dgtd([*DIVERGING, *store])
        runs = stored_runs(Path(folder) / "s.sqlite")
    kept = ("problem", "metric", "number", "a", "b", "p_holm", "winner")
    tests = [{key: test[key] for key in kept} for test in found["tests"]]
    return {"runs": runs, "tests": tests}


def stored_runs(path: Path) -> dict[str, Any]:
    """Run → lanes, whatever the store's own format: the outcome, and the metrics halfway and at the end."""
    out = {}
    with Store(path) as store:
        for run in store.runs():  # in the order of their ending, which two workers do not fix
            names = store.metrics(run["run"])
            settings = ("problem", "target", "alpha", "beta", "steps", "root_seed", "rule")
            key = " ".join(str(run[name]) for name in settings)
            out[key] = [
                {
                    "outcome": str(lane.outcome),
                    "half": dict(zip(names, lane.curves[len(lane.curves) // 2].tolist(), strict=True)),
                    "end": dict(zip(names, lane.curves[-1].tolist(), strict=True)),
                }
                for lane in store.lanes(run["run"], LANES)
            ]
    return dict(sorted(out.items()))


def main() -> None:
    """Write every file."""
    for seed, record in ledgers().items():
        _write(f"ledger-{seed}.json", record)
    _write("compare.json", comparison())


def _write(name: str, record: Any) -> None:
    from dgtd.harness.commands.output import plain

    (HERE / name).write_text(json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
