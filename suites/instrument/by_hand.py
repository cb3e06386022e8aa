"""Whole runs on one state with one feature, where every number can be written down: snapshots, schedules and deaths.

The state leads to itself with reward 1 and discount γ, and its feature is φ. So there is no chance: f = φθ, u = φw and
δ = 1 + (γ − 1)φθ in every step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.stepping import PowerLaw, mirror_descent, mirror_prox
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from suites.instrument.points import off

SOURCE = "Algorithm 1; §4"
GAMMA, PHI, START = 0.9, 1.5, 2.0
ALPHA, BETA, LAW = 0.4, 0.3, PowerLaw(0.9, 0.6, 2.0)
CALLS = ((4, (0, 2, 4)), (3, (4, 5, 7)))  # steps of a call, and the snapshots that it takes
EXPLODES, DYING = (1e100, 1e-3, 1e70), (3, 4)  # α of TD: two lanes overflow, the one between them does not; calls
ENGINES = ("linear", "module")
ROUNDING = 1e-12


def claims() -> list[Claim]:
    """Runs of both kinds of loop, then single steps of mirror descent and Mirror-Prox."""
    made = []
    for engine in ENGINES:
        made += [
            _exact(
                f"instrument/{engine}/by-hand",
                f"on one state the {engine} engine's snapshots are GTD2's points at their very steps, "
                "and its schedule goes on over calls and snapshots",
                partial(snapshots_are_by_hand, engine),
            ),
            _exact(
                f"instrument/{engine}/deaths",
                f"a lane of the {engine} engine that overflows is dated by its step since the start and is not a "
                "number from then on; its neighbours do not notice",
                partial(deaths_are_by_hand, engine),
            ),
        ]
    steps = {
        "mirror-descent": (mirror_descent, "Nemirovski et al. 2009"),
        "mirror-prox": (mirror_prox, "Juditsky et al. 2011"),
    }
    for name, (step, source) in steps.items():
        says = f"a step of {name} on a saddle with one θ and one w is the one written out, inside the balls and on them"
        made.append(_exact(f"instrument/stepping/{name}", says, partial(step_is_by_hand, step), source))
    return made


def _exact(name: str, says: str, check: Callable[[Setting], Finding], source: str = SOURCE) -> Claim:
    return Claim(id=name, says=says, source=source, check=check, seeded=False)


# ---------------------------------------------------------------------- runs


def one_state(rule: Any, engine: str) -> tuple[Any, Callable[[Any], Floats]]:
    """(what has `start` and `run`, and how to read θ or w [lanes] from its weights)."""
    import torch

    from algorithms.fast.linear import LinearEngine
    from algorithms.fast.loop import TorchLoop
    from algorithms.fast.module import ModuleEngine
    from algorithms.table import TransitionTable
    from algorithms.targets import ValueTarget

    one = np.ones(1)
    table = TransitionTable(
        offsets=np.array([0, 1]), probability=one, next_state=np.zeros(1, dtype=np.int64), reward=one,
        discount=GAMMA * one, rho=one, ends=np.zeros(1, dtype=np.bool_), start=one,
    )  # fmt: skip
    features = np.full((1, 1), PHI)
    if engine == "linear":
        return LinearEngine(rule, table, features, ValueTarget()), lambda weights: weights[:, 0, 0].copy()
    inner = ModuleEngine(rule, torch.nn.Linear(1, 1, bias=False, dtype=torch.float64))
    made = TorchLoop(inner, table, features, ValueTarget())
    return made, lambda weights: weights["weight"][:, 0, 0].numpy().copy()


def begin(made: Any, engine: str, lanes: int) -> Any:
    """Lanes at θ = START and w = 0."""
    import torch

    from algorithms.streams import lane_streams

    theta = np.full((lanes, 1, 1), START)
    streams = lane_streams(0, range(lanes), purpose="by hand")
    return made.start(theta if engine == "linear" else {"weight": torch.as_tensor(theta)}, streams)


def snapshots_are_by_hand(engine: str, setting: Setting) -> Finding:
    """θ and w at every snapshot of two calls."""
    from algorithms.rules import gtd2

    made, read = one_state(gtd2, engine)
    state, found, times = begin(made, engine, 1), list[Floats](), list[int]()
    options: dict[str, Any] = {"keep_w": True} if engine == "linear" else {}
    for steps, at in CALLS:
        curves = made.run(state, steps, ALPHA, BETA, schedule=LAW, snapshots=at, **options)
        times += [int(each) for each in curves.steps]
        found += [np.concatenate([read(curves.theta[i]), read(curves.w[i])]) for i in range(len(at))]
    path = gtd2_by_hand(max(times))
    error = off(np.array(found), np.array([path[t] for t in times]))
    return exactly(error, ROUNDING, f"{len(times)} snapshots of θ and w in {len(CALLS)} calls are off by {error:.1e}")


def gtd2_by_hand(steps: int) -> list[tuple[float, float]]:
    """(θ, w) before every step and after the last: G_θ = (γ − 1)φu and G_w = φ(δ − u)."""
    path = [(START, 0.0)]
    for t in range(steps):
        theta, w = path[-1]
        delta, u = 1.0 + (GAMMA - 1.0) * PHI * theta, PHI * w
        alpha, beta = ALPHA * (1 + t / 2.0) ** -0.9, BETA * (1 + t / 2.0) ** -0.6
        path.append((theta - alpha * (GAMMA - 1.0) * PHI * u, w + beta * PHI * (delta - u)))
    return path


def deaths_are_by_hand(engine: str, setting: Setting) -> Finding:
    """A run of two calls: lanes overflow in the second. Dates that are wrong, and lanes whose numbers are."""
    from algorithms.rules import td

    made, read = one_state(td, engine)
    state = begin(made, engine, len(EXPLODES))
    for steps in DYING:
        made.run(state, steps, np.array(EXPLODES), BETA)
    ends = [td_by_hand(alpha, sum(DYING)) for alpha in EXPLODES]
    last, dates = np.array([theta for theta, _ in ends]), np.array([died for _, died in ends])
    wrong = int((~np.isclose(read(state.theta), last, rtol=1e-9, equal_nan=True) | (state.died != dates)).sum())
    words = f"{wrong} of {len(ends)} lanes are wrong: they died at {state.died.tolist()}, by hand at {dates.tolist()}"
    return exactly(float(wrong), 0.0, words)


def td_by_hand(alpha: float, steps: int) -> tuple[float, int]:
    """(the last θ, the first step whose δ is not finite or −1)."""
    theta = START
    for t in range(steps):
        delta = 1.0 + GAMMA * PHI * theta - PHI * theta
        if not np.isfinite(delta):
            return np.nan, t
        theta += alpha * PHI * delta
    return theta, -1


# ---------------------------------------------------------------------- mirror descent and Mirror-Prox


def step_is_by_hand(step: Callable[..., Any], setting: Setting) -> Finding:
    """L = (b − aθ)w − ½cw²: θ descends, w ascends, both are cut at R; and the point that counts in the average."""
    a, b, c, size, errors = 1.3, 0.7, 0.5, 1.5, []

    def field(theta: Floats, w: Floats) -> tuple[Floats, Floats]:
        return -a * w, b - a * theta - c * w

    for radius in (10.0, 0.9):
        theta, w = 0.6, -0.8
        middle = [_cut(theta + size * a * w, radius), _cut(w + size * (b - a * theta - c * w), radius)]
        ahead = [theta, w] if step is mirror_descent else middle
        after = [theta + size * a * ahead[1], w + size * (b - a * ahead[0] - c * ahead[1])]
        expected = [*(_cut(part, radius) for part in after), *ahead]
        found = step(field, np.array([theta]), np.array([w]), size, radius)
        errors.append(off(np.concatenate(found), np.array(expected)))
    worst = float(np.max(errors))
    return exactly(worst, ROUNDING, f"the step and the point that is averaged are off by {worst:.1e}")


def _cut(number: float, radius: float) -> float:
    return min(max(number, -radius), radius)
