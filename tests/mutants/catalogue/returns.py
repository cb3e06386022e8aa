"""Faults in the laws of returns, and in metrics of predictions."""

from tests.mutants.mutant import Mutant

RETURNS = "harness/oracle/returns.py"
METRICS = "harness/oracle/metrics.py"
PROBLEM = "harness/oracle/problem.py"

MUTANTS = (
    Mutant(
        "moments: gamma for gamma squared",
        RETURNS,
        "mdp.gamma**2 * mdp.P_pi, known)",
        "mdp.gamma * mdp.P_pi, known)",
        (
            "claim:oracle/problem/collision",
            "test:tests/harness/oracle/test_mdp.py::test_return_laws_are_laws_with_the_right_moments",
        ),
    ),
    Mutant(
        "law: read off half a cell late",
        RETURNS,
        "(law[:, :: law.shape[1] // target.outputs] for _, law in laws)",
        ("(law[:, law.shape[1] // target.outputs // 2 :: law.shape[1] // target.outputs] for _, law in laws)"),
        ("claim:oracle/metrics/random_walk/cdf",),
    ),
    Mutant(
        "law: stops long before it settles",
        RETURNS,
        "SETTLED = 1e-13",
        "SETTLED = 1e-2",
        ("claim:oracle/metrics/random_walk/cdf",),
    ),
    Mutant(
        "projected law: called unique when it is not",
        RETURNS,
        "unique=bool(smallest > 1e-9)",
        "unique=True",
        (
            "claim:oracle/unique-law",
            "test:tests/harness/oracle/test_mdp.py::test_cramer_widens_the_law_and_nearest_moves_its_mean",
        ),
    ),
    Mutant(
        "metrics: RMSPBE without gamma",
        METRICS,
        "mdp.r_pi + mdp.gamma * values @ mdp.P_pi.T - values",
        "mdp.r_pi + values @ mdp.P_pi.T - values",
        (
            "claim:oracle/metrics/collision/value",
            "claim:oracle/metrics/collision/cdf",
        ),
    ),
    Mutant(
        "metrics: RMSPBE of the transposed chain",
        METRICS,
        "mdp.r_pi + mdp.gamma * values @ mdp.P_pi.T - values",
        "mdp.r_pi + mdp.gamma * values @ mdp.P_pi - values",
        ("claim:oracle/metrics/random_walk/value",),
    ),
    Mutant(
        "metrics: MSPBE for RMSPBE",
        METRICS,
        "return np.sqrt(np.maximum((push @ self.mdp.C_inverse * push).sum(-1), 0.0))",
        "return np.maximum((push @ self.mdp.C_inverse * push).sum(-1), 0.0)",
        ("claim:oracle/metrics/random_walk/value",),
    ),
    Mutant(
        "metrics: the error is not weighted by d",
        METRICS,
        "push = (error * self.mdp.d) @ self.mdp.features",
        "push = error @ self.mdp.features / len(self.mdp.d)",
        (
            "claim:oracle/metrics/random_walk/value",
            "claim:oracle/metrics/random_walk/cdf",
        ),
    ),
    Mutant(
        "metrics: value error unweighted",
        METRICS,
        "return np.sqrt(((values - self.mdp.v) ** 2) @ self.mdp.d)",
        "return np.sqrt(((values - self.mdp.v) ** 2).mean(-1))",
        (
            "claim:oracle/metrics/random_walk/value",
            "claim:oracle/metrics/random_walk/cdf",
        ),
    ),
    Mutant(
        "metrics: size is the largest value's",
        METRICS,
        "np.sqrt((values**2).mean(-1))",
        "np.abs(values).max(-1)",
        (
            "claim:oracle/metrics/random_walk/value",
            "claim:oracle/metrics/random_walk/cdf",
        ),
    ),
    Mutant(
        "metrics: D-MSPBE of the last atom only",
        METRICS,
        "return np.sqrt((per_atom**2).sum(-1))",
        "return per_atom[..., -1]",
        (
            "claim:oracle/metrics/random_walk/cdf",
            "claim:oracle/metrics/boyan/cdf",
        ),
    ),
    Mutant(
        "metrics: Cramér distance unweighted",
        METRICS,
        "np.sqrt(cramer_distance(F, self._law, self.target.spacing) ** 2 @ self.mdp.d)",
        "np.sqrt((cramer_distance(F, self._law, self.target.spacing) ** 2).mean(-1))",
        ("claim:oracle/metrics/random_walk/cdf",),
    ),
    Mutant(
        "metrics: columns in another order than their names",
        METRICS,
        "for name in names or self.names]",
        "for name in sorted(names or self.names)]",
        (
            "claim:oracle/metrics/random_walk/cdf",
            "claim:oracle/metrics/boyan/cdf",
        ),
    ),
    Mutant(
        "metrics: one of them crashes",
        METRICS,
        '"rdmspbe": lambda: self._rdmspbe(F)',
        '"rdmspbe": lambda: self._rdmspbe(F[0, 0])',
        (
            "claim:oracle/metrics/random_walk/cdf",
            "claim:oracle/metrics/boyan/cdf",
        ),
    ),
    Mutant(
        "problem: the lift's atoms on half of the range",
        PROBLEM,
        "return target_class(kind).over(self.support, atoms, projection)",
        "return target_class(kind).over((self.support[0] / 2, self.support[1] / 2), atoms, projection)",
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
)
