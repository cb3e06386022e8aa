"""The instrument itself: engines and stored runs take the algorithm's own steps, and what is called exact is exact."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from algorithms.rule import Rule
from algorithms.rules import greedy_gq, gtd2, tdrc
from harness.judging.claims import Claim
from suites.instrument import (
    agreement,
    by_hand,
    definitions,
    exact_points,
    exponents,
    identity,
    lstd,
    numbers,
    streams,
)
from suites.instrument.curves import CASES, curve, other_step
from suites.instrument.directions import KINDS, MODULES, NETS, SOURCE, linear_directions, network_directions
from suites.instrument.directions import network_is_written_out as net_is_written_out
from suites.instrument.loops import LOOPS, loop, loop_is_written_out, own_sizes, wide_rows
from suites.instrument.sampler import sampler
from suites.instrument.stored import PATHS, stored_path

RULES = (gtd2, tdrc(0.5))  # together they use every term: u or δ on f, curvature, w's decay
COMPILED = replace(gtd2, name="gtd2-as-nonlinear", linear=False)  # takes the path of rules that are compiled in
ENGINES = ("mlp", "small", "module")
FLAT = greedy_gq(0.5)  # without curvature


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about two of ours; the claims of sampler and oracle do not depend on it."""
    made: list[Claim] = []
    for each in (rule,) if rule else RULES:
        made += [linear_directions(each, problem, target) for problem in ("collision", "baird") for target in KINDS]
        made += [network_directions(each, engine, name) for engine in ("mlp", "small") for name in NETS]
        made += [network_directions(each, "module", name) for name in MODULES]
        made += [loop(each, engine, case) for engine, cases in LOOPS.items() for case in cases]
        made += [stored_path(each, name) for name in PATHS]
        if each.linear:
            mirrored = {name for name, case in CASES.items() if case.extragradient}
            made += [curve(each, name) for name in CASES if not (each.w_decay and name in mirrored)]
    if rule is None:
        made += [linear_directions(COMPILED, "baird", target) for target in KINDS]
        made += [network_directions(FLAT, engine, "depth=1,tanh,pinned") for engine in ENGINES]
        made += [network_directions(COMPILED, "small", "depth=1,tanh,pinned")]
        made += [*(own_sizes(engine) for engine in ENGINES), wide_rows()]
        made += [*streams.claims(), *by_hand.claims(), *identity.claims(), *numbers.claims(), *agreement.claims()]
    made += [*(sampler(problem) for problem in ("collision", "random_mdp")), *controls()]
    return made + [claim for part in (definitions, lstd, exponents, exact_points) for claim in part.claims()]


def controls() -> list[Claim]:
    """The same checks on a wrong engine."""
    wrong = {
        "h-dropped": ("a pinned head without h", partial(net_is_written_out, gtd2, "mlp", "depth=1,tanh,pinned")),
        "gamma-ignored": ("a loop that ignores Γ", partial(loop_is_written_out, gtd2, "linear", "projected")),
    }
    return [other_step(gtd2)] + [
        Claim(
            id=f"instrument/control/{name}",
            says=f"{says}, taken for the algorithm",
            source=SOURCE,
            check=partial(check, change=name.replace("-", " ")),
            control=True,
        )
        for name, (says, check) in wrong.items()
    ]
