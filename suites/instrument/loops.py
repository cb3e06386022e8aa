"""Loops: step sizes, Γ, averages and Mirror-Prox over several steps, against the algorithm written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly, largest
from suites.instrument.points import Net, linear, make_mlp, make_module, make_small, of_module, off, to_module, vector

PATH = 1e-9  # of the largest number: rounding over a dozen steps
CASES = {
    "plain": {},
    "scheduled": {"exponents": (0.9, 0.6), "offset": 2.0},
    "projected": {"radius": 0.7},
    "averaged": {"exponents": (0.9, 0.6), "offset": 2.0, "average": True},
    "mirror-prox": {"radius": 0.7, "average": True, "extragradient": True, "exponents": (0.9, 0.6), "offset": 2.0},
}
LOOPS = {
    "linear": tuple(CASES),
    "small": tuple(CASES)[:-1],
    **dict.fromkeys(("mlp", "module"), ("plain", "scheduled", "projected")),
}
LOOP_NET = Net((3,), pinned=True)
RUNS = (3, 4)  # steps of two calls: a schedule goes on where it was
LANES = 2


def loop(rule: Rule, engine: str, case: str) -> Claim:
    """Several steps in two calls."""
    return Claim(
        id=f"instrument/{engine}/loop/{case}/{rule.name}",
        says=f"{rule.name}: {sum(RUNS)} steps of the {engine} engine's loop are those of the algorithm ({case})",
        source="Algorithms 1 and 2; §4; Juditsky et al. 2011" if case == "mirror-prox" else "Algorithms 1 and 2; §4",
        check=partial(loop_is_written_out, rule, engine, case),
        rule=rule,
    )


def loop_is_written_out(rule: Rule, engine: str, case: str, setting: Setting, change: str = "") -> Finding:
    """From one random point, on the transitions that the sampler gives these lanes."""
    from algorithms.streams import lane_streams
    from algorithms.table import Sampler
    from harness.oracle import literal
    from harness.plugins import find_problem

    world = find_problem("collision")
    mdp, goal = world.mdp, world.target("cdf", 4)
    steps = literal.Steps(0.3, 0.8, **CASES[case])  # type: ignore[arg-type]
    streams = lane_streams(setting.seed, range(LANES), purpose="loop")
    outcomes = Sampler(mdp.table, streams).draw(sum(RUNS) * (2 if steps.extragradient else 1)).T
    made, predict, theta, w = _loop_engine(rule, engine, mdp, goal, setting.seed)
    begin = [[vector(part, lane) for part in (theta, w)] for lane in range(LANES)]
    found = _loop_points(made, theta, w, streams, replace(steps, radius=np.inf) if change else steps)
    samples = literal.samples_of(mdp.table, mdp.features, goal)

    def field(theta: Any, w: Any, outcome: int) -> tuple[Any, Any]:
        return literal.directions(rule, predict, theta, w, samples[outcome])

    paths = [literal.walk(field, begin[lane][0], outcomes[lane], steps, begin[lane][1]) for lane in range(LANES)]
    expected = np.stack([np.concatenate(path[sum(RUNS)]) for path in paths])
    words = f"after {sum(RUNS)} steps in two calls the points are off by {{error:.1e}}"
    if np.isfinite(steps.radius):
        bound = [
            float(np.mean([np.linalg.norm(p[i]) > 0.999 * steps.radius for path in paths for p in path]))
            for i in (0, 1)
        ]
        words += f"; Γ binds θ at {bound[0]:.0%} and w at {bound[1]:.0%} of the points"
        if not steps.average and min(bound) == 0:  # a check of Γ that never binds checks nothing
            return exactly(1.0, PATH, f"Γ never binds: θ {bound[0]:.0%}, w {bound[1]:.0%}")
    error = off(found, expected)
    return exactly(error, PATH, words.format(error=error))


def _loop_engine(rule: Rule, engine: str, mdp: Any, goal: Any, seed: int) -> tuple[Any, Callable[..., Any], Any, Any]:
    """(what has `start` and `run`, the predictor as a formula, and every lane's first θ and w), outside the ball."""
    from algorithms.fast.linear import LinearEngine
    from algorithms.fast.loop import TorchLoop
    from algorithms.fast.small import SmallLoop
    from algorithms.streams import generators
    from harness.oracle import literal

    theta_rng, w_rng = (generators(seed, range(LANES), purpose=purpose) for purpose in ("first", "first w"))
    k = mdp.features.shape[1]
    if engine == "linear":
        theta, w = (np.stack([0.3 * e.normal(size=(goal.outputs, k)) for e in rng]) for rng in (theta_rng, w_rng))
        return LinearEngine(rule, mdp.table, mdp.features, goal), partial(linear, goal.outputs), theta, w
    small = engine == "small"
    inner = (make_small if small else make_mlp)(rule, LOOP_NET, goal, k)
    weights = [inner.init(rng) for rng in (theta_rng, w_rng)]
    formula = literal.Network((k, *LOOP_NET.hidden), goal, pinned=True)
    if small:
        return SmallLoop(inner, mdp.table, mdp.features), formula.at(), *weights
    if engine == "module":
        inner = make_module(rule, LOOP_NET, goal, weights[0])
    return TorchLoop(inner, mdp.table, mdp.features, goal), formula.at(), *weights


def _loop_points(made: Any, theta: Any, w: Any, streams: Any, steps: Any) -> Floats:
    """[lanes, 2d]: where the engine's lanes are after the calls, or their averages."""
    from algorithms.fast.module import ModuleEngine
    from algorithms.stepping import Constant, PowerLaw

    compiled, module = isinstance(theta, np.ndarray), isinstance(getattr(made, "engine", None), ModuleEngine)
    if module:
        theta, w = to_module(theta), to_module(w)
    state = made.start(theta, streams)
    state.w = w.copy() if compiled else w
    law = PowerLaw(steps.exponents[0], steps.exponents[1], steps.offset) if any(steps.exponents) else Constant()
    options = {"radius": steps.radius, "schedule": law}
    if compiled:
        options |= {"average": steps.average, "extragradient": steps.extragradient}
    for count in RUNS:
        made.run(state, count, steps.alpha, steps.beta, **options)
    ends = (state.theta_mean, state.w_mean) if compiled and steps.average else (state.theta, state.w)
    parts = [of_module(end) if module else end for end in ends]
    return np.stack([np.concatenate([vector(part, lane) for part in parts]) for lane in range(LANES)])


# ---------------------------------------------------------------------- a step size per lane, a batch per step


def own_sizes(engine: str) -> Claim:
    """A sweep as lanes."""
    return Claim(
        id=f"instrument/{engine}/own-sizes",
        says=f"the {engine} engine moves each lane by its own −αG_θ and β(G_w − κw), averaged over its batch",
        source="Algorithms 1 and 2",
        check=partial(sizes_are_own, engine),
    )


def sizes_are_own(engine: str, setting: Setting) -> Finding:
    """Three lanes, two samples each, against the engine's own directions; and one size for all lanes."""
    from algorithms.batch import Batch
    from algorithms.rules import tdrc
    from algorithms.streams import generator, generators
    from algorithms.targets import CdfTarget

    goal, rng, lanes = CdfTarget(-1.0, 2.0, 4), generator(setting.seed, purpose="sizes"), 3
    made = inner = (make_small if engine == "small" else make_mlp)(tdrc(0.5), LOOP_NET, goal, 3)
    theta, w = (inner.init(generators(setting.seed, range(lanes), part=part)) for part in ("theta", "w"))
    if engine == "module":
        made = make_module(tdrc(0.5), LOOP_NET, goal, theta)
        theta, w = to_module(theta), to_module(w)
    x, x_next = rng.normal(size=(2, lanes, 2, 3))
    batch = Batch(
        x, x_next, goal.shift(rng.normal(size=(lanes, 2)), np.full((lanes, 2), 0.9)), np.full((lanes, 2), 1.3)
    )
    worst = 0.0
    for alpha, beta in ((np.array([0.1, 0.2, 0.4]), np.array([0.7, 0.3, 0.5])), (0.2, 0.6)):
        before = [_rows(part, lanes) for part in (theta, w)]
        along = [_rows(part, lanes) for part in made.directions(theta, w, batch)]
        made.step(theta, w, batch, alpha, beta)
        a, b = (np.broadcast_to(size, lanes)[:, None] for size in (alpha, beta))
        expected = [before[0] - a * along[0], before[1] + b * along[1]]
        found = [_rows(part, lanes) for part in (theta, w)]
        worst = largest(worst, *(off(ours, theirs) for ours, theirs in zip(found, expected, strict=True)))
    return exactly(worst, PATH, f"{lanes} lanes of 2 samples are off by {worst:.1e}")


def _rows(weights: Any, lanes: int) -> Floats:
    return np.stack([vector(weights, lane) for lane in range(lanes)])


# ---------------------------------------------------------------------- rows longer than what a pass takes at once


def wide_rows() -> Claim:
    """Long rows take another way through the compiled pass."""
    return Claim(
        id="instrument/small/wide",
        says=f"the small engine's steps on layers of {WIDE_NET[0]} and {WIDE_NET[1]} units are the mlp engine's",
        source="Algorithm 1",
        check=wide_rows_agree,
    )


WIDE_NET = (520, 1030)  # units: more than one block of columns, and more than are prefetched


def wide_rows_agree(setting: Setting) -> Finding:
    """Two steps, so that the second starts from what the first has changed, with a w that is not 0 and decays."""
    import torch

    from algorithms.fast.loop import TorchLoop
    from algorithms.fast.mlp import MlpEngine
    from algorithms.fast.small import SmallEngine, SmallLoop
    from algorithms.rules import tdrc
    from algorithms.streams import generators, lane_streams
    from harness.plugins import find_problem

    world = find_problem("collision")
    table, inputs, goal = world.mdp.table, world.mdp.features, world.target("cdf", 4)
    rule, sizes = tdrc(0.5), (inputs.shape[1], *WIDE_NET)
    small, mlp = SmallEngine(rule, sizes, goal), MlpEngine(rule, sizes, goal, compiled=False)
    ours, theirs = SmallLoop(small, table, inputs), TorchLoop(mlp, table, inputs, goal)
    theta, w = (small.init(generators(setting.seed, [0], part=part)) for part in ("theta", "w"))
    streams = lane_streams(setting.seed, [0], purpose="wide")
    state = ours.start(theta, streams)
    state.w = w.copy()
    torch_state = theirs.start([torch.as_tensor(layer.copy()) for layer in small.layers(theta)], streams)
    torch_state.w = [torch.as_tensor(layer.copy()) for layer in small.layers(w)]
    ours.run(state, 2, 0.3, 0.8)
    theirs.run(torch_state, 2, 0.3, 0.8)
    moved = np.concatenate([(state.theta - theta)[0, 0], (state.w - w)[0, 0]])
    expected = [small.flat(end) - begin for end, begin in ((torch_state.theta, theta), (torch_state.w, w))]
    error = off(moved[None], np.concatenate([part[0, 0] for part in expected])[None])
    return exactly(error, PATH, f"after two steps what has changed is off by {error:.1e}")
