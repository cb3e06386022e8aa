"""The fused pass is the appendix's R-operator, index by index."""

import numpy as np
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget
from tests.algorithms.fast.test_conformance import INPUTS, LANES, assert_close, mlp


def appendix_r_operator(v1, v2, w1, w2, x):
    """The appendix, one hidden tanh layer, index by index: p, ∂p_m/∂(v1, v2) and ∇²p_m w for every m.

    v1 [hidden, inputs], v2 [outputs, hidden], and w1, w2 of the same shapes.
    """
    a = v1 @ x
    z, h1 = torch.tanh(a), 1 - torch.tanh(a) ** 2
    h2 = -2 * z * h1
    p = torch.softmax(v2 @ z, 0)
    r_a = w1 @ x
    r_z = h1 * r_a
    r_y = v2 @ r_z + w2 @ z
    r_p = p * r_y - p * (p * r_y).sum()
    first, second = [], []
    for m in range(len(p)):
        one = torch.zeros_like(p)
        one[m] = 1.0
        delta_k = p[m] * (one - p)
        r_delta_k = torch.where(one == 1, r_p - 2 * p * r_p, -r_p[m] * p - p[m] * r_p)
        back = v2.T @ delta_k
        r_delta_j = h2 * r_a * back + h1 * (w2.T @ delta_k) + h1 * (v2.T @ r_delta_k)
        first.append((torch.outer(h1 * back, x), torch.outer(delta_k, z)))
        second.append((torch.outer(r_delta_j, x), torch.outer(r_delta_k, z) + torch.outer(delta_k, r_z)))
    return p, first, second


def test_the_pass_is_the_appendix_r_operator():
    """Distributional GTD2 at x = x' with T = 0: G_θ is then −u·∇F plus (δ − u)∇²F w, built from the appendix."""
    target = CdfTarget(-2, 2, 5)
    engine, theta, w, _ = mlp(rules.gtd2, target, (INPUTS, 4))
    for weights in (theta, w):
        for part in weights:
            part[:, -1] = 0.0  # the appendix has no biases
    rng = np.random.default_rng(2)
    x = rng.normal(size=(LANES, 1, INPUTS))
    shift = target.shift(rng.normal(size=(LANES, 1)), np.zeros((LANES, 1)))
    g_theta, g_w = engine.directions(theta, w, Batch(x, x, shift, np.ones((LANES, 1))))
    for lane in range(LANES):
        v1, v2, w1, w2 = theta[0][lane, :-1].T, theta[1][lane, :-1].T, w[0][lane, :-1].T, w[1][lane, :-1].T
        p, first, second = appendix_r_operator(v1, v2, w1, w2, torch.as_tensor(x[lane, 0]))
        delta = torch.as_tensor(shift.constant[lane, 0]) - p.cumsum(0)[:-1]
        expected = [torch.zeros_like(v1), torch.zeros_like(v2)]
        expected_w = [torch.zeros_like(v1), torch.zeros_like(v2)]
        for j in range(4):
            gradient = [sum(first[m][i] for m in range(j + 1)) for i in (0, 1)]
            curved = [sum(second[m][i] for m in range(j + 1)) for i in (0, 1)]
            u = (gradient[0] * w1).sum() + (gradient[1] * w2).sum()
            for i in (0, 1):
                expected[i] += -u * gradient[i] + (delta[j] - u) * curved[i]
                expected_w[i] += (delta[j] - u) * gradient[i]
        for i in (0, 1):
            assert_close(g_theta[i][lane, :-1].T, expected[i])
            assert_close(g_w[i][lane, :-1].T, expected_w[i])
