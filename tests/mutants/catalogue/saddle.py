"""Faults in the saddle-point problem of Proposition 2."""

from tests.mutants.mutant import Mutant

SADDLE = "harness/oracle/saddle.py"

MUTANTS = (
    Mutant(
        "saddle: A on-policy",
        SADDLE,
        "A = rho * here @ (here - there).transpose(0, 2, 1)",
        "A = here @ (here - there).transpose(0, 2, 1)",
        ("claim:rates/random_walk_dependent/gtd2/exponent",),
    ),
    Mutant(
        "saddle: b without rho",
        SADDLE,
        'b = table.rho[:, None] * np.einsum("odn,on->od", here, shift.constant)',
        'b = np.einsum("odn,on->od", here, shift.constant)',
        ("claim:rates/random_walk_dependent/gtd2/exponent",),
    ),
    Mutant(
        "saddle: Err without its ½",
        SADDLE,
        "quadratic = 0.5 * ((w @ self.C) * w).sum(-1)",
        "quadratic = ((w @ self.C) * w).sum(-1)",
        (
            "claim:oracle/err/random_walk_dependent",
            "claim:oracle/err/random_walk_dependent-cdf",
        ),
    ),
    Mutant(
        "saddle: Err without the ball's part in theta",
        SADDLE,
        "best_theta = w @ self.b - self.R * np.linalg.norm(w @ self.A, axis=-1) - quadratic",
        "best_theta = w @ self.b - quadratic",
        (
            "claim:oracle/err/random_walk_dependent",
            "claim:oracle/err/random_walk_dependent-cdf",
        ),
    ),
    Mutant(
        "saddle: the maximum over w without its ball",
        SADDLE,
        "mu = np.where(inside, 0.0, high)[..., None]",
        "mu = np.zeros_like(high)[..., None]",
        (
            "claim:oracle/err/random_walk_dependent",
            "claim:oracle/err/random_walk_dependent-cdf",
        ),
    ),
    Mutant(
        "saddle: the maximum over w without the quadratic",
        SADDLE,
        "return (parts * w).sum(-1) - 0.5 * (values * w * w).sum(-1)",
        "return (parts * w).sum(-1)",
        ("claim:oracle/err/random_walk_dependent",),
    ),
    Mutant(
        "saddle: the bound without √5",
        SADDLE,
        "np.sqrt(5 / n) * self.M_star)",
        "np.sqrt(1 / n) * self.M_star)",
        (
            "claim:oracle/bound/random_walk_dependent",
            "claim:oracle/bound/random_walk_dependent-cdf",
        ),
    ),
    Mutant(
        "saddle: the bound falls like 1/n",
        SADDLE,
        "np.sqrt(5 / n) * self.M_star)",
        "np.sqrt(5) / n * self.M_star)",
        ("claim:oracle/bound/random_walk_dependent",),
    ),
    Mutant(
        "saddle: M* without the noise",
        SADDLE,
        "of_theta = first + (norm_A * self.R) ** 2",
        "of_theta = (norm_A * self.R) ** 2",
        (
            "claim:oracle/m-star",
            "test:tests/harness/oracle/test_err.py::test_m_star_step_and_bound_are_the_corrected_formulas",
        ),
    ),
    Mutant(
        "saddle: the step does not shrink with the horizon",
        SADDLE,
        "return 4 * self.R**2 / (self.M_star * np.sqrt(5 * n))",
        "return 4 * self.R**2 / (self.M_star * np.sqrt(5e4))",
        (
            "claim:oracle/bound/random_walk_dependent",
            "claim:oracle/bound/random_walk_dependent-cdf",
        ),
    ),
    Mutant(
        "saddle: sign of Aᵀ in the field",
        SADDLE,
        "return -self.A.T @ w, self.b",
        "return self.A.T @ w, self.b",
        ("claim:rates/random_walk_dependent/mirror-prox/exact-operator",),
    ),
    Mutant(
        "saddle: C missing from the step's matrix",
        SADDLE,
        "np.block([[zero, -self.A.T], [self.A, self.C]])",
        "np.block([[zero, -self.A.T], [self.A, zero]])",
        (
            "claim:rates/random_walk_dependent/mirror-prox/exact-operator",
            "claim:rates/random_walk_dependent-cdf/mirror-prox/exact-operator",
        ),
    ),
    Mutant(
        "saddle: the last iterate for the average",
        SADDLE,
        "out.append(float(self.error(sums[0] / t, sums[1] / t)))",
        "out.append(float(self.error(theta, w)))",
        (
            "claim:oracle/average/mirror-descent",
            (
                "test:tests/harness/oracle/test_err.py"
                "::test_exact_errors_are_of_averages_over_the_points_whose_field_was_followed"
            ),
        ),
    ),
    Mutant(
        "saddle: Err in other coordinates than its features",
        SADDLE,
        "points = (part @ self._axes for part in (theta, w))",
        "points = (part @ self._axes for part in (w, theta))",
        ("claim:rates/random_walk_dependent/gtd2/exponent",),
    ),
)
