"""A rule is one formula, for floats, arrays and tensors: what it may use, and numpy's functions on all three."""

import ast
import builtins
import dis
import inspect
import math
import random
import textwrap
from collections.abc import Callable
from functools import cache, partial, reduce
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

# numpy's name → torch's. numba knows them all.
FUNCTIONS = {
    "minimum": "minimum", "maximum": "maximum", "clip": "clamp", "where": "where", "sign": "sign", "abs": "abs",
    "absolute": "abs", "tanh": "tanh", "exp": "exp", "log": "log", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt",
    "square": "square", "sin": "sin", "cos": "cos", "arctan": "arctan", "sinh": "sinh", "cosh": "cosh",
}  # fmt: skip
CONSTANTS = ("pi", "e", "inf", "euler_gamma")
MARK = "#"  # in the names under which a user's files are run: path#hash
MAY = "a rule may use arithmetic, comparisons, abs, min, max and np." + ", np.".join(FUNCTIONS)


class FormulaError(ValueError):
    """A rule that is more than one formula, in words."""


def for_anything(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in which numpy's functions, min and max take floats, arrays and tensors alike."""
    return rewired(function, _instead_of) if isinstance(function, FunctionType) else function


def check_formula(name: str, function: Callable[..., Any]) -> None:
    """FormulaError for a branch or loop on the arguments, and for functions that not every engine has."""
    if not isinstance(function, FunctionType) or _is_arithmetic(function):
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):  # no source, no line to point at: the engines will say
        return
    (found, *_) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    reader = _Reader({argument.arg for argument in found.args.args}, function)
    for node in found.body if isinstance(found, ast.FunctionDef) else [found.body]:
        reader.visit(node)
    if reader.faults:
        line, words = min(reader.faults)
        file = function.__code__.co_filename.split(MARK)[0]
        raise FormulaError(f"rule {name!r} ({file}, line {function.__code__.co_firstlineno + line - 1}) {words}")


def _is_arithmetic(function: FunctionType) -> bool:
    """Nothing to look at: no jump, and no module in use."""
    code = function.__code__
    modules = any(isinstance(_global(function, name), ModuleType) for name in code.co_names)
    jumps = any(op.opcode in dis.hasjrel or op.opcode in dis.hasjabs for op in dis.get_instructions(code))
    return not (modules or jumps)


def _global(function: FunctionType, name: str) -> Any:
    return function.__globals__.get(name, getattr(builtins, name, None))


class _Reader(ast.NodeVisitor):
    """Finds what can't be done to a whole array: `known` are the names that hold the arguments or follow from them."""

    def __init__(self, known: set[str], function: FunctionType) -> None:
        self.known, self.function = known, function
        self.faults: list[tuple[int, str]] = []

    def _fault(self, node: ast.AST, words: str) -> None:
        self.faults.append((getattr(node, "lineno", 1), words))

    def _follows(self, node: ast.AST) -> str:
        """The name by which an expression depends on the arguments, or nothing."""
        names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in self.known]
        return names[0] if names else ""

    def visit_Assign(self, node: ast.Assign) -> None:
        """What is made of the arguments is looked at like them."""
        self.generic_visit(node)
        if self._follows(node.value):
            self.known |= {
                each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)
            }

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        """A branch on numbers that differ from lane to lane."""
        if name := self._follows(node.test):
            word = "while" if isinstance(node, ast.While) else "if"
            self._fault(node, f"branches on {name!r} by `{word}`, but many lanes are computed at once: "
                              "write np.where(condition, a, b)")  # fmt: skip
        self.generic_visit(node)

    visit_IfExp = visit_If
    visit_While = visit_If

    def visit_For(self, node: ast.For) -> None:
        """A loop over the arguments."""
        if name := self._follows(node.iter):
            self._fault(node, f"loops over {name!r}, but it gets one number per lane: write a formula without a loop")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """`and`, `or`."""
        if name := self._follows(node):
            self._fault(node, f"uses `and` or `or` on {name!r}: write (a) & (b), or (a) | (b)")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """a < b < c is an `and`."""
        if len(node.ops) > 1 and (name := self._follows(node)):
            self._fault(node, f"uses a chain of comparisons on {name!r}: write (a < b) & (b < c)")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """np.something, math.something, random.something."""
        owner = _global(self.function, node.value.id) if isinstance(node.value, ast.Name) else None
        if (owner is np and node.attr == "random") or owner in (random, np.random):
            self._fault(node, "draws random numbers: a rule must be a function of its arguments")
        elif owner is np and node.attr not in (*FUNCTIONS, *CONSTANTS):
            self._fault(node, f"uses np.{node.attr}: {MAY}")
        elif owner is math and callable(getattr(math, node.attr, None)):
            other = f"np.{node.attr}" if node.attr in FUNCTIONS else "a function of numpy's"
            self._fault(node, f"uses math.{node.attr}, which takes single numbers only: write {other}")
        self.generic_visit(node)


def rewired(
    function: FunctionType,
    instead: Callable[[Any], Any],
    helper: Callable[[FunctionType], Any] = lambda found: found,
    done: dict[int, Any] | None = None,
) -> FunctionType:
    """A copy that sees other values of its globals and closure; `helper` is done to the functions that it calls.

    A function that sees nothing else than before is returned as it is.
    """
    done = {} if done is None else done

    def seen(value: Any) -> Any:
        if not (isinstance(value, FunctionType) and _helps(value, function)):
            return instead(value)
        if id(value) not in done:
            done[id(value)] = value  # one that calls itself
            done[id(value)] = helper(rewired(value, instead, helper, done))
        return done[id(value)]

    values = {name: _global(function, name) for name in function.__code__.co_names}
    changed = {name: other for name, value in values.items() if (other := seen(value)) is not value}
    cells = function.__closure__ or ()
    inside = [seen(cell.cell_contents) for cell in cells]
    if not changed and all(new is cell.cell_contents for new, cell in zip(inside, cells, strict=True)):
        return function
    scope, closure = function.__globals__ | changed, tuple(map(CellType, inside))
    made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _helps(value: FunctionType, function: FunctionType) -> bool:
    """A function of the same file, or of another file of the user's that came with the rule's."""
    return value.__globals__ is function.__globals__ or MARK in value.__code__.co_filename


def _instead_of(value: Any) -> Any:
    if value is np:
        return _Numpy()
    if value is min or value is max:
        return partial(_folded, "minimum" if value is min else "maximum")
    name = getattr(value, "__name__", "")
    return on_anything(name) if name in FUNCTIONS and value is getattr(np, name) else value


class _Numpy:
    """numpy as a rule sees it."""

    def __getattr__(self, name: str) -> Any:
        return on_anything(name) if name in FUNCTIONS else getattr(np, name)


@cache
def on_anything(name: str) -> Callable[..., Any]:
    """numpy's function of that name; torch's if a tensor is among the arguments."""
    plain = getattr(np, name)

    def call(*arguments: Any) -> Any:
        tensors = [each for each in arguments if _is_tensor(each)]
        if not tensors:
            return plain(*arguments)
        import torch

        # A condition of np.where is a tensor, too, and says nothing of the numbers' precision.
        kinds = [each.dtype for each in tensors if each.is_floating_point()]
        like = {"dtype": kinds[0] if kinds else torch.get_default_dtype(), "device": tensors[0].device}
        given = [each if _is_tensor(each) else torch.as_tensor(each, **like) for each in arguments]
        return getattr(torch, FUNCTIONS[name])(*given)

    return call


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "requires_grad")  # torch is not imported to find out


def _folded(name: str, *values: Any) -> Any:
    return reduce(on_anything(name), values)
