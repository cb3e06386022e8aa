"""A DQN in JAX in PureJaxRL's setting, for the benchmark alone: lanes by vmap, the whole loop in one lax.scan.

120-84 relu, Adam, a batch of 128 every tenth step, a replay of 10 000, CartPole-v1. What our loop does, it does too:
each lane has its own environment, replay and network.

    python -m tests.benchmarks.jax_dqn
"""

import time
from itertools import pairwise

import jax
import jax.numpy as jnp

LANES, BATCH, EVERY, CAPACITY, GAMMA, RATE, BEGIN, FREEZE = 30, 128, 10, 10_000, 0.99, 2.5e-4, 1_000, 500
WIDTHS = (4, 120, 84, 2)
LIMIT, FAR, STEEP = 500, 2.4, 12 * 2 * jnp.pi / 360


def network(key):
    """Weights like torch.nn.Linear's."""
    keys = jax.random.split(key, 2 * len(WIDTHS))
    out = []
    for i, (rows, columns) in enumerate(pairwise(WIDTHS)):
        edge = rows**-0.5
        out.append(
            (
                jax.random.uniform(keys[2 * i], (rows, columns), minval=-edge, maxval=edge),
                jax.random.uniform(keys[2 * i + 1], (columns,), minval=-edge, maxval=edge),
            )
        )
    return out


def values(theta, x):
    """Q of both actions."""
    for v, b in theta[:-1]:
        x = jax.nn.relu(x @ v + b)
    v, b = theta[-1]
    return x @ v + b


def move(state, age, action, key):
    """CartPole's step: (what followed, whether it fell, where the lane is now, its age)."""
    x, x_dot, angle, turning = state
    force = jnp.where(action == 1, 10.0, -10.0)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    temp = (force + 0.05 * turning**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * temp) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    push = temp - 0.05 * turn * cosine / 1.1
    following = jnp.array([x + 0.02 * x_dot, x_dot + 0.02 * push, angle + 0.02 * turning, turning + 0.02 * turn])
    fell = (jnp.abs(following[0]) > FAR) | (jnp.abs(following[2]) > STEEP)
    over = fell | (age + 1 >= LIMIT)
    now = jnp.where(over, jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05), following)
    return following, fell, now, jnp.where(over, 0, age + 1)


def loss(theta, frozen, x, action, following, discount):
    """DQN's."""
    goal = 1.0 + discount * values(frozen, following).max(-1)
    chosen = jnp.take_along_axis(values(theta, x), action[:, None], 1)[:, 0]
    return 0.5 * jnp.square(jax.lax.stop_gradient(goal) - chosen).mean()


def learn(theta, frozen, moments, count, replay, size, key):
    """One update of a lane: a batch, its gradient, Adam."""
    at = jax.random.randint(key, (BATCH,), 0, size)
    gradient = jax.grad(loss)(theta, frozen, *(part[at] for part in replay))
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradient)
    a, b = 1 - 0.9**count, 1 - 0.999**count
    theta = jax.tree.map(lambda t, m, v: t - RATE * (m / a) / (jnp.sqrt(v / b) + 1e-8), theta, first, second)
    return theta, (first, second)


def step(carry, done):
    """One step of every lane, and perhaps an update."""
    theta, frozen, moments, state, age, replay, key = carry
    key, *parts = jax.random.split(key, 5)
    epsilon = 1.0 - 0.95 * jnp.minimum(1.0, done / 10_000)
    greedy = jax.vmap(values)(theta, state).argmax(-1)
    random = jax.random.randint(parts[0], (LANES,), 0, 2)
    action = jnp.where(jax.random.uniform(parts[1], (LANES,)) < epsilon, random, greedy)
    following, fell, now, age = jax.vmap(move)(state, age, action, jax.random.split(parts[2], LANES))
    new = (state, action, following, jnp.where(fell, 0.0, GAMMA))
    replay = tuple(ring.at[:, done % CAPACITY].set(part) for ring, part in zip(replay, new, strict=True))
    size, count = jnp.minimum(done + 1, CAPACITY), (done - BEGIN) // EVERY + 1.0
    theta, moments = jax.lax.cond(
        (done >= BEGIN) & (done % EVERY == 0),
        lambda: jax.vmap(learn, (0, 0, 0, None, 0, None, 0))(
            theta, frozen, moments, count, replay, size, jax.random.split(parts[3], LANES)
        ),
        lambda: (theta, moments),
    )
    frozen = jax.tree.map(lambda old, new: jnp.where(done % FREEZE == 0, new, old), frozen, theta)
    return (theta, frozen, moments, now, age, replay, key), None


def started(seed=0):
    """Lanes before their first step."""
    theta = jax.vmap(network)(jax.random.split(jax.random.key(seed), LANES))
    zeros = jax.tree.map(jnp.zeros_like, theta)
    replay = (
        jnp.zeros((LANES, CAPACITY, 4)), jnp.zeros((LANES, CAPACITY), dtype=int), jnp.zeros((LANES, CAPACITY, 4)),
        jnp.zeros((LANES, CAPACITY)),
    )  # fmt: skip
    state = jax.random.uniform(jax.random.key(seed + 1), (LANES, 4), minval=-0.05, maxval=0.05)
    copy = jax.tree.map(jnp.array, theta)
    return theta, copy, (zeros, jax.tree.map(jnp.array, zeros)), state, jnp.zeros(LANES, int), replay, jax.random.key(2)


def steps_per_cpu_second(steps=6_000):
    """Of all lanes together, compiled before the clock is read; the first BEGIN steps are not counted."""
    run = jax.jit(lambda carry, times: jax.lax.scan(step, carry, times)[0], donate_argnums=0)
    carry = jax.block_until_ready(run(started(), jnp.arange(steps)))
    start = time.process_time()
    jax.block_until_ready(run(carry, jnp.arange(steps, 2 * steps)))
    return LANES * steps / (time.process_time() - start)


if __name__ == "__main__":
    print(f"JAX, env-steps per CPU-second: {steps_per_cpu_second():,.0f}")
