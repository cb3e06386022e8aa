"""A stored run, from its specification to what the store gives back, against the algorithm written out."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch

from dgtd.algorithms.rules import gtd2, tdrc
from dgtd.algorithms.streams import generators
from dgtd.algorithms.table import Sampler
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.oracle import literal
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.rule_files import reference_of
from dgtd.harness.runs.spec import Learner, PlaceSpec, PredictorSpec, Probe, Request, RunSpec, StepSchedule
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import trainer_of

LANES = 2
PLACE = "random_mdp(states=6)"  # every step pays, so that means of laws move from the first
STOPS = (0, 1, 4, 12)  # a run stops at each, and goes on
FALLS = StepSchedule("robbins-monro", 0.9, 0.6, 2.0)
PATHS = {
    "linear": {"schedule": FALLS, "radius": 1.5},
    "linear-averaged": {"schedule": FALLS, "average": True},
    "mirror-prox": {"schedule": FALLS, "radius": 1.5, "average": True, "extragradient": True},
    "independent": {"iid": True, "start": "zeros"},
    "table": {"predictor": PredictorSpec("table", pinned=True, inputs="most-states"), "schedule": FALLS},
    "mlp": {"predictor": PredictorSpec("mlp", (3,), pinned=True, inputs="features"), "radius": 1.5, "spread": 0.5},
}


def spec_of(rule, iid=False, **learner):
    made = Learner(reference_of(rule), 1.0, 3.0, target="cdf", atoms=4, **learner)
    return RunSpec(PlaceSpec(PLACE, iid), made, Probe(STOPS, ("values",)), 0, (("purpose", "path"),))


def kept(spec):
    """[times, lanes, states]: what the store gives back."""
    with Store(":memory:") as store:
        execute([Request(spec, LANES)], store, InProcess)
        return store.settled_lanes(spec, LANES).curves


def written_out(rule, spec):
    """The same by explicit Jacobians and Hessians."""
    learner, mdp = spec.learner, find_problem(PLACE).mdp
    if spec.place.iid:
        mdp = mdp.with_(weights=mdp.d)
    goal, net = CdfTarget(*find_problem(PLACE).support, 4), learner.predictor
    X = np.eye(mdp.states)[:, :-1] if net.kind == "table" else mdp.features
    sizes = (X.shape[1], *net.hidden)
    formula = literal.Network(sizes, goal, net.activation, net.pinned).at()
    predict = partial(added_to_0, goal) if net.kind == "linear" else formula
    law = learner.schedule
    exponents = (0.0, 0.0) if law.name == "constant" else (law.alpha_exponent, law.beta_exponent)
    steps = literal.Steps(
        learner.alpha, learner.beta, exponents, law.offset, learner.radius or np.inf, learner.average,
        learner.extragradient,
    )  # fmt: skip
    streams = trainer_of(spec).streams(range(LANES))
    outcomes = Sampler(mdp.table, streams).draw(STOPS[-1] * (2 if learner.extragradient else 1)).T
    samples = literal.samples_of(mdp.table, X, goal)

    def field(theta, w, outcome):
        return literal.directions(rule, predict, theta, w, samples[outcome])

    def values(theta):
        laws = [predict(torch.as_tensor(theta), torch.as_tensor(x)).numpy() for x in np.asarray(X, dtype=float)]
        return [float(goal.support @ np.diff([0.0, *law, 1.0])) for law in laws]

    begin = first_weights(spec, mdp, goal, sizes)
    paths = [literal.walk(field, begin[lane], outcomes[lane], steps) for lane in range(LANES)]
    return np.array([[values(path[t][0]) for path in paths] for t in STOPS])


def added_to_0(goal, theta, x):
    """F of a linear predictor: its outputs, added to a law of the return 0 split between the atoms next to it."""
    at_0 = np.cumsum(np.clip(1 - np.abs(goal.support) / goal.spacing, 0, None))[:-1]
    return literal.linear(goal.outputs, theta, x) + torch.as_tensor(at_0)


def first_weights(spec, mdp, goal, sizes):
    """θ₀ of each lane: the problem's, or zeros; a network's rows uniform in ±1/√in times the spread, lane by lane."""
    learner = spec.learner
    if learner.predictor.kind == "linear":
        theta = np.tile(-mdp.theta_initial / (goal.v_max - goal.v_min), (goal.outputs, 1))
        return [(0 * theta if learner.start == "zeros" else theta).ravel()] * LANES
    axes = dict(spec.axes) | {"problem": spec.place.problem, "stream": "weights"}
    layers = list(pairwise((*sizes, goal.atoms - learner.predictor.pinned)))
    return [
        learner.spread
        * np.concatenate(
            [rng.uniform(-(rows**-0.5), rows**-0.5, size=columns) for rows, columns in layers for _ in range(rows + 1)]
        )
        for rng in generators(spec.root_seed, range(LANES), **axes)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", [gtd2, tdrc(0.5)], ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", PATHS)
def test_a_stored_run_has_the_values_of_the_algorithm_at_every_checkpoint(rule, name):
    spec = spec_of(rule, **PATHS[name])
    expected = written_out(rule, spec)
    assert np.abs(expected[-1] - expected[0]).max() > 1e-6
    np.testing.assert_allclose(kept(spec), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
