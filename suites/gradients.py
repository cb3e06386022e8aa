"""Theorem 1: w's mean update vanishes at w*(θ), and θ's is −½∇J(θ) there. By enumeration, not by sampling."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algorithms.rule import Cotangents, Promise, Rule
from algorithms.rules import gtd2, tdc
from harness.judging.claims import Claim, Need, Setting
from harness.judging.verdicts import Finding, Verdict, exactly
from harness.oracle.theorem import EXACT, linear_case, network_case, relative_error, solves_w_error
from harness.runs.job import Job
from harness.runs.rule_files import reference_of

PROBLEMS = ("random_walk", "collision")
SOURCE = "Theorem 1"


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about GTD2 and TDC; the controls are always there."""
    made = []
    for each in (rule,) if rule else (gtd2, tdc):
        for problem in PROBLEMS:
            for target in ("value", "cdf"):
                for net in ("linear", "mlp"):
                    place = f"{problem}/{target}/{net}"
                    where = f"on {problem} ({'a value' if target == 'value' else 'a CDF'}, {net})"
                    made += [
                        Claim(
                            id=f"gradients/{place}/{each.name}/solves-w",
                            says=f"{each.name}: w's mean update vanishes at w*(θ) {where}",
                            source=SOURCE,
                            check=partial(_solves_w, each, problem, target, net),
                            rule=each,
                            promise=Promise.SOLVES_W,
                        ),
                        Claim(
                            id=f"gradients/{place}/{each.name}/descends",
                            says=f"{each.name}: at w*(θ), θ's mean update is −½∇J {where}",
                            source=SOURCE,
                            check=partial(_descends, each, problem, target, net),
                            rule=each,
                            promise=Promise.DESCENDS,
                        ),
                    ]
        made.append(
            Claim(
                id=f"gradients/collision/value/linear/{each.name}/sampled-mean",
                says=f"{each.name}: the mean of sampled updates is the exact mean update on collision",
                source="appendix, conditions on M and N",
                needs=partial(_sampled_updates, each, "collision"),
                judge=_sampled_mean,
                rule=each,
            )
        )
        for engine in ("linear", "mlp"):
            for what, check in (("mean", _engine_mean), ("step", _engine_step)):
                says = (
                    "averages to the exact mean update" if what == "mean" else "moves θ by −αG_θ and w by β(G_w − κw)"
                )
                made.append(
                    Claim(
                        id=f"gradients/collision/cdf/{engine}-engine/{each.name}/{what}",
                        says=f"{each.name}: the {engine} engine {says} on collision",
                        source="Algorithms 1 and 2",
                        check=partial(check, each, engine),
                        rule=each,
                    )
                )
    made += [
        Claim(
            id=f"gradients/target/{projection}",
            says=f"the CDF target with `{projection}` is the law of r + γZ, at the boundary and at an episode's end",
            source="§3.2, remark 3",
            check=partial(_target, projection),
        )
        for projection in ("cramer", "nearest", "floor")
    ]
    made.append(
        Claim(
            id="gradients/r-operator",
            says="the fused pass's curvature term is Σ q ∇²F w, with the Hessians written out",
            source="appendix, update rule of ∇²F w",
            check=_r_operator,
        )
    )
    return made + _controls()


def _controls() -> list[Claim]:
    def forgets_rho(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-u, u, delta - u)

    wrong = {
        "h-dropped": partial(_descends, replace(gtd2, name="gtd2 without h", curvature=False)),
        "h-sign-flipped": partial(_descends_mutant, "sign of h"),
        "rho-forgotten": partial(_descends, Rule("gtd2 without rho", forgets_rho)),
        "gamma-forgotten": partial(_descends_mutant, "gamma"),
        "s-for-next-s": partial(_descends_mutant, "s for s'"),
    }
    return [
        Claim(
            id=f"gradients/control/{name}",
            says=f"GTD2 with {name.replace('-', ' ')} is not the gradient",
            source=SOURCE,
            check=partial(check, "collision" if name == "gamma-forgotten" else "random_walk", "cdf", "mlp"),
            control=True,
        )
        for name, check in wrong.items()
    ]


def _case(problem: str, target: str, net: str, seed: int):  # type: ignore[no-untyped-def]
    from harness.plugins import find_problem

    return (linear_case if net == "linear" else network_case)(find_problem(problem), target, seed)


def _solves_w(rule: Rule, problem: str, target: str, net: str, setting: Setting) -> Finding:
    error = solves_w_error(rule, *_case(problem, target, net, setting.seed))
    wrong = "w is never updated" if error == 1.0 else "look at the cotangent of u: ρδ − u solves for w*"
    return exactly(error, EXACT, f"‖E[Δw]‖ at w* is {error:.1e} of its size at 0", wrong)


def _descends(rule: Rule, problem: str, target: str, net: str, setting: Setting) -> Finding:
    objective, theta = _case(problem, target, net, setting.seed)
    d_theta, _ = objective.mean_update(rule, theta, objective.optimal_w(theta))
    return _compare(d_theta, -0.5 * objective.gradient(theta))


def _compare(found: np.ndarray, expected: np.ndarray, what: str = "E[Δθ]", of: str = "−½∇J") -> Finding:
    error = relative_error(found, expected)
    cosine = float(found @ expected / (np.linalg.norm(found) * np.linalg.norm(expected) + 1e-300))
    wrong = f"its direction has cosine {cosine:.3f} with {of}"
    words = f"{what} is off {of} by {error:.1e} of its size"
    return exactly(error, EXACT, words, wrong, cosine=cosine, size=float(np.abs(expected).max()))


def _descends_mutant(mutant: str, problem: str, target: str, net: str, setting: Setting) -> Finding:
    """GTD2's mean update on a world, or in a pass, with one thing wrong, against the right gradient."""
    objective, theta = _case(problem, target, net, setting.seed)
    w, expected = objective.optimal_w(theta), -0.5 * objective.gradient(theta)
    if mutant == "sign of h":
        right, _ = objective.mean_update(gtd2, theta, w)
        without, _ = objective.mean_update(replace(gtd2, curvature=False), theta, w)
        return _compare(2 * without - right, expected)
    listed = objective.mdp.transitions
    if mutant == "gamma":
        wrong = objective.mdp.with_(gamma=0.999)
    else:
        wrong = objective.mdp.with_(
            transitions=replace(listed, next_state=listed.state), weights=objective.mdp.d, gamma=0.9
        )
        objective = replace(objective, mdp=objective.mdp.with_(weights=objective.mdp.d, gamma=0.9))
        w, expected = objective.optimal_w(theta), -0.5 * objective.gradient(theta)
    return _compare(replace(objective, mdp=wrong).mean_update(gtd2, theta, w)[0], expected)


def _every_outcome(target_atoms: int = 4):  # type: ignore[no-untyped-def]
    """Collision's lift, and a batch with every outcome in a lane of its own."""
    from harness.plugins import find_problem

    world = find_problem("collision")
    target = world.target("cdf", target_atoms)
    outcomes = np.arange(len(world.mdp.table.probability))[:, None]
    return world.mdp, target, world.mdp.table.batch(outcomes, world.mdp.features, target)


def _points(engine: str, rule: Rule, mdp, target, lanes: int, seed: int):  # type: ignore[no-untyped-def]
    """(engine object, predictor, θ, w) with the same point in every lane."""

    from algorithms.engines.linear import LinearEngine
    from algorithms.engines.mlp import MlpEngine
    from algorithms.streams import generator
    from harness.oracle.objectives import linear, mlp

    if engine == "linear":
        points = generator(seed, purpose="point").normal(size=(2, 1, target.outputs, mdp.features.shape[1]))
        at = [np.array(np.broadcast_to(p, (lanes, *p.shape[1:])), order="C") for p in points]
        return LinearEngine(rule, mdp.table, mdp.features, target), linear(mdp.features, target.outputs), *at
    made, rng = MlpEngine(rule, (mdp.features.shape[1], 3), target), [generator(seed, purpose="weights")]
    weights = [[p.expand(lanes, *p.shape[1:]).clone() for p in made.init(rng)] for _ in range(2)]
    return made, mlp(made, mdp.features), *weights


def _engine_mean(rule: Rule, engine: str, setting: Setting) -> Finding:
    from harness.oracle.objectives import Objective, flat

    mdp, target, batch = _every_outcome()
    made, predictor, theta, w = _points(engine, rule, mdp, target, len(batch.x), setting.seed)
    exact = Objective(mdp, target, predictor).mean_update(rule, flat(theta), flat(w))
    found = made.directions(theta, w, batch)
    means = [mdp.mass @ np.stack([flat(part, lane) for lane in range(len(batch.x))]) for part in found]
    ours = np.concatenate([-means[0], means[1]])
    return _compare(ours, np.concatenate(exact), "the engine's mean", "the exact mean update")


def _engine_step(rule: Rule, engine: str, setting: Setting) -> Finding:
    """A whole step against the engine's own directions: the right sizes on the right weights."""
    from algorithms.experience.table import Sampler
    from algorithms.streams import lane_streams
    from harness.oracle.objectives import flat

    mdp, target, _ = _every_outcome()
    lanes, alpha, beta = 6, 0.03, 0.2
    streams = lane_streams(setting.seed, range(lanes), purpose="step")
    outcomes = Sampler(mdp.table, streams).draw(1).T
    batch = mdp.table.batch(outcomes, mdp.features, target)
    made, _, theta, w = _points(engine, rule, mdp, target, lanes, setting.seed)
    g_theta, g_w = made.directions(theta, w, batch)
    before = [np.stack([flat(part, lane) for lane in range(lanes)]) for part in (theta, w, g_theta, g_w)]
    if engine == "linear":
        state = made.start(theta, streams)
        state.w[:] = w
        made.step(state, alpha, beta)
        theta, w = state.theta, state.w
    else:
        made.step(theta, w, batch, alpha, beta)
    after = [np.stack([flat(part, lane) for lane in range(lanes)]) for part in (theta, w)]
    moved = np.concatenate([(after[0] - before[0]).ravel(), (after[1] - before[1]).ravel()])
    expected = np.concatenate([-alpha * before[2].ravel(), beta * before[3].ravel()])
    return _compare(moved, expected, "the step", "(−αG_θ, βG_w)")


def _target(projection: str, setting: Setting) -> Finding:
    """Against the definition, law by law: mass split between neighbours, or the atom nearest to or below (z − r)/γ."""
    from algorithms.streams import generator
    from algorithms.targets import CdfTarget

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
        elif gamma == 0.0:
            expected = (z[:-1] >= r).astype(float)
        else:
            y = ((z[:-1] - r) / gamma - z[0]) / dz
            index = np.floor(y + (0.5 if projection == "nearest" else 0.0)).clip(0, 12).astype(int)
            expected = np.where(y < 0, 0.0, np.where(y >= 12, 1.0, F[index]))
        worst = max(worst, float(np.abs(found - expected).max()))
    return exactly(worst, EXACT, f"the largest error over 40 laws, a quarter of them ended, is {worst:.1e}")


def _r_operator(setting: Setting) -> Finding:
    import torch
    from torch.func import hessian

    from algorithms.engines.mlp import MlpEngine
    from algorithms.experience.batch import Batch
    from algorithms.streams import generator
    from algorithms.targets import CdfTarget
    from harness.oracle.objectives import flat, mlp

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
    return _compare(with_h - without_h, expected, "the pass's curvature term", "Σ q ∇²F w")


def _sampled_updates(rule: Rule, problem: str, setting: Setting) -> list[Need]:
    steps = 4000 if setting.profile == "ci" else 40_000
    return [Job.of(sampled_updates, reference_of(rule), problem=problem, steps=steps, seed=setting.seed)]


def sampled_updates(rule: Rule, problem: str, steps: int, seed: int, lanes: int = 64) -> dict[str, Any]:
    """Lanes of sampled transitions, each an independent mean of updates at one point; and the exact mean update."""
    from algorithms.engines.linear import directions
    from algorithms.experience.table import Sampler
    from algorithms.streams import generator, lane_streams
    from harness.oracle.objectives import Objective, linear
    from harness.plugins import find_problem

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


def _sampled_mean(evidence: list[Any], setting: Setting) -> Finding:
    """The largest t over the coordinates."""
    from scipy import stats

    sampled, exact = np.array(evidence[0]["sampled"]), np.array(evidence[0]["exact"])
    lanes = len(sampled)
    spread = sampled.std(0, ddof=1) / np.sqrt(lanes)
    moving = spread > 1e-14
    t = np.abs(sampled.mean(0) - exact)[moving] / spread[moving]
    critical = float(stats.t.isf(setting.false_alarm / (2 * max(len(t), 1)), lanes - 1))
    top = float(t.max(initial=0.0))
    return Finding(
        verdict=Verdict.PASS if top <= critical else Verdict.FAIL,
        estimate=top,
        low=top,
        high=top,
        margin=critical,
        n=lanes,
        false_alarm=setting.false_alarm,
        words=f"largest of {len(t)} t statistics is {top:.2f}, critical {critical:.2f}",
        flips=f"a t statistic above {critical:.2f}",
        detectable=float(2 * critical * spread.max()),
        evidence={"steps": evidence[0]["steps"], "lanes": lanes},
    )
