"""LunarLander: gymnasium's own, with what it does not say of itself."""

from dataclasses import replace

from dgtd.harness.places.gym import info
from dgtd.harness.places.world import WorldInfo

NAME = "gym:LunarLander-v3"


def world() -> WorldInfo:
    """For `dgtd.worlds`."""
    return replace(info(NAME), returns=(-400.0, 300.0))
