"""`dgtd diff`: what has changed between two reports, or between two ledgers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from harness.commands.output import AsJson, print_json, print_table, say
from harness.experiment.difference import differences, read

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
        say(f"{matter} verdicts or winners changed, {others} numbers" if found else "nothing has changed")
    return CHANGED if matter else 0
