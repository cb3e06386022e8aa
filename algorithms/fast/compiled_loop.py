"""What the compiled engines share: the state of lanes, and a run from the checks of its arguments to its snapshots.

An engine brings its kernel and the shape of its parameters: [n, k] of a linear predictor, [1, d] of a network.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

import numba as nb
import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from dgtd.algorithms.checks import Floats, Integers, finite, integers, shape, whole
from dgtd.algorithms.fast import kernels
from dgtd.algorithms.formulas import rewired
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import Constant, Schedule, check_steps
from dgtd.algorithms.table import Sampler, TransitionTable
from dgtd.algorithms.targets import Affine

SHORT = 2_000_000  # parameter updates in total, a few milliseconds: below it, starting threads costs more than it saves


@dataclass
class LaneState:
    """State of the lanes: `run` and `step` change it in place."""

    theta: Floats
    w: Floats
    theta_mean: Floats  # Σ α_t θ_t / Σ α_t over the points whose field was followed
    w_mean: Floats
    mass: Floats  # [lanes]  Σ α_t
    sampler: Sampler
    died: Integers  # [lanes]  the first step with a δ, u or cotangent that was not finite, or −1
    steps: int = 0


@dataclass(frozen=True)
class Curves:
    """Snapshots: theta [snapshots, lanes, …] after `steps` [snapshots] steps; NaN once a lane has died."""

    steps: Integers
    theta: Floats
    w: Floats
    theta_mean: Floats
    w_mean: Floats


class CompiledLoop(ABC):
    """One rule on one table of transitions: tables that every kernel reads, `start` and `run`."""

    dtype: np.dtype[Any] = np.dtype(np.float64)  # of the weights

    def __init__(self, rule: Rule, table: TransitionTable, inputs: ArrayLike, target: Affine, what: str) -> None:
        self.rule, self.table, self.target = rule, table, target
        features = finite(what, inputs)
        shape(what, features, (table.states, None))
        pairs, pair_of = np.unique(np.stack([table.reward, table.discount]), axis=1, return_inverse=True)
        ratios, ratio_of = np.unique(table.rho, return_inverse=True)
        shift = target.shift(*pairs)
        shift.check((pairs.shape[1],))
        if shift.row.shape[1] != target.outputs:
            raise ValueError(f"shift of the target must have {target.outputs} outputs, got {shift.row.shape[1]}")
        coefficients, self._function = rule_as_data(rule, ratios)
        self._sampling = table.sampling()
        self._samples = kernels.Samples(
            features, features, shift.row, shift.weight, shift.constant, rule.linear, coefficients
        )
        pair_index, ratio_index = (index.reshape(-1).astype(np.int64) for index in (pair_of, ratio_of))
        self._lookup = kernels.Lookup(pair_index, ratio_index, table.rho)

    @property
    @abstractmethod
    def parameters(self) -> tuple[int, int]:
        """The shape of a lane's θ."""

    @abstractmethod
    def _kernel(
        self, lanes: kernels.Lanes, moves: kernels.Moves, snapshots: kernels.Snapshots
    ) -> Callable[[int, int], None]:
        """The compiled loop as a function of the first lane and of the one behind the last. Threads call it at once."""

    def start(self, theta: ArrayLike, streams: NDArray[np.uint64]) -> LaneState:
        """Lanes at theta (one for all, or one each), w = 0, each on its own stream [lanes, 4]."""
        lanes = len(streams)
        theta = finite("theta", theta)
        n, k = self.parameters
        shape("theta", theta, (n, k) if theta.ndim == 2 else (lanes, n, k))
        begin = np.array(np.broadcast_to(theta, (lanes, n, k)), dtype=self.dtype, order="C")
        w, theta_mean, w_mean = (np.zeros_like(begin) for _ in range(3))
        sampler = Sampler(self.table, streams)
        return LaneState(begin, w, theta_mean, w_mean, np.zeros(lanes), sampler, np.full(lanes, -1))

    def run(
        self,
        state: LaneState,
        steps: int,
        alpha: ArrayLike,
        beta: ArrayLike,
        *,
        schedule: Schedule | None = None,
        radius: float = np.inf,
        snapshots: ArrayLike = (),
        average: bool = False,
        keep_w: bool = False,
        extragradient: bool = False,
        threads: int | None = None,
    ) -> Curves:
        """Take `steps` steps in every lane. alpha and beta are numbers or [lanes].

        radius         Γ: θ and w are projected onto the ball of this radius
        snapshots      numbers of steps, counted from the start of the lanes, at which to record θ
        average        also keep the α-weighted averages
        extragradient  Mirror-Prox: each step looks ahead on one transition and steps on a second
        """
        self._check_state(state)
        lanes, n, k = state.theta.shape
        alpha, beta = (np.array(np.broadcast_to(np.asarray(x, dtype=float), (lanes,))) for x in (alpha, beta))
        at = checked(state.steps, steps, alpha, beta, radius, snapshots)
        shapes = [len(at), len(at) if keep_w else 0, *[len(at) if average else 0] * 2]
        out = [np.empty((count, lanes, n, k), self.dtype) for count in shapes]
        lanes_now = kernels.Lanes(
            state.theta, state.w, state.theta_mean, state.w_mean, state.mass, state.sampler.streams,
            state.sampler.state, state.died,
        )  # fmt: skip
        factors = (schedule or Constant()).factors(state.steps, steps)
        moves = kernels.Moves(state.steps, alpha, beta, *factors, radius, self.rule.w_decay, average, extragradient)
        if threads is None:
            threads = default_threads() if steps * state.theta.size >= SHORT else 1
        whole("threads", threads, 1)
        in_parts(self._kernel(lanes_now, moves, kernels.Snapshots(at, *out)), lanes, threads)
        state.steps += steps
        return Curves(at, *out)

    def _check_state(self, state: LaneState) -> None:
        """Its arrays fit this engine and each other: compiled code looks at no length."""
        shape("theta", state.theta, (len(state.theta), *self.parameters))
        for name in ("w", "theta_mean", "w_mean"):
            shape(name, getattr(state, name), state.theta.shape)
        for name in ("theta", "w", "theta_mean", "w_mean"):
            if getattr(state, name).dtype != self.dtype:
                raise ValueError(f"{name} must be of type {self.dtype}, got {getattr(state, name).dtype}")
        for name in ("mass", "died"):
            shape(name, getattr(state, name), state.theta.shape[:1])
        shape("streams", state.sampler.streams, (len(state.theta), 4))
        if state.sampler.table.states != self.table.states:
            raise ValueError(f"sampler must walk {self.table.states} states, got {state.sampler.table.states}")
        state.sampler.check()

    def step(self, state: LaneState, alpha: ArrayLike, beta: ArrayLike) -> None:
        self.run(state, 1, alpha, beta)


def checked(first: int, steps: int, alpha: Any, beta: Any, radius: float, snapshots: ArrayLike) -> Integers:
    """What every loop asks of a run's arguments; its snapshots in order, each once."""
    whole("steps", steps, 0)
    check_steps(alpha, beta)
    if not radius > 0:
        raise ValueError(f"radius must be positive, got {radius}")
    at = np.unique(integers("snapshots", snapshots))
    if len(at) and not (first <= at[0] and at[-1] <= first + steps):
        raise ValueError(f"snapshots must be in [{first}, {first + steps}], got {at[0]} … {at[-1]}")
    return at


class Address:
    """A compiled rule whose address was looked up once: numba looks up a function's at every call, in 0.1 ms."""

    _numba_type_ = kernels.RuleFunction

    def __init__(self, function: Any) -> None:
        self._function = function  # keeps the code alive
        found = function.get_compile_result(kernels.RULE_SIGNATURE)
        self._address = int(found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name))

    def __wrapper_address__(self) -> int:
        return self._address

    def __call__(self, delta: float, u: float, rho: float) -> Any:
        return self._function(delta, u, rho)


_functions: dict[str, Address] = {}


@overload(np.clip)
def _clip_numbers(a, a_min, a_max):  # type: ignore[no-untyped-def]
    """numba clips arrays only."""
    if all(isinstance(each, types.Number) for each in (a, a_min, a_max)):
        return lambda a, a_min, a_max: np.minimum(np.maximum(a, a_min), a_max)
    return None


def rule_as_data(rule: Rule, ratios: Floats) -> tuple[Floats, Address]:
    """The rule as the kernels take it: coefficients [ratios, 3, 2], or compiled code for a nonlinear rule."""
    if rule.linear:
        return np.array([rule.coefficients(rho) for rho in ratios]).reshape(-1, 3, 2), _no_rule()
    key = rule.source_hash
    if key not in _functions:
        function = rule.function
        if isinstance(function, FunctionType):  # and with it the functions of the user's that it calls
            function = rewired(function, lambda value: value, nb.njit)
        inner = nb.njit(function)

        def plain(delta, u, rho):  # type: ignore[no-untyped-def]
            p, t, q = inner(delta, u, rho)
            return (float(p), float(t), float(q))

        try:
            _functions[key] = Address(nb.njit(kernels.RULE_SIGNATURE)(plain))
        except nb.core.errors.NumbaError as error:
            first = str(error).strip().splitlines()[0]
            raise ValueError(f"rule {rule.name!r} is not arithmetic that numba compiles: {first}") from error
    return np.zeros((len(ratios), 3, 2)), _functions[key]


@cache
def _no_rule() -> Address:
    return Address(kernels.no_rule.dispatcher)


def default_threads() -> int:
    """NUMBA_NUM_THREADS, or the number of cores."""
    return int(nb.config.NUMBA_NUM_THREADS)


def in_parts(part: Callable[[int, int], None], count: int, threads: int) -> None:
    """part(begin, end) over the lanes 0 … count − 1, on ordinary threads.

    numba's own threads are an OpenMP team that waits for work: torch's steps in the same process then take longer, 466
    against 360 µs on a quiet machine and 13 ms on a busy one. And a loop without them compiles in a third of the time.
    """
    threads = max(1, min(threads, count))
    if threads == 1:
        part(0, count)
        return
    edges = [count * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, edges[:-1], edges[1:]))
