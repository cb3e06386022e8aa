"""`dgtd diff`: what has changed between two reports, or between two ledgers."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from dgtd.harness.commands.output import AsJson, print_json, print_table, say

CLOSE = 1e-9  # as a share: what another processor may change


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same. `matters`: a verdict or a winner, not only a number."""

    where: str
    what: str
    before: str
    after: str
    matters: bool = False


def read(path: Path) -> Any:
    """A report (a folder of `compare`, or its compare.json) or a ledger; ValueError in one line for anything else."""
    file = path / "compare.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"no report or ledger at {str(path)!r}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(file)!r} can't be read as JSON: {str(error).splitlines()[0]}") from None
    if kind_of(found) is None:
        raise ValueError(f"{str(file)!r} is neither a report of `dgtd compare` nor a ledger of `dgtd suite --json`")
    return found


def kind_of(document: Any) -> str | None:
    """'report', 'ledger', or None."""
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("problems"), dict) and isinstance(document.get("tests"), list):
        return "report"
    return "ledger" if isinstance(document.get("claims"), list) else None


def differences(before: Any, after: Any) -> list[Difference]:
    """What is not the same, what matters first."""
    kinds = kind_of(before), kind_of(after)
    if kinds[0] != kinds[1]:
        raise ValueError(f"a {kinds[0]} can't be compared with a {kinds[1]}")
    found = _reports(before, after) if kinds[0] == "report" else _ledgers(before, after)
    return sorted(found, key=lambda each: not each.matters)


def _ledgers(before: Any, after: Any) -> list[Difference]:
    ours, theirs = ({claim["id"]: claim for claim in document["claims"]} for document in (before, after))
    found = _lone("claim", ours, theirs)
    for name in (name for name in ours if name in theirs):
        a, b = ours[name], theirs[name]
        if a.get("status") != b.get("status"):
            found.append(Difference(name, "verdict", str(a.get("status")), str(b.get("status")), True))
        first, second = ((each.get("finding") or each).get("estimate") for each in (a, b))
        if not _close(first, second):
            found.append(Difference(name, "estimate", _shown(first), _shown(second)))
    return found


def _reports(before: Any, after: Any) -> list[Difference]:
    found = [
        Difference("all", name, _shown(before.get(name)), _shown(after.get(name)))
        for name in ("steps", "seeds", "seed", "atoms", "projection")
        if before.get(name) != after.get(name)
    ]
    ours, theirs = (
        {(problem, label): numbers for problem, each in document["problems"].items() for label, numbers in each.items()}
        for document in (before, after)
    )
    found += _lone("contestant", ours, theirs)
    for key in (key for key in ours if key in theirs):
        found += _numbers(" · ".join(key), ours[key], theirs[key])
    return found + _winners(before, after)


def _numbers(where: str, a: Any, b: Any) -> list[Difference]:
    found = [
        Difference(where, name, _shown(a.get(name)), _shown(b.get(name)))
        for name in ("alpha", "beta", "diverged")
        if not _close(a.get(name), b.get(name))
    ]
    for metric in (m for m in a["metrics"] if m in b["metrics"]):
        for number in a["metrics"][metric]:
            first, second = a["metrics"][metric][number], b["metrics"][metric].get(number, {})
            if not _close(first.get("estimate"), second.get("estimate")):
                found.append(Difference(where, f"{metric}, {number}", _spread(first), _spread(second)))
    return found


NAMED = ("problem", "metric", "number", "a", "b")  # what a test is of


def _winners(before: Any, after: Any) -> list[Difference]:
    ours, theirs = (
        {tuple(test[name] for name in NAMED): test.get("winner") or "nobody" for test in document["tests"]}
        for document in (before, after)
    )
    return [
        Difference(f"{key[0]} · {key[3]} against {key[4]}", "winner", ours[key], theirs[key], True)
        for key in ours
        if key in theirs and ours[key] != theirs[key]
    ]


def _lone(what: str, ours: dict[Any, Any], theirs: dict[Any, Any]) -> list[Difference]:
    """What only one of them has, so that it was removed or is new; a key is a name or several."""
    found = []
    for key in sorted(set(ours) ^ set(theirs)):
        before, after = ("there", "removed") if key in ours else ("-", "new")
        found.append(Difference(key if isinstance(key, str) else " · ".join(key), what, before, after, True))
    return found


def _close(a: Any, b: Any) -> bool:
    if not (isinstance(a, int | float) and isinstance(b, int | float)):
        return bool(a == b)
    return math.isclose(a, b, rel_tol=CLOSE, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))


def _shown(value: Any) -> str:
    """A number; what is infinite, as where seeds diverged, is null in JSON."""
    return f"{value:.4g}" if isinstance(value, float) else "∞" if value is None else str(value)


def _spread(number: Any) -> str:
    words = _shown(number.get("estimate"))
    low, high = number.get("low"), number.get("high")
    return words if low is None or high is None else f"{words} [{_shown(low)}, {_shown(high)}]"


CHANGED = 1
Before = typer.Argument(help="A folder of `dgtd compare`, its compare.json, or the output of `dgtd suite --json`.")
After = typer.Argument(help="Another one, of the same kind.")


def diff(before: Path = Before, after: Path = After, as_json: bool = AsJson) -> int:
    """What has changed: verdicts and winners first, then numbers. Exit code 1 if a verdict or a winner has.

    Two versions of a rule: `dgtd compare --rules old.py:mine,new.py:mine` runs both on the same seeds and tests them.
    """
    found = differences(read(before), read(after))
    matter = sum(each.matters for each in found)
    if as_json:
        print_json({"before": str(before), "after": str(after), "differences": [asdict(each) for each in found]})
    else:
        if found:
            rows = [[each.where, each.what, each.before, each.after] for each in found]
            print_table(f"{before} → {after}", ["where", "what", "before", "after"], rows)
        others = len(found) - matter
        say(
            f"{matter} verdicts or winners changed, removed or new, {others} numbers"
            if found
            else "nothing has changed"
        )
    return CHANGED if matter else 0
