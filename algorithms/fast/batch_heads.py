"""The head for batches with actions, compiled: greedy action, δ, rule and pull-back in one pass.

A lane's last sums are stacked as in the mlp engine, [x; x'; R], B rows of each; a learner without w has no R, and what
follows x' gets no cotangent. One sample is what the small engine does.
"""

from typing import NamedTuple

from dgtd.algorithms.fast import network_heads
from dgtd.algorithms.fast.compiling import FASTMATH, Flag, Floats1, Integer, Integers2, helper, inlined
from dgtd.algorithms.fast.kernels import Sample
from dgtd.algorithms.fast.network_heads import VALUE, atoms_of
from dgtd.algorithms.fast.tiles import apart


class Setup(NamedTuple):
    """What all samples share. kl: cotangents of the KL metric (C51's)."""

    head: Integer
    actions: Integer
    kl: Flag
    curvature: Flag
    whole: Flag
    support: Floats1


class Steps(NamedTuple):
    """[lanes, B]: the action, and which of the shifts is the transition's."""

    action: Integers2
    pair: Integers2


@inlined(FASTMATH)
def _differences(on_f, n, c):
    """KL's cotangent of the logits: that of F, padded with 0 and differenced; for td it is p − m."""
    before = 0.0
    for j in range(n + 1):
        here = on_f[j] if j < n else 0.0
        c[j] = here - before
        before = here


@helper(FASTMATH)
def at_the_head(lane, y, steps, setup, data, rule, atoms, out):
    """From a lane's last sums y to their cotangents, averaged: out.  Both are [rows, actions · logits], see above.

    False if a number was not finite.
    """
    apart()
    size = steps.action.shape[1]
    logits, n = y.shape[1] // setup.actions, data.row.shape[1]
    atom = atoms_of(atoms)
    rows, share, healthy = 3 * size if setup.whole else size, 1.0 / size, True
    for i in range(rows):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
    for i in range(size):
        here = steps.action[lane, i] * logits
        following = y[size + i]
        best = network_heads._greedy(following, atom.p_next, setup, logits)
        there = best * logits
        at = Sample(0, 0, steps.pair[lane, i], 0, 1.0)
        if setup.head == VALUE:
            atom.f[0], atom.f_next[0] = y[i, here], following[there]
            atom.u[0] = y[2 * size + i, here] if setup.whole else 0.0
        else:  # without w the tangent is 0, as this row of `out` still is
            tangent = y[2 * size + i] if setup.whole else out[i]
            network_heads._predict(
                y[i, here : here + logits], following[there : there + logits], tangent[here : here + logits], atom
            )
        healthy &= network_heads._cotangents(atom, n, data, at, rule)[0]
        for j in range(n):
            atom.on_f[j], atom.on_next[j], atom.on_u[j] = (
                share * atom.on_f[j],
                share * atom.on_next[j],
                share * atom.on_u[j],
            )
        if setup.head == VALUE:
            out[i, here] = atom.on_f[0]
            if setup.whole:
                out[size + i, there], out[2 * size + i, here] = atom.on_next[0], atom.on_u[0]
        elif setup.whole:
            network_heads._pull_back(
                atom, n, setup.curvature, out[i, here : here + logits],
                out[size + i, there : there + logits], out[2 * size + i, here : here + logits],
            )  # fmt: skip
        elif setup.kl:
            _differences(atom.on_f, n, out[i, here : here + logits])
        else:
            network_heads._exclusive(atom.on_f, atom.p, n)
            for j in range(logits):
                out[i, here + j] = atom.p[j] * atom.on_f[j]
    return healthy
