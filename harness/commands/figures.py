"""`dgtd figures`: the paper's figures on one page, each beside what the paper says of it and our verdicts."""

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from dgtd.algorithms.names import look_up
from dgtd.harness.commands.carry_out import interrupted, progress
from dgtd.harness.commands.options import AtMostText, UntilDecided, Where, path_option, runs_lanes
from dgtd.harness.commands.output import AsJson, aside, open_store, print_json, print_table, save_json, say
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import Workshop, exit_code, judge, needs_of, setting_for
from dgtd.harness.judging.looks import AtMost
from dgtd.harness.plugins import answering, installed
from dgtd.harness.report import page as pages
from dgtd.harness.report.paper import PaperFigure, Shown, estimate, page

OutFolder = path_option("--out", "Folder for report.html, figures.json and figures/.", Path("results/figures"))


@runs_lanes
def figures(
    where: Where,
    only: str | None = typer.Option(None, help="Numbers of figures, separated by commas; all by default."),
    profile: str = typer.Option("ci", help="ci: a quick look. full and paper: 30 seeds or more."),
    seed: int = typer.Option(0, help="Root of every stream."),
    until_decided: bool = UntilDecided,
    at_most: str | None = AtMostText,
    out: Path = OutFolder,
    as_json: bool = AsJson,
) -> int:
    """Draw the paper's figures from the store, running what is missing, and judge what the paper says of them."""
    Setting(profile, seed)  # refuses a wrong profile or seed before anything is loaded
    asked = _asked(only)
    limit = AtMost.of(at_most, until_decided)
    until = limit if until_decided else None
    setting = setting_for(None, profile, seed)
    make = where.make
    pages.writable(out)
    with open_store(where.store) as results, progress("figures") as tick:
        shown = _made(asked, setting, Workshop(results, make, where.timeout, tick, aside), until)
    if shown is None:
        return interrupted()
    command = shlex.join(
        ["dgtd", "figures", "--profile", profile, "--seed", str(seed), "--out", str(out), "--store", str(where.store)]
        + ([] if only is None else ["--only", only])
        + ([] if until is None else until.options)
    )
    path = pages.write(page(shown, setting, command), out)
    document = {
        "profile": profile, "seed": seed, "command": command, "report": str(path),
        "figures": [each.as_dict() for each in shown],
    }  # fmt: skip
    save_json(out / "figures.json", document)
    if as_json:
        print_json(document)
    else:
        _print(shown, path, command)
    return exit_code([entry for each in shown for entry in each.entries.values()], until_decided)


def _asked(only: str | None) -> list[PaperFigure]:
    """The figures that are installed, or some of them, by number."""
    found = []
    for name, point in installed("figures").items():
        with answering(f"figure {name!r}"):
            found.append(point.load()())
    by_number = {str(each.number): each for each in sorted(found, key=lambda each: each.number)}
    if only is None:
        return list(by_number.values())
    wanted = [look_up("figure", part.strip(), by_number) for part in only.split(",")]
    return [each for each in by_number.values() if each in wanted]


def _made(asked: list[PaperFigure], setting: Any, workshop: Any, until: AtMost | None) -> list[Shown] | None:
    """Run what is missing of all of them, judge all, then draw each; nothing if somebody interrupts."""
    begun = time.monotonic()
    statements = [each.statements(setting) for each in asked]
    claims = [[claim for one in each for claim in one.claims] for each in statements]
    drawn = [each.needs(setting) for each in asked]
    needs = [need for each in claims for claim in each for need in needs_of(claim, setting, None)]
    if workshop.gather([*needs, *(need for each in drawn for need in each)]).interrupted:
        return None
    if until is not None and until.seconds is not None:
        until = replace(until, seconds=until.seconds - (time.monotonic() - begun))
    every = [claim for each in claims for claim in each]
    entries = {entry.claim.id: entry for entry in judge(every, setting, None, workshop, until=until)}
    if len(entries) < len(every):
        return None
    return [
        Shown(
            figure, said, {claim.id: entries[claim.id] for claim in held},
            figure.draw([workshop.evidence(need) for need in wanted]),
        )
        for figure, said, held, wanted in zip(asked, statements, claims, drawn, strict=True)
    ]  # fmt: skip


def _print(shown: list[Shown], path: Path, command: str) -> None:
    for each in shown:
        rows = [[entry.claim.says, entry.status, estimate(entry), entry.evidence] for entry in each.entries.values()]
        title = f"Figure {each.figure.number}: {each.figure.title}"
        print_table(title, ["what the paper says, as it is held here", "verdict", "estimate", "evidence"], rows)
        say(f"{each.verdicts}\n")
    say(f"report: {path}\nagain:  {command}")
