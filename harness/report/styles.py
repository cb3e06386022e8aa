"""Colour and line of every entrant: a rule has one colour everywhere, and its distributional form is dashed."""

from __future__ import annotations

from typing import Any

from harness.experiment.experiment import Entrant

# Okabe and Ito's, which most kinds of colour blindness tell apart, and one more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")


class Styles:
    """Colour and line of every entrant, and the class that its curves carry in the page."""

    def __init__(self, entrants: tuple[Entrant, ...]) -> None:
        rules = list(dict.fromkeys(who.rule for who in entrants))
        self._colour = {rule: COLOURS[i % len(COLOURS)] for i, rule in enumerate(rules)}
        self._index = {who: i for i, who in enumerate(entrants)}

    def colour(self, who: Entrant) -> str:
        """One a rule."""
        return self._colour[who.rule]

    def line(self, who: Entrant) -> dict[str, Any]:
        """Arguments for matplotlib's plot."""
        # Thick dashes: where two forms walk one path, they show on the thin line beneath.
        dash, width = ((0, (2.5, 1.5)), 2.8) if who.distributional else ("-", 1.4)
        label = "\u200b" + who.label if who.label.startswith("_") else who.label  # matplotlib hides the others
        return {"color": self.colour(who), "ls": dash, "lw": width, "gid": self.gid(who), "label": label}

    def index(self, who: Entrant) -> int:
        """Its place in the legend."""
        return self._index[who]

    def gid(self, who: Entrant) -> str:
        """The mark by which the page finds what belongs to a entrant."""
        return f"curve-{self._index[who]}"
