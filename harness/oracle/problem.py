"""A problem: a FiniteMDP, where it comes from, and its distributional lift."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

from dgtd.algorithms.checks import Floats, finite, shape
from dgtd.algorithms.digest import digest
from dgtd.algorithms.targets import Target, target_class
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.metrics import Score

ATOMS = 21
AREA = Score("rmspbe", "auc", "area under RMSPBE")  # tested, with winners


@dataclass(frozen=True)
class Problem:
    """What suites and the command line know of a problem.

    support   a range that holds every return and a little more: where the lift's atoms lie
    network   for a nonlinear problem, a function that makes its torch module (inputs: one-hot states); of `inputs` and
              `outputs`, if it has parameters of these names
    drawing   an ASCII picture, for problems that have a layout
    """

    mdp: FiniteMDP
    summary: str
    source: str
    support: tuple[float, float]
    network: Callable[..., Any] | None = None
    drawing: str = ""
    learner: ClassVar[str] = "linear"  # unless a predictor is named, or it has a network of its own
    acts: ClassVar[bool] = False
    rising: ClassVar[tuple[str, ...]] = ()

    @property
    def returns(self) -> tuple[float, float]:
        """Where returns lie."""
        return self.support

    def __post_init__(self) -> None:
        if not isinstance(self.mdp, FiniteMDP):
            raise ValueError(f"mdp must be a FiniteMDP, got {type(self.mdp).__name__}")
        shape("support", finite("support", self.support), (2,))
        if not self.support[0] < self.support[1]:
            raise ValueError(f"support must be (lowest, highest return), got {self.support}")

    @cached_property
    def identity(self) -> str:
        """The arrays behind simulator and evaluator; a network of its own by its source."""
        mdp = self.mdp
        arrays = (
            asdict(mdp.transitions), mdp.gamma, mdp.behaviour, mdp.target, mdp.features, mdp.theta_initial, mdp.start,
            mdp.weights,
        )  # fmt: skip
        return digest(arrays, self.support, self.network)

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.mdp.name

    @property
    def scores(self) -> tuple[Score, ...]:
        """What is tested, then what is described."""
        return (AREA, Score("rmspbe", "final", "RMSPBE at the end"), Score("rmsve", "final", "value error at the end"))

    def target(
        self, kind: str = "value", atoms: int = ATOMS, projection: str = "cramer", linear: bool = True
    ) -> Target:
        """The value target, or the CDF target of the lift; a network's if it is not to be `linear`."""
        made = target_class(kind).over(self.support, atoms, projection)
        return made.of_linear() if linear else made

    def theta_initial(self, target: Target) -> Floats:
        """[n, k]: θ₀ of a linear predictor; a lift starts from the same mean."""
        return target.start(self.mdp.theta_initial)
