"""A learner at its place: the engine, where lanes start, and what is measured of them, whatever the predictor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats
from algorithms.fast.linear import LinearEngine
from algorithms.fast.small import SmallEngine, SmallLoop
from algorithms.names import look_up
from algorithms.rule import Rule
from algorithms.streams import generators, lane_streams
from algorithms.targets import Target
from harness.oracle.mdp import FiniteMDP
from harness.oracle.metrics import Metrics
from harness.oracle.problem import Problem
from harness.plugins import find_problem
from harness.runs.predictors import inputs_of, make_module
from harness.runs.rule_files import resolve
from harness.runs.spec import RunSpec

if TYPE_CHECKING:
    from algorithms.fast.loop import TorchLoop
    from algorithms.fast.mlp import MlpEngine
    from algorithms.fast.module import ModuleEngine
    from harness.oracle.objectives import Objective
    from harness.oracle.saddle import Saddle

# Weights up to which a network runs compiled, unless the predictor names its engine: as far as was measured, and the
# small engine was ahead everywhere (one transition a step; docs/measuring.md, "The small engine").
LARGEST_SMALL = 20_000_000
ALONG = ("J", "gradient", "w_gap")  # what needs θ and w, not predictions alone
SPECTRUM = ("rank", "condition")  # of E Σφφᵀ: Theorem 2 asks for rank d


def check_learner(spec: RunSpec) -> None:
    """ValueError if the learner can't run at its place: a network that does not fit, a metric that does not apply."""
    made = Learning.of(spec)
    if not made.linear:
        _ = made.engine


@dataclass(frozen=True, eq=False)
class Learning:
    """What the lanes of a run share. `F` below is [lanes, states, n]."""

    spec: RunSpec
    problem: Problem
    mdp: FiniteMDP
    target: Target
    rule: Rule

    @staticmethod
    def of(spec: RunSpec) -> Learning:
        """From data to something that runs."""
        problem, learner = find_problem(spec.place.problem), spec.learner
        mdp = problem.mdp.with_(weights=problem.mdp.d) if spec.place.iid else problem.mdp
        target = problem.target(learner.target, learner.atoms, learner.projection)
        made = Learning(spec, problem, mdp, target, resolve(learner.rule))
        for name in spec.probe.metrics:
            look_up("metric", name, dict.fromkeys((*target.metrics, *ALONG, *SPECTRUM, "err", "values")))
        return made

    @property
    def linear(self) -> bool:
        """Whether the prediction is linear in the problem's features."""
        return self.spec.learner.predictor.kind == "linear"

    # ------------------------------------------------------------------ running

    @cached_property
    def engine(self) -> LinearEngine | SmallLoop | TorchLoop:
        """What runs the lanes: each kind has `start` and `run`."""
        if self.linear:
            return LinearEngine(self.rule, self.mdp.table, self.mdp.features, self.target)
        predictor, inputs = self.spec.learner.predictor, self._inputs
        if predictor.kind in ("mlp", "table") and predictor.engine != "torch":
            small = SmallEngine(
                self.rule, (inputs.shape[1], *predictor.hidden), self.target,
                np.float32 if predictor.single else np.float64,
                activation=predictor.activation, pinned=predictor.pinned,
            )  # fmt: skip
            if predictor.engine == "small" or predictor.single or small.weights <= LARGEST_SMALL:
                return SmallLoop(small, self.mdp.table, inputs)
        from algorithms.fast.loop import TorchLoop

        return TorchLoop(self._network, self.mdp.table, inputs, self.target)

    @cached_property
    def _network(self) -> MlpEngine | ModuleEngine:
        """The network in torch: what predicts, and what runs if the network is large or a user's."""
        from algorithms.fast.mlp import MlpEngine
        from algorithms.fast.module import ModuleEngine, drawing_from

        predictor, inputs = self.spec.learner.predictor, self._inputs
        if predictor.kind in ("mlp", "table"):
            return MlpEngine(
                self.rule, (inputs.shape[1], *predictor.hidden), self.target, compiled=False,
                activation=predictor.activation, pinned=predictor.pinned,
            )  # fmt: skip
        head = self.target.head()
        with drawing_from(0):  # what is no parameter is the same in every lane
            module = make_module(predictor, self.problem, inputs.shape[1], head.logits)
        return ModuleEngine(self.rule, module, head.predict)

    @property
    def _inputs(self) -> Floats:
        return inputs_of(self.spec.learner.predictor, self.problem)

    def streams(self, seeds: range) -> NDArray[np.uint64]:
        """One stream per lane, the same for every rule: lanes of two rules are pairs."""
        return lane_streams(self.spec.root_seed, seeds, problem=self.spec.place.problem, **dict(self.spec.axes))

    def start(self, seeds: range) -> Any:
        """The lanes of these seeds, where they start."""
        return self.engine.start(self._first(seeds), self.streams(seeds))

    def _first(self, seeds: range) -> Any:
        """θ₀ of every lane. A network's comes from the lane's own stream, and is the same for every rule."""
        learner, problem = self.spec.learner, self.problem
        if isinstance(self.engine, LinearEngine):
            theta = self.target.start(problem.mdp.theta_initial, problem.mdp.features)
            return np.zeros_like(theta) if learner.start == "zeros" else theta
        axes: dict[str, Any] = dict(self.spec.axes) | {"problem": self.spec.place.problem, "stream": "weights"}
        rng = generators(self.spec.root_seed, seeds, **axes)
        if isinstance(self.engine, SmallLoop):
            return learner.spread * self.engine.engine.init(rng)
        from algorithms.fast.mlp import MlpEngine
        from algorithms.fast.module import drawing_from

        inner = self.engine.engine
        if isinstance(inner, MlpEngine):
            return [learner.spread * part for part in inner.init(rng)]
        if learner.predictor.kind == "own":
            return inner.init(len(seeds))
        made = []
        for stream in rng:  # a user's network draws from torch's global stream: ours while it is made, and put back
            with drawing_from(int(stream.integers(2**63))):
                width = self.target.head().logits
                made.append(make_module(learner.predictor, problem, self._inputs.shape[1], width))
        return inner.init(len(seeds), made)

    # ------------------------------------------------------------------ measuring

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the columns of the curves."""
        asked = self.spec.probe.metrics or self.target.metrics
        columns = [[f"value {s + 1}" for s in range(self.mdp.states)] if name == "values" else [name] for name in asked]
        return tuple(name for each in columns for name in each)

    def measure(self, theta: Any, w: Any) -> Floats:
        """[lanes, names]; NaN where a lane is."""
        asked, found = self.spec.probe.metrics or self.target.metrics, {}
        if set(asked) & set(ALONG):
            found = self._objective.along(self._flat(theta), self._flat(w))
        if set(asked) & set(SPECTRUM):
            found |= self._objective.spectrum(self._flat(theta))
        if "err" in asked:
            found["err"] = self._saddle.error_of(theta, w)
        F = self.predictions(theta)
        with np.errstate(all="ignore"):
            values = self.target.mean(F)
        simple = tuple(name for name in asked if name in self.target.metrics)
        columns = dict(zip(simple, np.moveaxis(self._metrics(F, simple), -1, 0), strict=True)) if simple else {}
        out = [
            values if name == "values" else (columns[name] if name in columns else found[name])[:, None]
            for name in asked
        ]
        return np.concatenate(out, axis=1)

    def predictions(self, theta: Any) -> Floats:
        """F of every lane and state."""
        with np.errstate(all="ignore"):
            if isinstance(self.engine, LinearEngine):
                return np.asarray(np.swapaxes(theta @ self.mdp.features.T, -1, -2))
            import torch

            from algorithms.fast.mlp import MlpEngine

            network, x = self._network, torch.as_tensor(self.engine.inputs)
            if isinstance(self.engine, SmallLoop):
                theta = [torch.as_tensor(layer, dtype=torch.float64) for layer in self.engine.engine.layers(theta)]
            with torch.no_grad():
                if isinstance(network, MlpEngine):
                    return network.predict(theta, x.expand(len(theta[0]), -1, -1)).numpy()
                return network.predict_all(theta, x).numpy()

    @cached_property
    def _metrics(self) -> Metrics:
        return Metrics(self.mdp, self.target)

    @cached_property
    def _objective(self) -> Objective:
        from algorithms.fast.mlp import MlpEngine
        from harness.oracle.objectives import Objective, linear, mlp, module

        if isinstance(self.engine, LinearEngine):
            return Objective(self.mdp, self.target, linear(self.mdp.features, self.target.outputs))
        network, inputs = self._network, self._inputs
        predictor = mlp(network, inputs) if isinstance(network, MlpEngine) else module(network, inputs)
        return Objective(self.mdp, self.target, predictor)

    @cached_property
    def _saddle(self) -> Saddle:
        from harness.oracle.saddle import Saddle

        if not self.linear:
            raise ValueError("metric 'err' is of linear predictors, got a network")
        if self.spec.learner.radius is None:
            raise ValueError("metric 'err' needs a radius: it is a maximum over balls")
        return Saddle(self.mdp, self.target, radius=self.spec.learner.radius)

    def _flat(self, weights: Any) -> Floats:
        """[lanes, d], as the objective lays θ out."""
        if isinstance(weights, np.ndarray):
            return weights.reshape(len(weights), -1).astype(np.float64, copy=False)
        parts = weights.values() if isinstance(weights, dict) else weights
        return np.concatenate([part.reshape(len(part), -1).numpy() for part in parts], axis=1)

    def rank(self, seed: int = 0) -> tuple[int, int]:
        """The rank of E Σφφᵀ where lane `seed` starts, and d: Theorem 2 asks for equality."""
        theta = self._flat(self._first(range(seed, seed + 1)))
        return self._objective.rank(theta[0]), theta.shape[1]
