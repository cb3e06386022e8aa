"""Means and steps: an engine's average over every transition, a whole step, the target's law, the R-operator.

Claims of the gradients suite; transition by transition stands in `dgtd.suites.instrument.steps`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch.func import hessian

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import LinearEngine, directions
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.algorithms.table import Batch, Sampler
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.judging.claims import Need, Setting
from dgtd.harness.judging.statistics import Interval
from dgtd.harness.judging.verdicts import Finding, decided, exactly, largest
from dgtd.harness.oracle.objectives import Objective, flat, linear, mlp
from dgtd.harness.oracle.theorem import EXACT, relative_error
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.rule_files import reference_of
from dgtd.harness.runs.spec import Learner, PlaceSpec, Probe, Request, RunSpec
from dgtd.harness.runs.work import Job


def compare(found: Floats, expected: Floats, what: str = "E[Δθ]", of: str = "−½∇J") -> Finding:
    """Two vectors that must be one: off by how much, and in which direction."""
    error = relative_error(found, expected)
    cosine = float(found @ expected / (np.linalg.norm(found) * np.linalg.norm(expected) + 1e-300))
    wrong = f"its direction has cosine {cosine:.3f} with {of}"
    words = f"{what} is off {of} by {error:.1e} of its size"
    return exactly(error, EXACT, words, wrong, cosine=cosine, size=float(np.abs(expected).max()))


def every_outcome(engine: str):  # type: ignore[no-untyped-def]
    """Collision's lift, and a batch with every outcome in a lane of its own."""
    world = find_problem("collision")
    target = world.target("cdf", 4, linear=engine == "linear")
    outcomes = np.arange(len(world.mdp.table.probability))[:, None]
    return world.mdp, target, world.mdp.table.batch(outcomes, world.mdp.features, target)


def points(engine: str, rule: Rule, mdp, target, lanes: int, seed: int):  # type: ignore[no-untyped-def]
    """(engine object, predictor, θ, w) with the same point in every lane."""
    if engine == "linear":
        points = generator(seed, purpose="point").normal(size=(2, 1, target.outputs, mdp.features.shape[1]))
        at = [np.array(np.broadcast_to(p, (lanes, *p.shape[1:])), order="C") for p in points]
        return LinearEngine(rule, mdp.table, mdp.features, target), linear(mdp.features, target.outputs), *at
    made, rng = MlpEngine(rule, (mdp.features.shape[1], 3), target), [generator(seed, purpose="weights")]
    weights = [[p.expand(lanes, *p.shape[1:]).clone() for p in made.init(rng)] for _ in range(2)]
    return made, mlp(made, mdp.features), *weights


def rows(weights: Any, lanes: int) -> Floats:
    """[lanes, d]."""
    return np.stack([flat(weights, lane) for lane in range(lanes)])


def engine_mean(rule: Rule, engine: str, setting: Setting) -> Finding:
    mdp, target, batch = every_outcome(engine)
    made, predictor, theta, w = points(engine, rule, mdp, target, len(batch.x), setting.seed)
    exact = Objective(mdp, target, predictor).mean_update(rule, flat(theta), flat(w))
    found = made.directions(theta, w, batch)
    means = [mdp.mass @ rows(part, len(batch.x)) for part in found]
    ours = np.concatenate([-means[0], means[1]])
    return compare(ours, np.concatenate(exact), "the engine's mean", "the exact mean update")


def engine_step(rule: Rule, engine: str, setting: Setting) -> Finding:
    """A whole step against the engine's own directions: the right sizes on the right weights."""
    mdp, target, _ = every_outcome(engine)
    lanes, alpha, beta = 6, 0.03, 0.2
    streams = lane_streams(setting.seed, range(lanes), purpose="step")
    outcomes = Sampler(mdp.table, streams).draw(1).T
    batch = mdp.table.batch(outcomes, mdp.features, target)
    made, _, theta, w = points(engine, rule, mdp, target, lanes, setting.seed)
    g_theta, g_w = made.directions(theta, w, batch)
    before = [rows(part, lanes) for part in (theta, w, g_theta, g_w)]
    if engine == "linear":
        state = made.start(theta, streams)
        state.w[:] = w
        made.step(state, alpha, beta)
        theta, w = state.theta, state.w
    else:
        made.step(theta, w, batch, alpha, beta)
    moved = np.stack([rows(theta, lanes) - before[0], rows(w, lanes) - before[1]])
    expected = np.stack([-alpha * before[2], beta * before[3]])
    return compare(moved.ravel(), expected.ravel(), "the step", "(−αG_θ, βG_w)")


def target_law(projection: str, setting: Setting) -> Finding:
    """Against the definition, law by law: mass split or moved to an atom, or F' at an atom near (z − r)/γ."""
    rng = generator(setting.seed, purpose="target", projection=projection)
    target = CdfTarget(-1.0, 2.0, 13, projection)
    z, dz = target.support, target.spacing
    worst = 0.0
    for trial in range(40):
        p = rng.dirichlet(np.ones(13))
        r, gamma = float(rng.normal(0.0, 0.7)), 0.0 if trial % 4 == 0 else float(rng.uniform(0.3, 1.0))
        F = np.cumsum(p)
        shift = target.shift(r, gamma)
        found = shift.matrix() @ F[:-1] + shift.constant
        if projection == "cramer":
            at = (np.clip(r + gamma * z, z[0], z[-1]) - z[0]) / dz
            expected = np.array([(p * np.clip(j + 1 - at, 0.0, 1.0)).sum() for j in range(12)])
        elif projection == "nearest-mass":
            at = np.floor((np.clip(r + gamma * z, z[0], z[-1]) - z[0]) / dz + 0.5)
            expected = np.array([p[at <= j].sum() for j in range(12)])
        elif gamma == 0.0:
            expected = (z[:-1] >= r).astype(float)
        else:
            y = ((z[:-1] - r) / gamma - z[0]) / dz
            index = np.floor(y + (0.5 if projection == "nearest" else 0.0)).clip(0, 12).astype(int)
            expected = np.where(y < 0, 0.0, np.where(y >= 12, 1.0, F[index]))
        worst = largest(worst, np.abs(found - expected))
    return exactly(worst, EXACT, f"the largest error over 40 laws, a quarter of them ended, is {worst:.1e}")


def value_law(setting: Setting) -> Finding:
    """As a matrix and a constant, at random rewards and discounts and at ends."""
    rng = generator(setting.seed, purpose="value target")
    r, gamma = rng.normal(size=40), np.where(np.arange(40) % 4 == 0, 0.0, rng.uniform(0.3, 1.0, size=40))
    shift = ValueTarget().shift(r, gamma)
    v = rng.normal(size=40)
    found = shift.matrix()[:, 0, 0] * v + shift.constant[:, 0]
    error = float(np.abs(found - (r + gamma * v)).max())
    return exactly(error, EXACT, f"the largest error over 40 transitions, a quarter of them ended, is {error:.1e}")


def r_operator(setting: Setting) -> Finding:
    target = CdfTarget(-1.0, 1.0, 5)
    engines = [MlpEngine(replace(gtd2, curvature=on), (3, 4, 3), target) for on in (True, False)]
    rng = [generator(setting.seed, purpose="weights")]
    theta, w = engines[0].init(rng), engines[0].init(rng)
    draw = np.random.default_rng(setting.seed)
    x, x_next = draw.normal(size=(2, 1, 1, 3))
    batch = Batch(x, x_next, target.shift(draw.normal(size=(1, 1)), [[0.9]]), np.array([[1.3]]))
    with_h, without_h = (flat(engine.directions(theta, w, batch)[0]) for engine in engines)
    predictor = mlp(engines[0], x[0])
    at, aux = torch.as_tensor(flat(theta)), torch.as_tensor(flat(w))
    second = hessian(lambda vector: predictor.all(vector)[0])(at)
    f, f_next = predictor.all(at)[0], mlp(engines[0], x_next[0]).all(at)[0]
    u = torch.func.jvp(lambda vector: predictor.all(vector)[0], (at,), (aux,))[1]
    shift = batch.shift
    g = torch.as_tensor(shift.matrix()[0, 0]) @ f_next + torch.as_tensor(shift.constant[0, 0])
    q = 1.3 * (g - f) - u
    expected = torch.einsum("j,jab,b->a", q, second, aux).numpy()
    return compare(with_h - without_h, expected, "the pass's curvature term", "Σ q ∇²F w")


def needs_sampled_updates(rule: Rule, problem: str, setting: Setting) -> list[Need]:
    steps = 4000 if setting.profile == "ci" else 40_000
    return [Job.of(sampled_updates, rule, problem=problem, steps=steps, seed=setting.seed)]


def sampled_updates(rule: Rule, problem: str, steps: int, seed: int, lanes: int = 64) -> dict[str, Any]:
    """Lanes of sampled transitions, each an independent mean of updates at one point; and the exact mean update."""
    world = find_problem(problem)
    mdp, target = world.mdp, world.target("value")
    sampler = Sampler(mdp.table, lane_streams(seed, range(lanes), problem=problem, purpose="sampled mean"))
    sampler.draw(500)  # until the start is forgotten
    outcomes, size = sampler.draw(steps), len(mdp.table.probability)
    share = np.stack([np.bincount(outcomes[:, lane], minlength=size) for lane in range(lanes)]) / steps
    batch = mdp.table.batch(np.arange(size)[:, None], mdp.features, target)
    theta, w = generator(seed, purpose="point").normal(size=(2, 1, mdp.features.shape[1]))
    at = [np.array(np.broadcast_to(part, (size, *part.shape)), order="C") for part in (theta, w)]
    g_theta, g_w = directions(rule, at[0], at[1], batch)
    exact = np.concatenate(Objective(mdp, target, linear(mdp.features)).mean_update(rule, theta, w))
    sampled = share @ np.concatenate([-g_theta.reshape(size, -1), g_w.reshape(size, -1)], axis=1)
    return {"sampled": sampled.tolist(), "exact": exact.tolist(), "steps": steps}


def sampled_mean(evidence: list[Any], setting: Setting) -> Finding:
    """The largest t over the coordinates."""
    sampled, exact = np.array(evidence[0]["sampled"]), np.array(evidence[0]["exact"])
    lanes = len(sampled)
    spread = sampled.std(0, ddof=1) / np.sqrt(lanes)
    moving = spread > 1e-14
    t = np.abs(sampled.mean(0) - exact)[moving] / spread[moving]
    critical = float(stats.t.isf(setting.false_alarm / (2 * max(len(t), 1)), lanes - 1))
    top = float(t.max(initial=0.0))
    words = f"largest of {len(t)} t statistics is {top:.2f}, critical {critical:.2f}"
    return decided(
        top <= critical, Interval.at(top, lanes), critical, setting.false_alarm, words,
        f"a t statistic above {critical:.2f}", detectable=float(2 * critical * spread.max()),
        evidence={"steps": evidence[0]["steps"], "lanes": lanes},
    )  # fmt: skip


def request(
    rule: Rule, problem: str, seeds: int, setting: Setting, purpose: str, times: Any, alpha: float, beta: float, *,
    metrics: tuple[str, ...] = (), iid: bool = False, axes: tuple[tuple[str, str | int], ...] = (), **learner: Any,
) -> Request:  # fmt: skip
    """Lanes of a rule on a problem; `purpose` names their streams, so that no two claims share one by chance."""
    learns, probe = Learner(reference_of(rule), alpha, beta, **learner), Probe(tuple(int(t) for t in times), metrics)
    return Request(RunSpec(PlaceSpec(problem, iid), learns, probe, setting.seed, (("purpose", purpose), *axes)), seeds)


def medians(trial: Lanes, metric: str, name: str) -> dict[str, Any]:
    """The picture of a metric: its median over lanes at each checkpoint, NaN where a lane has none."""
    with np.errstate(invalid="ignore"):
        height = np.median(trial.of(metric), axis=1)
    return {"x": trial.times.tolist(), "y": height.tolist(), "x_name": "steps", "y_name": name}
