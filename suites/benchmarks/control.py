"""Agents and worlds, ten lanes on one thread."""

from .common import Timed, one_thread, take


class Agents(Timed):
    """One update of every lane: draw from replay, shift, rule, gradients, optimisers. 64-64, 40 atoms, batch 32."""

    params = (["dqn", "c51", "greedy_gq(0.5)"],)
    param_names = ("agent",)

    def setup(self, agent):
        import numpy as np

        Replay = take("dgtd.algorithms.replay", "Replay")
        lane_streams = take("dgtd.algorithms.streams", "lane_streams")
        agent_learner, run_spec = take("dgtd.harness.experiment.search", "agent_learner", "run_spec")
        Acting = take("dgtd.harness.runs.trainers.agent", "Acting")
        one_thread()
        self.players = Acting.of(run_spec("cartpole-v1", agent_learner(agent, "cartpole-v1"), 100)).players(range(10))
        self.replay, rng = Replay(lane_streams(0, range(10)), 500, 4), np.random.default_rng(0)
        for _ in range(500):
            x, x_next = rng.normal(size=(2, 10, 4)).astype(np.float32)
            self.replay.add(x, rng.integers(2, size=10), np.ones(10), rng.choice([0.0, 0.99], 10), x_next)
        self.time_ten_updates(agent)

    def time_ten_updates(self, agent):
        """Ten updates of ten lanes."""
        for step in range(10):
            self.players.learn(self.replay.draw(32), step)


class Worlds(Timed):
    """Random actions."""

    params = (["cartpole-v1"],)
    param_names = ("world",)

    def setup(self, world):
        import numpy as np

        lane_streams = take("dgtd.algorithms.streams", "lane_streams")
        find_world = take("dgtd.harness.places.world", "find_world")
        self.world = find_world(world).make(lane_streams(0, range(10)))
        self.actions = np.random.default_rng(0).integers(2, size=(100, 10))
        self.time_100_steps(world)

    def time_100_steps(self, world):
        """A hundred steps of ten lanes."""
        for chosen in self.actions:
            self.world.step(chosen)
