"""Faults in heads and activations."""

from tests.mutants.mutant import Mutant

HEADS = "algorithms/fast/heads.py"
ACTIVATIONS = "algorithms/fast/activations.py"

MUTANTS = (
    Mutant(
        "cdf head: a pinned head without curvature",
        HEADS,
        ("        if curvature:\n            bent = pulled"),
        ("        if curvature and not self.pinned:\n            bent = pulled"),
        ("claim:engines/mlp/depth=1,tanh,pinned/gtd2/written-out",),
    ),
    Mutant(
        "cdf head: a pinned tangent of 1",
        HEADS,
        "            r = torch.nn.functional.pad(r, (0, 1))\n",
        "            r = torch.nn.functional.pad(r, (0, 1), value=1.0)\n",
        ("claim:engines/mlp/depth=1,tanh,pinned/gtd2/written-out",),
    ),
    Mutant(
        "cdf head: pinned at 1, not at 0",
        HEADS,
        "            y = torch.nn.functional.pad(y, (0, 1))\n",
        "            y = torch.nn.functional.pad(y, (0, 1), value=1.0)\n",
        ("claim:engines/mlp/depth=1,tanh,pinned/gtd2/written-out",),
    ),
    Mutant(
        "cdf head: the tangent is not centred",
        HEADS,
        "centred = r - (here * r).sum(-1, keepdim=True)",
        "centred = r",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "cdf head: sign of h",
        HEADS,
        "bent = pulled[:, 2 * size :] * centred",
        "bent = -pulled[:, 2 * size :] * centred",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "cdf head: h without its mean",
        HEADS,
        "bent.sub_((here * bent).sum(-1, keepdim=True))",
        "bent",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "cdf head: softmax's Jacobian without its mean",
        HEADS,
        "pulled = (rows * pulled).sum(-1, keepdim=True) - pulled",
        "pulled = -pulled",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "cdf head: predictions of the survival function",
        HEADS,
        "return self._softmax(y).cumsum(-1)[..., :-1]",
        "return 1.0 - self._softmax(y).cumsum(-1)[..., :-1]",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "tanh: bend without its 2",
        ACTIVATIONS,
        "lambda a, h, slope, ra, rh: -2 * h * rh",
        "lambda a, h, slope, ra, rh: -h * rh",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "silu: bend is half",
        ACTIVATIONS,
        "return s * (1 - s) * (2 + a * (1 - 2 * s)) * ra",
        "return s * (1 - s) * (1 + a * (1 - 2 * s)) * ra",
        ("claim:engines/mlp/depth=2,silu/gtd2/written-out",),
    ),
    Mutant(
        "softplus: bend forgotten",
        ACTIVATIONS,
        "lambda a, h, slope, ra, rh: (1 - slope) * rh",
        "lambda a, h, slope, ra, rh: 0 * rh",
        ("claim:engines/mlp/depth=2,softplus/gtd2/written-out",),
    ),
    Mutant(
        "relu: slope below 0",
        ACTIVATIONS,
        "lambda a, h: (a > 0).to(a.dtype)",
        "lambda a, h: (a > -1).to(a.dtype)",
        ("claim:engines/mlp/depth=2,relu,pinned/gtd2/written-out",),
    ),
)
