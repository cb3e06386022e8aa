"""Stored runs: from the specification to what the store gives back, against the algorithm written out."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from algorithms.streams import generators
from algorithms.targets import CdfTarget
from harness.judging.claims import Claim, Need, Setting
from harness.judging.verdicts import Finding, agrees
from harness.runs.job import Job
from harness.runs.rule_files import reference_of
from harness.runs.spec import PredictorSpec, RunSpec, StepSchedule
from harness.runs.trial import Trial
from suites.instrument.loops import LANES, PATH
from suites.instrument.points import linear, off
from suites.runs import request

TIMES = (0, 1, 4, 12)  # a run stops at each, and goes on
_SCHEDULE = StepSchedule("robbins-monro", 0.9, 0.6, 2.0)
PATHS: dict[str, dict[str, Any]] = {
    "linear": {"schedule": _SCHEDULE, "radius": 1.5},
    "linear-averaged": {"schedule": _SCHEDULE, "average": True},
    "mirror-prox": {"schedule": _SCHEDULE, "radius": 1.5, "average": True, "extragradient": True},
    "independent": {"iid": True, "start": "zeros"},
    "table": {"predictor": PredictorSpec("table", pinned=True, inputs="most-states"), "schedule": _SCHEDULE},
    "mlp": {"predictor": PredictorSpec("mlp", (3,), pinned=True, inputs="features"), "radius": 1.5, "spread": 0.5},
}


def stored_path(rule: Rule, name: str) -> Claim:
    """From the specification to what the store gives back."""
    return Claim(
        id=f"instrument/run/{name}/{rule.name}/path",
        says=f"{rule.name}: a stored run ({name}) has the values of the algorithm, written out, at every checkpoint",
        source="Algorithms 1 and 2; §4",
        needs=partial(path_needs, rule, name),
        judge=paths_agree,
        rule=rule,
    )


def path_needs(rule: Rule, name: str, setting: Setting) -> list[Need]:
    """The run, and the same lanes step by step."""
    asked = request(
        rule, "collision", LANES, setting, "path", TIMES, 1.0, 3.0, metrics=("values",), target="cdf", atoms=4,
        **PATHS[name],
    )  # fmt: skip
    return [asked, Job.of(written_out_path, reference_of(rule), problem="collision", spec=asked.spec.to_json())]


def written_out_path(rule: Rule, problem: str, spec: str) -> list[Any]:
    """[times, lanes, states]: the values of the first lanes of a run, by explicit Jacobians and Hessians."""
    import torch

    from algorithms.table import Sampler
    from harness.oracle import literal
    from harness.plugins import find_problem
    from harness.runs.learning import Learning

    learning = Learning.of(RunSpec.from_json(spec))
    learner, mdp = learning.spec.learner, find_problem(problem).mdp
    if learning.spec.place.iid:
        mdp = mdp.with_(weights=mdp.d)
    goal, net, seeds = CdfTarget(*find_problem(problem).support, 4), learner.predictor, range(LANES)
    inputs = {"features": mdp.features, "most-states": np.eye(mdp.states)[:, :-1], "states": np.eye(mdp.states)}
    X = mdp.features if net.kind == "linear" else inputs[net.inputs]
    formula = literal.Network((X.shape[1], *net.hidden), goal, net.activation, net.pinned)
    predict = partial(linear, goal.outputs) if net.kind == "linear" else formula.at()
    schedule = learner.schedule
    exponents = (0.0, 0.0) if schedule.name == "constant" else (schedule.alpha_exponent, schedule.beta_exponent)
    radius = np.inf if learner.radius is None else learner.radius
    steps = literal.Steps(
        learner.alpha, learner.beta, exponents, schedule.offset, radius, learner.average, learner.extragradient
    )
    outcomes = Sampler(mdp.table, learning.streams(seeds)).draw(TIMES[-1] * (2 if learner.extragradient else 1)).T
    samples = literal.samples_of(mdp.table, X, goal)

    def field(theta: Any, w: Any, outcome: int) -> tuple[Any, Any]:
        return literal.directions(rule, predict, theta, w, samples[outcome])

    def values(theta: Floats) -> list[float]:
        laws = [predict(torch.as_tensor(theta), torch.as_tensor(x)).numpy() for x in np.asarray(X, dtype=float)]
        return [float(goal.support @ np.diff([0.0, *law, 1.0])) for law in laws]

    begin = _first_weights(learning.spec, mdp, goal, (X.shape[1], *net.hidden))
    paths = [literal.walk(field, begin[lane], outcomes[lane], steps) for lane in seeds]
    return [[values(path[t][0]) for path in paths] for t in TIMES]


def _first_weights(spec: RunSpec, mdp: Any, goal: CdfTarget, sizes: tuple[int, ...]) -> list[Floats]:
    """θ₀ of each lane: the problem's, or zeros; a network's rows uniform in ±1/√in times the spread, lane by lane."""
    learner = spec.learner
    if learner.predictor.kind == "linear":
        theta = goal.start(mdp.theta_initial, mdp.features)
        return [(0 * theta if learner.start == "zeros" else theta).ravel()] * LANES
    axes: dict[str, Any] = dict(spec.axes) | {"problem": spec.place.problem, "stream": "weights"}
    layers = list(pairwise((*sizes, goal.atoms - learner.predictor.pinned)))
    return [
        np.concatenate(
            [rng.uniform(-(rows**-0.5), rows**-0.5, size=columns) for rows, columns in layers for _ in range(rows + 1)]
        )
        * learner.spread
        for rng in generators(spec.root_seed, range(LANES), **axes)
    ]


def paths_agree(evidence: list[Any], setting: Setting) -> Finding:
    """Every state's value at every checkpoint."""
    trial, expected = evidence[0], np.array(evidence[1])
    assert isinstance(trial, Trial)
    error, moved = off(trial.curves, expected), float(np.abs(expected[-1] - expected[0]).max())
    words = f"values of {LANES} lanes at {len(TIMES)} checkpoints are off by {error:.1e}; they moved by {moved:.2g}"
    return agrees(error if moved > 1e-6 else 1.0, PATH, setting, LANES, words)
