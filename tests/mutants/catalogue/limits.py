"""Faults in the limits of Theorem 2: what is judged there, and the rank that the theorem asks for."""

from tests.mutants.mutant import Mutant

LIMITS = "suites/convergence/limits.py"
OBJECTIVES = "harness/oracle/objectives.py"
TESTS = "tests/suites/test_limits.py"

MUTANTS = (
    Mutant(
        "limits: steps that do not shrink",
        LIMITS,
        'ROBBINS_MONRO = StepSchedule("robbins-monro")',
        'ROBBINS_MONRO = StepSchedule("constant")',
        ("claim:convergence/random_mdp/logits/gtd2/slope/gradient=INCONCLUSIVE",),
    ),
    Mutant(
        "limits: w too slow to follow",
        LIMITS,
        "ALPHA, BETA, RADIUS = 0.3, 1.0, 50.0",
        "ALPHA, BETA, RADIUS = 0.3, 0.003, 50.0",
        ("claim:convergence/random_mdp/logits/gtd2/limit",),
    ),
    Mutant(
        "limits: a table on a problem whose minimum is at infinity",
        LIMITS,
        'INTERIOR, INTERIOR_ATOMS = "random_mdp(states=5,gamma=0.8)", 4',
        'INTERIOR, INTERIOR_ATOMS = "random_walk", 6',
        ("claim:convergence/random_mdp/interior",),
    ),
    Mutant(
        "limits: a network with a redundant input",
        LIMITS,
        'inputs="most-features"',
        'inputs="features"',
        ("claim:convergence/boyan/full-rank/rank",),
    ),
    Mutant(
        "limits: a slope over the whole curve",
        LIMITS,
        "late = trial.times >= trial.times[-1] // 100",
        "late = trial.times > 0",
        (
            "claim:convergence/control/slope/stalled",
            f"test:{TESTS}::test_a_slope_is_of_the_last_two_decades",
        ),
    ),
    Mutant(
        "limits: lanes that died are left out",
        LIMITS,
        "ends = np.where(np.isfinite(ends), ends, np.inf)",
        "ends = ends[np.isfinite(ends)]",
        (
            "claim:convergence/control/limit/lost-lanes",
            f"test:{TESTS}::test_a_networks_j_is_judged_by_its_geometric_mean_and_its_gradient_by_the_median",
        ),
    ),
    Mutant(
        "spectrum: every direction counts",
        OBJECTIVES,
        "(singular > NULL_OF_RANK * singular[:, :1]).sum(1)",
        "(singular >= 0).sum(1)",
        (
            "claim:oracle/spectrum",
            f"test:{TESTS}::test_one_feature_too_many_costs_the_network_its_rank",
        ),
    ),
    Mutant(
        "spectrum: the condition of the root",
        OBJECTIVES,
        "(singular[:, 0] / least) ** 2",
        "singular[:, 0] / least",
        (
            "claim:oracle/spectrum",
            "test:tests/harness/oracle/test_objectives.py::test_the_spectrum_is_that_of_the_matrix_itself",
        ),
    ),
)
