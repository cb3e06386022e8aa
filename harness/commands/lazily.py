"""Commands by name, imported when one is asked for: their modules import torch and numba, which take seconds."""

from importlib import import_module
from typing import Any

import typer

from dgtd.harness.commands.command import Command

# name → (what it is in its module, its one line of help). A Typer has commands of its own.
COMMANDS = {
    "new": ("app", "A rule, problem, world, trainer, suite or benchmark to start from."),
    "problem": ("problems", "Problems: finite MDPs with features, policies and exact values."),
    "rule": ("rules", "Rules."),
    "store": ("app", "The file that results live in."),
    "world": ("worlds", "The worlds that agents act in."),
    "compare": ("compare", "Compare rules and their distributional forms on problems, or agents in worlds."),
    "sweep": ("sweep", "Sensitivity to step sizes; the chosen ones are run again on fresh seeds."),
    "suite": ("suite", "Judge the claims of a suite, or of all."),
    "explain": ("explain", "A claim: what it says, its evidence, and what would flip it."),
    "certify": ("certify", "What is exactly true of a rule's stability on a problem."),
    "curve": ("curve", "The expected learning curve, computed: no seeds."),
    "card": ("card", "One page on a rule: formula, promises, verdicts, exact errors, stability."),
    "run": ("run", "Run one rule on one problem."),
    "runs": ("runs", "Every stored run, and how its lanes ended."),
    "export": ("export", "Numbers out of the store."),
    "figures": ("figures", "The paper's figures, beside what it says of them."),
    "diff": ("diff", "What has changed between two reports or two ledgers."),
    "doctor": ("doctor", "Is everything here that a run needs?"),
    "gate": ("gate", "Measure two commits by asv, in turns."),
}
# Where the module has another name.
MODULES = {
    "explain": "suite", "runs": "run", "certify": "curve", "rule": "known", "problem": "known", "world": "known",
}  # fmt: skip


class Lazily(typer.core.TyperGroup):
    """A group whose commands are imported one by one."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every name, nothing imported."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"dgtd.harness.commands.{MODULES.get(cmd_name, cmd_name)}")
        found = getattr(module, COMMANDS[cmd_name][0])
        if isinstance(found, typer.Typer):
            made: Any = typer.main.get_group(found)
        else:
            one = typer.Typer(add_completion=False, rich_markup_mode=None)
            one.command(cmd_name, cls=Command)(found)
            made = typer.main.get_command(one)
        made.name = cmd_name
        return made

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list in `dgtd --help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])
