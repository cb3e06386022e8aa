"""Faults in schedules and mirror steps, and in whole runs of networks."""

from tests.mutants.mutant import Mutant

STEPPING = "algorithms/stepping.py"
LOOP = "algorithms/fast/loop.py"

MUTANTS = (
    Mutant(
        "schedule: exponents swapped",
        STEPPING,
        "return base**-self.alpha_exponent, base**-self.beta_exponent",
        "return base**-self.beta_exponent, base**-self.alpha_exponent",
        ("claim:engines/linear/loop/scheduled/gtd2",),
    ),
    Mutant(
        "schedule: starts at 0 whatever step is first",
        STEPPING,
        "base = 1.0 + np.arange(first, first + steps) / self.offset",
        "base = 1.0 + np.arange(steps) / self.offset",
        ("claim:engines/linear/loop/scheduled/gtd2",),
    ),
    Mutant(
        "schedule: the offset is ignored",
        STEPPING,
        "base = 1.0 + np.arange(first, first + steps) / self.offset",
        "base = 1.0 + np.arange(first, first + steps)",
        ("claim:engines/linear/loop/scheduled/gtd2",),
    ),
    Mutant(
        "mirror descent: theta ascends",
        STEPPING,
        (
            "    d_theta, d_w = field(theta, w)\n"
            "    after = project_ball(theta - step * d_theta, radius), project_ball(w + step * d_w, "
            "radius)\n"
        ),
        (
            "    d_theta, d_w = field(theta, w)\n"
            "    after = project_ball(theta + step * d_theta, radius), project_ball(w + step * d_w, "
            "radius)\n"
        ),
        (
            "claim:engines/stepping/mirror-descent",
            ("test:tests/algorithms/test_stepping.py::test_mirror_prox_is_the_extragradient_and_not_two_plain_steps"),
        ),
    ),
    Mutant(
        "mirror prox: from the midpoint",
        STEPPING,
        (
            "    d_theta, d_w = field(*middle)\n"
            "    after = project_ball(theta - step * d_theta, radius), project_ball(w + step * d_w, "
            "radius)\n"
        ),
        (
            "    d_theta, d_w = field(*middle)\n"
            "    theta, w = middle\n"
            "    after = project_ball(theta - step * d_theta, radius), project_ball(w + step * d_w, "
            "radius)\n"
        ),
        (
            "claim:engines/stepping/mirror-prox",
            ("test:tests/algorithms/test_stepping.py::test_mirror_prox_is_the_extragradient_and_not_two_plain_steps"),
        ),
    ),
    Mutant(
        "torch run: each tensor projected alone",
        LOOP,
        (
            "    squares = torch.stack([part.flatten(1).square().sum(1) for part in parts]).sum(0)\n"
            "    factor = torch.clamp(radius / squares.sqrt(), max=1.0)\n"
            "    for part in parts:\n"
        ),
        (
            "    for part in parts:\n"
            "        squares = part.flatten(1).square().sum(1)\n"
            "        factor = torch.clamp(radius / squares.sqrt(), max=1.0)\n"
        ),
        ("claim:engines/mlp/loop/projected/gtd2",),
    ),
    Mutant(
        "torch run: the radius is ignored",
        LOOP,
        "            if radius < np.inf:\n",
        "            if radius < 0:\n",
        ("claim:engines/mlp/loop/projected/gtd2",),
    ),
    Mutant(
        "torch run: w is not projected",
        LOOP,
        "                _project(state.w, radius)\n",
        "",
        ("claim:engines/mlp/loop/projected/gtd2",),
    ),
    Mutant(
        "torch run: schedules restart with every run",
        LOOP,
        ".factors(first, steps)",
        ".factors(0, steps)",
        ("claim:engines/mlp/loop/scheduled/gtd2",),
    ),
    Mutant(
        "torch run: schedules restart with every chunk",
        LOOP,
        "            done = state.steps - first\n",
        "            done = 0\n",
        (
            "claim:engines/module/by-hand",
            "test:tests/algorithms/fast/test_loop.py::test_parts_of_a_run_join",
        ),
    ),
    Mutant(
        "torch run: beta's schedule for alpha",
        LOOP,
        "(alpha * alphas[done + i], beta * betas[done + i])",
        "(alpha * betas[done + i], beta * betas[done + i])",
        ("claim:engines/mlp/loop/scheduled/gtd2",),
    ),
    Mutant(
        "torch run: s for s'",
        LOOP,
        "rows[torch.as_tensor(table.next_state)]",
        "rows[torch.as_tensor(table.state)]",
        ("claim:engines/mlp/loop/plain/gtd2",),
    ),
    Mutant(
        "torch run: ratios forgotten",
        LOOP,
        "every.shift.take(index), every.rho[index])",
        "every.shift.take(index), 0 * every.rho[index] + 1)",
        ("claim:engines/mlp/loop/plain/gtd2",),
    ),
    Mutant(
        "torch run: one lane's transition for all",
        LOOP,
        "index = self._every(_tensors(theta)[0].dtype), outcome[:, None]",
        "index = self._every(_tensors(theta)[0].dtype), (0 * outcome + outcome[0])[:, None]",
        ("claim:engines/mlp/loop/plain/gtd2",),
    ),
    Mutant(
        "torch run: deaths are not dated",
        LOOP,
        "        state.died[newly] = state.steps + sick.argmax(0)[newly]\n",
        "",
        (
            "claim:engines/module/deaths",
            "test:tests/algorithms/fast/test_loop.py::test_deaths_have_the_linear_engines_dates",
        ),
    ),
)
