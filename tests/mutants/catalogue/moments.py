"""Faults that only many steps show: in the sampler and the loop, held to the exact curve; and in the curve itself."""

from tests.mutants.mutant import Mutant

DRAWS = "algorithms/draws.py"
LOOP = "algorithms/fast/kernels.py"
KERNELS = "harness/oracle/moment_kernels.py"
MOMENTS = "harness/oracle/moments.py"
CURVES = "suites/engines/curves.py"
CURVE = "claim:engines/linear/curve"
PATHS = "test:tests/harness/oracle/test_moments.py"

MUTANTS = (
    Mutant(
        "curve: one per cent towards the first outcome",
        DRAWS,
        "scaled = uniform(rng) * (high - low)",
        "scaled = 0.99 * uniform(rng) * (high - low)",
        (f"{CURVE}/boyan/last/gtd2",),
    ),
    Mutant(
        "curve: an average that does not weigh by step sizes",
        LOOP,
        """                lanes.mass[lane] += alpha
                average(theta_mean, theta, alpha / lanes.mass[lane])""",
        """                lanes.mass[lane] += 1.0
                average(theta_mean, theta, 1.0 / lanes.mass[lane])""",
        (f"{CURVE}/boyan/scheduled-average/gtd2",),
    ),
    Mutant(
        "curve: an episode goes on where the last one ended",
        DRAWS,
        "if table.ends[outcome] and not table.iid:",
        "if table.ends[outcome] and table.iid:",
        (f"{CURVE}/boyan/last/gtd2",),
    ),
    Mutant(
        "curve: w steps with the new theta's delta",
        LOOP,
        "p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], beta * work[2, j]",
        "p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], beta * work[2, j] * (1.0 - alpha)",
        (f"{CURVE}/boyan/last/gtd2",),
    ),
    Mutant(
        "moments: what ends is lost",
        KERNELS,
        "share = maps.start[s]",
        "share = 0.0 * maps.start[s]",
        (f"{CURVE}/boyan/last/gtd2",),
    ),
    Mutant(
        "moments: sums of theta without their weights",
        KERNELS,
        "_add_rows(now, 0, shape.total, d, alpha, False)",
        "_add_rows(now, 0, shape.total, d, alphas[0], False)",
        (f"{CURVE}/boyan/scheduled-average/gtd2",),
    ),
    Mutant(
        "moments: w does not decay",
        KERNELS,
        "keep = 1.0 - beta * w_decay",
        "keep = 1.0",
        (f"{CURVE}/boyan/last/tdrc(kappa=0.5)",),
    ),
    Mutant(
        "moments: half of the noise",
        KERNELS,
        "room.half[c, i] = 0.5 * (room.half[c, i]",
        "room.half[c, i] = 0.25 * (room.half[c, i]",
        (f"{CURVE}/boyan/last/gtd2",),
    ),
    Mutant(
        "moments: Mirror-Prox goes on from the midpoint",
        KERNELS,
        "_add_rows(now, shape.old, 0, block, 1.0, True)",
        "_add_rows(now, 0, shape.old, block, 1.0, True)",
        (f"{CURVE}/random_walk/mirror-prox/gtd2",),
    ),
    Mutant(
        "moments: the linear part of a metric dropped",
        MOMENTS,
        "np.ascontiguousarray(((plus - minus) / 2).T / length)",
        "np.ascontiguousarray((0 * (plus - minus) / 2).T / length)",
        (f"{CURVE}/boyan/last/gtd2", f"{PATHS}::test_two_steps_are_the_mean_over_every_path"),
    ),
    Mutant(
        "curve: errors of single lanes",
        CURVES,
        "(numbers.std(0, ddof=1) / np.sqrt(lanes)).tolist()",
        "numbers.std(0, ddof=1).tolist()",
        (
            "claim:engines/control/curve/other-step",
            "test:tests/suites/test_curves.py::test_a_mean_that_is_five_standard_errors_off_fails",
        ),
    ),
)
