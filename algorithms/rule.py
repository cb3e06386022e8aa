"""An algorithm is a function from (δ, u, ρ) to three cotangents, and what it declares about itself."""

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dgtd.algorithms.checks import Floats, InterruptedByUser
from dgtd.algorithms.digest import digest
from dgtd.algorithms.formulas import check_formula, for_anything
from dgtd.algorithms.names import unknown


class Cotangents(NamedTuple):
    """What a rule returns for one output: the weights of f, g and u in the pass that gives G_θ and G_w."""

    prediction: Any
    target: Any
    tangent: Any


class Promise(StrEnum):
    """What a rule claims about itself; the suites check exactly what is promised."""

    DESCENDS = "descends"  # at w*(θ) the mean update of θ is −½∇J
    SOLVES_W = "solves-w"  # the mean update of w vanishes at w*(θ)
    STABLE = "stable"  # bounded off-policy, where semi-gradient TD is not
    LINEAR_COST = "linear-cost"  # work per step is linear in the parameters
    RATE = "rate"  # the averaged linear iterate has Err = O(n^-1/2)


ALL = frozenset(Promise)

# Points where a rule is probed: signs, sizes and ratios differ, so that no two terms look the same.
_PROBES = ((1.0, 0.0), (0.0, 1.0), (0.7, -1.3), (-2.1, 0.4), (1e-3, 5.0), (-30.0, -0.02))
_RATIOS = (1.0, 0.0, 0.3, 7.0)


class RuleError(ValueError):
    """A rule tried to end the program, or is not a function of its arguments."""


@dataclass(frozen=True)
class Rule:
    """An update rule. Call it on floats, numpy arrays or torch tensors; numba compiles the same function."""

    name: str
    function: Callable[[Any, Any, Any], Cotangents]
    curvature: bool = True
    w_decay: float = 0.0
    linear: bool = True
    promises: frozenset[Promise] = ALL

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"rule {self.name!r} must be a function, got {type(self.function).__name__}")
        if not (math.isfinite(self.w_decay) and self.w_decay >= 0):
            raise ValueError(f"w_decay must be 0 or more, got {self.w_decay}")
        object.__setattr__(self, "promises", _known_promises(self.name, self.promises))
        _check_arity(self.name, self.function)
        check_formula(self.name, self.function)
        _check_function(self.name, self.function)
        for rho in _RATIOS:
            found = np.array([_probe(self.name, self.function, d, u, rho) for d, u in _PROBES])
            if self.linear and not np.allclose(found, _PROBES @ found[:2], rtol=1e-10, atol=1e-12):
                raise ValueError(f"rule {self.name!r} is not linear in (delta, u): declare linear=False")

    def __call__(self, delta: Any, u: Any, rho: Any) -> Cotangents:
        try:
            return self._anywhere(delta, u, rho)
        except (Exception, InterruptedByUser):
            raise
        except BaseException as error:  # sys.exit(0) in a rule must not end a command in silence
            raise RuleError(f"rule {self.name!r} raised {type(error).__name__}: {error}") from None

    @cached_property
    def _anywhere(self) -> Callable[[Any, Any, Any], Cotangents]:
        return for_anything(self.function)

    def coefficients(self, rho: float) -> Floats:
        """[3, 2]: how (prediction, target, tangent) weigh (δ, u) at this ratio. Linear rules only."""
        if not self.linear:
            raise ValueError(f"rule {self.name!r} declares linear=False, so it has no coefficients")
        rows = [_probe(self.name, self.function, d, u, float(rho)) for d, u in _PROBES[:2]]
        return np.array(rows).T.copy()

    @cached_property
    def source_hash(self) -> str:
        """A hash that changes with the source, with any global or parameter that it uses, and with a declaration."""
        try:
            return digest(self.function, self.curvature, self.w_decay, self.linear)
        except ValueError as error:
            raise ValueError(f"rule {self.name!r}: {error}") from None

    def fingerprint(self, ratios: Floats) -> str:
        """A hash of what the rule does at these ratios: coefficients if it is linear, else its `source_hash`."""
        if not self.linear:
            return self.source_hash
        return digest([self.coefficients(rho) for rho in ratios], self.curvature, self.w_decay)


def rule(
    function: Callable[[Any, Any, Any], Cotangents] | None = None,
    *,
    curvature: bool = True,
    w_decay: float = 0.0,
    linear: bool = True,
    promises: Iterable[str] = ALL,
) -> Any:
    """Decorator: a function of (delta, u, rho) becomes a Rule, and is probed once."""

    def wrap(f: Callable[[Any, Any, Any], Cotangents]) -> Rule:
        name = getattr(f, "__name__", "rule")
        return Rule(name, f, curvature, w_decay, linear, promises)  # type: ignore[arg-type]

    return wrap if function is None else wrap(function)


def named(base: Rule, **parameters: float) -> Rule:
    """The rule under a name that shows its parameters, as in `greedy_gq(eta=0.5)`."""
    inside = ", ".join(f"{key}={_digits(value)}" for key, value in parameters.items())
    return replace(base, name=f"{base.name}({inside})")


def _digits(value: float) -> str:
    """As few digits as say which number it is: a rule is found again by its name."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _known_promises(name: str, promises: Iterable[str]) -> frozenset[Promise]:
    """A promise that is misspelt binds nothing, so it is refused."""
    if isinstance(promises, str):
        raise ValueError(f"rule {name!r}: promises must be a set, as in {{{promises!r}}}")
    for each in promises:
        if each not in list(Promise):
            raise unknown(f"promise of rule {name!r}", str(each), [str(known) for known in Promise])
    return frozenset(Promise(each) for each in promises)


def _check_function(name: str, function: Callable[..., Any]) -> None:
    """Twice the same arguments, in another order of calls: the same bits, and the arguments as they were."""
    points = [(delta, u, rho) for rho in _RATIOS for delta, u in _PROBES]
    first = [_probe(name, function, *point) for point in points]
    second = [_probe(name, function, *point) for point in reversed(points)][::-1]
    for point, one, other in zip(points, first, second, strict=True):
        if one != other:
            raise RuleError(
                f"rule {name!r} is not a function of (delta, u, rho): at {point} it gave {one}, then {other}"
            )
    before = np.array(points).T.copy()
    given = [row.copy() for row in before]
    try:
        function(*given)
    except Exception:  # not made for arrays, which is for `dgtd rule check` to say
        return
    if not all(np.array_equal(one, other) for one, other in zip(given, before, strict=True)):
        raise RuleError(f"rule {name!r} changes its arguments in place: write u = 2 * u, not u *= 2")


def _check_arity(name: str, function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind(0.0, 0.0, 1.0)
    except TypeError:
        raise ValueError(f"rule {name!r} must take (delta, u, rho)") from None


def _probe(name: str, function: Callable[..., Any], delta: float, u: float, rho: float) -> tuple[float, ...]:
    try:
        out = function(delta, u, rho)
    except (TimeoutError, InterruptedByUser):  # a caller's limit, for the caller to report
        raise
    except BaseException as error:
        raise ValueError(f"rule {name!r} raised {type(error).__name__} at {delta=}, {u=}, {rho=}: {error}") from error
    if not (isinstance(out, tuple) and getattr(out, "_fields", None) == Cotangents._fields):
        raise ValueError(f"rule {name!r} must return Cotangents(prediction, target, tangent), got {out!r}")
    try:
        numbers = tuple(float(x) for x in out)
    except (TypeError, ValueError):
        numbers = (math.nan,)
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"rule {name!r} must return finite numbers, got {out!r} at {delta=}, {u=}, {rho=}")
    return numbers


def uses(rule: Rule) -> tuple[bool, bool]:
    """(whether the rule uses w, whether θ follows the next prediction), found by probing it."""
    points = [(1.0, 0.0), (0.0, 1.0), (0.7, -1.3), (-2.1, 0.4), (30.0, 5.0)]
    found = np.array([[float(part) for part in rule.function(delta, u, 1.0)] for delta, u in points])
    still = np.array([[float(part) for part in rule.function(delta, 0.0, 1.0)] for delta, _ in points])
    return bool((found[:, 2] != 0).any() or (found != still).any()), bool((found[:, 1] != 0).any())
