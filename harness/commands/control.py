"""`dgtd compare` in worlds: DQN, C51 and rules that bootstrap from themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.commands.options import INTERRUPTED, Where
from harness.commands.output import open_store, print_json, print_table, save_json, say, tell


def compare_agents(
    where: Where,
    worlds: tuple[str, ...],
    names: tuple[str, ...],
    targets: tuple[str, ...],
    *,
    alpha: float | None,
    beta: float | None,
    alphas: tuple[float, ...] | None,
    atoms: int | None,
    predictor: str | None,
    seed: int,
    out: Path,
    command: str,
    as_json: bool,
    **rest: Any,
) -> int:
    """Sweep α on seeds of its own, run the chosen ones on fresh seeds, and report."""
    from harness.commands.carry_out import carried_out
    from harness.compare.comparison import undecidable
    from harness.compare.control import ROUNDS, ControlContest, as_dict, choose, entrants, weigh
    from harness.report.control import write
    from harness.report.markup import writable
    from harness.runs.predictors import parse

    if alpha is not None and alphas is not None:
        raise ValueError("alphas are the sweep's, and alpha leaves no sweep: give one or the other")
    contest = ControlContest(
        worlds, entrants(names, targets), rates=alphas or (() if alpha is None else (alpha,)), beta=beta, atoms=atoms,
        root_seed=seed, predictor=None if predictor is None else parse(predictor), **rest,
    )  # fmt: skip
    _ = where.make  # a wrong executor is an error before there is a store
    writable(out)
    with open_store(where.store) as results:
        if words := undecidable(contest.seeds, contest.tests):  # said before anything runs
            print(f"dgtd: {words}", file=sys.stderr)
        if not carried_out("sweep", contest.sweep_requests(), results, where):
            return INTERRUPTED
        for _ in range(ROUNDS if alpha is None and alphas is None else 0):  # rates that were asked for are left alone
            wider = contest.beyond(choose(contest, results).values())
            if wider == contest:
                break
            contest = wider
            if not carried_out("wider sweep", contest.sweep_requests(), results, where):
                return INTERRUPTED
        chosen = choose(contest, results)
        if not carried_out("runs", contest.final_requests(chosen), results, where):
            return INTERRUPTED
        found = weigh(contest, results, chosen)
    path = write(found, command, out)
    document = as_dict(found) | {"command": command, "report": str(path)}
    save_json(out / "compare.json", document)
    if as_json:
        print_json(document)
    else:
        _print(found, path, command)
    return 0


def _print(found: Any, path: Path, command: str) -> None:
    from harness.compare.control import words
    from harness.report.control import cells, columns

    for world in found.contest.worlds:
        rows = [[text + (" ★" if won else "") for text, _, won in row] for row in cells(found, world)]
        head = columns(found, world)
        print_table(world, head, rows, numbers=set(range(1, len(head))))
    for line in words(found):
        tell(f"· {line}")
    tell("★ earns more than every other agent, by paired tests. [ ] 95 % intervals of the median.")
    say(f"report: {path}\nagain:  {command}")
