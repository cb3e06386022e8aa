"""E_π[T F(s') + t]: the target policy's Bellman operator applied to predictions, for values and for laws.

One sparse matrix on all states and outputs at once: a dense one would have (states · outputs)² entries, 763 MiB on
gymnasium's taxi with 21 atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from algorithms.checks import Floats
from algorithms.targets import Target
from harness.oracle.mdp import FiniteMDP

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Backup:
    """matrix  [states·n, states·n], rows and columns state by state   constant  [states, n]."""

    matrix: sp.csr_matrix
    constant: Floats

    @staticmethod
    def of(mdp: FiniteMDP, target: Target) -> Backup:
        """The operator of a problem with a target."""
        o, n = mdp.transitions, target.outputs
        chance = o.probability * mdp.target[o.state, o.action]
        used = chance > 0
        state, following, chance = o.state[used], o.next_state[used], chance[used]
        shift = target.shift(o.reward[used], np.where(o.ends[used], 0.0, mdp.gamma))
        columns = (following[:, None] * n + np.arange(n)).ravel()
        parts = []
        for extra in (0, 1):
            inside = shift.row + extra < n
            rows = np.where(inside, state[:, None] * n + shift.row + extra, 0).ravel()
            values = np.where(inside, chance[:, None] * shift.weight[:, extra], 0.0).ravel()
            parts.append(sp.csr_matrix((values, (rows, columns)), shape=(mdp.states * n, mdp.states * n)))
        constant = np.zeros((mdp.states, n))
        np.add.at(constant, state, chance[:, None] * shift.constant)
        matrix = parts[0] + parts[1]
        matrix.eliminate_zeros()
        return Backup(matrix, constant)

    def __call__(self, F: Floats) -> Floats:
        """The backup of predictions [..., states, n]."""
        flat = F.reshape(-1, self.constant.size)
        return (self.matrix @ flat.T).T.reshape(F.shape) + self.constant

    def tensor(self, F: torch.Tensor) -> torch.Tensor:
        """The backup of one prediction [states, n], differentiable."""
        rows, columns, values, constant = self._tensors
        moved = F.new_zeros(F.numel()).index_add(0, rows, values * F.flatten()[columns])
        return moved.reshape(F.shape) + constant

    @cached_property
    def _tensors(self) -> tuple[torch.Tensor, ...]:
        import torch

        coo = self.matrix.tocoo()
        indices = (torch.as_tensor(part.astype(np.int64)) for part in (coo.row, coo.col))
        return (*indices, torch.as_tensor(coo.data), torch.as_tensor(self.constant))
