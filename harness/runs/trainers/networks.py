"""Networks on a finite problem: layers in the compiled loop, or in torch where they are large, and users' modules."""

from functools import cached_property
from typing import Any

import numpy as np
import torch

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine, drawing_from
from dgtd.algorithms.fast.small import SmallEngine, SmallLoop
from dgtd.algorithms.replay import State
from dgtd.harness.oracle.objectives import Predictor, mlp, module
from dgtd.harness.runs.predictors import inputs_of, make_module
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.trainers.table import Defaults, OnTable

# Weights up to which a network runs compiled, unless the predictor names its engine: as far as was measured, and the
# small engine was ahead everywhere (one transition a step; docs/measuring.md, "The small engine").
LARGEST_SMALL = 20_000_000


def _named(weights: Any) -> dict[Any, Any]:
    return weights if isinstance(weights, dict) else dict(enumerate(weights))


class _Network(OnTable):
    """What every network here shares."""

    @cached_property
    def inputs(self) -> Floats:
        """[states, k]: what the network sees."""
        return inputs_of(self.spec.learner.predictor, self.problem)

    network: Any  # what predicts

    @cached_property
    def engine(self) -> Any:
        return TorchLoop(self.network, self.mdp.table, self.inputs, self.target)

    def check(self) -> None:
        """Networks are made before anything runs: a wrong one is an error at once."""
        _ = self.engine

    def arrays(self, state: Any) -> State:
        """Tensors as views of numpy's."""
        return {name: part.numpy() if torch.is_tensor(part) else part for name, part in super().arrays(state).items()}

    def _layers(self) -> dict[str, Any]:
        predictor = self.spec.learner.predictor
        return {"activation": predictor.activation, "pinned": predictor.pinned}

    def moving(self, state: Any) -> State:
        """Layer by layer, or by the parameters' names."""
        return {f"{name} {key}": part for name in ("theta", "w") for key, part in _named(getattr(state, name)).items()}

    def flat(self, weights: Any) -> Floats:
        parts = _named(weights).values()
        return np.concatenate([part.reshape(len(part), -1).numpy() for part in parts], axis=1)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.inputs.shape[1], *self.spec.learner.predictor.hidden


class Layers(Defaults):
    """A network of layers, by its size: compiled, or in torch."""

    @staticmethod
    def of(spec: RunSpec) -> OnTable:
        """The faster of the two, unless the predictor says which."""
        predictor = spec.learner.predictor
        if predictor.engine == "torch":
            return TorchLayers.of(spec)
        made = CompiledLayers.of(spec)
        chosen = predictor.engine == "small" or predictor.single
        return made if chosen or made.engine.engine.weights <= LARGEST_SMALL else TorchLayers.of(spec)


class TorchLayers(_Network):
    """Stacked weights in torch."""

    @cached_property
    def network(self) -> MlpEngine:
        """What predicts, and what runs if the network is large."""
        return MlpEngine(self.rule, self._sizes, self.target, compiled=False, **self._layers())

    def first(self, seeds: range) -> Any:
        """Uniform in ±spread/√in."""
        return [self.spec.learner.spread * part for part in self.network.init(self.generators(seeds))]

    def predictions(self, theta: Any) -> Floats:
        """Of θ as layers."""
        x = torch.as_tensor(self.inputs)
        with torch.no_grad():
            return self.network.predict(theta, x.expand(len(theta[0]), -1, -1)).numpy()

    def predictor(self) -> Predictor:
        return mlp(self.network, self.inputs)


class CompiledLayers(TorchLayers):
    """The whole loop compiled; torch only predicts."""

    @cached_property
    def engine(self) -> SmallLoop:
        dtype = np.float32 if self.spec.learner.predictor.single else np.float64
        small = SmallEngine(self.rule, self._sizes, self.target, dtype, **self._layers())
        return SmallLoop(small, self.mdp.table, self.inputs)

    def first(self, seeds: range) -> Floats:
        """The same draws as in torch."""
        return self.spec.learner.spread * self.engine.engine.init(self.generators(seeds))

    def predictions(self, theta: Any) -> Floats:
        """Of θ [lanes, 1, d]."""
        layers = [torch.as_tensor(layer, dtype=torch.float64) for layer in self.engine.engine.layers(theta)]
        return super().predictions(layers)

    def moving(self, state: Any) -> State:
        return {"theta": state.theta, "w": state.w}

    def flat(self, weights: Any) -> Floats:
        return weights.reshape(len(weights), -1).astype(np.float64, copy=False)


class UsersModule(_Network):
    """Any torch module: the problem's own network, or a user's."""

    @cached_property
    def network(self) -> ModuleEngine:
        with drawing_from(0):  # what is no parameter is the same in every lane
            made = self._module()
        return ModuleEngine(self.rule, made, self.target.head().predict)

    def _module(self) -> torch.nn.Module:
        return make_module(self.spec.learner.predictor, self.problem, self.inputs.shape[1], self.target.head().logits)

    def first(self, seeds: range) -> Any:
        """A problem's own network starts as it is made; a user's draws its weights from each lane's stream."""
        if self.spec.learner.predictor.kind == "own":
            return self.network.init(len(seeds))
        made = []
        for stream in self.generators(seeds):  # torch's global stream is ours while a network is made, and put back
            with drawing_from(int(stream.integers(2**63))):
                made.append(self._module())
        return self.network.init(len(seeds), made)

    def predictions(self, theta: Any) -> Floats:
        """Of θ as a dict of tensors."""
        with torch.no_grad():
            return self.network.predict_all(theta, torch.as_tensor(self.inputs)).numpy()

    def predictor(self) -> Predictor:
        return module(self.network, self.inputs)
