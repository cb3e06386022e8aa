"""What the engines of layered networks share: a rule, a target and the sizes of the layers, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from algorithms.checks import at_least
from algorithms.names import look_up
from algorithms.rule import Rule
from algorithms.targets import Target

ACTIVATIONS = ("tanh", "relu", "silu", "softplus")


class Shape(TypedDict, total=False):
    """Options of a layered network, by keyword."""

    activation: str
    actions: int
    pinned: bool


class Layered:
    """`sizes` = (inputs, hidden …); the last layer, whose width follows from the target, is added to it."""

    def __init__(
        self,
        rule: Rule,
        sizes: Sequence[int],
        target: Target,
        *,
        activation: str = "tanh",
        actions: int = 1,
        pinned: bool = False,
    ) -> None:
        for size in sizes:
            at_least("sizes", size, 1)
        at_least("actions", actions, 1)
        look_up("activation", activation, dict.fromkeys(ACTIVATIONS))
        self.rule, self.target, self.actions, self.pinned = rule, target, actions, pinned
        self.activation_name = activation
        self.sizes = (*sizes, actions * target.logits(pinned))
