"""Faults in targets: T, t, their transpose, and what a law's mean and distance are."""

from tests.mutants.mutant import Mutant

TARGETS = "algorithms/targets.py"

MUTANTS = (
    Mutant(
        "value target: undiscounted",
        TARGETS,
        "weight = np.stack([gamma, np.zeros_like(gamma)], axis=-1)[..., None]",
        "weight = np.stack([(gamma > 0) * 1.0, np.zeros_like(gamma)], axis=-1)[..., None]",
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
    Mutant(
        "value target: next value at an episode's end",
        TARGETS,
        "weight = np.stack([gamma, np.zeros_like(gamma)], axis=-1)[..., None]",
        "weight = np.stack([np.maximum(gamma, 0.5), np.zeros_like(gamma)], axis=-1)[..., None]",
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
    Mutant(
        "cramer: mass inside a cell not bounded by gamma",
        TARGETS,
        "inside = np.minimum(1.0 - np.clip(left[..., :n] - row, 0.0, 1.0), gamma)",
        "inside = (1.0 - np.clip(left[..., :n] - row, 0.0, 1.0)) * gamma",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer: mass that spills over is undiscounted",
        TARGETS,
        "weight = np.stack([inside, gamma - inside], axis=-2)",
        "weight = np.stack([inside, 1.0 - inside], axis=-2)",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer: the boundary one cell late",
        TARGETS,
        "constant = np.clip(np.arange(1, n + 1) - left[..., n:], 0.0, 1.0)",
        "constant = np.clip(np.arange(n) - left[..., n:], 0.0, 1.0)",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer: mass that crosses the lowest atom is lost",
        TARGETS,
        "here = np.where(straddles, above, np.where(",
        "here = np.where(straddles, 0.0, np.where(",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer: mass above the grid is kept in the last row",
        TARGETS,
        "np.where((row < 0) | (row >= n), 0.0, here))",
        "np.where(row < 0, 0.0, here))",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "nearest: rounds down",
        TARGETS,
        "_one_source(target, r, gamma, half=0.5)",
        "_one_source(target, r, gamma, half=0.0)",
        ("claim:gradients/target/nearest",),
    ),
    Mutant(
        "floor: rounds a quarter up",
        TARGETS,
        "_one_source(target, r, gamma, half=0.0)",
        "_one_source(target, r, gamma, half=0.25)",
        ("claim:gradients/target/floor",),
    ),
    Mutant(
        "nearest and floor: an episode's end is no end",
        TARGETS,
        "    ended = gamma == 0\n",
        ("    ended = gamma < 0\n    gamma = np.where(gamma == 0, 1.0, gamma)\n"),
        ("claim:gradients/target/floor",),
    ),
    Mutant(
        "nearest and floor: no boundary above the grid",
        TARGETS,
        "constant = (beyond | (source >= n)).astype(float)",
        "constant = (beyond & (source >= n)).astype(float)",
        ("claim:gradients/target/nearest",),
    ),
    Mutant(
        "apply: the second weight lands in the first row",
        TARGETS,
        "rows = rows.scatter_add(-1, self.row + 1, self.weight[..., 1, :] * f_next)",
        "rows = rows.scatter_add(-1, self.row, self.weight[..., 1, :] * f_next)",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "apply: t dropped from a law",
        TARGETS,
        "return rows[..., :-1] + self.constant",
        "return rows[..., :-1]",
        ("claim:gradients/random_walk/cdf/linear/gtd2/solves-w",),
    ),
    Mutant(
        "transpose: weights swapped",
        TARGETS,
        "return self.weight[..., 0, :] * here + self.weight[..., 1, :] * above",
        "return self.weight[..., 1, :] * here + self.weight[..., 0, :] * above",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "transpose: gamma forgotten for a value",
        TARGETS,
        "            return self.weight[..., 0, :] * cotangent\n",
        "            return cotangent\n",
        ("claim:engines/mlp/depth=1,tanh,value/gtd2/written-out",),
    ),
    Mutant(
        "mean: from the lowest atom",
        TARGETS,
        "return self.v_max - self.spacing * prediction.sum(-1)",
        "return self.v_min - self.spacing * (prediction - 1).sum(-1) - self.spacing",
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
    Mutant(
        "start: a lift does not start from the scalar mean",
        TARGETS,
        "each = (self.v_max * one - theta) / (self.spacing * self.outputs)",
        "each = (self.v_max * one + theta) / (self.spacing * self.outputs)",
        (
            "claim:oracle/start/boyan",
            (
                "test:tests/suites/test_problems.py"
                "::test_a_lift_starts_from_the_scalar_mean_where_the_features_hold_a_constant"
            ),
        ),
    ),
    Mutant(
        "spacing: as if there were one cell more",
        TARGETS,
        "return (self.v_max - self.v_min) / (self.atoms - 1)",
        "return (self.v_max - self.v_min) / self.atoms",
        ("claim:gradients/target/cramer",),
    ),
    Mutant(
        "cramer distance without its square root",
        TARGETS,
        "return np.sqrt(spacing * (gap**2).sum(axis=-1))",
        "return spacing * (gap**2).sum(axis=-1)",
        ("claim:contraction/attained",),
    ),
)
