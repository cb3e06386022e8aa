"""Predictors by text: `linear`, `table`, `mlp(50)`, `mlp(64, 64, relu)`, `own`, or `file.py:function`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtd.algorithms.checks import Floats, whole
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.names import look_up, unknown
from dgtd.algorithms.rules import PUBLISHED, Published
from dgtd.algorithms.targets import MOST_ATOMS
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.plugins import answering, is_file
from dgtd.harness.runs.rule_files import file_reference, load, reference
from dgtd.harness.runs.spec import FileRef, Learner, PredictorSpec, StepSchedule

if TYPE_CHECKING:
    import torch

KINDS = ("linear", "table", "mlp", "own")
ENGINES = ("small", "torch")
# What a network sees of each state, [states, k]. Without the last column the bias is that state's row; features that
# sum to 1, as Boyan's do, make a bias redundant unless one of them is left out.
INPUTS: dict[str, Callable[[Problem], Floats]] = {
    "states": lambda problem: np.eye(problem.mdp.states),
    "most-states": lambda problem: np.eye(problem.mdp.states)[:, :-1],
    "features": lambda problem: problem.mdp.features,
    "most-features": lambda problem: np.ascontiguousarray(problem.mdp.features[:, :-1]),
}
_CALL = re.compile(r"(?P<name>[\w-]+)\s*(\((?P<inside>[^()]*)\))?")


def parse(text: str) -> PredictorSpec:
    """The predictor that a text describes."""
    if is_file(text):
        ref = file_reference(text, "predictor")
        if not callable(load(ref)):
            raise ValueError(f"predictor {text!r} must be a function that returns a torch.nn.Module")
        return PredictorSpec("module", file=ref)
    match = _CALL.fullmatch(text.strip())
    if match is None or match["name"] not in KINDS:
        raise unknown("predictor", text, (*KINDS[:2], "mlp(50)", "mlp(64,64,relu)", "own", "file.py:function"))
    words = [word.strip() for word in match["inside"].split(",")] if (match["inside"] or "").strip() else []
    if match["name"] == "mlp":
        return _mlp(text, words)
    if words:
        raise ValueError(f"predictor {text!r} takes no arguments")
    if match["name"] == "table":
        return PredictorSpec("table", pinned=True, inputs="most-states")
    return PredictorSpec(match["name"])


def _mlp(text: str, words: list[str]) -> PredictorSpec:
    hidden: list[int] = []
    rest: dict[str, str] = {}

    def once(key: str, value: str) -> None:
        if key in rest:
            raise ValueError(f"predictor {text!r}: {key} is given twice")
        rest[key] = value

    for word in words:
        key, sign, value = (part.strip() for part in word.partition("="))
        if re.fullmatch(r"[-+]?\d{1,18}", word, re.ASCII):
            if int(word) < 1:
                raise ValueError(f"predictor {text!r}: a layer must have at least 1 unit, got {word}")
            hidden.append(int(word))
        elif word in ("pinned", "float32"):
            once(word, word)
        elif word in ENGINES:
            once("engine", word)
        elif sign and key == "inputs":
            look_up("inputs", value, INPUTS)
            once("inputs", value)
        else:
            look_up("activation", word, dict.fromkeys(ACTIVATIONS))
            once("activation", word)
    if not hidden:
        raise ValueError(f"predictor {text!r} needs at least one layer, as in 'mlp(50)'")
    activation, inputs, engine = rest.get("activation", "tanh"), rest.get("inputs", "states"), rest.get("engine", "")
    pinned, single = "pinned" in rest, "float32" in rest
    return PredictorSpec("mlp", tuple(hidden), activation, pinned, inputs, engine=engine, single=single)


def shown(spec: PredictorSpec) -> str:
    if spec.file is not None:
        return f"{spec.file.path}:{spec.file.function}"
    if spec.kind != "mlp":
        return spec.kind
    words = [*map(str, spec.hidden), *([spec.activation] if spec.activation != "tanh" else [])]
    words += [*(["pinned"] if spec.pinned else []), *([f"inputs={spec.inputs}"] if spec.inputs != "states" else [])]
    words += [*([spec.engine] if spec.engine else []), *(["float32"] if spec.single else [])]
    return f"mlp({','.join(words)})"


def default_for(problem: Problem) -> PredictorSpec:
    """Linear in the features, or the problem's own network where it has one."""
    return PredictorSpec("own" if problem.network is not None else "linear")


def inputs_of(spec: PredictorSpec, problem: Problem) -> Floats:
    """[states, k]: what a network sees of each state."""
    inputs = INPUTS[spec.inputs](problem)
    if not inputs.shape[1]:
        raise ValueError(f"inputs={spec.inputs} of {problem.name!r} leave nothing for a network to see")
    return inputs


def check_plain(spec: PredictorSpec) -> None:
    """ValueError if it has words that a learner in a world does not use."""
    plain = PredictorSpec(spec.kind, spec.hidden, spec.activation, file=spec.file)
    if spec != plain:
        raise ValueError(f"a network in a world has layers and an activation, {shown(plain)!r}, got {shown(spec)!r}")


def make_module(spec: PredictorSpec, problem: Problem, inputs: int, outputs: int) -> torch.nn.Module:
    """The problem's own network, or the user's."""
    if spec.file is not None:
        return users_module(spec, inputs, outputs)
    if problem.network is None:
        raise ValueError(f"problem {problem.name!r} has no network of its own: name another predictor")
    sized = {"inputs", "outputs"} <= inspect.signature(problem.network).parameters.keys()
    made = problem.network(inputs=inputs, outputs=outputs) if sized else problem.network()
    return _checked(made, shown(spec), inputs, outputs)


def users_module(spec: PredictorSpec, inputs: int, outputs: int) -> torch.nn.Module:
    """What the user's function returns; it gets (inputs, outputs) if it takes two."""
    assert spec.file is not None
    function = load(spec.file)
    with answering(f"predictor {shown(spec)!r}"):
        module = function(inputs, outputs) if len(inspect.signature(function).parameters) >= 2 else function()
    return _checked(module, shown(spec), inputs, outputs)


def _checked(module: Any, name: str, inputs: int, outputs: int) -> torch.nn.Module:
    import torch

    if not isinstance(module, torch.nn.Module):
        raise ValueError(f"predictor {name!r} must return a torch.nn.Module, got {type(module).__name__}")
    module = module.double()
    if not any(part.requires_grad for part in module.parameters()):
        raise ValueError(f"predictor {name!r} has no parameters that could learn")
    with answering(f"predictor {name!r}"):
        check_network(module, f"predictor {name!r}", torch.zeros(2, inputs, dtype=torch.float64), outputs)
    return module


def check_network(module: torch.nn.Module, who: str, x: torch.Tensor, outputs: int) -> None:
    """ValueError, in words, unless it is a function of its weights and of each row of x [2, …] alone, and fits."""
    import torch
    from torch.nn.modules import batchnorm, dropout

    for part in module.modules():
        if isinstance(part, batchnorm._BatchNorm | dropout._DropoutNd):
            raise ValueError(
                f"{who} has {type(part).__name__}, which is no function of one input and the weights: "
                "write LayerNorm for BatchNorm, and nothing for Dropout"
            )
    for rows in (x, x[:1]):  # one row alone: what drops dimensions of size 1 is seen there
        try:
            with torch.no_grad():
                got = list(module(rows).shape)
        except (RuntimeError, ValueError) as error:
            line = (str(error).splitlines() or [""])[0]
            raise ValueError(f"{who} can't take {' × '.join(map(str, x.shape[1:]))} inputs: {line}") from None
        if got != [len(rows), outputs]:
            raise ValueError(
                f"{who} must give {outputs} outputs for this target, got shape {got} "
                f"and not {[len(rows), outputs]} for {len(rows)} inputs"
            )


def named(text: str) -> FileRef:
    """A published agent, or a rule."""
    return FileRef(text) if text in PUBLISHED else reference(text, PUBLISHED)


def published(rule: FileRef) -> Published | None:
    """The row of a published agent; None for a rule."""
    return None if rule.path else PUBLISHED.get(rule.name)


@dataclass(frozen=True)
class Words:
    """A rule, or a published agent by its name, at a place by name; None is what the user left open.

    settings   of the kind of learner: a `Control`'s or an `Iteration`'s
    """

    rule: FileRef
    place: str
    target: str = "value"
    alpha: float | None = None
    beta: float | None = None
    atoms: int | None = None
    projection: str = "cramer"
    predictor: PredictorSpec | None = None
    schedule: StepSchedule = field(default_factory=StepSchedule)
    radius: float | None = None
    cohort: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.atoms is not None:  # a value has none, and a wrong number of them is wrong all the same
            whole("atoms", self.atoms, 2, MOST_ATOMS)

    @staticmethod
    def of(rule: str | FileRef, place: str, **said: Any) -> Words:
        """What is no word of every learner is a setting of its kind."""
        if isinstance(rule, str):
            rule = named(rule)
        common = {each.name for each in fields(Words)}
        settings = {name: value for name, value in said.items() if name not in common}
        return Words(rule, place, **{name: said[name] for name in said if name in common}, settings=settings)

    def learner(self, **own: Any) -> Learner:
        """With what a kind of learner brings; its sizes and steps count where the user left them open."""
        said: dict[str, Any] = {name: getattr(self, name) for name in ("alpha", "beta", "atoms", "cohort")}
        said = {name: value for name, value in said.items() if value is not None}
        words = {name: getattr(self, name) for name in ("rule", "target", "projection", "schedule", "radius")}
        return Learner(**words | own | said)
