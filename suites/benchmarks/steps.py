"""Time of steps, a few milliseconds per sample: engine × rule × size. The loop is inside: asv calls once per sample."""

from .common import RULES, SIZES, Timed, linear, step_of, take

LINEAR = {"value 8": ("value", 8), "21 atoms 8": ("cdf", 8), "value 1000": ("value", 1000)}


class Linear(Timed):
    """64 lanes on one thread."""

    params = (RULES, list(LINEAR))
    param_names = ("rule", "size")

    def setup(self, rule, size):
        import numpy as np

        kind, features = LINEAR[size]
        problem = "baird" if features == 8 else f"random_mdp(states=10, features={features})"
        self.engine, _, target, streams = linear(rule, problem, kind, 21)
        theta = np.zeros((target.outputs, features))
        self.state = self.engine.start(theta, streams(0, range(64)))
        self.steps = max(1, 10_000 // (target.outputs * features))
        self.time_steps(rule, size)

    def time_steps(self, rule, size):
        """10 000 parameter updates in each lane."""
        self.engine.run(self.state, self.steps, 1e-9, 1e-9, threads=1)


class Mlp(Timed):
    """One lane, batch 1."""

    params = (RULES, list(SIZES))
    param_names = ("rule", "parameters")
    steps = {"2k": 20, "300k": 10, "4M": 1}  # noqa: RUF012 - asv reads class attributes

    def setup(self, rule, size):
        self.call = step_of("mlp_step", rule, size).call
        self.call()

    def time_steps(self, rule, size):
        """20, 10 or 1 steps."""
        for _ in range(self.steps[size]):
            self.call()


class Small(Timed):
    """Networks with 30 atoms, 4 lanes on one thread, one transition a step, sampling included."""

    params = (RULES, ["table", "50", "50-50"])
    param_names = ("rule", "hidden")
    hidden = {"table": (), "50": (50,), "50-50": (50, 50)}  # noqa: RUF012 - asv reads class attributes

    def setup(self, rule, hidden):
        import numpy as np

        SmallEngine, SmallLoop = take("dgtd.algorithms.fast.small", "SmallEngine", "SmallLoop")
        find_rule = take("dgtd.algorithms.rules", "find_rule")
        generators, lane_streams = take("dgtd.algorithms.streams", "generators", "lane_streams")
        find_problem = take("dgtd.harness.plugins", "find_problem")
        problem = find_problem("random_mdp(states=6)")
        target = take("dgtd.algorithms.targets", "CdfTarget")(*problem.support, 30)
        engine = SmallEngine(find_rule(rule), (6, *self.hidden[hidden]), target)
        self.loop = SmallLoop(engine, problem.mdp.table, np.eye(6))
        self.state = self.loop.start(engine.init(generators(0, range(4))), lane_streams(0, range(4)))
        self.time_steps(rule, hidden)

    def time_steps(self, rule, hidden):
        """200 steps in each lane."""
        self.loop.run(self.state, 200, 1e-9, 1e-9, threads=1)


class Module(Timed):
    """One lane, batch 1, with torch.func."""

    params = (RULES, ["2k", "300k"])
    param_names = ("rule", "parameters")

    def setup(self, rule, size):
        self.call = step_of("module_step", rule, size).call
        self.call()

    def time_step(self, rule, size):
        """One step."""
        self.call()
