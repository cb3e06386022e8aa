"""Faults in rules, targets, the sampler, the engines and their loops."""

from tests.mutants.mutant import Mutant

RULES = (
    Mutant(
        "gtd2: delta not weighted by rho in w's step",
        "algorithms/rules.py",
        "prediction=-rho * u, target=rho * u, tangent=rho * delta - u)",
        "prediction=-rho * u, target=rho * u, tangent=delta - u)",
        ("claim:gradients/random_walk/value/linear/gtd2/solves-w",),
    ),
    Mutant(
        "gtd2: no curvature",
        "algorithms/rules.py",
        "@rule(promises=ALL)\ndef gtd2(",
        "@rule(curvature=False, promises=ALL)\ndef gtd2(",
        ("claim:gradients/random_walk/cdf/mlp/gtd2/descends",),
    ),
    Mutant(
        "tdc: w's step too large by a tenth of delta",
        "algorithms/rules.py",
        'is not promised.\n    """\n    return Cotangents(prediction=-rho * delta, target=rho * u, tangent=rho * delta - u)',
        'is not promised.\n    """\n    return Cotangents(prediction=-rho * delta, target=rho * u, tangent=1.1 * rho * delta - u)',
        ("claim:gradients/random_walk/value/linear/tdc/solves-w",),
    ),
    Mutant(
        "gtd2_sb: u not weighted by rho",
        "algorithms/rules.py",
        "prediction=-rho * u, target=rho * u, tangent=rho * (delta - u))",
        "prediction=-rho * u, target=rho * u, tangent=rho * delta - u )",
        ("claim:stability/two_state/value/trajectory/gtd2_sb",),
    ),
    Mutant(
        "greedy_gq: eta ignored",
        "algorithms/rules.py",
        "target=eta * rho * u",
        "target=rho * u",
        (
            "claim:gradients/published/linear/greedy_gq(eta=0.5)",
            "claim:gradients/published/mlp/greedy_gq(eta=0.5)",
        ),
    ),
    Mutant(
        "tdrc: kappa halved",
        "algorithms/rules.py",
        "w_decay=kappa,",
        "w_decay=kappa / 2,",
        (
            "claim:gradients/published/linear/tdrc(kappa=0.5)",
            "claim:gradients/published/mlp/tdrc(kappa=0.5)",
        ),
    ),
    Mutant(
        "a nonlinear rule passes for a linear one",
        "algorithms/rule.py",
        "if self.linear and not np.allclose(found, _PROBES @ found[:2], rtol=1e-10, atol=1e-12):",
        "if self.linear and not np.allclose(found[:2], _PROBES[:2] @ found[:2], rtol=1e-10, atol=1e-12):",
        ("test:tests/algorithms/test_rules.py::test_a_wrong_rule_is_refused_when_it_is_made",),
    ),
)

TARGETS = (
    Mutant(
        "value target: next value at an episode's end",
        "algorithms/targets.py",
        "weight = np.stack([gamma, np.zeros_like(gamma)], axis=-1)[..., None]",
        "weight = np.stack([np.maximum(gamma, 0.5), np.zeros_like(gamma)], axis=-1)[..., None]",
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
    Mutant(
        "cramer: mass inside a cell not bounded by gamma",
        "algorithms/targets.py",
        "inside = np.minimum(1.0 - np.clip(left[..., :n] - row, 0.0, 1.0), gamma)",
        "inside = (1.0 - np.clip(left[..., :n] - row, 0.0, 1.0)) * gamma",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer: the boundary one cell late",
        "algorithms/targets.py",
        "constant = np.clip(np.arange(1, n + 1) - left[..., n:], 0.0, 1.0)",
        "constant = np.clip(np.arange(n) - left[..., n:], 0.0, 1.0)",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer: mass that crosses the lowest atom is lost",
        "algorithms/targets.py",
        "here = np.where(straddles, above, np.where(",
        "here = np.where(straddles, 0.0, np.where(",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "nearest and floor: an episode's end is no end",
        "algorithms/targets.py",
        "    ended = gamma == 0\n",
        "    ended = gamma < 0\n    gamma = np.where(gamma == 0, 1.0, gamma)\n",
        ("claim:gradients/target/floor",),
    ),
    Mutant(
        "apply: the second weight lands in the first row",
        "algorithms/targets.py",
        "rows = rows.scatter_add(-1, self.row + 1, self.weight[..., 1, :] * f_next)",
        "rows = rows.scatter_add(-1, self.row, self.weight[..., 1, :] * f_next)",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "transpose: weights swapped",
        "algorithms/targets.py",
        "return self.weight[..., 0, :] * here + self.weight[..., 1, :] * above",
        "return self.weight[..., 1, :] * here + self.weight[..., 0, :] * above",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
)

SAMPLER = (
    Mutant(
        "the alias is taken below the threshold, not above",
        "algorithms/streams.py",
        "if scaled - slot < threshold[low + slot] else",
        "if scaled - slot > threshold[low + slot] else",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "curve: an episode's end does not restart",
        "algorithms/streams.py",
        "    if table.ends[outcome] and not table.iid:\n        arrived = start(rng, table)\n",
        "",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "independent transitions follow the trajectory",
        "algorithms/streams.py",
        "    if table.iid:\n        state = start(rng, table)\n",
        "",
        ("claim:rates/random_walk/gtd2/exponent",),
    ),
    Mutant(
        "batch: s for s'",
        "algorithms/table.py",
        "x, x_next = inputs[self.state[outcome]], inputs[self.next_state[outcome]]",
        "x, x_next = inputs[self.state[outcome]], inputs[self.state[outcome]]",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "batch: ratios of other transitions",
        "algorithms/table.py",
        "return Batch(x, x_next, shift, self.rho[outcome])",
        "return Batch(x, x_next, shift, self.rho[outcome[::-1]])",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "streams of lanes do not depend on the root seed",
        "algorithms/streams.py",
        "words = [root >> shift & _WORD",
        "words = [0 * root >> shift & _WORD",
        ("test:tests/algorithms/test_streams.py::test_all_lanes_at_once_are_numpys_one_by_one",),
    ),
)

ENGINES = (
    Mutant(
        "linear, law: T for its transpose",
        "algorithms/fast/kernels.py",
        "work[1, j] = weight[pair, 0, j] * work[3, low] + weight[pair, 1, j] * work[3, low + 1]",
        "work[1, j] = weight[pair, 0, low] * work[3, j] + weight[pair, 1, low] * work[3, j + 1]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear: w moves by phi of the next state",
        "algorithms/fast/kernels.py",
        "w[j, i] = keep * w[j, i] + q * x[left, i]",
        "w[j, i] = keep * w[j, i] + q * x_next[right, i]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear: a dead lane's numbers stay finite",
        "algorithms/fast/kernels.py",
        "                theta[:, :] = np.nan\n                w[:, :] = np.nan\n",
        "                pass\n",
        (
            "test:tests/algorithms/fast/test_linear_runs.py::test_a_lane_that_overflows_is_dated_and_leaves_its_neighbours_alone",
        ),
    ),
    Mutant(
        "mlp: the bend's sign",
        "algorithms/fast/mlp.py",
        "out[:, here].addcmul_(bent, down[:, tangent])",
        "out[:, here].addcmul_(bent, down[:, tangent], value=-1.0)",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "mlp: the tangent's bias row is alive",
        "algorithms/fast/mlp.py",
        "stack[:, : 2 * size, -1] = 1.0",
        "stack[:, :, -1] = 1.0",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "cdf head: sign of h",
        "algorithms/fast/heads.py",
        "bent = pulled[:, 2 * size :] * centred",
        "bent = -pulled[:, 2 * size :] * centred",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "step factors: the batch is not averaged",
        "algorithms/fast/heads.py",
        "return -alpha / batch, beta / batch, 1.0 - beta * decay",
        "return -alpha, beta, 1.0 - beta * decay",
        ("test:tests/algorithms/fast/test_conformance.py::test_a_step_is_its_directions",),
    ),
    Mutant(
        "small: rows of w that no input touches do not decay",
        "algorithms/fast/network_kernels.py",
        "            if h != 0.0 or keep != 1.0:",
        "            if h != 0.0:",
        ("test:tests/algorithms/fast/test_small.py::test_a_run_is_the_torch_loops",),
    ),
    Mutant(
        "small: exp with one term less",
        "algorithms/fast/elementary.py",
        "range(13, 1, -1)",
        "range(11, 1, -1)",
        ("test:tests/algorithms/fast/test_elementary.py::test_within_units_of_the_last_digit",),
    ),
)

LOOPS = (
    Mutant(
        "linear run: Mirror-Prox steps from the midpoint",
        "algorithms/fast/kernels.py",
        "                        theta[j, i] = before_theta[j, i]\n",
        "                        pass\n",
        ("claim:rates/one-step/extragradient",),
    ),
    Mutant(
        "linear run: averages one step late",
        "algorithms/fast/kernels.py",
        "            if moves.averaging and half == halves - 1:  # average the point whose field moves the iterate\n                lanes.mass[lane] += alpha\n                average(theta_mean, theta, alpha / lanes.mass[lane])\n                average(w_mean, w, alpha / lanes.mass[lane])\n            keep = 1.0 - beta * moves.w_decay\n            if half < halves - 1:\n                for j in range(n):  # element by element: to copy a slice, numba would allocate\n                    for i in range(k):\n                        before_theta[j, i] = theta[j, i]\n                        before_w[j, i] = w[j, i]\n            elif moves.extragradient:  # step from the starting point, with the midpoint's field (including κ's part)\n                keep = 1.0\n                for j in range(n):\n                    for i in range(k):\n                        theta[j, i] = before_theta[j, i]\n                        w[j, i] = before_w[j, i] - beta * moves.w_decay * w[j, i]\n            _apply(theta, w, features, features, at, work, alpha, beta, keep)\n",
        "            keep = 1.0 - beta * moves.w_decay\n            if half < halves - 1:\n                for j in range(n):  # element by element: to copy a slice, numba would allocate\n                    for i in range(k):\n                        before_theta[j, i] = theta[j, i]\n                        before_w[j, i] = w[j, i]\n            elif moves.extragradient:  # step from the starting point, with the midpoint's field (including κ's part)\n                keep = 1.0\n                for j in range(n):\n                    for i in range(k):\n                        theta[j, i] = before_theta[j, i]\n                        w[j, i] = before_w[j, i] - beta * moves.w_decay * w[j, i]\n            _apply(theta, w, features, features, at, work, alpha, beta, keep)\n            if moves.averaging and half == halves - 1:  # average the point whose field moves the iterate\n                lanes.mass[lane] += alpha\n                average(theta_mean, theta, alpha / lanes.mass[lane])\n                average(w_mean, w, alpha / lanes.mass[lane])\n",
        ("test:tests/algorithms/fast/test_linear_runs.py::test_a_run_is_the_run_written_out",),
    ),
    Mutant(
        "linear run: snapshots one step early",
        "algorithms/fast/kernels.py",
        "snapshots.at[due] == now:",
        "snapshots.at[due] == now + (now > 0):",
        ("test:tests/algorithms/fast/test_linear_runs.py::test_a_run_is_the_run_written_out",),
    ),
    Mutant(
        "linear run: deaths dated from the start of the run",
        "algorithms/fast/kernels.py",
        "lanes.died[lane] = moves.first + step",
        "lanes.died[lane] = step",
        (
            "test:tests/algorithms/fast/test_linear_runs.py::test_a_lane_that_overflows_is_dated_and_leaves_its_neighbours_alone",
        ),
    ),
    Mutant(
        "schedule: starts at 0 whatever step is first",
        "algorithms/stepping.py",
        "base = 1.0 + np.arange(first, first + steps) / self.offset",
        "base = 1.0 + np.arange(steps) / self.offset",
        ("test:tests/algorithms/test_stepping.py::test_a_robbins_monro_schedule_falls_as_it_says",),
    ),
)
