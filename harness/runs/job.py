"""A job: evidence that is no run. A named function with JSON parameters, whose result is stored like a run's lanes."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from dgtd.algorithms.digest import digest
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.fingerprint import of_code
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import FileRef

OURS = ("dgtd.algorithms", "dgtd.harness")


def package_of(module: str) -> str:
    """Whose sources decide what a module does: a user's package, or one of our rooms (`dgtd` itself is links)."""
    words = module.split(".")
    return ".".join(words[: 2 if words[0] == "dgtd" else 1])


@dataclass(frozen=True)
class Job:
    """function   'module:name'; it takes the parameters, and the rule if there is one, and returns what JSON can hold
    package    whose sources decide the result, beside ours: that of a suite, where it does not say so itself
    alone      it measures time, so nothing else may run beside it
    """

    function: str
    parameters: str
    rule: FileRef | None = None
    package: str = ""
    alone: bool = False

    @staticmethod
    def of(function: Callable[..., Any], rule: FileRef | None = None, alone: bool = False, **parameters: Any) -> Job:
        """A call of a module's function."""
        text = json.dumps(parameters, sort_keys=True)
        name = f"{function.__module__}:{function.__qualname__}"
        return Job(name, text, rule, package_of(function.__module__), alone)

    @property
    def hash(self) -> str:
        """Of the call, the rule and the code; `code` of this process."""
        return digest(self.parts)

    @property
    def parts(self) -> dict[str, str]:
        rule = (
            "" if self.rule is None else digest(resolve(self.rule).source_hash, [file[2] for file in self.rule.files])
        )
        packages = dict.fromkeys((*OURS, self.package or OURS[0]))
        parameters = json.loads(self.parameters)
        return {
            "call": digest(self.function, parameters),
            "problem": find_problem(parameters["problem"]).identity if "problem" in parameters else "",
            "rule": rule,
            "code": of_code(tuple(packages)),
        }

    @property
    def culprit(self) -> str:
        """What to blame if its worker dies."""
        return f"rule {self.rule.name}" if self.rule else f"{self.function.split(':')[1]}({self.parameters})"

    def run(self) -> Any:
        module, _, name = self.function.partition(":")
        function = getattr(importlib.import_module(module), name)
        rule = {} if self.rule is None else {"rule": resolve(self.rule)}
        return function(**json.loads(self.parameters), **rule)

    def to_json(self) -> str:
        """As text, for workers and for the store."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Job:
        """The inverse of `to_json`."""
        return msgspec.json.decode(text, type=Job)
