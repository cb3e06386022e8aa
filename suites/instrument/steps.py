"""Directions and loops of every engine, against the algorithm written out with explicit Jacobians and Hessians."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import torch

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import LinearEngine, directions
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.fast.small import SmallEngine, SmallLoop
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.stepping import Constant, PowerLaw
from dgtd.algorithms.streams import generator, generators, lane_streams
from dgtd.algorithms.table import Batch, Sampler
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle import literal
from dgtd.harness.oracle.objectives import flat
from dgtd.harness.oracle.theorem import EXACT
from dgtd.harness.plugins import find_problem

SOURCE = "Algorithms 1 to 3, appendix"
PATH = 1e-9  # of the largest number: rounding over a dozen steps
LANES = 2
RUNS = (3, 4)  # steps of two calls: a schedule goes on where it was


@dataclass(frozen=True)
class Net:
    """A network to try: hidden widths, activation, target, samples per step, actions (greedy: no next action given)."""

    hidden: tuple[int, ...]
    activation: str = "tanh"
    target: str = "cdf"
    pinned: bool = False
    batch: int = 1
    actions: int = 1
    greedy: bool = False


NETS = {
    "depth=0": Net(()),
    "depth=0,pinned": Net((), pinned=True),
    "depth=1,tanh": Net((3,)),
    "depth=1,tanh,pinned": Net((3,), pinned=True),
    "depth=2,relu,pinned": Net((3, 4), "relu", pinned=True),
    "depth=2,silu": Net((4, 3), "silu"),
    "depth=2,softplus": Net((3, 3), "softplus"),
    "depth=3,tanh,pinned": Net((3, 2, 3), pinned=True),
    "depth=3,silu,value": Net((3, 3, 2), "silu", "value"),
    "depth=1,tanh,value": Net((3,), target="value"),
    "batch=3,pinned": Net((3,), pinned=True, batch=3),
    "actions=3": Net((3,), actions=3, batch=2),
    "actions=3,greedy": Net((3,), actions=3, batch=2, greedy=True),
    "actions=2,value,greedy": Net((3,), target="value", actions=2, batch=2, greedy=True),
}
# A module of a user's has tanh here, and no actions.
TRIED = {
    **dict.fromkeys(("mlp", "small"), tuple(NETS)),
    "module": ("depth=1,tanh", "depth=1,tanh,value", "depth=3,tanh,pinned", "batch=3,pinned"),
}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "scheduled": {"exponents": (0.9, 0.6), "offset": 2.0},
    "projected": {"radius": 0.7},
    "averaged": {"exponents": (0.9, 0.6), "offset": 2.0, "average": True},
    "mirror-prox": {"radius": 0.7, "average": True, "extragradient": True, "exponents": (0.9, 0.6), "offset": 2.0},
}
LOOPS = {"linear": tuple(CASES), "small": tuple(CASES)[:-1], "mlp": tuple(CASES)[:3], "module": tuple(CASES)[:3]}
LOOP_NET = Net((3,), pinned=True)


def of(rule: Rule) -> Iterator[Claim]:
    """Directions and loops of each engine."""
    tried = [("linear", "transitions of collision and baird, value and cdf", partial(linear_errors, rule))]
    for engine, nets in TRIED.items():
        tried.append((engine, f"networks {', '.join(nets)}", partial(network_errors, rule, engine, nets)))
    for engine, over, errors in tried:
        id_, check = f"instrument/{engine}/{rule.name}/written-out", partial(judged, errors, EXACT)
        says = f"{rule.name}: the {engine} engine's directions are the algorithm's; the worst over {over}"
        yield Claim(id_, says, SOURCE, check, rule=rule)
    for engine, cases in LOOPS.items():
        id_, source = f"instrument/{engine}/loop/{rule.name}", "Algorithms 1 and 2; §4; Juditsky et al. 2011"
        says = f"{sum(RUNS)} steps of the {engine} engine's loop are those of the algorithm; the worst over "
        check = partial(judged, partial(loop_errors, rule, engine, cases), PATH)
        yield Claim(id_, f"{rule.name}: {says}{', '.join(cases)}", source, check, rule=rule)


def controls() -> Iterator[Claim]:
    """The same checks on a wrong engine."""
    without = replace(gtd2, curvature=False)
    dropped = partial(network_errors, gtd2, "mlp", ("depth=1,tanh,pinned",), runs=without)
    ignored = partial(loop_errors, gtd2, "linear", ("projected",), radius=np.inf)
    for name, says, errors, margin in (
        ("h-dropped", "a pinned head without h", dropped, EXACT),
        ("gamma-ignored", "a loop that ignores Γ", ignored, PATH),
    ):
        check = partial(judged, errors, margin)
        yield Claim(f"instrument/control/{name}", f"{says}, taken for the algorithm", SOURCE, check, control=True)


Errors = Callable[[Setting], dict[str, float]]


def judged(errors: Errors, margin: float, setting: Setting) -> Finding:
    """The largest of the errors, and what it is of; one that is not a number is the largest."""
    found = errors(setting)
    worst = max(found, key=lambda name: (np.isnan(found[name]), found[name]))
    words = f"the largest of {len(found)} errors, of {worst}, is {found[worst]:.1e}"
    return exactly(found[worst], margin, words, f"{worst} is wrong")


def off(found: Floats, expected: Floats) -> float:
    """The largest difference, as a share of the largest number."""
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


def both(found: Iterable[Floats], expected: Iterable[Floats], where: str) -> dict[str, float]:
    """G_θ and G_w, each as a share of its own largest entry."""
    pairs = zip(("G_θ", "G_w"), found, expected, strict=True)
    return {f"{name} ({where})": off(ours, theirs) for name, ours, theirs in pairs}


# ---------------------------------------------------------------------- directions


def linear_errors(rule: Rule, setting: Setting) -> dict[str, float]:
    """Every outcome in a lane of its own, all at one random point; and all of them as one batch of one lane."""
    errors: dict[str, float] = {}
    for problem, target in product(("collision", "baird"), ("value", "cdf")):
        world = find_problem(problem)
        table, X, goal = world.mdp.table, world.mdp.features, world.target(target, 5)
        outcomes = np.arange(len(table.probability))[:, None]
        theta, w = generator(setting.seed, purpose="point").normal(size=(2, 1, goal.outputs, X.shape[1]))
        thetas, ws = (np.repeat(part, len(outcomes), axis=0) for part in (theta, w))
        alone = directions(rule, thetas, ws, table.batch(outcomes, X, goal))
        mean = directions(rule, theta, w, table.batch(outcomes.T, X, goal))
        found = [np.concatenate(parts).reshape(len(outcomes) + 1, -1) for parts in zip(alone, mean, strict=True)]
        at, aux = (torch.as_tensor(part.ravel()) for part in (theta, w))
        each = [
            literal.directions(rule, partial(literal.linear, goal.outputs), at, aux, sample)
            for sample in literal.samples_of(table, X, goal)
        ]
        rows = [np.stack([one[i].numpy() for one in each]) for i in (0, 1)]
        expected = [np.concatenate([part, part.mean(0, keepdims=True)]) for part in rows]
        errors |= both(found, expected, f"{problem}, {target}")
    return errors


def network_errors(
    rule: Rule, engine: str, nets: Iterable[str], setting: Setting, runs: Rule | None = None
) -> dict[str, float]:
    """Random weights, inputs and transitions; `runs` is what a control's engine runs."""
    errors: dict[str, float] = {}
    for name in nets:
        net, inputs = NETS[name], 3
        rng = generator(setting.seed, purpose="transitions", net=name)
        goal = CdfTarget(-1.0, 2.0, 4) if net.target == "cdf" else ValueTarget()
        x, x_next = rng.normal(size=(2, 1, net.batch, inputs))
        reward, rho = rng.normal(0.0, 0.5, size=(1, net.batch)), rng.uniform(0.3, 3.0, size=(1, net.batch))
        shift = goal.shift(reward, np.where(np.arange(net.batch) == 1, 0.0, 0.9)[None])
        action, following = rng.integers(net.actions, size=(2, 1, net.batch))
        given = (action, None if net.greedy else following) if net.actions > 1 else (None, None)
        batch = Batch(x, x_next, shift, rho, *given)
        made, pack, first = engine_of(engine, runs or rule, net, goal, inputs)
        # Half as large again as an engine starts with, so that no term is small.
        weights = [
            [1.5 * part for part in first([generator(setting.seed, purpose=part, net=name)])] for part in ("theta", "w")
        ]
        found = made.directions(*map(pack, weights), batch)
        formula = literal.Network((inputs, *net.hidden), goal, net.activation, net.pinned, net.actions)
        at, aux = (torch.as_tensor(flat(part)) for part in weights)
        expected = np.zeros((2, len(at)))
        for i, sample in enumerate(literal.samples_in(batch)):
            later = formula.greedy(at, sample.x_next) if net.greedy else int(following[0, i])
            here, there = formula.at(int(action[0, i])), formula.at(later)
            parts = literal.directions(rule, here, at, aux, sample, there)
            expected += np.stack([part.numpy() for part in parts]) / net.batch
        errors |= both([rows(part, 1)[0] for part in found], expected, name)
    return errors


def engine_of(
    name: str, rule: Rule, net: Net, goal: Any, inputs: int
) -> tuple[Any, Callable[[list], Any], Callable[[list], list]]:
    """(an engine of this network, how it lays out the mlp engine's weights, and what draws such weights)."""
    options: dict[str, Any] = {"activation": net.activation, "pinned": net.pinned, "actions": net.actions}
    mlp = MlpEngine(rule, (inputs, *net.hidden), goal, **options)
    if name == "mlp":
        return mlp, lambda weights: [part.clone() for part in weights], mlp.init
    if name == "small":
        small = SmallEngine(rule, (inputs, *net.hidden), goal, **options)
        return small, small.flat, mlp.init
    layers: list[torch.nn.Module] = []
    for rows, columns in pairwise(mlp.sizes):
        layers += [torch.nn.Linear(rows, columns, dtype=torch.float64), torch.nn.Tanh()]
    module = ModuleEngine(rule, torch.nn.Sequential(*layers[:-1]), goal.head(net.pinned).predict)
    return module, as_torchs, mlp.init


def as_torchs(weights: list) -> dict[str, Any]:
    """The mlp engine's weights as those of a torch.nn.Sequential: [out, in], and biases beside them."""
    named = {f"{2 * i}.weight": part[:, :-1].mT.clone() for i, part in enumerate(weights)}
    return named | {f"{2 * i}.bias": part[:, -1].clone() for i, part in enumerate(weights)}


def rows(weights: Any, lanes: int) -> Floats:
    """[lanes, d] in the mlp engine's order, whichever engine's weights they are."""
    if isinstance(weights, dict):
        layers = [name.split(".")[0] for name in weights if name.endswith("weight")]
        weights = [torch.cat([weights[f"{i}.weight"].mT, weights[f"{i}.bias"][:, None]], 1) for i in layers]
    return np.stack([flat(weights, lane) for lane in range(lanes)])


# ---------------------------------------------------------------------- loops


def loop_errors(
    rule: Rule, engine: str, cases: Iterable[str], setting: Setting, radius: float | None = None
) -> dict[str, float]:
    """Several steps in two calls, from a random point outside the ball; `radius` is the ball of a control's engine."""
    world, errors = find_problem("collision"), {}
    mdp, goal = world.mdp, world.target("cdf", 4, linear=engine == "linear")
    samples = literal.samples_of(mdp.table, mdp.features, goal)
    for case in cases:
        steps = literal.Steps(0.3, 0.8, **CASES[case])
        streams = lane_streams(setting.seed, range(LANES), purpose="loop")
        outcomes = Sampler(mdp.table, streams).draw(sum(RUNS) * (2 if steps.extragradient else 1)).T
        made, predict, theta, w = loop_of(rule, engine, mdp, goal, setting.seed)
        begin = [rows(part, LANES) for part in (theta, w)]

        def field(theta: Any, w: Any, outcome: int, predict: Any = predict) -> tuple[Any, Any]:
            return literal.directions(rule, predict, theta, w, samples[outcome])

        paths = [literal.walk(field, begin[0][lane], outcomes[lane], steps, begin[1][lane]) for lane in range(LANES)]
        expected = np.stack([np.concatenate(path[sum(RUNS)]) for path in paths])
        run = steps if radius is None else replace(steps, radius=radius)
        errors[case] = off(loop_ends(made, theta, w, streams, run), expected)
        norms = np.array([[np.linalg.norm(part) for part in point] for path in paths for point in path])
        if np.isfinite(steps.radius) and not steps.average and not (norms > 0.999 * steps.radius).any(0).all():
            errors[f"{case}: Γ never binds"] = 1.0  # a check of Γ that never binds checks nothing
    return errors


def loop_of(rule: Rule, engine: str, mdp: Any, goal: Any, seed: int) -> tuple[Any, literal.Predict, Any, Any]:
    """(what has `start` and `run`, the predictor as a formula, and every lane's first θ and w)."""
    draws = [generators(seed, range(LANES), purpose=purpose) for purpose in ("first", "first w")]
    k = mdp.features.shape[1]
    if engine == "linear":
        theta, w = (np.stack([0.3 * rng.normal(size=(goal.outputs, k)) for rng in each]) for each in draws)
        return LinearEngine(rule, mdp.table, mdp.features, goal), partial(literal.linear, goal.outputs), theta, w
    inner, pack, first = engine_of(engine, rule, LOOP_NET, goal, k)
    theta, w = (pack(first(each)) for each in draws)
    formula = literal.Network((k, *LOOP_NET.hidden), goal, pinned=True).at()
    if engine == "small":
        return SmallLoop(inner, mdp.table, mdp.features), formula, theta, w
    return TorchLoop(inner, mdp.table, mdp.features, goal), formula, theta, w


def loop_ends(made: Any, theta: Any, w: Any, streams: Any, steps: literal.Steps) -> Floats:
    """[lanes, 2d]: where the engine's lanes are after the calls, or their averages."""
    compiled = isinstance(theta, np.ndarray)
    state = made.start(theta, streams)
    state.w = w.copy() if compiled else w
    law = PowerLaw(*steps.exponents, steps.offset) if any(steps.exponents) else Constant()
    options: dict[str, Any] = {"radius": steps.radius, "schedule": law}
    if compiled:
        options |= {"average": steps.average, "extragradient": steps.extragradient}
    for count in RUNS:
        made.run(state, count, steps.alpha, steps.beta, **options)
    ends = (state.theta_mean, state.w_mean) if steps.average else (state.theta, state.w)
    return np.concatenate([rows(end, LANES) for end in ends], axis=1)
