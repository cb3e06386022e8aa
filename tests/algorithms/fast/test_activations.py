"""Activations against autograd, at the points where a slope jumps and far from 0."""

import pytest
import torch

from dgtd.algorithms.fast.activations import ACTIVATIONS, activation


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_are_autograds_at_0_too(name):
    """relu's slope at 0 is 0, for autograd and for compiled code: a unit whose weights are all 0 stays so."""
    found = activation(name)
    a = torch.tensor([-30.0, -1.0, -0.0, 0.0, 1.0, 30.0], dtype=torch.float64, requires_grad=True)
    h = found.function(a)
    (slope,) = torch.autograd.grad(h.sum(), a)
    torch.testing.assert_close(found.slope(a.detach(), h.detach()), slope, rtol=1e-12, atol=1e-15)
