"""Convergence as a tracked number: steps until the median lane's objective is a fifth of its start; exact."""

from .common import linear, take

PLACES = {"random_walk": (0.02, 0.1), "boyan": (0.1, 0.2), "random_walk cdf": (0.02, 0.1)}


class StepsToTarget:
    """64 lanes, constant steps, the same streams at every commit."""

    params = (["gtd2", "tdc"], list(PLACES))
    param_names = ("rule", "problem")
    version = "1"
    unit = "steps"

    def setup(self, rule, place):
        import numpy as np

        name, _, kind = place.partition(" ")
        engine, problem, target, streams = linear(rule, name, kind or "value", 11)
        metrics = take("dgtd.harness.oracle.metrics", "Metrics")(problem.mdp, target)
        times = np.unique(np.concatenate([[0], np.geomspace(1, 100_000, 200).astype(int)]))
        state = engine.start(problem.theta_initial(target), streams(0, range(64), problem=name))
        found = engine.run(state, 100_000, *PLACES[place], snapshots=times)
        curves = getattr(metrics, "of_linear", metrics)(found.theta)  # older commits: of θ itself
        median = np.median(curves[..., metrics.names.index("rdmspbe" if kind else "rmspbe")], axis=1)
        below = np.flatnonzero(median <= 0.2 * median[0])
        self.steps = int(times[below[0]]) if len(below) else 10**9

    def track_steps(self, rule, place):
        """The first such checkpoint of 200, with logarithmic spacing; a billion if there is none."""
        return self.steps
