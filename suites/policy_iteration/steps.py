"""Steps of policy iteration, enumerated: actions, ratios, lessons, diagnosis. Part of the suite `policy_iteration`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from algorithms.fast.network_batches import Lesson
from algorithms.fast.small import SmallEngine
from algorithms.policy_iteration import Evaluators
from algorithms.rules import gtd2, tdrc
from algorithms.streams import generator, generators
from algorithms.targets import CdfTarget
from harness.experiment.learners import iterating_learner, run_spec
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from harness.oracle.linearised import diagnose, mean_jacobian
from harness.oracle.theorem import network_case, small_problem
from harness.places.cartpole import STEEP
from harness.plugins import find_problem
from harness.runs.trainers.policy_iteration import Iterating, Walk
from suites.control.physics import fallen, moved
from suites.policy_iteration.search import V0
from suites.problems.cartpole import FASTEST

SOURCE = "§ Experimental result; ours"
LANES, ACTIONS, OWN, WIDER = 3, 3, 0.3, 0.6  # ε of the policy under evaluation, and of the behaviour
STEPS, BETA, MEAN_STEPS = 150, 0.4, 10


def claims() -> list[Claim]:
    """What acts, what is learnt from, and what is said of it."""
    says: dict[str, tuple[str, Callable[[Setting], Finding]]] = {
        "ratios": ("actions and ratios are those of policy and behaviour, for every draw", ratios_are_enumerated),
        "lessons": (
            "off-policy, a lesson has the next action that is taken, weighed by its ratio; an end is not weighed",
            lessons_are_what_happens,
        ),
        "finite_cartpole/steps": (
            "a step of the finite CartPole leads on average to where the equations of motion lead, and pays 1",
            corners_keep_the_mean,
        ),
        "diagnosis/jacobian": (
            "the Jacobian of the mean update of GTD2 and TDRC by a network is that of central differences",
            jacobian_is_of_differences,
        ),
        "diagnosis/missing": (
            f"what w is said to miss after {MEAN_STEPS} steps is what so many mean steps from 0 leave",
            missing_is_what_is_left,
        ),
    }
    return [
        Claim(id=f"policy_iteration/{name}", says=words, source=SOURCE, check=check, seeded=False)
        for name, (words, check) in says.items()
    ]


def ratios_are_enumerated(setting: Setting) -> Finding:
    """A draw from the middle of every third explores that action if the other draw is below ε; ρ = π(a)/b(a)."""
    engine = SmallEngine(gtd2, (4 + ACTIONS, 5), CdfTarget(0, 10, 7))
    lanes = Evaluators(engine, engine.init(generators(0, range(LANES), which="ratios")), ACTIONS, 2, OWN)
    x = generator(0, which="ratios").normal(size=(LANES, 4))
    greedy, wrong, seen = lanes.values(x).argmax(1), 0, 0
    for behave, explore, third in product((0.0, WIDER), (0.1, 0.45, 0.9), range(ACTIONS)):
        epsilon = max(behave, OWN)
        found = lanes.act(x, np.full(LANES, explore), np.full(LANES, (third + 0.5) / ACTIONS), behave)
        action = np.full(LANES, third) if explore < epsilon else greedy
        policy, behaviour = (each / ACTIONS + (1 - each) * (action == greedy) for each in (OWN, epsilon))
        wrong += int((found.action != action).sum() + (~np.isclose(found.rho, policy / behaviour, rtol=1e-12)).sum())
        seen += LANES
    return exactly(float(wrong), 0.0, f"{wrong} actions or ratios of {seen} draws are wrong")


class Recording(Evaluators):
    """Lanes that keep their lessons."""

    lessons: list[Lesson]

    def learn(self, lesson: Lesson, alpha: float, beta: float, radius: float, now: int) -> None:
        """Keep a copy, then learn."""
        self.lessons = [*getattr(self, "lessons", []), Lesson(*(part.copy() for part in lesson))]
        super().learn(lesson, alpha, beta, radius, now)


def lessons_are_what_happens(setting: Setting) -> Finding:
    """Of lanes that explore far more than their policy: lessons against the ones after them."""
    made = iterating_learner("tdc", V0, cohort=4, behave=0.9, explore=(0.1, 0.1))
    walk = Walk(Iterating.of(run_spec(V0, made, STEPS, 0, "lessons")), range(4), Recording)
    for _ in range(STEPS):
        walk.step()
    assert isinstance(walk.lanes, Recording)
    parts: list[Any] = [np.stack(each)[:, :, 0] for each in zip(*walk.lanes.lessons, strict=True)]
    x, x_next, _, discount, rho = parts
    goes_on = (x_next[:-1, :, :4] == x[1:, :, :4]).all(-1)
    torn = int((x_next[:-1, :, 4:] != x[1:, :, 4:]).any(-1)[goes_on].sum())
    ended = discount == 0
    likely, other = (1 - 0.1 / 2) / (1 - 0.9 / 2), 0.1 / 0.9
    known = np.isclose(rho, likely, rtol=1e-9) | np.isclose(rho, other, rtol=1e-9)
    wrong = torn + int((rho[ended] != 1).sum()) + int((~known[~ended]).sum())
    words = f"{torn} next actions not taken of {goes_on.sum()}, {wrong - torn} ratios wrong; {ended.sum()} ends"
    return exactly(float(wrong) if ended.sum() > 4 and goes_on.any() else np.inf, 0.0, words)


def corners_keep_the_mean(setting: Setting) -> Finding:
    """Every pair whose step stays on the grid; falls end, and only they."""
    mdp = find_problem("finite_cartpole").mdp
    outcomes, X, scale = mdp.transitions, mdp.features, np.array([STEEP, FASTEST])
    state = np.zeros((mdp.states, 4))
    state[:, 2:] = X[:, :2] * scale
    after = moved(state, X[:, 2:].argmax(1))
    falls = np.bincount(outcomes.state, outcomes.probability * outcomes.ends, mdp.states)
    to = after[:, 2:] / scale
    inside = ~fallen(after) & (np.abs(to[:, 1]) <= 1)
    mean = np.stack(
        [np.bincount(outcomes.state, outcomes.probability * X[outcomes.next_state, i], mdp.states) for i in (0, 1)], 1
    )
    error = float(np.abs(mean - to)[inside].max())
    wrong = int((falls != fallen(after)).sum() + (outcomes.reward != 1).sum())
    words = f"means of {inside.sum()} of {mdp.states} pairs are off by {error:.1e}; {wrong} ends or rewards wrong"
    return exactly(error if not wrong and inside.any() else np.inf, 1e-9, words)


def jacobian_is_of_differences(setting: Setting) -> Finding:
    """Four columns each, of a small problem with a law for its target."""

    objective, theta = network_case(small_problem(), "cdf", 1)
    size, tiny, rng = theta.size, 1e-5, generator(0, which="jacobian")
    y, errors = np.concatenate([theta, rng.normal(size=size)]), []
    for rule in (gtd2, tdrc(0.5)):
        found = mean_jacobian(objective, rule, y[:size], y[size:], 0.3, 0.7)

        def field(at: Any, rule: Any = rule) -> Any:
            d_theta, d_w = objective.mean_update(rule, at[:size], at[size:])
            return np.concatenate([0.3 * d_theta, 0.7 * d_w])

        for i in rng.choice(2 * size, 4, replace=False):
            step = tiny * np.eye(2 * size)[i]
            errors.append(np.abs(found[:, i] - (field(y + step) - field(y - step)) / (2 * tiny)).max())
    worst = float(np.max(errors))
    return exactly(worst, 1e-7, f"{len(errors)} columns are off by {worst:.1e}")


def missing_is_what_is_left(setting: Setting) -> Finding:
    """‖w − w*‖_C after the steps as a share of ‖w*‖_C, θ standing still."""

    objective, theta = network_case(small_problem(), "cdf", 3)
    w = np.zeros(theta.size)
    for _ in range(MEAN_STEPS):
        w = w + BETA * objective.mean_update(gtd2, theta, w)[1]
    left = objective.distance_to_optimal_w(theta, w) / objective.distance_to_optimal_w(theta, np.zeros(theta.size))
    found = diagnose(objective, gtd2, theta, w, 0.1, BETA, MEAN_STEPS, linearise=False)
    error = float(np.max([abs(found.missing / left - 1), abs(found.gap / left - 1)]))
    return exactly(error, 1e-6, f"a share of {left:.4f} is left; off by {error:.1e}")
