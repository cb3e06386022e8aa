"""`dgtd rule list` and `dgtd rule show`."""

from typing import Any

import typer

from dgtd.algorithms.rules import FAMILIES, RULES, find_rule
from dgtd.harness.commands.output import AsJson, Command, print_json, print_table, say, tell_complaints
from dgtd.harness.judging.conformance import examine
from dgtd.harness.runs.rule_files import reference, resolve

app = typer.Typer(help="The update rules.", no_args_is_help=True)


def _describe(rule: Any) -> dict[str, Any]:
    document = (rule.function.__doc__ or "").strip().splitlines()
    return {name: getattr(rule, name) for name in ("name", "curvature", "w_decay", "linear")} | {
        "promises": sorted(rule.promises),
        "says": document[0] if document else "",
    }


@app.command("list", cls=Command)
def list_rules(as_json: bool = AsJson) -> None:
    """Every built-in rule, and what it promises."""
    rows = [_describe(rule) for rule in RULES.values()]
    for make in FAMILIES.values():
        rows.append(_describe(make()) | {"says": (make.__doc__ or "").strip().splitlines()[0]})
    if as_json:
        print_json(rows)
    else:
        cells = [
            [row["name"], "yes" if row["curvature"] else "no", ", ".join(row["promises"]), row["says"]] for row in rows
        ]
        print_table("", ["name", "curvature", "promises", ""], cells)


@app.command("show", cls=Command)
def show(name: str = typer.Argument(help="A name from `dgtd rule list`."), as_json: bool = AsJson) -> None:
    """The arithmetic of a rule."""
    import inspect

    rule = find_rule(name)
    found = _describe(rule) | {"source": inspect.getsource(rule.function)}
    if as_json:
        print_json(found)
    else:
        say(found["source"])


@app.command("check", cls=Command)
def check(
    name: str = typer.Argument(help="A rule: a name, or path/to/file.py:function."), as_json: bool = AsJson
) -> int:
    """Every promise of a rule tried on small exact problems; in words, what is wrong."""
    return tell_complaints(name, examine(resolve(reference(name))), as_json)
