"""What a comparison becomes: its figures, and its page as a file."""

from pathlib import Path

from dgtd.harness.experiment.comparison import Comparison
from dgtd.harness.report import page as pages
from dgtd.harness.report.drawing import Figure, Styles
from dgtd.harness.report.figures import at_place, over_all
from dgtd.harness.report.sections import page


def figures(found: Comparison) -> list[Figure]:
    styles = Styles(found.experiment.entrants)
    here = [figure for place in found.experiment.places for figure in at_place(found, place, styles)]
    return here + over_all(found, styles)


def written(found: Comparison, command: str, out: Path) -> Path:
    return pages.write(page(found, command), out)
