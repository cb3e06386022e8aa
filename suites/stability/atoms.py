"""How large a step linear distributional TD may take: as large as TD on values, where all continuing transitions shift
atoms alike.

With one T for them, and 0 where an episode ends, the lift is triangular in T's eigenvectors: a block for each pair of
eigenvalues, and each eigenvalue is a discount. The largest is γ, and belongs to the mean. Rewards on the way shift
atoms differently, from transition to transition, and that noise may need a smaller step.
"""

from collections.abc import Mapping
from functools import partial

from scipy.optimize import brentq

from dgtd.algorithms.rules import td
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly, largest
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.plugins import find_problem

OURS = "ours"
SAME = 1e-8  # of two radii near 1
# Rewards only where episodes end, and how many atoms: the radius is known on both sides up to a thousand unknowns.
PLACES = {
    "random_walk_dependent_on_policy": (3, 5, 9), "random_walk_on_policy": (3, 5), "collision": (3, 5),
}  # fmt: skip
PAID = {"random_mdp(gamma=0.5)": (3, 5)}  # every transition pays something else


def claims() -> list[Claim]:
    """Of TD on independent transitions; the radius does not see what a lift is added to."""
    says = f"TD's largest stable α is that of its lift with any number of atoms, on {', '.join(PLACES)}"
    paid = "the same said of a random MDP, where every transition shifts atoms by another reward"
    return [
        Claim("stability/lift/steps", says, OURS, partial(same_edge, PLACES), seeded=False),
        Claim("stability/control/lift/steps", paid, OURS, partial(same_edge, PAID), control=True, seeded=False),
    ]


def same_edge(places: Mapping[str, tuple[int, ...]], setting: Setting) -> Finding:
    """The lift's mean-square radius at the α where that of the value is 1: how far its bracket reaches from 1."""
    worst, words = 0.0, []
    for name, atoms in places.items():
        problem = find_problem(name)
        mdp = problem.mdp.with_(weights=problem.mdp.d)
        edge = largest_stable(mdp)
        found = [mean_square(Dynamics(td, mdp, problem.target("cdf", m), edge, edge)) for m in atoms]
        worst = largest(worst, *(abs(end - 1) for each in found for end in (each.low, each.high)))
        off = ", ".join(f"{each.radius - 1:.1e} ({m})" for m, each in zip(atoms, found, strict=True))
        words.append(f"{edge:.6f} on {name}, where the radius of the lift less 1 is {off}")
    return exactly(worst, SAME, f"TD's largest stable α, and (with so many atoms): {'; '.join(words)}")


def largest_stable(mdp: FiniteMDP) -> float:
    """Of TD on values: where the radius is 1."""

    def above(alpha: float) -> float:
        return mean_square(Dynamics(td, mdp, ValueTarget(), alpha, alpha)).radius - 1

    return float(brentq(above, 1e-4, 16.0, xtol=1e-15, rtol=1e-14))
