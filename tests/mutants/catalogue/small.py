"""Faults in the small engine: its passes, heads and loop."""

from tests.mutants.mutant import Mutant

KERNELS = "algorithms/fast/network_kernels.py"
HEADS = "algorithms/fast/network_heads.py"
SMALL = "algorithms/fast/small.py"
ELEMENTARY = "algorithms/fast/elementary.py"

MUTANTS = (
    Mutant(
        "small: the tangent forgets w",
        KERNELS,
        "ra[j] += rh * row[j] + h * aux[j]",
        "ra[j] += rh * row[j]",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: the second row of a pair adds no w",
        KERNELS,
        " + rg * second[j] + g * second_aux[j]",
        " + rg * second[j]",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: the second row of a pair is not seen at x'",
        KERNELS,
        "h_next * first[j] + g_next * second[j]",
        "h_next * first[j] + g * second[j]",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: w's part of h dropped",
        KERNELS,
        "slope * (on_a + through) + unit.bend",
        "slope * on_a + unit.bend",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: the activation's curvature dropped",
        KERNELS,
        " + unit.bend[here] * on_ra",
        "",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: silu's second derivative is its first",
        KERNELS,
        "bend[i] = s * (1.0 - s) * (2.0 + a[i] * (1.0 - 2.0 * s)) * ra[i]",
        "bend[i] = s * (1.0 + a[i] * (1.0 - s)) * ra[i]",
        ("claim:engines/small/depth=2,silu/gtd2/written-out",),
    ),
    Mutant(
        "small: s's slope for s' 's",
        KERNELS,
        "unit.c_next[here] = unit.slope_next[here] * on_next",
        "unit.c_next[here] = unit.slope[here] * on_next",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: theta's step forgets the tangent's rows",
        KERNELS,
        "to[j] += h * c[j] + h_next * c_next[j] + rh * e[j]",
        "to[j] += h * c[j] + h_next * c_next[j]",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: in a run theta's step forgets the tangent's rows",
        KERNELS,
        "through += aux[j] * e[j]\n                        row[j] += h * c[j] + h_next * c_next[j] + rh * e[j]",
        "through += aux[j] * e[j]\n                        row[j] += h * c[j] + h_next * c_next[j]",
        ("claim:engines/small/loop/plain/gtd2",),
    ),
    Mutant(
        "small: of a long row only the last block adds to the cotangents",
        KERNELS,
        "                        on_next += unit.c_next[here]\n",
        "",
        ("claim:engines/small/wide",),
    ),
    Mutant(
        "small: a block's rows are those of the first",
        KERNELS,
        "begin, length, top = net.weight[layer] + left,",
        "begin, length, top = net.weight[layer],",
        ("claim:engines/small/wide",),
    ),
    Mutant(
        "small: kappa's decay ignored in a run",
        KERNELS,
        "alpha, beta, 1.0 - beta * moves.w_decay)",
        "alpha, beta, 1.0)",
        ("claim:engines/small/loop/plain/tdrc(kappa=0.5)",),
    ),
    Mutant(
        "small: rows of w that no input touches do not decay",
        KERNELS,
        "            if h != 0.0 or keep != 1.0:",
        "            if h != 0.0:",
        (
            "claim:engines/small/loop/plain/tdrc(kappa=0.5)",
            "test:tests/algorithms/fast/test_small.py::test_a_run_is_the_torch_loops",
        ),
    ),
    Mutant(
        "small: only theta is projected",
        KERNELS,
        "                project(w, moves.radius)\n",
        "",
        ("claim:engines/small/loop/projected/gtd2",),
    ),
    Mutant(
        "small: averages of the next point",
        KERNELS,
        "average(theta_mean, theta, alpha / lanes.mass[lane])",
        "average(theta_mean, w, alpha / lanes.mass[lane])",
        ("claim:engines/small/loop/averaged/gtd2",),
    ),
    Mutant(
        "small: a pinned head's tangent is not centred",
        HEADS,
        "centred = (r[j] if j < r.shape[0] else 0.0) - mean",
        "centred = r[j] - mean if j < r.shape[0] else 0.0",
        ("claim:engines/small/depth=1,tanh,pinned/gtd2/written-out",),
    ),
    Mutant(
        "small: the head's curvature dropped",
        HEADS,
        "            on_y += atom.on_u[j] * atom.centred[j] - bent\n",
        "            pass\n",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: the second weight of T lost",
        HEADS,
        "+ weight[pair, 1, j] * above",
        "",
        ("claim:engines/small/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "small: the greedy action is the first one's",
        HEADS,
        "best, best_mean = action, mean",
        "best, best_mean = 0, mean",
        ("claim:engines/small/actions=3,greedy/gtd2/written-out",),
    ),
    Mutant(
        "small: the next action's cotangent goes to the action",
        HEADS,
        "c_next, e = unit.c[here : here + logits], unit.c_next[there : there + logits]",
        "c_next, e = unit.c[here : here + logits], unit.c_next[here : here + logits]",
        ("claim:engines/small/actions=3/gtd2/written-out",),
    ),
    Mutant(
        "small: a nonlinear rule sees rho of 1",
        HEADS,
        "rule(delta, u, at.rho)",
        "rule(delta, u, 1.0)",
        ("claim:engines/small/depth=1,tanh,pinned/gtd2-as-nonlinear/written-out",),
    ),
    Mutant(
        "small: first weights half as large",
        SMALL,
        "1 / math.sqrt(rows)",
        "0.5 / math.sqrt(rows)",
        (
            "claim:engines/run/mlp/gtd2/path",
            "test:tests/algorithms/fast/test_small.py::test_first_weights_are_the_mlp_engines",
        ),
    ),
    Mutant(
        "small: directions are sums, not means",
        SMALL,
        "return g_theta / samples, g_w / samples - self.rule.w_decay * w",
        "return g_theta, g_w - self.rule.w_decay * w",
        ("claim:engines/small/batch=3,pinned/gtd2/written-out",),
    ),
    Mutant(
        "small: exp with one term less",
        ELEMENTARY,
        "    q = 1.0 / 6227020800.0\n    q = q * r + 1.0 / 479001600.0\n    q = q * r + 1.0 / 39916800.0\n",
        "    q = 1.0 / 39916800.0\n",
        (
            "claim:engines/small/elementary",
            "test:tests/algorithms/fast/test_elementary.py::test_within_units_of_the_last_digit",
        ),
    ),
)
