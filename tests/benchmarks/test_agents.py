"""Agents against plain torch, lane by lane, and the compiled CartPole against gymnasium's vectorised one."""

import time

import gymnasium
import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Agent, Players
from dgtd.algorithms.replay import Replay
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.cost.fits import alternating
from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.places.world import find_world
from dgtd.harness.runs.spec import PredictorSpec
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.trainer import train
from tests.benchmarks.lines import report

LANES, BATCH, ATOMS = 30, 32, 40
LAW = CdfTarget(0, 100, ATOMS)


def filled(lanes, rows=2000):
    """A replay of random transitions, one in twenty the last of its episode."""
    replay, rng = Replay(lane_streams(0, range(lanes)), 2000, 4), np.random.default_rng(0)
    for _ in range(rows):
        x, x_next = rng.normal(size=(2, lanes, 4)).astype(np.float32)
        discount = np.where(rng.random(lanes) < 0.05, 0.0, 0.99)
        replay.add(x, rng.integers(2, size=lanes), np.ones(lanes), discount, x_next)
    return replay


def updates(agent):
    """One update of every lane: draw, shift, rule, gradients, optimisers."""
    players = Players.start(agent, 4, 2, generators(0, range(LANES)), 1e-5, 1e-5)
    replay = filled(LANES)

    def call():
        players.learn(replay.draw(BATCH), 1)
        players.renew(1)

    return call


def plain(law, rows=2000):
    """One lane as torch users write it, DQN or C51: its network, the same update, and its replay."""
    width = 2 * ATOMS if law else 2
    made = [
        torch.nn.Sequential(
            torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
            torch.nn.Linear(64, width),
        )
        for _ in range(2)
    ]  # fmt: skip
    online, frozen = made
    optimiser = torch.optim.Adam(online.parameters(), lr=1e-5)
    replay, z, every = filled(1, rows), torch.as_tensor(LAW.support, dtype=torch.float32), torch.arange(BATCH)

    def goal(x_next, reward, discount):
        if not law:
            return reward + discount * frozen(x_next).max(-1).values
        p = frozen(x_next).unflatten(-1, (2, ATOMS)).softmax(-1)
        p = p[every, (p @ z).argmax(-1)]
        b = ((reward[:, None] + discount[:, None] * z).clamp(0, 100)) / LAW.spacing
        low, high = b.floor().long(), b.ceil().long()
        m = torch.zeros(BATCH, ATOMS)
        m.scatter_add_(1, low, p * (high - b + (low == high)))
        return m.scatter_add_(1, high, p * (b - low))

    def call():
        drawn = replay.draw(BATCH)
        x, x_next, action, reward, discount = (torch.as_tensor(part[0]) for part in drawn)
        with torch.no_grad():
            g = goal(x_next, reward.float(), discount.float())
        y = online(x)
        if law:
            chosen = y.unflatten(-1, (2, ATOMS))[every, action]
            loss = -(g * chosen.log_softmax(-1)).sum(-1).mean()
        else:
            loss = 0.5 * (g - y.gather(-1, action[:, None])[:, 0]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return online, call, replay


@pytest.mark.benchmark(group="agents")
@pytest.mark.parametrize(("name", "bound"), [("DQN", 14), ("C51", 11)])
def test_against_plain_torch_lane_by_lane(benchmark, name, bound):
    torch.set_num_threads(1)
    law = name == "C51"
    ours = updates(Agent(rules.td, LAW if law else ValueTarget(), "kl" if law else "cramer", frozen=500))
    _, theirs, _ = plain(law)
    ours()
    theirs()
    ratio = LANES / alternating(ours, theirs)
    report(benchmark, f"plain torch lane by lane / ours, {name}, 30 lanes, batch 32", ratio, f"≥ {bound}")
    benchmark(ours)
    report(benchmark, f"{name}, µs per lane-update", benchmark.stats.stats.min / LANES * 1e6, "-")
    assert ratio >= bound


def whole(name, steps):
    """CPU-seconds per lane-step of everything: act, move, write down, replay, an update at every step."""
    made = agent_learner(name, "cartpole-v1", batch=BATCH, every=1, begin=BATCH, capacity=2000, cohort=LANES)
    acting = Acting.of(run_spec("cartpole-v1", made, steps))
    start = time.process_time()
    train(acting, range(LANES), lambda: None)
    return (time.process_time() - start) / (LANES * steps)


def plain_loop(law, steps):
    """The same of one lane, as torch users write it: gymnasium's CartPole, a network that acts, a replay."""
    env = gymnasium.make("CartPole-v1")
    online, update, replay = plain(law, rows=0)
    z, rng = torch.as_tensor(LAW.support, dtype=torch.float32), np.random.default_rng(0)
    start = time.process_time()
    seen, _ = env.reset(seed=0)
    for step in range(steps):
        if rng.random() < 0.5:
            action = int(rng.integers(2))
        else:
            with torch.no_grad():
                y = online(torch.as_tensor(seen))
                action = int(((y.unflatten(-1, (2, ATOMS)).softmax(-1) @ z) if law else y).argmax())
        following, reward, terminated, truncated, _ = env.step(action)
        replay.add(seen[None], [action], [reward], [0.0 if terminated else 0.99], following[None])
        seen = env.reset()[0] if terminated or truncated else following
        if step >= BATCH:
            update()
    return (time.process_time() - start) / steps


@pytest.mark.benchmark(group="agents")
@pytest.mark.parametrize(("name", "bound"), [("dqn", 14), ("c51", 11), ("greedy_gq(0.5)", None)])
def test_the_whole_loop_against_plain_torch(benchmark, name, bound):
    torch.set_num_threads(1)
    whole(name, 100)
    plain_loop(name == "c51", 100)
    if bound is None:
        found = min(whole(name, 400) for _ in range(5))
    else:
        pairs = [(whole(name, 400), plain_loop(name == "c51", 600)) for _ in range(7)]
        found, ratio = min(ours for ours, _ in pairs), float(np.median([theirs / ours for ours, theirs in pairs]))
        report(benchmark, f"plain torch / ours, {name}, whole loop, batch 32 at every step", ratio, f"≥ {bound}")
    report(benchmark, f"{name}, whole loop: env-steps per CPU-second", 1 / found, "-")
    benchmark.pedantic(lambda: None)
    assert bound is None or ratio >= bound


@pytest.mark.benchmark(group="agents")
def test_distributional_greedy_gq_against_c51(benchmark):
    torch.set_num_threads(1)
    ours = updates(Agent(rules.greedy_gq(0.5), LAW))
    c51 = updates(Agent(rules.td, LAW, "kl", frozen=500))
    ours()
    c51()
    ratio = alternating(ours, c51)
    report(benchmark, "distributional Greedy-GQ / C51, 30 lanes, batch 32", ratio, "≤ 2")
    benchmark(ours)
    report(benchmark, "distributional Greedy-GQ, µs per lane-update", benchmark.stats.stats.min / LANES * 1e6, "-")
    assert ratio <= 2


@pytest.mark.benchmark(group="worlds")
def test_cartpole_against_gymnasiums_vector(benchmark):
    world = find_world("cartpole-v1").make(lane_streams(0, range(LANES)))
    theirs = gymnasium.make_vec("CartPole-v1", num_envs=LANES, vectorization_mode="vector_entry_point")
    theirs.reset(seed=0)
    actions = np.random.default_rng(0).integers(2, size=(200, LANES))

    def seconds(step):
        start = time.process_time()
        for chosen in actions:
            step(chosen)
        return time.process_time() - start

    pairs = [(seconds(world.step), seconds(theirs.step)) for _ in range(15)]
    ratio = float(np.median([b / a for a, b in pairs]))
    report(benchmark, "gymnasium's CartPoleVectorEnv / compiled CartPole, 30 lanes", ratio, "≥ 15")
    report(benchmark, "compiled CartPole, million steps per second", LANES * 0.0002 / min(a for a, _ in pairs), "-")
    benchmark(lambda: world.step(actions[0]))
    assert ratio >= 15


def steps_per_cpu_second(steps=6_000):
    """Our loop in PureJaxRL's setting: 120-84, a batch of 128 every tenth step, a replay of 10 000."""
    network = PredictorSpec("mlp", (120, 84), "relu")
    how = {"batch": 128, "every": 10, "capacity": 10_000, "begin": 1_000}
    made = agent_learner("dqn", "cartpole-v1", alpha=2.5e-4, predictor=network, **how)
    acting = Acting.of(run_spec("cartpole-v1", made, steps))
    start = time.process_time()
    train(acting, range(LANES), lambda: None)
    return LANES * steps / (time.process_time() - start)


@pytest.mark.benchmark(group="agents")
def test_beside_a_loop_in_jax(benchmark):
    """Printed whatever it is: `pip install 'dgtd-bench[bench-jax]'`. CPU time of one process, all its threads."""
    torch.set_num_threads(1)
    steps_per_cpu_second(1_100)
    ours = max(steps_per_cpu_second() for _ in range(3))
    report(benchmark, "our DQN, 120-84, batch 128 every tenth step: env-steps per CPU-second", ours, "-")
    benchmark.pedantic(lambda: None)
    jax_dqn = pytest.importorskip("tests.benchmarks.jax_dqn", reason="jax is in the extra bench-jax")
    theirs = max(jax_dqn.steps_per_cpu_second() for _ in range(3))
    report(benchmark, "the same in JAX", theirs, "-")
    report(benchmark, "ours / JAX's", ours / theirs, "aim ≥ 1.2")
