"""Agents and policy iteration once more, one lane and one step at a time, to be read beside the papers.

Float64 throughout, but for what a replay keeps: observations there are single. Networks are lists of layers
[inputs + 1, outputs], the bias last; derivatives are torch's. Random numbers come from the named streams of the lane,
one after the other.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from dgtd.algorithms.streams import lane_streams, seed_sequence
from tests.xoshiro import Xoshiro


class Lane:
    """What a lane has of its own: a world, and its streams by name. And a diary of its episodes."""

    def __init__(self, made, seed: int) -> None:
        self.root, self.axes, self.info = made.spec.root_seed, dict(made.spec.axes), made.world
        self.seed = seed
        self.world = self.info.make(lane_streams(self.root, [seed], **self._axes("world")))
        self.episodes, self.rewards, self.thought = [], [], math.nan

    def _axes(self, stream):
        return self.axes | {"world": "treadmill", "stream": stream}

    def stream(self, name):
        return Xoshiro(seed_sequence(self.root, lane_seed=self.seed, **self._axes(name)).generate_state(4, np.uint64))

    def weights(self, sizes, spread=1.0):
        """Uniform in ± spread/√inputs, layer by layer and row by row, the biases too; the bias is no input."""
        sequence = seed_sequence(self.root, lane_seed=self.seed, **self._axes("weights"))
        draws = np.random.Generator(np.random.PCG64(sequence))
        edges = [(spread / math.sqrt(inputs), (inputs + 1, outputs)) for inputs, outputs in pairwise(sizes)]
        return [torch.as_tensor(edge * (2 * draws.random(shape) - 1)) for edge, shape in edges]

    def move(self, action, worth, gamma):
        """(reward, discount, true next observation, whether the episode is over), and a line in the diary."""
        moved = self.world.step(np.array([action]))
        reward, ended, cut = float(moved.reward[0]), bool(moved.terminated[0]), bool(moved.truncated[0])
        if not self.rewards:
            self.thought = worth
        self.rewards.append(reward)
        if ended or cut:
            earned = sum(gamma**k * reward for k, reward in enumerate(self.rewards))
            self.episodes.append((sum(self.rewards), len(self.rewards), self.thought, earned))
            self.rewards = []
        return reward, 0.0 if ended else gamma, moved.observation[0].copy(), ended or cut


class Ring:
    """The last transitions; the oldest is written over."""

    def __init__(self, capacity, stream):
        self.capacity, self.stream, self.kept, self.added = capacity, stream, [], 0

    def add(self, x, action, reward, discount, x_next):
        row = (np.float32(x).astype(float), action, reward, discount, np.float32(x_next).astype(float))
        self.kept[self.added % self.capacity : self.added % self.capacity + 1] = [row]
        self.added += 1

    def draw(self, count):
        """With replacement."""
        return [self.kept[int(self.stream.number() * len(self.kept))] for _ in range(count)]


def network(layers, x, bend):
    """The outputs at one input."""
    h = torch.as_tensor(np.asarray(x, dtype=float))
    for i, layer in enumerate(layers):
        h = h @ layer[:-1] + layer[-1]
        h = bend(h) if i < len(layers) - 1 else h
    return h


def slope(f, layers):
    """∇f, layer by layer."""
    return torch.autograd.grad(f, layers, create_graph=True)


def inner(a, b):
    return sum((x * y).sum() for x, y in zip(a, b, strict=True))


def mean(parts):
    """Of lists of layers."""
    return [torch.stack(each).mean(0).detach() for each in zip(*parts, strict=True)]


def falling(how, step):
    """ε: from the first number of `explore` to the second, in a straight line."""
    first, last = how.explore
    return first + (last - first) * min(1.0, step / how.explore_steps)


# ---------------------------------------------------------------------- agents


class Acted(NamedTuple):
    """A step of an agent, and what there was after it."""

    action: int
    epsilon: float
    learned: bool
    theta: list
    frozen: list
    w: list


def agent(made, seed, steps, eta=None):
    """DQN, or with η Greedy-GQ (Algorithm 3 on values): ε-greedy, a replay, an optimiser for θ and one for w."""
    how, learner, lane = made.how, made.spec.learner, Lane(made, seed)
    actions, bend = made.world.actions, torch.relu
    theta = lane.weights((made.world.observations, *learner.predictor.hidden, actions))
    frozen, w = [layer.clone() for layer in theta], [torch.zeros_like(layer) for layer in theta]
    theta = [layer.requires_grad_() for layer in theta]
    optimisers = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    of_theta = optimisers[how.theta_optimiser](theta, lr=learner.alpha)
    of_w = optimisers[how.w_optimiser](w, lr=learner.beta, maximize=True)
    explores, ring = lane.stream("exploration"), Ring(how.capacity, lane.stream("replay"))

    def directions(x, action, reward, discount, x_next):
        boot = network(frozen if how.frozen else theta, x_next, bend)
        f, f_next = network(theta, x, bend)[action], boot.max()
        delta = reward + discount * f_next.item() - f.item()
        here = slope(f, theta)
        if eta is None:
            return [-delta * g for g in here], [0 * g for g in here]
        u = inner(here, w).item()
        there = slope(f_next, theta)
        down = [-delta * g + eta * discount * u * n for g, n in zip(here, there, strict=True)]
        return down, [(delta - u) * g for g in here]

    for step in range(1, steps + 1):
        epsilon = falling(how, step - 1)
        x = lane.world.observation[0].copy()
        explore, choice = explores.number(), explores.number()
        values = network(theta, x, bend).detach()
        action = int(choice * actions) if explore < epsilon else int(values.argmax())
        reward, discount, x_next, _ = lane.move(action, float(values.max()), how.gamma)
        ring.add(x, action, reward, discount, x_next)
        learned = step >= how.begin and step % how.every == 0
        if learned:
            found = [directions(*row) for row in ring.draw(how.batch)]
            g_theta, g_w = (mean(part) for part in zip(*found, strict=True))
            for layer, g in zip(theta + w, g_theta + g_w, strict=True):
                layer.grad = g
            of_theta.step()
            of_w.step()
        if how.frozen and step % how.frozen == 0:
            frozen = [layer.detach().clone() for layer in theta]
        copies = [[layer.detach().clone() for layer in part] for part in (theta, frozen, w)]
        yield lane, Acted(action, epsilon, learned, *copies)


# ---------------------------------------------------------------------- policy iteration


class Evaluated(NamedTuple):
    """A step of policy iteration: what was learnt from, by which step sizes, and what there was after it.

    lesson   of each transition: x, action, reward, discount, x', next action, ρ
    policy   whose ε is `epsilon`; `action` is taken next
    """

    lesson: list
    alpha: float
    beta: float
    theta: list
    w: list
    policy: list
    epsilon: float
    action: int
    worth: float


def iteration(made, seed, steps):
    """TDC on the values of a frozen ε-greedy policy, which is improved after so many episodes."""
    how, learner, lane = made.how, made.spec.learner, Lane(made, seed)
    actions, bend, scale = made.world.actions, torch.tanh, np.array(how.scale)
    theta = lane.weights((made.world.observations + actions, *learner.predictor.hidden, 1), learner.spread)
    w, policy, epsilon, ended = [torch.zeros_like(layer) for layer in theta], theta, falling(how, 0), 0
    explores, afresh = lane.stream("exploration"), lane.stream("next actions")
    ring = Ring(how.capacity, lane.stream("replay"))

    def value(layers, x, action):
        return network(layers, [*x, *(float(action == a) for a in range(actions))], bend)[0]

    def choose(x, explore, choice, behaviour):
        """(action, ρ = π/b, what the greedy action is worth)."""
        values = [value(policy, x, a).item() for a in range(actions)]
        greedy = int(np.argmax(values))
        action = int(choice * actions) if explore < behaviour else greedy
        chance = [e / actions + (1 - e) * (action == greedy) for e in (epsilon, behaviour)]
        return action, chance[0] / chance[1], max(values)

    def directions(x, action, reward, discount, x_next, following, rho):
        layers = [layer.clone().requires_grad_() for layer in theta]
        f, f_next = value(layers, x, action), value(layers, x_next, following)
        u = inner(slope(f, layers), w)
        delta, tangent = reward + discount * f_next.item() - f.item(), u.item()
        q = rho * delta - tangent
        total = -rho * delta * f + rho * tangent * discount * f_next + q * u
        return slope(total, layers), [q * g for g in slope(f, layers)]

    four = [explores.number() for _ in range(4)]
    action, _, worth = choose(lane.world.observation[0] / scale, four[2], four[3], max(epsilon, how.behave))
    for step in range(1, steps + 1):
        x = lane.world.observation[0] / scale
        reward, discount, observation, over = lane.move(action, worth, how.gamma)
        x_next = observation / scale
        four = [explores.number() for _ in range(4)]  # two for the next action, two for a new episode's first
        following, rho, worth = choose(x_next, four[0], four[1], max(epsilon, how.behave))
        if not how.capacity:
            lesson = [(x, action, reward, discount, x_next, following, rho if discount else 1.0)]
        else:
            ring.add(x, action, reward, discount, x_next)
            lesson = []
            for row in ring.draw(how.batch):  # the policy's own next action, so there is nothing to weigh
                lesson.append((*row, choose(row[4], afresh.number(), afresh.number(), epsilon)[0], 1.0))
        slower = 1 + (step - 1) / learner.schedule.offset
        alpha = learner.alpha * slower**-learner.schedule.alpha_exponent
        beta = learner.beta * slower**-learner.schedule.beta_exponent
        found = [directions(*row) for row in lesson]
        g_theta, g_w = (mean(part) for part in zip(*found, strict=True))
        theta = within([layer - alpha * g for layer, g in zip(theta, g_theta, strict=True)], learner.radius)
        w = within([layer + beta * g for layer, g in zip(w, g_w, strict=True)], learner.radius)
        action = following
        if over:
            ended += 1
            if ended % how.episodes == 0:
                policy, epsilon = theta, falling(how, step)
            begun = lane.world.observation[0] / scale
            action, _, worth = choose(begun, four[2], four[3], max(epsilon, how.behave))
        yield lane, Evaluated(lesson, alpha, beta, theta, w, policy, epsilon, action, worth)


def within(layers, radius):
    """Γ: onto the ball."""
    return [layer * min(1.0, radius / math.sqrt(inner(layers, layers).item())) for layer in layers]
