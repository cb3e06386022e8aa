"""`dgtd sweep --exact --map`: rules × problems, stable, heavy-tailed or diverging at each pair of step sizes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands.options import INTERRUPTED, RESUME, Where
from harness.commands.output import open_store, print_json, print_table, say, tell
from harness.commands.progress import progress
from harness.experiment.zones import FINE, Zones, zone_jobs
from harness.oracle.certificates import Class
from harness.report.drawing import check_picture, save
from harness.report.zones import zones_figure
from harness.runs.driver import execute
from harness.runs.rule_files import reference, resolve

if TYPE_CHECKING:
    from harness.experiment.search import Grid


def zone_map(
    rules: tuple[str, ...], problems: tuple[str, ...], target: tuple[str, int, str], grid: Grid | None, where: Where,
    path: Path, as_json: bool,
) -> int:  # fmt: skip
    """One picture, a row per rule and a column per problem. `target`: its name, atoms and projection."""

    check_picture("map", path)
    for given, kind in ((rules, "rule"), (problems, "problem")):
        if not given:
            raise ValueError(f"a map needs a {kind}, got none")
    used, wanted = grid or FINE, {}
    for rule in rules:
        ref = reference(rule)
        if not resolve(ref).linear:
            raise ValueError(f"rule {rule!r} declares linear=False: no certificate exists for it")
        for problem in problems:
            wanted[resolve(ref).name, problem] = zone_jobs(ref, problem, *target, used)
    found = {}
    with open_store(where.store) as store:
        with progress("map") as tick:
            jobs = [job for each in wanted.values() for job in each]
            done = execute([], store, where.make, jobs=jobs, timeout=where.timeout, progress=tick)
        if done.interrupted:
            print(f"dgtd: interrupted; {RESUME}", file=sys.stderr)
            return INTERRUPTED
        for (rule, problem), columns in wanted.items():
            results: list[Any] = []
            for job in columns:
                outcome, result, error = store.job(job.hash)
                if not outcome.settled:
                    raise ValueError(f"{rule} on {problem}: {outcome}: {error}")
                results.append(result)
            found[rule, problem] = Zones.of(used, results)
    try:
        save(zones_figure(path.stem, found), path, columns=len(problems))
    except (OSError, ValueError) as error:
        raise ValueError(f"can't draw {str(path)!r}: {error}") from None
    if as_json:
        maps = [{"rule": rule, "problem": problem, **vars(each)} for (rule, problem), each in found.items()]
        print_json({"target": target[0], "sampling": "iid", "maps": maps})
        return 0
    columns_ = ["rule", "problem", *map(str, Class)]
    rows = [[*pair, *(f"{each.share(kind):.0%}" for kind in Class)] for pair, each in found.items()]
    title = f"{len(used.alphas)} × {len(used.ratios)} step sizes, {target[0]}, independent transitions"
    print_table(title, columns_, rows, numbers={2, 3, 4, 5})
    tell("stable: second moments shrink; heavy-tailed: they grow, and yet almost every path shrinks")
    say(f"picture: {path}")
    return 0
