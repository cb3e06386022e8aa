"""Gradient temporal-difference learning: what is under test.

Glossary. The paper's letters, spelt out, mean the same thing in every module:

    theta   θ   parameters of the predictor
    w           auxiliary weights, of theta's shape
    phi     φ   gradient of one prediction; for linear predictors, the features of a state
    f           prediction, n numbers: one value, or the CDF at all atoms but the last (where it is 1)
    g           target, affine in the next prediction:  g = T f' + t
    delta   δ   g − f, the TD error or the paper's temporal distribution difference
    u           J(x) w, the tangent of the prediction in direction w: u_j = φ_jᵀw
    rho     ρ   importance ratio π(a|s) / b(a|s)
    alpha   α   step size of theta;  beta  β  step size of w
    lane        one (configuration, seed); every engine runs many at once
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgtd.algorithms.names import lazily

if TYPE_CHECKING:
    from dgtd.algorithms import rules
    from dgtd.algorithms.fast.linear import LinearEngine
    from dgtd.algorithms.fast.mlp import MlpEngine
    from dgtd.algorithms.fast.module import ModuleEngine
    from dgtd.algorithms.rule import Cotangents, Promise, Rule
    from dgtd.algorithms.stepping import Constant, PowerLaw, RobbinsMonro
    from dgtd.algorithms.streams import lane_streams
    from dgtd.algorithms.table import Batch, Sampler, TransitionTable
    from dgtd.algorithms.targets import CdfTarget, ValueTarget

# The decorator `rule` is in the module of that name: from dgtd.algorithms.rule import Cotangents, rule
__all__ = [
    "Batch", "CdfTarget", "Constant", "Cotangents", "LinearEngine", "MlpEngine", "ModuleEngine", "PowerLaw", "Promise",
    "RobbinsMonro", "Rule", "Sampler", "TransitionTable", "ValueTarget", "lane_streams", "rules",
]  # fmt: skip

__getattr__ = lazily(
    __name__,
    {
        "rules": "", "LinearEngine": "fast.linear", "MlpEngine": "fast.mlp", "ModuleEngine": "fast.module",
        "Batch": "table", "Sampler": "table", "TransitionTable": "table",
        "Cotangents": "rule", "Promise": "rule", "Rule": "rule", "Constant": "stepping", "PowerLaw": "stepping",
        "RobbinsMonro": "stepping", "lane_streams": "streams", "CdfTarget": "targets", "ValueTarget": "targets",
    },
)  # fmt: skip
