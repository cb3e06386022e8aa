"""Faults in the linear engine: its kernel's step and its directions."""

from tests.mutants.mutant import Mutant

KERNELS = "algorithms/fast/kernels.py"
LINEAR = "algorithms/fast/linear.py"
LOOP = "algorithms/fast/compiled_loop.py"

MUTANTS = (
    Mutant(
        "linear, value: s for s' in theta's step",
        KERNELS,
        "            f_next += theta[0, i] * x_next[right, i]\n",
        "            f_next += theta[0, i] * x_next[left, i]\n",
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
    Mutant(
        "linear, value: gamma dropped from the target's gradient",
        KERNELS,
        "work[0, 0], work[1, 0], work[2, 0] = p, shrink * t, q",
        "work[0, 0], work[1, 0], work[2, 0] = p, t, q",
        ("claim:engines/linear/collision/value/gtd2/written-out",),
    ),
    Mutant(
        "linear, value: reward forgotten",
        KERNELS,
        "delta = shrink * f_next + constant[pair, 0] - f\n",
        "delta = shrink * f_next - f\n",
        ("claim:engines/linear/collision/value/gtd2/written-out",),
    ),
    Mutant(
        "linear, law: the second weight of T lost",
        KERNELS,
        "        work[3, row[pair, j] + 1] += weight[pair, 1, j] * f_next\n",
        "",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear, law: T for its transpose",
        KERNELS,
        "work[1, j] = weight[pair, 0, j] * work[3, low] + weight[pair, 1, j] * work[3, low + 1]",
        "work[1, j] = weight[pair, 0, low] * work[3, j] + weight[pair, 1, low] * work[3, j + 1]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear, law: target's cotangent from delta alone",
        KERNELS,
        "work[3, j] = c[ratio, 1, 0] * delta + c[ratio, 1, 1] * u",
        "work[3, j] = c[ratio, 1, 0] * delta",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear, law: constant dropped",
        KERNELS,
        "delta, u = work[3, j] + constant[pair, j] - work[0, j], work[2, j]",
        "delta, u = work[3, j] - work[0, j], work[2, j]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear: theta moves along alpha times w's cotangent too",
        KERNELS,
        "p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], beta * work[2, j]",
        ("p, pulled, q = -alpha * (work[0, j] + 0.01 * work[2, j]), -alpha * work[1, j], beta * work[2, j]"),
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear: alpha for beta",
        KERNELS,
        "p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], beta * work[2, j]",
        "p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], alpha * work[2, j]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear: w moves by phi of the next state",
        KERNELS,
        "w[j, i] = keep * w[j, i] + q * x[left, i]",
        "w[j, i] = keep * w[j, i] + q * x_next[right, i]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "linear: kappa's decay ignored in a run",
        KERNELS,
        "keep = 1.0 - beta * moves.w_decay",
        "keep = 1.0",
        ("claim:engines/linear/loop/plain/tdrc(kappa=0.5)",),
    ),
    Mutant(
        "linear: w before theta, theta's step uses the new w",
        KERNELS,
        "            _apply(theta, w, features, features, at, work, alpha, beta, keep)\n",
        (
            "            _apply(theta, w, features, features, at, work, 0.0, beta, keep)\n"
            "            _cotangents(theta, w, features, features, shifts, data.linear, data.coefficients, at, rule, work)\n"
            "            _apply(theta, w, features, features, at, work, alpha, 0.0, 1.0)\n"
        ),
        ("claim:engines/linear/loop/plain/gtd2",),
    ),
    Mutant(
        "linear: a nonlinear rule sees rho of 1",
        KERNELS,
        "rule(delta, u, at.rho)",
        "rule(delta, u, 1.0)",
        ("claim:engines/linear/baird/value/gtd2-as-nonlinear/written-out",),
    ),
    Mutant(
        "linear: w's directions forget kappa",
        LINEAR,
        "return g_theta / samples, g_w / samples - rule.w_decay * w",
        "return g_theta / samples, g_w / samples",
        ("claim:engines/linear/collision/value/tdrc(kappa=0.5)/written-out",),
    ),
    Mutant(
        "linear: directions are sums, not means",
        LINEAR,
        "return g_theta / samples, g_w / samples - rule.w_decay * w",
        "return g_theta, g_w - rule.w_decay * w",
        (
            "claim:engines/linear/collision/value/gtd2/written-out",
            "test:tests/algorithms/fast/test_conformance.py::test_linear_directions_are_the_oracle",
        ),
    ),
    Mutant(
        "linear: ratios of one transition for all",
        LOOP,
        "self._lookup = kernels.Lookup(pair_index, ratio_index,",
        "self._lookup = kernels.Lookup(pair_index, 0 * ratio_index,",
        ("claim:engines/linear/loop/plain/gtd2",),
    ),
    Mutant(
        "linear: rules of one source keep the first one's code",
        LOOP,
        "    key = rule.source_hash\n",
        "    key = rule.name\n",
        (
            "claim:engines/rules/compiled",
            (
                "test:tests/harness/runs/test_fingerprint.py"
                "::test_two_files_with_equal_functions_and_other_constants_are_two_rules"
            ),
        ),
    ),
    Mutant(
        "linear: averages start at w's zeros",
        LOOP,
        "return LaneState(begin, w, theta_mean, w_mean, np.zeros(lanes), sampler",
        "return LaneState(begin, w, theta_mean, w_mean, np.ones(lanes), sampler",
        ("claim:engines/linear/loop/averaged/gtd2",),
    ),
    Mutant(
        "linear: a dead lane's numbers stay finite",
        KERNELS,
        ("                theta[:, :] = np.nan\n                w[:, :] = np.nan\n"),
        "                pass\n",
        (
            "claim:engines/linear/deaths",
            (
                "test:tests/algorithms/fast/test_linear_runs.py"
                "::test_a_lane_that_overflows_is_dated_and_leaves_its_neighbours_alone"
            ),
        ),
    ),
)
