"""Faults in certificates: the matrices of a step, second moments, brackets, exponents."""

from tests.mutants.mutant import Mutant

CERTIFICATES = "harness/oracle/certificates.py"
RADIUS = "harness/oracle/radius.py"

MUTANTS = (
    Mutant(
        "certificate: cross term halved",
        CERTIFICATES,
        "cross = (extra @ X) * K\n",
        "cross = 0.5 * (extra @ X) * K\n",
        ("claim:stability/two_state/value/trajectory/gtd2_sb",),
    ),
    Mutant(
        "certificate: the square part left out",
        CERTIFICATES,
        "return K[:, None] * X * K + cross + cross.T + rank_part",
        "return K[:, None] * X * K + cross + cross.T",
        (
            "claim:oracle/radius/two_state/gtd2/small",
            "claim:oracle/radius/two_state/gtd2/large",
        ),
    ),
    Mutant(
        "certificate: w_decay ignored",
        CERTIFICATES,
        "            keep[self.size :] -= self.beta * self.rule.w_decay\n",
        "            pass\n",
        (
            "claim:oracle/radius/two_state/tdrc",
            "claim:oracle/radius/random_walk_dependent/tdrc",
        ),
    ),
    Mutant(
        "certificate: w's part of theta's step",
        CERTIFICATES,
        "U[:, :d, n:] = -self.alpha * (c[:, 0, 1] * here + c[:, 1, 1] * there)",
        "U[:, :d, n:] = -self.alpha * (c[:, 0, 1] * here)",
        (
            "claim:stability/two_state/value/trajectory/gtd2",
            "claim:stability/two_state/value/trajectory/gtd2_sb",
        ),
    ),
    Mutant(
        "certificate: delta without the prediction",
        CERTIFICATES,
        "V[:, :d, :n] = there - here",
        "V[:, :d, :n] = there",
        ("claim:contraction/baird-cramer",),
    ),
    Mutant(
        "certificate: transitions weighted equally",
        CERTIFICATES,
        "mass = np.bincount(inverse.ravel(), self.mdp.mass).astype(float)",
        "mass = np.full(unique.shape[1], 1 / unique.shape[1])",
        (
            "claim:oracle/radius/tsitsiklis_van_roy/gtd2_sb",
            "claim:oracle/radius/random_walk_dependent/tdrc",
        ),
    ),
    Mutant(
        "certificate: trajectory weights are the pooled ones",
        CERTIFICATES,
        "weights = dynamics.probability / d[dynamics.left]",
        "weights = dynamics.probability * len(d)",
        ("claim:oracle/radius/random_walk_dependent/tdrc",),
    ),
    Mutant(
        "certificate: a trajectory ends where its episode does",
        CERTIFICATES,
        "return out + mdp.table.start[:, None, None] * moved[ended].sum(0)",
        "return out",
        ("claim:oracle/radius/random_walk_dependent/tdrc",),
    ),
    Mutant(
        "certificate: a trajectory is treated as independent",
        CERTIFICATES,
        "if trajectory and not dynamics.mdp.iid:",
        "if trajectory and dynamics.mdp.iid:",
        ("claim:stability/two_state/value/trajectory/gtd2",),
    ),
    Mutant(
        "certificate: next and here mixed up in the square part",
        CERTIFICATES,
        "at_here, at_next = s * S + s, to * S + to",
        "at_here, at_next = s * S + s, s * S + s",
        ("claim:oracle/radius/two_state/gtd2/small",),
    ),
    Mutant(
        "certificate: gamma once where it is squared",
        CERTIFICATES,
        "inner[:, 0, 0] = gamma**2 * z[to, to]",
        "inner[:, 0, 0] = gamma * z[to, to]",
        (
            "claim:oracle/radius/two_state/gtd2/small",
            "claim:oracle/radius/two_state/gtd2/large",
        ),
    ),
    Mutant(
        "certificate: stable above 1",
        CERTIFICATES,
        ("    if radius[1] < 1:\n        return Class.STABLE"),
        ("    if radius[0] < 1.1:\n        return Class.STABLE"),
        ("claim:oracle/class/diverging",),
    ),
    Mutant(
        "certificate: any growth is divergence",
        CERTIFICATES,
        "    if lyapunov[0] > 0:\n",
        "    if lyapunov[1] > 0:\n",
        (
            "claim:oracle/class/marginal",
            ("test:tests/harness/oracle/test_classes.py::test_a_scalar_problem_has_its_closed_form_and_its_class"),
        ),
    ),
    Mutant(
        "lyapunov: the first tenth counted twice",
        CERTIFICATES,
        "(steps * (1 - (burnt + 1) / len(growth)))",
        "steps / 2",
        (
            "claim:oracle/class/diverging",
            "claim:oracle/class/heavy-tailed",
        ),
    ),
    Mutant(
        "lyapunov: targets keep their constants",
        CERTIFICATES,
        "return Shift(shift.row, shift.weight, np.zeros_like(shift.constant))",
        "return Shift(shift.row, shift.weight, shift.constant)",
        (
            "claim:oracle/exponent/one-state",
            ("test:tests/harness/oracle/test_classes.py::test_a_scalar_problem_has_its_closed_form_and_its_class"),
        ),
    ),
    Mutant(
        "lyapunov: w is not rescaled",
        CERTIFICATES,
        "    w /= norm[:, None, None]\n",
        "",
        (
            "claim:oracle/exponent/one-state",
            ("test:tests/harness/oracle/test_classes.py::test_states_in_turn_grow_by_the_product_of_their_two_steps"),
        ),
    ),
    Mutant(
        "lyapunov: one-sided interval",
        CERTIFICATES,
        "student.isf((1 - confidence) / 2, lanes - 1)",
        "student.isf(1 - confidence, lanes - 1)",
        (
            "claim:oracle/exponent/interval",
            (
                "test:tests/harness/oracle/test_classes.py"
                "::test_an_interval_for_an_exponent_is_the_t_interval_of_its_lanes"
            ),
        ),
    ),
    Mutant(
        "radius: off-diagonal entries without √2",
        RADIUS,
        "return (Y[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))).ravel()",
        "return Y[:, rows, columns].ravel()",
        (
            "claim:stability/two_state/value/trajectory/gtd2",
            "claim:stability/two_state/value/trajectory/gtd2_sb",
        ),
    ),
    Mutant(
        "radius: the upper bound is the eigenvalue at best",
        RADIUS,
        ("        if found <= bound * (1 + 1e-12):\n            return max(found, radius)\n"),
        ("        if found <= bound * (1 + 1e-12):\n            return radius * 0.999\n"),
        ("claim:contraction/baird-nearest",),
    ),
    Mutant(
        "radius: the lower bound is an upper one",
        RADIUS,
        "float(np.linalg.eigvalsh(root.T @ y @ root)[0])",
        "float(np.linalg.eigvalsh(root.T @ y @ root)[-1])",
        (
            "claim:oracle/radius/matrix-free",
            ("test:tests/harness/oracle/test_certificates.py::test_the_matrix_free_bracket_agrees_with_the_dense_one"),
        ),
    ),
    Mutant(
        "radius: the smallest eigenvalue for the largest",
        RADIUS,
        "highest = max(highest, float(scipy.linalg.eigh(y, x, eigvals_only=True)[-1]))",
        "highest = max(highest, float(scipy.linalg.eigh(y, x, eigvals_only=True)[0]))",
        (
            "claim:oracle/radius/matrix-free",
            ("test:tests/harness/oracle/test_certificates.py::test_the_matrix_free_bracket_agrees_with_the_dense_one"),
        ),
    ),
)
