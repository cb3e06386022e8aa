"""Faults in whole runs of the linear engine: projection, averages, Mirror-Prox, snapshots, deaths."""

from tests.mutants.mutant import Mutant

KERNELS = "algorithms/fast/kernels.py"
LOOP = "algorithms/fast/compiled_loop.py"

AVERAGING = (
    "            if moves.averaging and half == halves - 1:  # average the point whose field moves the iterate\n"
    "                lanes.mass[lane] += alpha\n"
    "                average(theta_mean, theta, alpha / lanes.mass[lane])\n"
    "                average(w_mean, w, alpha / lanes.mass[lane])\n"
)
STEPPING = (
    "            keep = 1.0 - beta * moves.w_decay\n"
    "            if half < halves - 1:\n"
    "                for j in range(n):  # element by element: to copy a slice, numba would allocate\n"
    "                    for i in range(k):\n"
    "                        before_theta[j, i] = theta[j, i]\n"
    "                        before_w[j, i] = w[j, i]\n"
    "            elif moves.extragradient:  # step from the starting point, with the midpoint's field (including κ's part)\n"
    "                keep = 1.0\n"
    "                for j in range(n):\n"
    "                    for i in range(k):\n"
    "                        theta[j, i] = before_theta[j, i]\n"
    "                        w[j, i] = before_w[j, i] - beta * moves.w_decay * w[j, i]\n"
    "            _apply(theta, w, features, features, at, work, alpha, beta, keep)\n"
)

MUTANTS = (
    Mutant(
        "linear run: the radius is ignored",
        KERNELS,
        "            if moves.radius < np.inf:\n",
        "            if False:\n",
        ("claim:engines/linear/loop/projected/gtd2",),
    ),
    Mutant(
        "linear run: w is not projected",
        KERNELS,
        "                project(w, moves.radius)\n",
        "",
        ("claim:engines/linear/loop/projected/gtd2",),
    ),
    Mutant(
        "linear run: projection onto a ball of radius R²",
        KERNELS,
        ("    if total > radius * radius:\n        factor = radius / np.sqrt(total)\n"),
        ("    if total > radius:\n        factor = np.sqrt(radius / total)\n"),
        ("claim:engines/linear/loop/projected/gtd2",),
    ),
    Mutant(
        "linear run: averages one step late",
        KERNELS,
        AVERAGING + STEPPING,
        STEPPING + AVERAGING,
        ("claim:engines/linear/loop/averaged/gtd2",),
    ),
    Mutant(
        "linear run: averages weighted equally",
        KERNELS,
        "lanes.mass[lane] += alpha\n",
        "lanes.mass[lane] += 1.0\n",
        ("claim:engines/linear/loop/averaged/gtd2",),
    ),
    Mutant(
        "linear run: w's average is theta's",
        KERNELS,
        "average(w_mean, w, alpha / lanes.mass[lane])",
        "average(w_mean, theta, alpha / lanes.mass[lane])",
        ("claim:engines/linear/loop/averaged/gtd2",),
    ),
    Mutant(
        "linear run: Mirror-Prox averages where it starts",
        KERNELS,
        "if moves.averaging and half == halves - 1:",
        "if moves.averaging and half == 0:",
        ("claim:engines/linear/loop/mirror-prox/gtd2",),
    ),
    Mutant(
        "linear run: Mirror-Prox on one sample twice",
        KERNELS,
        "            left, outcome, here = draw(stream, table, here)\n",
        "            if half == 0:\n                left, outcome, here = draw(stream, table, here)\n",
        ("claim:engines/linear/loop/mirror-prox/gtd2",),
    ),
    Mutant(
        "linear run: Mirror-Prox steps from the midpoint",
        KERNELS,
        "                        theta[j, i] = before_theta[j, i]\n",
        "                        pass\n",
        ("claim:rates/one-step/extragradient",),
    ),
    Mutant(
        "linear run: Mirror-Prox's w steps from the midpoint",
        KERNELS,
        "w[j, i] = before_w[j, i] - beta * moves.w_decay * w[j, i]",
        "w[j, i] = w[j, i] - beta * moves.w_decay * w[j, i]",
        ("claim:rates/one-step/extragradient",),
    ),
    Mutant(
        "linear run: beta's schedule for alpha",
        KERNELS,
        "moves.alpha[lane] * moves.alpha_factor[step]",
        "moves.alpha[lane] * moves.beta_factor[step]",
        ("claim:engines/linear/loop/scheduled/gtd2",),
    ),
    Mutant(
        "linear run: alpha's schedule for beta",
        KERNELS,
        "moves.beta[lane] * moves.beta_factor[step]",
        "moves.beta[lane] * moves.alpha_factor[step]",
        ("claim:engines/linear/loop/scheduled/gtd2",),
    ),
    Mutant(
        "linear run: schedules restart with every run",
        LOOP,
        ".factors(state.steps, steps)",
        ".factors(0, steps)",
        ("claim:engines/linear/loop/scheduled/gtd2",),
    ),
    Mutant(
        "linear run: snapshots one step early",
        KERNELS,
        "snapshots.at[due] == now:",
        "snapshots.at[due] == now + (now > 0):",
        (
            "claim:engines/linear/by-hand",
            "test:tests/algorithms/fast/test_linear_runs.py::test_a_run_is_the_run_written_out",
        ),
    ),
    Mutant(
        "linear run: the state a lane is in is not kept",
        KERNELS,
        "    lanes.state[lane] = here\n",
        "    pass\n",
        ("claim:engines/linear/loop/plain/gtd2",),
    ),
    Mutant(
        "linear run: deaths dated from the start of the run",
        KERNELS,
        "lanes.died[lane] = moves.first + step",
        "lanes.died[lane] = step",
        (
            "claim:engines/linear/deaths",
            (
                "test:tests/algorithms/fast/test_linear_runs.py"
                "::test_a_lane_that_overflows_is_dated_and_leaves_its_neighbours_alone"
            ),
        ),
    ),
)
