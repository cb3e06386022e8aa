"""Targets: what a prediction is compared with, as an affine map of the next prediction, g = T f' + t.

A value has one output, T = γ and t = r. A CDF on m atoms has m − 1 outputs, F(z_1) … F(z_{m−1}): F(z_m) = 1 is
known, and without that boundary θ = 0 would solve the linear problem.

Each source F'(z_k) holds on [z_k, z_{k+1}), which r + γ· maps to an interval no longer than one cell (γ ≤ 1).
So it touches at most two rows of g, with any off-grid handling: T is stored as one row index and two weights
per source, and both T f' and Tᵀt cost O(m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats, Integers, finite, shape, whole, within
from dgtd.algorithms.names import look_up

if TYPE_CHECKING:  # a linear run needs no torch, and importing it takes a second
    import torch

    from dgtd.algorithms.fast.heads import Head

# In cells. Coarser than float64's rounding of (z − r)/γ, finer than any reward grid. A reward that was rounded to
# float32 is off by more, so indices are computed in float64 for engines of either precision.
TOLERANCE = 1e-9
MOST_ATOMS = 10_000


@dataclass(frozen=True)
class Shift:
    """T and t of many transitions: source k adds weight[0, k] to row[k] and weight[1, k] to row[k] + 1.

    row  [..., n]   weight  [..., 2, n]   constant  [..., n]
    """

    row: Any
    weight: Any
    constant: Any

    def check(self, leading: tuple[int, ...]) -> None:
        """The arrays fit each other and transitions of shape `leading`; compiled code indexes with `row` unchecked."""
        n = self.row.shape[-1] if self.row.ndim else 0
        shape("shift.row", self.row, (*leading, n))
        shape("shift.weight", self.weight, (*leading, 2, n))
        shape("shift.constant", self.constant, (*leading, n))
        if not np.issubdtype(self.row.dtype, np.integer):
            raise ValueError(f"shift.row must be whole numbers, got {self.row.dtype}")
        if self.row.size and not (self.row.min() >= 0 and self.row.max() < n):
            raise ValueError(f"shift.row must be in [0, {n - 1}], got {self.row.min()} … {self.row.max()}")

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """row, weight, constant."""
        return self.row, self.weight, self.constant

    def around(self, reference: Floats) -> Shift:
        """The map of what is added to a reference [n]: its constant is t + T reference − reference."""
        n = self.row.shape[-1]
        row, pushed = self.row.reshape(-1, n), np.zeros((self.row.size // n, n + 1))  # the last row is off the grid
        for extra in (0, 1):
            values = self.weight[..., extra, :].reshape(-1, n) * reference
            np.add.at(pushed, (np.arange(len(row))[:, None], row + extra), values)
        moved = pushed[:, :n].reshape(self.row.shape)
        return Shift(self.row, self.weight, self.constant + moved - reference)

    def take(self, index: Any) -> Shift:
        """The shifts of some of the transitions."""
        return Shift(self.row[index], self.weight[index], self.constant[index])

    def tensors(self, dtype: torch.dtype) -> Shift:
        """The same maps on tensors."""
        import torch

        row = torch.as_tensor(self.row)
        return Shift(row, torch.as_tensor(self.weight, dtype=dtype), torch.as_tensor(self.constant, dtype=dtype))

    def apply(self, f_next: torch.Tensor) -> torch.Tensor:
        """g = T f' + t on tensors."""
        if f_next.shape[-1] == 1:
            return self.weight[..., 0, :] * f_next + self.constant
        rows = f_next.new_zeros((*f_next.shape[:-1], f_next.shape[-1] + 1))  # the last row is off the grid
        rows = rows.scatter_add(-1, self.row, self.weight[..., 0, :] * f_next)
        rows = rows.scatter_add(-1, self.row + 1, self.weight[..., 1, :] * f_next)
        return rows[..., :-1] + self.constant

    def transpose(self, cotangent: torch.Tensor) -> torch.Tensor:
        """Tᵀt on tensors: the exact transpose of `apply` without its constant."""
        if cotangent.shape[-1] == 1:
            return self.weight[..., 0, :] * cotangent
        last = cotangent.shape[-1] - 1
        here, above = cotangent.gather(-1, self.row), cotangent.gather(-1, (self.row + 1).clamp(max=last))
        return self.weight[..., 0, :] * here + self.weight[..., 1, :] * above  # row n has weight 0

    def matrix(self) -> Floats:
        """T as dense matrices [..., n, n], for oracles: O(m²)."""
        n = self.row.shape[-1]
        dense = np.zeros((*self.row.shape[:-1], n + 1, n))
        for extra in (0, 1):
            index = np.expand_dims(self.row + extra, -2)
            values = np.expand_dims(self.weight[..., extra, :], -2)
            at = np.take_along_axis(dense, index, axis=-2)
            np.put_along_axis(dense, index, at + values, axis=-2)
        return dense[..., :n, :]


class Affine(Protocol):
    """What an engine needs of a target."""

    @property
    def outputs(self) -> int:
        """How many numbers a prediction has."""

    def shift(self, reward: ArrayLike, discount: ArrayLike) -> Shift:
        """T and t of transitions; discount is 0 where the episode ends."""


class Target(Affine, Protocol):
    """What all other code needs of a target. A new target is a class with these names, and an entry in TARGETS."""

    kind: ClassVar[str]  # its name
    form: ClassVar[str]  # what a rule on it is called: '' or 'distributional'
    objective: ClassVar[str]  # the metric that a gradient rule reduces
    metrics: ClassVar[tuple[str, ...]]  # what can be measured of its predictions

    def mean(self, prediction: Any) -> Any:
        """The value that predictions [..., n] represent."""

    def of_linear(self) -> Target:
        """The same for linear predictors, which need not hold a constant in their span."""

    def start(self, theta: Floats) -> Floats:
        """[n, k]: where a linear predictor starts so that its mean is θᵀφ."""

    def logits(self, pinned: bool) -> int:
        """Width of a network's last layer, per action."""

    def head(self, pinned: bool = False) -> Head:
        """How a network's last layer becomes a prediction."""


@dataclass(frozen=True)
class ValueTarget:
    """The classic target r + γ v(s')."""

    kind: ClassVar[str] = "value"
    form: ClassVar[str] = ""
    objective: ClassVar[str] = "rmspbe"
    metrics: ClassVar[tuple[str, ...]] = ("rmspbe", "rmsve", "size")

    @classmethod
    def over(cls, support: tuple[float, float], atoms: int, projection: str) -> ValueTarget:
        """A value needs neither a range nor atoms; a wrong number of them is a mistake all the same."""
        CdfTarget.over(support, atoms, projection)
        return cls()

    @property
    def outputs(self) -> int:
        """One value."""
        return 1

    def shift(self, reward: ArrayLike, discount: ArrayLike) -> Shift:
        """T = γ, t = r."""
        r, gamma = _transitions(reward, discount)
        weight = np.stack([gamma, np.zeros_like(gamma)], axis=-1)[..., None]
        return Shift(np.zeros((*r.shape, 1), dtype=np.int64), np.ascontiguousarray(weight), r[..., None].copy())

    def mean(self, prediction: Any) -> Any:
        """The value itself."""
        return prediction[..., 0]

    def of_linear(self) -> ValueTarget:
        """Itself: a value of 0 is where a linear predictor begins."""
        return self

    def start(self, theta: Floats) -> Floats:
        """θ itself."""
        return theta[None].copy()

    def logits(self, pinned: bool) -> int:
        """One: the value itself."""
        return 1

    def head(self, pinned: bool = False) -> Head:
        """The last layer itself; there is no logit to pin."""
        from dgtd.algorithms.fast.heads import ValueHead

        return ValueHead(self)


@dataclass(frozen=True)
class CdfTarget:
    """The law of r + γ Z(s') at the atoms, g_j = F(s', (z_j − r)/γ).

    Off-grid points: `cramer` is the ℓ2 projection (C51's splitting of mass). Two are readings of the paper's
    remark 3, and round half up: `nearest` takes F' at the atom nearest to (z_j − r)/γ, `nearest-mass` moves the mass at
    r + γz_k to the nearest atom. `floor` is the exact CDF of a discrete law.

    A network predicts F itself. A linear predictor (`linear`) predicts what is added to the law of the return 0.
    """

    v_min: float
    v_max: float
    atoms: int
    projection: str = "cramer"
    linear: bool = False
    kind: ClassVar[str] = "cdf"
    form: ClassVar[str] = "distributional"
    objective: ClassVar[str] = "rdmspbe"
    metrics: ClassVar[tuple[str, ...]] = (*ValueTarget.metrics, "rdmspbe", "cramer", "improper")

    @classmethod
    def over(cls, support: tuple[float, float], atoms: int, projection: str) -> CdfTarget:
        """Atoms on a range."""
        return cls(*support, atoms, projection)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.v_min) and np.isfinite(self.v_max) and self.v_min < self.v_max):
            raise ValueError(f"v_min must be below v_max, got v_min={self.v_min}, v_max={self.v_max}")
        whole("atoms", self.atoms, 2, MOST_ATOMS)
        look_up("projection", self.projection, PROJECTIONS)

    @property
    def outputs(self) -> int:
        """F at every atom but the last."""
        return self.atoms - 1

    @property
    def spacing(self) -> float:
        """Δz."""
        return (self.v_max - self.v_min) / (self.atoms - 1)

    @property
    def support(self) -> Floats:
        """z_1 … z_m."""
        return np.linspace(self.v_min, self.v_max, self.atoms)

    def shift(self, reward: ArrayLike, discount: ArrayLike) -> Shift:
        """T and t, always in float64."""
        shift = self._of_laws(reward, discount)
        return shift.around(self.reference) if self.linear else shift

    def _of_laws(self, reward: ArrayLike, discount: ArrayLike) -> Shift:
        r, gamma = _transitions(reward, discount)
        return PROJECTIONS[self.projection](self, r[..., None], gamma[..., None])

    def of_linear(self) -> CdfTarget:
        """On the same atoms."""
        return replace(self, linear=True)

    @property
    def reference(self) -> Floats:
        """[n]: the law of the return 0, Cramér-projected. On a range without 0 it is no law, but its mean is 0."""
        law = _cramer(self, np.zeros(1), np.zeros(1)).constant
        return law + (self.v_max - self.spacing * law.sum()) / (self.spacing * self.outputs)

    def laws(self, prediction: Floats) -> Floats:
        """F of predictions [..., n]; of linear ones it may be a signed measure."""
        return prediction + self.reference if self.linear else prediction

    def mean(self, prediction: Any) -> Any:
        """Σ z_j p_j, which is z_m − Δz Σ_{j<m} F_j."""
        return (0.0 if self.linear else self.v_max) - self.spacing * prediction.sum(-1)

    def start(self, theta: Floats) -> Floats:
        """θ spread evenly over the atoms."""
        if not self.linear:
            raise ValueError("target must be of linear predictors: call of_linear()")
        return np.tile(-theta / (self.spacing * self.outputs), (self.outputs, 1))

    def logits(self, pinned: bool) -> int:
        """One per atom; the last one is 0 if it is pinned."""
        if self.linear:
            raise ValueError("target must be of networks, got one of linear predictors")
        return self.atoms - pinned

    def head(self, pinned: bool = False) -> Head:
        """cumsum(softmax)."""
        from dgtd.algorithms.fast.heads import CdfHead

        return CdfHead(self, pinned)

    def probabilities(self, law: Floats) -> Floats:
        """Masses p_1 … p_m of CDFs [..., m − 1]."""
        ends = (*law.shape[:-1], 1)
        return np.diff(np.concatenate([np.zeros(ends), law, np.ones(ends)], axis=-1), axis=-1)

    def point_mass(self, value: ArrayLike) -> Floats:
        """The CDF of a known return, projected as the target projects it."""
        return self._of_laws(value, np.zeros_like(np.asarray(value, dtype=float))).constant


def _cramer(target: CdfTarget, r: Floats, gamma: Floats) -> Shift:
    """g_j is the mean of the shifted CDF over [z_j, z_{j+1})."""
    n = target.outputs
    left = (r + gamma * target.support - target.v_min) / target.spacing  # where r + γ z_k falls, in cells
    row = np.floor(left[..., :n] + TOLERANCE)
    inside = np.minimum(1.0 - np.clip(left[..., :n] - row, 0.0, 1.0), gamma)
    weight = np.stack([inside, gamma - inside], axis=-2)
    constant = np.clip(np.arange(1, n + 1) - left[..., n:], 0.0, 1.0)
    return Shift(*_keep_on_grid(row.astype(np.int64), weight, n), constant)


def _keep_on_grid(row: Integers, weight: Floats, n: int) -> tuple[Integers, Floats]:
    """Drop what falls outside the grid; a source that crosses V_min keeps its upper part, in row 0."""
    here, above = weight[..., 0, :], weight[..., 1, :]
    straddles = row == -1
    here = np.where(straddles, above, np.where((row < 0) | (row >= n), 0.0, here))
    above = np.where((row < 0) | (row >= n - 1), 0.0, above)
    return np.clip(row, 0, n - 1), np.ascontiguousarray(np.stack([here, above], axis=-2))


def _one_source(target: CdfTarget, r: Floats, gamma: Floats, half: float) -> Shift:
    """g_j = F' at one atom, the one at or below (z_j − r)/γ + half a cell or none."""
    n = target.outputs
    ended = gamma == 0
    at = ((target.support[:n] - r) / np.where(ended, 1.0, gamma) - target.v_min) / target.spacing
    at = np.where(ended, np.where(target.support[:n] >= r - TOLERANCE * target.spacing, np.inf, -np.inf), at)
    below, beyond = at < -TOLERANCE, at >= n - TOLERANCE
    source = np.floor(np.where(below | beyond, 0.0, at) + half + TOLERANCE).astype(np.int64)
    constant = (beyond | (source >= n)).astype(float)
    used = ~below & (constant == 0)
    row = np.zeros((*at.shape[:-1], n + 1), dtype=np.int64)
    here = np.zeros((*at.shape[:-1], n + 1))
    target_row = np.broadcast_to(np.arange(n), at.shape)
    slot = np.where(used, source, n)  # slot n collects rows that have no source, and is dropped
    np.put_along_axis(row, slot, target_row, axis=-1)
    np.put_along_axis(here, slot, 1.0, axis=-1)
    weight = np.stack([here[..., :n], np.zeros_like(here[..., :n])], axis=-2)
    return Shift(row[..., :n].copy(), weight, constant)


def _moved(target: CdfTarget, r: Floats, gamma: Floats) -> Shift:
    """g_j is F' at the last atom that moves to z_j or below; what leaves the range moves to its ends."""
    n = target.outputs
    at = np.floor((r + gamma * target.support - target.v_min) / target.spacing + 0.5 + TOLERANCE)
    to = np.clip(at, 0, n).astype(np.int64)
    rows = np.diff(to)[..., None, :]  # that each source fills: none or one, or two where γ = 1 meets rounding
    weight = (rows > np.array([[0], [1]])).astype(float)
    return Shift(np.minimum(to[..., :n], n - 1), weight, (np.arange(n) >= to[..., n:]).astype(float))


PROJECTIONS = {
    "cramer": _cramer,
    "nearest": lambda target, r, gamma: _one_source(target, r, gamma, half=0.5),
    "nearest-mass": _moved,
    "floor": lambda target, r, gamma: _one_source(target, r, gamma, half=0.0),
}


TARGETS: dict[str, type[ValueTarget] | type[CdfTarget]] = {each.kind: each for each in (ValueTarget, CdfTarget)}


def target_class(kind: str) -> type[ValueTarget] | type[CdfTarget]:
    """The class of the target with this name."""
    return look_up("target", kind, TARGETS)


def cramer_distance(first: ArrayLike, second: ArrayLike, spacing: float) -> Floats:
    """ℓ2 between laws on the atoms, from their CDFs [..., m − 1]: (∫ (F − G)²)^½."""
    gap = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    return np.sqrt(spacing * (gap**2).sum(axis=-1))


def _transitions(reward: ArrayLike, discount: ArrayLike) -> tuple[Floats, Floats]:
    r, gamma = np.broadcast_arrays(finite("reward", reward), finite("discount", discount))
    within("discount", gamma, 0.0, 1.0)
    return r, gamma
