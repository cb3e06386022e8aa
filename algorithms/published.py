"""Agents that were published, by name: the words of their row in the table of agents.py. Needs no torch."""

from typing import NamedTuple


class Row(NamedTuple):
    """A published agent: the words that its name stands for."""

    rule: str
    target: str
    metric: str
    frozen: int


PUBLISHED = {
    "dqn": Row("td", "value", "cramer", 500),  # Mnih et al. 2015, with the squared error
    "c51": Row("td", "cdf", "kl", 500),  # Bellemare et al. 2017
}
