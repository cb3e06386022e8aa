"""`dgtd card`: one page on a rule, for a pull request or a paper. What it is, what it promises, what was found."""

from __future__ import annotations

import inspect
import math
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import typer

from dgtd.algorithms.rule import Rule, uses
from dgtd.harness.commands.carry_out import carried_out, interrupted, progress
from dgtd.harness.commands.options import INTERRUPTED, Where, path_option, runs_lanes
from dgtd.harness.commands.output import open_store, say
from dgtd.harness.experiment.exact import Map, Setting, column_jobs, map_of
from dgtd.harness.experiment.search import Grid
from dgtd.harness.judging.ledger import Entry, Workshop, collect, judge, setting_for, tally
from dgtd.harness.oracle.certificates import Class
from dgtd.harness.report import page as pages
from dgtd.harness.report.document import span
from dgtd.harness.report.exact_lines import zones_figure
from dgtd.harness.report.page import Block, Bullets, Cell, Code, Page, Picture, Section, Table, Words
from dgtd.harness.runs.rule_files import FileRef, reference, resolve
from dgtd.harness.runs.store import Store

PLACES = ("two_state", "random_walk", "boyan")
BESIDE = ("td", "gtd2", "tdc", "tdrc(1)")
GRID = Grid(tuple(4.0**-k for k in range(7)), (0.25, 1.0, 4.0, 16.0))
STEPS = 10_000
NEAR = 2.0  # settings whose area is within this factor of the rule's best: how little it asks of a sweep
OutFolder = path_option("--out", "Folder for report.html and its figures.", Path("results/card"))


@runs_lanes
def card(
    where: Where, name: str = typer.Argument(help="A rule: a name, or path/to/file.py:function."), out: Path = OutFolder
) -> int:
    """One page on a rule: its formula and promises, every verdict, exact errors beside other rules, stability."""
    ref = reference(name)
    rule = resolve(ref)
    make = where.make
    pages.writable(out)
    with open_store(where.store) as store:
        claims = [claim for claim in collect("all", rule, "ci") if claim.rule == rule and not claim.control]
        with progress(f"{len(claims)} claims") as tick:
            setting = setting_for(rule, "ci", 0)
            entries = judge(claims, setting, name, Workshop(store, make, where.timeout, tick), rule)
        if len(entries) < len(claims):
            return interrupted()
        maps = exact_maps(
            [ref, *(reference(each) for each in BESIDE if resolve(reference(each)) != rule)], store, where
        )
        if maps is None:
            return INTERRUPTED
    command = shlex.join(["dgtd", "card", name, "--out", str(out), "--store", str(where.store)])
    path = pages.write(page(rule, entries, maps, command), out)
    say(f"{rule.name}: {tally(entries) or 'it promises nothing, so no claim binds it'}")
    say(f"report: {path}\nagain:  {command}")
    return 0


def exact_maps(rules: list[FileRef], store: Store, where: Where) -> dict[tuple[Rule, str], Map | None] | None:
    """(rule, problem) → its exact errors over step sizes; None where there is no exact curve, or no stable step."""
    settings = {place: Setting(place, steps=STEPS) for place in PLACES}
    jobs = {
        (resolve(ref), place): column_jobs(ref, setting, GRID) if resolve(ref).linear else []
        for ref in rules for place, setting in settings.items()
    }  # fmt: skip
    if not carried_out("exact errors", [], store, where, [job for each in jobs.values() for job in each]):
        return None
    return {pair: _map([store.result(job) for job in each]) for pair, each in jobs.items()}


def _map(columns: list[dict[str, Any]]) -> Map | None:
    try:
        return map_of(GRID, columns) if columns else None
    except ValueError:  # second moments grow at every step size
        return None


def page(rule: Rule, entries: list[Entry], maps: dict[tuple[Rule, str], Map | None], command: str) -> Page:
    lines = (inspect.getdoc(rule.function) or "").split("\n")
    lead = Words(lines[0] or f"The rule {rule.name}.", "lead")
    promises = ", ".join(sorted(rule.promises)) or "nothing"
    facts = [
        f"It promises: {promises}.",
        f"{'Linear' if rule.linear else 'Not linear'} in δ and u; "
        f"{'with' if rule.curvature else 'without'} curvature; κ = {rule.w_decay:g}.",
        f"Verdicts: {tally(entries) or 'none, since nothing binds it'}.",
    ]
    update = Section("The update", [Code(inspect.getsource(rule.function).rstrip()), Words(UPDATE, "soft")])
    sections = [update, _verdicts(entries), _exact(rule, maps)]
    return Page(f"dgtd card {rule.name}", rule.name, [lead, Bullets(facts)], sections, command)


UPDATE = (
    "p weighs ∇f(s), t weighs ∇f(s') through the backup, q the second predictor's gradient: θ ← θ − α (Jᵀp + J'ᵀTᵀt + "
    "curvature), w ← w + β (Jᵀq − κw). With a return distribution δ and u have one number per atom."
)


def _verdicts(entries: list[Entry]) -> Section:
    """A row per suite, and every claim that is not held, with its words."""
    suites = dict.fromkeys(entry.claim.suite for entry in entries)
    rows: list[list[Cell]] = []
    for suite in suites:
        counts = Counter(entry.status for entry in entries if entry.claim.suite == suite)
        rows.append([(suite, suite, False), *((str(n), n, False) for n in _counted(counts))])
    missed = [e for e in entries if e.status not in ("PASS", "VACUOUS", "NOT PROMISED")]
    said = [f"{e.status}: {e.claim.says}. {e.words}, {span(e.finding)}. Again: {e.command}" for e in missed]
    blocks: list[Block] = [Table("Verdicts", ["suite", "held", "failed or open", "not promised"], rows)] if rows else []
    return Section(
        "Verdicts", [*blocks, Bullets(said) if said else Words("Nothing failed, and nothing is open.", "soft")]
    )


def _counted(counts: Counter[str]) -> tuple[int, int, int]:
    held, free = counts["PASS"] + counts["VACUOUS"], counts["NOT PROMISED"]
    return held, counts.total() - held - free, free


def _exact(rule: Rule, maps: dict[tuple[Rule, str], Map | None]) -> Section:
    """Its best exact error, how much of the grid is stable, and how much of it is near the best; beside other rules."""
    if not rule.linear:
        return Section("Exact errors", [Words("A rule that is not linear in δ and u has no exact curve.", "soft")])
    least = {
        place: min((float(each.area.min()) for (_, at), each in maps.items() if at == place and each), default=math.nan)
        for place in PLACES
    }
    rows = [_row(*pair, found, least[pair[1]]) for pair, found in maps.items()]
    columns = ["rule", "problem", "best error", "at α", "and β", "stable", f"within {NEAR:g} × best"]
    note = (
        f"Mean height of √E MSPBE over {STEPS:,} steps on values, computed and not sampled, at the best of "
        f"{len(GRID.alphas) * len(GRID.ratios)} step sizes, as a multiple of the best rule's on that problem. Stable: "
        "the share of these settings that the certificate calls so; within: at which the error is near its own best."
    )
    here = {place: found.zones for (who, place), found in maps.items() if found and who == rule}
    own = {(rule.name, place): zones for place, zones in here.items() if zones}
    picture: list[Block] = [Picture(zones_figure("stability", own))] if own else []
    table = Table("Exact errors", columns, rows, frozenset({0, 1}))
    return Section("Exact errors and stability", [table, Words(note, "soft"), *picture])


def _row(rule: Rule, place: str, found: Map | None, least: float) -> list[Cell]:
    who: list[Cell] = [(rule.name, rule.name, False), (place, place, False)]
    if found is None:
        return [*who, ("diverges", math.inf, False), *([("–", 0.0, False)] * 4)]
    best, (alpha, beta) = float(found.area.min()), found.best
    near = float((found.area <= NEAR * best * (1 + 1e-9)).mean())
    stable = math.nan if found.zones is None else found.zones.share(Class.STABLE)
    shown = "–" if math.isnan(stable) else f"{stable:.0%}"
    return [
        *who, (f"{best / least:.2f}", best / least, False), (f"{alpha:.3g}", alpha, False),
        (f"{beta:.3g}" if uses(rule)[0] else "–", beta, False), (shown, stable, False), (f"{near:.0%}", near, False),
    ]  # fmt: skip
