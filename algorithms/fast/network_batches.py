"""The small engine on transitions from outside: one update of every lane a call, for learners that act in a world.

One transition a lane goes straight into θ and w. The directions of several are added up first, and then applied.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numba import types
from torch import Tensor

from dgtd.algorithms.checks import Floats, Integers, finite
from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.algorithms.fast.compiling import (
    Floats1,
    Floats2,
    Integer,
    Integers1,
    Integers2,
    Number,
    Reals2,
    Reals3,
    compiled,
)
from dgtd.algorithms.fast.heads import TensorBatch
from dgtd.algorithms.fast.kernels import Lookup, RuleFunction, Sample, Samples, project
from dgtd.algorithms.fast.linear import batch_as_data
from dgtd.algorithms.fast.network_heads import at_the_head, atoms_of
from dgtd.algorithms.fast.network_kernels import Network, collect, descend, forward, room, units_of
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.stepping import check_steps


class Update(NamedTuple):
    """Step sizes  [lanes], κ, Γ's radius; the number of the first step, and when each lane died  [lanes].

    errors  [lanes, steps]: the mean square of δ before every step; what is handed over is as many equal batches
    """

    alpha: Floats1
    beta: Floats1
    w_decay: Number
    radius: Number
    now: Integer
    died: Integers1
    errors: Floats2


@compiled(
    Reals3, Reals3, Samples, Lookup, Integers2, Network, RuleFunction, Update, Reals3, Reals2, Reals2,
    fastmath=True, bare=True,
)  # fmt: skip
def learn_lanes(theta, w, data, lookup, actions, net, rule, update, sums, unit_rows, atom_rows):
    """Samples are ordered lane by lane, and batch by batch.

    actions  [samples, 2]: the action, and the next one or GREEDY      sums  [2, 1, d]: room for a batch's directions
    """
    unit, atom = units_of(unit_rows), atoms_of(atom_rows)
    lanes, steps = update.errors.shape
    each = data.x.shape[0] // (lanes * steps)
    for lane in range(lanes):
        alpha, beta = update.alpha[lane], update.beta[lane]
        keep = 1.0 - beta * update.w_decay
        for step in range(steps):
            update.errors[lane, step] = np.nan
            if update.died[lane] >= 0:
                continue
            healthy, error = True, 0.0
            if each > 1:
                for i in range(sums.shape[2]):
                    sums[0, 0, i], sums[1, 0, i] = 0.0, 0.0
            begin = (lane * steps + step) * each
            for i in range(begin, begin + each):
                at = Sample(i, i, lookup.pair[i], lookup.ratio[i], lookup.rho[i])
                forward(theta[lane, 0], w[lane, 0], data.x[i], data.x_next[i], net, unit)
                healthy, squares = at_the_head(unit, atom, net, data, at, actions[i, 0], actions[i, 1], rule)
                if not healthy:
                    break
                error += squares
                if each == 1:
                    descend(theta[lane, 0], w[lane, 0], net, unit, alpha, beta, keep)
                else:
                    collect(theta[lane, 0], w[lane, 0], sums[0, 0], sums[1, 0], net, unit)
            if not healthy:
                update.died[lane] = update.now + step
                theta[lane, :, :] = np.nan
                w[lane, :, :] = np.nan
                continue
            update.errors[lane, step] = error / each
            if each > 1:
                for i in range(sums.shape[2]):
                    theta[lane, 0, i] -= alpha / each * sums[0, 0, i]
                    w[lane, 0, i] = keep * w[lane, 0, i] + beta / each * sums[1, 0, i]
            if update.radius < np.inf:
                project(theta[lane], update.radius)
                project(w[lane], update.radius)


class Lesson(NamedTuple):
    """Transitions:  x, x_next  [lanes, count, k]   reward, discount, rho  [lanes, count].

    actions  [lanes, count, 2]: the action and the next one (or GREEDY), for networks that have one output per action
    """

    x: Floats
    x_next: Floats
    reward: Floats
    discount: Floats
    rho: Floats
    actions: Integers | None = None


class BatchLearner:
    """A small engine that is handed its transitions. What a reward, a discount or a ratio leads to is kept."""

    def __init__(self, engine: SmallEngine) -> None:
        self.engine = engine
        self._room = (np.zeros((2, 1, engine.weights), engine.dtype), *room(engine.network, engine.target.outputs + 1))
        self._function = rule_as_data(engine.rule, np.ones(1))[1]
        self._shifts = Kept(lambda keys: engine.target.shift(*keys.T).arrays)
        self._ratios = Kept(lambda keys: (rule_as_data(engine.rule, keys[:, 0])[0],))

    def learn(self, theta: Floats, w: Floats, lesson: Lesson, update: Update) -> None:
        """θ and w of every lane, in place; a lane with a number that is not finite is dated, and left alone."""
        engine, k = self.engine, lesson.x.shape[2]
        pair = self._shifts.find(lesson.reward, lesson.discount)
        ratio = self._ratios.find(lesson.rho, lesson.rho)
        row, weight, constant = self._shifts.arrays
        (coefficients,) = self._ratios.arrays
        data = Samples(
            lesson.x.reshape(-1, k), lesson.x_next.reshape(-1, k), row, weight, constant, engine.rule.linear,
            coefficients,
        ).of(engine.dtype)  # fmt: skip
        lookup = Lookup(pair.reshape(-1), ratio.reshape(-1), lesson.rho.reshape(-1))
        given = lesson.actions
        actions = np.zeros((lookup.rho.size, 2), np.int64) if given is None else given.reshape(-1, 2)
        learn_lanes.of(engine.dtype)(
            theta, w, data, lookup, actions, engine.network, self._function, update, *self._room
        )


# Weights times transitions from which one update is faster as matrix products over the batch: at 64-128-128-50 between
# 1.0 and 2.0 million with one lane, 0.1 and 0.5 with twelve; at 64-512-512-50 and 32 transitions by 1.4 to 1.9.
# The number of lanes does not decide: a lane's numbers must not depend on it (docs/measuring.md, "The small engine").
LARGEST_COMPILED = 1_000_000


class Learner(Protocol):
    """What updates lanes from a lesson."""

    def learn(self, theta: Floats, w: Floats, lesson: Lesson, update: Update) -> None:
        """θ and w of every lane, in place."""


def learner_for(engine: SmallEngine, batch: int) -> Learner:
    """The faster one for lessons of `batch` transitions."""
    if batch == 1 or engine.weights * batch <= LARGEST_COMPILED:
        return BatchLearner(engine)
    from dgtd.algorithms.fast.mlp import TorchLearner  # mlp.py imports this module, and torch: a second

    return TorchLearner(engine)


class Kept:
    """Rows of arrays by the two numbers that they are made from, made when they are first asked for.

    A world with few rewards asks for a handful; with many, the table is begun anew when it is full. Measured on whole
    updates, against pairs that numpy sorts each time: 1.4 to 4.7 times as fast for BatchLearner, 1.05 to 1.6
    times for ReplayEngine, with 30 lanes and with one.
    """

    FULL = 1024

    def __init__(self, make: Callable[[Floats], tuple[Any, ...]]) -> None:
        self._make = make
        self._keys = np.empty((0, 2))
        self.arrays: tuple[Any, ...] = ()

    def find(self, first: Floats, second: Floats) -> Integers:
        """The row of each pair, in an array of their shape."""
        out = np.empty(first.size, dtype=np.int64)
        given = np.stack([first.ravel(), second.ravel()], axis=1)
        if not _rows(self._keys, given, out):
            finite("rewards, discounts and ratios", given)
            here, asked = (keys.view(complex)[:, 0] for keys in (self._keys, given))
            new = np.setdiff1d(asked, here)
            if len(here) + len(new) > self.FULL:  # then as they are asked for: to sort and search them takes longer
                self._keys, self.arrays = given, self._make(given)
                return np.arange(first.size).reshape(first.shape)
            self._add(new.view(float).reshape(-1, 2))
            _rows(self._keys, given, out)
        return out.reshape(first.shape)

    def _add(self, keys: Floats) -> None:
        rows = self._make(keys)
        self.arrays = tuple(map(np.concatenate, zip(self.arrays, rows, strict=True))) if self.arrays else rows
        self._keys = np.concatenate([self._keys, keys])


@compiled(Floats2, Floats2, Integers1, returns=types.boolean)
def _rows(keys, asked, out):
    """Which row of keys each pair is; whether all are there."""
    for i in range(asked.shape[0]):
        out[i] = -1
        for row in range(keys.shape[0]):
            if keys[row, 0] == asked[i, 0] and keys[row, 1] == asked[i, 1]:
                out[i] = row
                break
        if out[i] < 0:
            return False
    return True


_FIRST, _ACTIONS = np.zeros(1, dtype=np.int64), np.zeros((1, 2), dtype=np.int64)


def as_one_vector(layers: Sequence[Tensor]) -> Floats | None:
    """θ [1, 1, d] over the layers' own memory, or None where it is not one vector of one lane."""
    first = layers[0]
    end = first.storage_offset()
    for layer in layers:
        follows = layer.storage_offset() == end and layer.is_contiguous() and len(layer) == 1
        if not follows or layer.untyped_storage().data_ptr() != first.untyped_storage().data_ptr():
            return None
        end += layer.numel()
    size = end - first.storage_offset()
    whole: Floats = first.as_strided((1, 1, size), (size, size, 1)).numpy()
    return whole


class OneTransition:
    """The step of one engine; `small` has the same rule, sizes and head.

    Measured against torch's products: 5.2 times as fast at 6-50-30, 3.4 at 64-512-512-50, 2.0 at 256-2000-2000-50.
    """

    def __init__(self, small: SmallEngine) -> None:
        self.small = small
        self._room = (np.zeros((2, 1, 0), small.dtype), *room(small.network, small.target.outputs + 1))
        self._died = np.full(1, -1)

    def step(self, theta: Floats, w: Floats, data: TensorBatch, alpha: Any, beta: Any) -> Tensor:
        """θ and w [1, 1, d] in place. Returns 0; NaN if a number was not finite, and then θ and w are NaN."""
        check_steps(alpha, beta)
        rule, kind = self.small.rule, self.small.dtype
        samples, function, rho = batch_as_data(rule, data)
        self._died[0] = -1
        slow, fast = (np.full(1, float(np.asarray(rate).reshape(-1)[0])) for rate in (alpha, beta))
        update = Update(slow, fast, rule.w_decay, np.inf, 0, self._died, np.empty((1, 1)))
        lookup, net = Lookup(_FIRST, _FIRST, rho), self.small.network
        learn_lanes.of(kind)(theta, w, samples.of(kind), lookup, _ACTIONS, net, function, update, *self._room)
        return torch.full((1, 1, 1), np.nan if self._died[0] >= 0 else 0.0)
