"""`dgtd store`: copy the file of results, check it, say what is in it, and remove what was left beside it."""

from pathlib import Path

import typer

from dgtd.harness.commands.command import Command
from dgtd.harness.commands.options import StorePath
from dgtd.harness.commands.output import AsJson, counted, open_to_read, print_json, say
from dgtd.harness.runs.checkpoints import Checkpoints
from dgtd.harness.runs.database import SCHEMA, size_of

app = typer.Typer(help="The file that results live in: info, check, backup, clean.", no_args_is_help=True)
DAMAGED = 1
Copy = typer.Argument(help="The copy, a new file.")


@app.command(cls=Command)
def info(store: Path = StorePath, as_json: bool = AsJson) -> None:
    """How many runs, lanes and jobs there are, and how they ended."""
    with open_to_read(store) as results:
        found = {"store": str(store), "bytes": size_of(store), "schema": SCHEMA} | results.counts()
        found["checkpoints"] = results.checkpoints.size() if results.checkpoints else {}
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        say(f"{name:12}{counted(value) if isinstance(value, dict) else value}")


@app.command(cls=Command)
def check(store: Path = StorePath, as_json: bool = AsJson) -> int:
    """Is the file whole, and does every row say what was written? Exit code 1 if not."""
    with open_to_read(store) as results:
        found = results.damage()
    if as_json:
        print_json({"store": str(store), "damage": found})
    else:
        for line in found:
            say(line)
        say(f"store {str(store)!r}: " + (f"{len(found)} faults" if found else "nothing is damaged"))
    return DAMAGED if found else 0


@app.command(cls=Command)
def backup(out: Path = Copy, store: Path = StorePath) -> None:
    """Copy the file, also while a run writes to it (a copy by `cp` may be torn)."""
    if not out.parent.is_dir():
        raise ValueError(f"no folder {str(out.parent)!r} to write {out.name!r} into")
    with open_to_read(store) as results:
        results.backup(out)
    say(f"{str(out)!r} is a copy of {str(store)!r}")


@app.command(cls=Command)
def clean(store: Path = StorePath) -> None:
    """Remove the checkpoints of cohorts that were stopped on their way; results are not touched."""
    left = Checkpoints.beside(store)
    if not store.exists() and not left.path.is_dir():
        raise ValueError(f"no store {str(store)!r}: `dgtd run` makes one")
    found = left.size()
    left.clear()
    say(f"checkpoints beside {str(store)!r} removed: {counted(found)}")
