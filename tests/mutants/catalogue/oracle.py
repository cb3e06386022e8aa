"""Faults in what is exactly true: the oracle and its certificates."""

from tests.mutants.mutant import Mutant

ORACLE = (
    Mutant(
        "mdp: rho upside down",
        "harness/oracle/mdp.py",
        "rho=self.target[state, action] / self.behaviour[state, action]",
        "rho=self.behaviour[state, action] / np.maximum(self.target[state, action], 1e-3)",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: an end is discounted, not cut",
        "harness/oracle/mdp.py",
        "discount=np.where(o.ends[used], 0.0, self.gamma)",
        "discount=np.where(o.ends[used], self.gamma, self.gamma)",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: d of episodes forgets where they start",
        "harness/oracle/mdp.py",
        "np.linalg.solve(np.eye(int(reached.sum())) - inside.T, self.start[reached])",
        "np.linalg.solve(np.eye(int(reached.sum())) - inside.T, np.ones(int(reached.sum())))",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "backup: the differentiable form transposed",
        "harness/oracle/returns.py",
        "F.new_zeros(F.numel()).index_add(0, rows, values * F.flatten()[columns])",
        "F.new_zeros(F.numel()).index_add(0, columns, values * F.flatten()[rows])",
        ("claim:gradients/random_walk/cdf/linear/gtd2/descends",),
    ),
    Mutant(
        "objective: gradient without u·u",
        "harness/oracle/objectives.py",
        "(d * (2 * self._mean_delta(F) * u - u * u)).sum()",
        "(d * (2 * self._mean_delta(F) * u)).sum()",
        ("claim:gradients/random_walk/cdf/mlp/gtd2/descends",),
    ),
    Mutant(
        "moments: gamma for gamma squared",
        "harness/oracle/returns.py",
        "mdp.gamma**2 * mdp.P_pi, known)",
        "mdp.gamma * mdp.P_pi, known)",
        ("test:tests/harness/oracle/test_mdp.py::test_return_laws_are_laws_with_the_right_moments",),
    ),
    Mutant(
        "moments: the linear part of a metric dropped",
        "harness/oracle/moments.py",
        "np.ascontiguousarray(((plus - minus) / 2).T / length)",
        "np.ascontiguousarray((0 * (plus - minus) / 2).T / length)",
        ("test:tests/harness/oracle/test_moments.py::test_two_steps_are_the_mean_over_every_path",),
    ),
    Mutant(
        "saddle: sign of Aᵀ in the field",
        "harness/oracle/saddle.py",
        "return -self.A.T @ w, self.b",
        "return self.A.T @ w, self.b",
        ("claim:rates/random_walk_dependent/mirror-prox/exact-operator",),
    ),
    Mutant(
        "saddle: the last iterate for the average",
        "harness/oracle/saddle.py",
        "out.append(float(self.error(sums[0] / t, sums[1] / t)))",
        "out.append(float(self.error(theta, w)))",
        (
            "test:tests/harness/oracle/test_err.py::test_exact_errors_are_of_averages_over_the_points_whose_field_was_followed",
        ),
    ),
)

CERTIFICATES = (
    Mutant(
        "certificate: cross term halved",
        "harness/oracle/certificates.py",
        "cross = (extra @ X) * K\n",
        "cross = 0.5 * (extra @ X) * K\n",
        ("claim:stability/two_state/value/trajectory/gtd2_sb",),
    ),
    Mutant(
        "certificate: a trajectory is treated as independent",
        "harness/oracle/certificates.py",
        "if trajectory and not dynamics.mdp.iid:",
        "if trajectory and dynamics.mdp.iid:",
        ("claim:stability/two_state/value/trajectory/gtd2",),
    ),
    Mutant(
        "lyapunov: w is not rescaled",
        "harness/oracle/certificates.py",
        "    w /= norm[:, None, None]\n",
        "",
        ("test:tests/harness/oracle/test_classes.py::test_states_in_turn_grow_by_the_product_of_their_two_steps",),
    ),
    Mutant(
        "radius: off-diagonal entries without √2",
        "harness/oracle/radius.py",
        "return (Y[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))).ravel()",
        "return Y[:, rows, columns].ravel()",
        (
            "claim:stability/two_state/value/trajectory/gtd2",
            "claim:stability/two_state/value/trajectory/gtd2_sb",
        ),
    ),
    Mutant(
        "radius: the lower bound is an upper one",
        "harness/oracle/radius.py",
        "float(np.linalg.eigvalsh(root.T @ y @ root)[0])",
        "float(np.linalg.eigvalsh(root.T @ y @ root)[-1])",
        ("test:tests/harness/oracle/test_certificates.py::test_the_matrix_free_bracket_agrees_with_the_dense_one",),
    ),
)
