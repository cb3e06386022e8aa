"""Linear distributional TD against TD on values: the mean of the lift takes TD's very path, whatever the features.

A linear predictor's outputs are added to the law of the return 0, so that no feature must be constant. The mean of δ is
then TD's δ, as long as no atom is shifted out of the range.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.rules import td
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.algorithms.targets import CdfTarget, Target
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly, largest
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.problem import ATOMS, Problem
from dgtd.harness.plugins import find_problem

ROUNDING = 1e-12
OURS = "ours; Lyle, Bellemare & Castro 2019 on expected and distributional learning"
# The first four have no constant in their features' span. Boyan's chain, Taxi and the cliff have rewards that shift
# atoms out of the range.
PLACES = (
    "two_state", "tsitsiklis_van_roy", "kolter", "random_walk_dependent", "random_walk_dependent_on_policy", "baird",
    "random_walk", "random_walk_inverted", "collision", "random_mdp", "grid_world", "frozen_lake",
)  # fmt: skip
ALPHA, STOPS, LANES = (
    0.02,
    (0, 1, 2, 4),
    256,
)  # an identity of each step: many short paths see more than a few long ones
Lift = Callable[[Problem], Target]


def claims() -> list[Claim]:
    """Of TD; what GTD2 adds, a step along Tᵀu, keeps means only where γ = 1."""
    says = f"the mean of TD's lift takes the path of TD on values; the worst over {', '.join(PLACES)}"
    shifted = "Boyan's chain, whose rewards shift atoms out of the range, taken for such a place"
    added = "a lift that begins at F = 0 instead of at a law, on θ → 2θ: taken for TD's path"
    return [
        Claim("instrument/lift/td", says, OURS, partial(apart, PLACES, lifted)),
        Claim("instrument/control/lift/shifted", shifted, OURS, partial(apart, ("boyan",), lifted), control=True),
        Claim("instrument/control/lift/bare", added, OURS, partial(apart, ("two_state",), bare), control=True),
    ]


def lifted(problem: Problem) -> Target:
    """With 21 atoms, and the Cramér projection."""
    return problem.target("cdf")


class Bare(CdfTarget):
    """The control: outputs are added to 0."""

    @property
    def reference(self) -> Floats:
        """No law."""
        return np.zeros(self.outputs)


def bare(problem: Problem) -> Target:
    """As `lifted`."""
    return Bare(*problem.support, ATOMS, linear=True)


def apart(places: tuple[str, ...], lift: Lift, setting: Setting) -> Finding:
    """The largest difference of a state's value, as a share of the largest value of its lane, along each path."""
    errors = {}
    for name in places:
        problem = find_problem(name)
        value, law = (path(problem.mdp, each, setting.seed) for each in (problem.target(), lift(problem)))
        scale = np.maximum(np.abs(value).max(axis=(0, 2), keepdims=True), 1.0)
        errors[name] = largest(np.abs(law - value) / scale)
    where = max(errors, key=lambda name: (np.isnan(errors[name]), errors[name]))
    words = f"means differ by {errors[where]:.1e} at most ({where}), along {LANES} paths of {STOPS[-1]} steps"
    return exactly(errors[where], ROUNDING, words)


def path(mdp: FiniteMDP, target: Target, seed: int) -> Floats:
    """[checkpoints, lanes, states]: values from a random θ on, on the same transitions for every target."""
    theta = generator(seed, purpose="lift").normal(size=(mdp.features.shape[1],))
    engine = LinearEngine(td, mdp.table, mdp.features, target)
    state = engine.start(target.start(theta), lane_streams(seed, range(LANES), purpose="lift"))
    seen = []
    for stop in STOPS:
        engine.run(state, stop - state.steps, ALPHA, ALPHA)
        seen.append(target.mean(np.swapaxes(state.theta @ mdp.features.T, -1, -2)))
    return np.stack(seen)
