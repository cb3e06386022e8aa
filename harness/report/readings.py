"""What a page says of its curves where the reader points. page.js shows it: by pointer, by touch and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Reading:
    """A curve in words: `words[i]` is said where the pointer is nearest to `x[i]`.

    mark   the class that the curve has in the page, so that a hidden curve is silent
    """

    mark: str
    name: str
    x: Sequence[float]
    words: Sequence[str]


@dataclass(frozen=True)
class Readings:
    """All curves of a panel; `at` names a place on the horizontal axis."""

    at: Callable[[float], str]
    curves: Sequence[Reading]

    def as_json(self, axis: Any, width: float) -> str:
        """For the page: places from left to right, and what each curve says there. `width` is the SVG's own."""
        places = sorted({float(x) for curve in self.curves for x in curve.x})
        middle = axis.get_ylim()[0]  # any height will do: only the horizontal position is asked for
        left = axis.transData.transform([(x, middle) for x in places])[:, 0] / axis.figure.bbox.width * width
        curves = [
            {"mark": curve.mark, "name": curve.name, "words": _placed(curve, places)}
            for curve in self.curves
            if len(curve.x)
        ]
        found = {"x": np.round(left, 1).tolist(), "at": [self.at(x) for x in places], "curves": curves}
        # Inside a script element nothing may look like a tag.
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def __bool__(self) -> bool:
        return any(len(curve.x) for curve in self.curves)


def _placed(curve: Reading, places: list[float]) -> list[str]:
    said = dict(zip(map(float, curve.x), curve.words, strict=True))
    return [said.get(x, "") for x in places]
