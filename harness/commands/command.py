"""What all commands do: they take names in several spellings, their help has panels, their stdout is their own."""

from __future__ import annotations

from typing import Any

import typer

from dgtd.harness.commands.output import own_stdout

MOST = 12  # options in one list; more of them are divided into panels
# By the parameters' names, which mean the same in every command. The first panel is what most people need.
PANELS = {
    "What": (
        "name", "checked", "rule", "rules", "problem", "problems", "target", "targets", "profile", "claim", "steps",
        "seeds", "lanes", "exact",
    ),
    "Step sizes": ("alpha", "beta", "alphas", "ratios", "sweep_seeds", "schedule", "average", "mirror_prox"),
    "Verdict": ("matters", "until_decided", "at_most"),
    "Predictor": ("predictor", "learner", "atoms", "projection"),
    "World": (
        "gamma", "range", "threshold", "explore", "explore_steps", "batch", "every", "begin", "capacity", "episodes",
        "frozen", "metric", "theta_optimiser", "w_optimiser", "states",
    ),
    "Run": ("seed", "trajectory", "dry_run", "executor", "workers", "scheduler", "timeout", "store"),
    "Output": (
        "out", "plot", "zone_map", "checkpoints", "junit", "markdown", "document", "pictures", "as_json", "help",
    ),
}  # fmt: skip
SPELT = [("--problem", "--problems"), ("--rule", "--rules"), ("--target", "--targets"), ("--claim", "--claims")]
SEVERAL = "NAMES"  # the metavar of an option that takes names separated by commas


class Command(typer.core.TyperCommand):
    """A command whose own words alone go to stdout: what a rule file or a plug-in prints goes to stderr."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        with own_stdout():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--rule a --rule b`, `--rules a,b` and `--rules a --rules b` are the one option that the command has."""
        own = {opt: each for each in self.params for opt in each.opts}
        spelt = {word: own[opt] for pair in SPELT for word in pair for opt in pair if opt in own}
        names: dict[Any, list[str]] = {}
        kept, left = [], iter(args)
        for word in left:
            option, sign, value = word.partition("=")
            if word == "--":
                kept += [word, *left]
            elif option not in spelt:
                kept.append(word)
            elif (given := value if sign else next(left, None)) is not None:
                names.setdefault(spelt[option], []).append(given)
            else:  # whose value is missing: the parser says so
                kept.append(spelt[option].opts[0])
        for each, listed in names.items():
            if each.metavar != SEVERAL and not each.multiple and len(set(listed)) > 1:
                raise ValueError(f"{each.opts[0]} takes one name in `dgtd {self.name}`, got {', '.join(listed)}")
            words = listed if each.multiple else [",".join(dict.fromkeys(listed))]
            kept = [f"{each.opts[0]}={one}" for one in words] + kept
        return super().parse_args(ctx, kept)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options; many options in panels, in the order of PANELS."""
        if sum(each.param_type_name == "option" for each in self.params) <= MOST:
            return super().format_options(ctx, formatter)
        shown = {each.name: record for each in self.get_params(ctx) if (record := each.get_help_record(ctx))}
        for panel, names in PANELS.items():
            if records := [shown[name] for name in names if name in shown]:
                with formatter.section(panel):
                    formatter.write_dl(records)
        return None
