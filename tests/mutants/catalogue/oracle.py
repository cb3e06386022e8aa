"""Faults in what is exactly true: problems, values, objectives."""

from tests.mutants.mutant import Mutant

MDP = "harness/oracle/mdp.py"
BACKUP = "harness/oracle/backup.py"
OBJECTIVES = "harness/oracle/objectives.py"
THEOREM = "harness/oracle/theorem.py"

MUTANTS = (
    Mutant(
        "mdp: rho upside down",
        MDP,
        "rho=self.target[state, action] / self.behaviour[state, action]",
        "rho=self.behaviour[state, action] / np.maximum(self.target[state, action], 1e-3)",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: rho is 1",
        MDP,
        "rho=self.target[state, action] / self.behaviour[state, action]",
        "rho=np.ones(len(state))",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: the target policy behaves",
        MDP,
        "chance = o.probability * self.behaviour[o.state, o.action]\n",
        "chance = o.probability * self.target[o.state, o.action]\n",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: an end is discounted, not cut",
        MDP,
        "discount=np.where(o.ends[used], 0.0, self.gamma)",
        "discount=np.where(o.ends[used], self.gamma, self.gamma)",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: means weighted by outcomes alone",
        MDP,
        "return self.d[self.table.state] * self.table.probability",
        "return self.table.probability / self.states",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "mdp: ends stay in the chain",
        MDP,
        "chance = np.where(o.ends, 0.0, o.probability * policy[o.state, o.action])",
        "chance = o.probability * policy[o.state, o.action]",
        (
            "claim:oracle/metrics/random_walk/value",
            "claim:oracle/metrics/random_walk/cdf",
        ),
    ),
    Mutant(
        "mdp: expected reward of the behaviour",
        MDP,
        "gain = o.probability * self.target[o.state, o.action] * o.reward",
        "gain = o.probability * self.behaviour[o.state, o.action] * o.reward",
        (
            "claim:oracle/metrics/random_walk/value",
            "claim:oracle/metrics/random_walk/cdf",
        ),
    ),
    Mutant(
        "mdp: d is the distribution of the target policy",
        MDP,
        "return _stationary(self.name, self.P_behaviour)",
        "return _stationary(self.name, self.P_pi)",
        (
            "claim:oracle/radius/two_state/gtd2/small",
            "claim:oracle/radius/two_state/gtd2/large",
        ),
    ),
    Mutant(
        "mdp: d of episodes forgets where they start",
        MDP,
        "np.linalg.solve(np.eye(int(reached.sum())) - inside.T, self.start[reached])",
        "np.linalg.solve(np.eye(int(reached.sum())) - inside.T, np.ones(int(reached.sum())))",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "mdp: values of the behaviour policy",
        MDP,
        "np.linalg.solve(np.eye(self.states) - self.gamma * self.P_pi, self.r_pi)",
        "np.linalg.solve(np.eye(self.states) - self.gamma * self.P_behaviour, self.r_pi)",
        (
            "claim:oracle/metrics/random_walk/value",
            "claim:oracle/metrics/random_walk/cdf",
        ),
    ),
    Mutant(
        "mdp: A without gamma",
        MDP,
        "X.T @ (self.d[:, None] * (X - self.gamma * self.P_pi @ X))",
        "X.T @ (self.d[:, None] * (X - self.P_pi @ X))",
        ("claim:stability/kolter/bad-fixed-point",),
    ),
    Mutant(
        "mdp: MSPBE without the projection",
        MDP,
        (
            "        gap = self.b - self.A @ np.asarray(theta, dtype=float)\n"
            "        return float(gap @ self.C_inverse @ gap)"
        ),
        ("        gap = self.b - self.A @ np.asarray(theta, dtype=float)\n        return float(gap @ gap)"),
        (
            "claim:oracle/problem/collision",
            ("test:tests/harness/oracle/test_mdp.py::test_mspbe_is_the_projected_bellman_error_and_zero_at_theta_td"),
        ),
    ),
    Mutant(
        "mdp: value error unweighted",
        MDP,
        "return float(self.d @ (np.asarray(values, dtype=float) - self.v) ** 2)",
        "return float(np.mean((np.asarray(values, dtype=float) - self.v) ** 2))",
        ("claim:oracle/problem/random_walk",),
    ),
    Mutant(
        "backup: the behaviour policy's operator",
        BACKUP,
        "chance = o.probability * mdp.target[o.state, o.action]",
        "chance = o.probability * mdp.behaviour[o.state, o.action]",
        ("claim:gradients/random_walk/cdf/linear/gtd2/descends",),
    ),
    Mutant(
        "backup: half of each law's shift",
        BACKUP,
        ("for extra in (0, 1):\n            inside"),
        ("for extra in (0, 0):\n            inside"),
        ("claim:gradients/random_walk/cdf/linear/gtd2/descends",),
    ),
    Mutant(
        "backup: an episode's end is none",
        BACKUP,
        "np.where(o.ends[used], 0.0, mdp.gamma))",
        "mdp.gamma)",
        ("claim:gradients/random_walk/cdf/linear/gtd2/descends",),
    ),
    Mutant(
        "backup: the differentiable form transposed",
        BACKUP,
        "F.new_zeros(F.numel()).index_add(0, rows, values * F.flatten()[columns])",
        "F.new_zeros(F.numel()).index_add(0, columns, values * F.flatten()[rows])",
        ("claim:gradients/random_walk/cdf/linear/gtd2/descends",),
    ),
    Mutant(
        "objective: weighted by d, not by its root",
        OBJECTIVES,
        "root = torch.as_tensor(self.mdp.d).sqrt()[:, None]",
        "root = torch.as_tensor(self.mdp.d)[:, None]",
        (
            "claim:gradients/random_walk/cdf/mlp/gtd2/solves-w",
            "claim:gradients/collision/value/linear/gtd2/solves-w",
        ),
    ),
    Mutant(
        "objective: w* off by its singular values",
        OBJECTIVES,
        "right.T @ (along / torch.where(keep, singular, 1.0))",
        "right.T @ (along * torch.where(keep, singular, 1.0))",
        ("claim:gradients/random_walk/value/linear/gtd2/solves-w",),
    ),
    Mutant(
        "objective: gradient without u·u",
        OBJECTIVES,
        "(d * (2 * self._mean_delta(F) * u - u * u)).sum()",
        "(d * (2 * self._mean_delta(F) * u)).sum()",
        ("claim:gradients/random_walk/cdf/mlp/gtd2/descends",),
    ),
    Mutant(
        "objective: mean update without rho",
        OBJECTIVES,
        "torch.as_tensor(self.mdp.mass)[:, None], torch.as_tensor(table.rho)[:, None]",
        "torch.as_tensor(self.mdp.mass)[:, None], torch.ones(len(table.rho), 1).double()",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "objective: mean update forgets kappa",
        OBJECTIVES,
        "(d_w - rule.w_decay * aux).numpy()",
        "d_w.numpy()",
        (
            "claim:oracle/mean-update/tdrc",
            "test:tests/harness/oracle/test_objectives.py::test_engines_average_to_the_exact_mean_update",
        ),
    ),
    Mutant(
        "objective: mean update always with curvature",
        OBJECTIVES,
        "(theta if rule.curvature else at,)",
        "(theta,)",
        ("claim:gradients/control/h-dropped",),
    ),
    Mutant(
        "objective: distance to w* unweighted",
        OBJECTIVES,
        "return (phi @ (w - best)).norm()",
        "return (w - best).norm()",
        ("claim:oracle/objective/mlp",),
    ),
    Mutant(
        "theorem: w that never moves passes",
        THEOREM,
        "if at_zero > 1e-6 * pull else 1.0",
        "if at_zero > 1e-6 * pull else 0.0",
        (
            "claim:gradients/control/w-at-rest",
            "test:tests/suites/test_sabotage.py::test_a_wrong_rule_is_caught_by_a_named_claim",
        ),
    ),
)
