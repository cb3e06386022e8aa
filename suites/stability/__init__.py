"""Off-policy stability: where semi-gradient TD diverges, GTD2 and TDC must not, and their objective must fall."""

from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2, tdc, tdrc
from dgtd.harness.judging.claims import FULL, PROFILES, Claim
from dgtd.suites.stability import exact
from dgtd.suites.stability.lanes import FALLEN, RULES, STEPS, Watched, grid, td_control


def claims(rule: Rule | None = None) -> list[Claim]:
    """Bounded and falling, on every counterexample and its lift; semi-gradient TD is the control."""
    made: list[Claim] = []
    for problem, steps in STEPS.items():
        for target in ("value", "cdf"):
            for each in (rule,) if rule else RULES:
                for i, (alpha, beta) in enumerate(steps):
                    place = Watched(each, problem, target, alpha, beta, fallen=FALLEN[problem, target][i])
                    profiles = PROFILES if i == 0 else FULL
                    made += place.claims(profiles)
                if each.linear:
                    made.append(grid(each, problem, target))
            if rule is None:  # promises nothing here: it diverges on θ → 2θ, and the certificate must say so
                made.append(grid(tdrc(1.0), problem, target))
            made.append(td_control(problem, target))
    made += [*exact.spirals((rule,) if rule else (gtd2, tdc)), *exact.claims((rule,) if rule else RULES)]
    return [*made, *([] if rule else exact.lifts())]
