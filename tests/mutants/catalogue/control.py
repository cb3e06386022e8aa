"""Faults in worlds and agents: heads of batches, gradients, optimisers, replay, and who acts."""

from tests.mutants.mutant import Mutant

HEADS = "algorithms/fast/batch_heads.py"
ENGINE = "algorithms/fast/replayed.py"
ADAM = "algorithms/optimisers.py"
AGENTS = "algorithms/agents.py"
VALUES = "algorithms/fast/batch_values.py"
PASSES = "algorithms/fast/batch_passes.py"
TILES = "algorithms/fast/tiles.py"
TILES_TEST = "test:tests/algorithms/fast/test_tiles.py::test_a_product_is_numpys_and_touches_nothing_else"
ENGINES = "test:tests/algorithms/test_agents.py::test_gradients_are_the_mlp_engines"
MEANS = "test:tests/algorithms/test_agents.py::test_agents_act_by_the_means_of_their_laws"
REPLAY = "algorithms/replay.py"
CARTPOLE = "harness/places/cartpole.py"
ACTING = "harness/runs/acting.py"
ITERATING = "harness/runs/iterating.py"
CONTEST = "harness/compare/control.py"
EARNINGS = "harness/compare/earnings.py"
MODULE = "algorithms/fast/module.py"
ONE_BY_ONE = "harness/places/one_by_one.py"
TORCH = "test:tests/algorithms/test_agents.py::test_a_hundred_updates_are_those_of_torch"
BITS = "test:tests/harness/places/test_worlds.py::test_cartpole_is_gymnasiums_to_the_last_bit"

MUTANTS = (
    Mutant(
        "control: agents act without a bias",
        VALUES,
        "a[j] = bias[j]",
        "a[j] = 0.0 * bias[j]",
        (
            "claim:control/acts",
            MEANS,
        ),
    ),
    Mutant(
        "control: agents act by their logits, not by their law",
        VALUES,
        "mass, stack.support)",
        "mass, stack.support) * 0.0",
        ("claim:control/cartpole-v0/c51/learns", MEANS),
    ),
    Mutant(
        "control: KL's cotangent is not differenced",
        HEADS,
        "        c[j] = here - before\n",
        "        c[j] = here\n",
        ("claim:control/published/c51",),
    ),
    Mutant(
        "control: the shift forgets gamma",
        HEADS,
        "left = (reward + discount * setup.support[k] - low) / spacing",
        "left = (reward + setup.support[k] - low) / spacing",
        ("claim:control/published/c51", "claim:control/published/greedy_gq(0.5)"),
    ),
    Mutant(
        "control: a value's shift forgets gamma",
        HEADS,
        "weight[0, 0, 0], constant[0, 0] = discount, reward",
        "weight[0, 0, 0], constant[0, 0] = 1.0, reward",
        ("claim:control/published/dqn",),
    ),
    Mutant(
        "control: the next action is the first",
        HEADS,
        "        there = best * logits\n",
        "        there = 0 * best\n",
        ("claim:control/published/dqn",),
    ),
    Mutant(
        "control: the frozen copy is not used",
        ENGINE,
        "theta if frozen is None else frozen",
        "theta",
        ("claim:control/published/dqn",),
    ),
    Mutant(
        "control: w's direction is a sum, not a mean",
        HEADS,
        "share * atom.on_u[j]",
        "atom.on_u[j]",
        ("claim:control/published/greedy_gq(0.5)",),
    ),
    Mutant(
        "control: a kind of transition is taken for the one before",
        HEADS,
        "or steps.discount[lane, i] != discount",
        "or discount != discount",
        ("claim:control/published/dqn",),
    ),
    Mutant(
        "control: columns that fill no tile are left out",
        TILES,
        "    if left & 8:\n",
        "    if left & 8 and left < 0:\n",
        ("claim:control/published/dqn", TILES_TEST),
    ),
    Mutant(
        "control: rows that fill no tile are left out",
        TILES,
        "        while i < rows:\n",
        "        while i < rows - ROWS:\n",
        (
            "claim:control/published/dqn",
            TILES_TEST,
        ),
    ),
    Mutant(
        "control: a product forgets what it should add to",
        PASSES,
        "w, at, n, size, k, n, layer > 0)",
        "w, at, n, size, k, n, False)",
        ("claim:control/published/greedy_gq(0.5)",),
    ),
    Mutant(
        "control: curvature without the bend of the activation",
        PASSES,
        "c[here + j] += bend[here + j] * c[tangent + j]",
        "c[here + j] += 0.0 * c[tangent + j]",
        (
            "claim:control/curvature",
            ENGINES,
        ),
    ),
    Mutant(
        "control: Adam without its correction",
        ADAM,
        "self.rate / (1.0 - BETA1**self.count)",
        "self.rate / 1.0",
        (
            "claim:control/updates/dqn",
            TORCH,
        ),
    ),
    Mutant(
        "control: w descends",
        AGENTS,
        "self.of_w.step(self.w, -g_w)",
        "self.of_w.step(self.w, g_w)",
        (
            "claim:control/updates/greedy_gq(0.5)",
            "test:tests/algorithms/test_agents.py::test_w_goes_towards_its_solution",
        ),
    ),
    Mutant(
        "control: the frozen copy is never renewed",
        AGENTS,
        "step % self.agent.frozen == 0",
        "step < 0",
        (
            "claim:control/updates/dqn",
            TORCH,
        ),
    ),
    Mutant(
        "control: replay draws the newest only",
        REPLAY,
        "at = np.int64(uniform(streams[lane]) * size)",
        "at = np.int64(0 * uniform(streams[lane]) + size - 1)",
        (
            "claim:control/replay",
            "test:tests/algorithms/test_agents.py"
            "::test_replay_keeps_the_last_transitions_and_draws_from_each_lanes_own_stream",
        ),
    ),
    Mutant(
        "control: a fall on the last step is cut off",
        CARTPOLE,
        "out.truncated[lane] = not fell and",
        "out.truncated[lane] =",
        (
            "claim:control/cartpole-v0/last-step",
            "test:tests/harness/places/test_worlds.py::test_a_fall_on_the_last_allowed_step_is_terminated",
        ),
    ),
    Mutant(
        "control: the pole's length for half of it",
        CARTPOLE,
        "POLE, LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5,",
        "POLE, LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 1.0,",
        (
            "claim:control/cartpole-v0/physics",
            BITS,
        ),
    ),
    Mutant(
        "control: an agent bootstraps through termination",
        ACTING,
        "discount = np.where(moved.terminated, 0.0, control.gamma)",
        "discount = np.full(lanes, control.gamma)",
        ("claim:control/cartpole-v0/dqn/learns",),
    ),
    Mutant(
        "control: an episode that is cut off is taken for one that ended",
        ACTING,
        "discount = np.where(moved.terminated, 0.0, control.gamma)",
        "discount = np.where(moved.terminated | moved.truncated, 0.0, control.gamma)",
        ("claim:control/treadmill/dqn/value", "claim:control/cartpole-v0/replayed"),
    ),
    Mutant(
        "control: a lane of gymnasium's goes on with another episode's seed",
        ONE_BY_ONE,
        "while self._episodes[lane] < episodes - 1:",
        "while self._episodes[lane] < episodes - 2:",
        ("claim:control/resumed/dqn/gym:CartPole-v1",),
    ),
    Mutant(
        "control: a lane of gymnasium's goes on from the start of its episode",
        ONE_BY_ONE,
        "for action in map(int, actions):",
        "for action in map(int, actions[:0]):",
        ("claim:control/resumed/dqn/gym:CartPole-v1",),
    ),
    Mutant(
        "control: w climbs twice as fast as its direction",
        AGENTS,
        "self.of_w.step(self.w, -g_w)",
        "self.of_w.step(self.w, -2 * g_w)",
        ("claim:control/updates/greedy_gq(0.5)",),
    ),
    Mutant(
        "control: a user's network bootstraps from itself where a copy is frozen",
        MODULE,
        "outputs(frozen or (theta",
        "outputs((theta",
        ("claim:control/network/dqn", "claim:control/network/c51"),
    ),
    Mutant(
        "control: a user's C51 is semi-gradient TD in the Cramér metric",
        MODULE,
        'if self.metric == "kl" and',
        'if self.metric == "KL" and',
        ("claim:control/network/c51",),
    ),
    Mutant(
        "control: a user's network does not follow its next prediction",
        MODULE,
        "(theta if self.follows else still)",
        "still",
        ("claim:control/network/greedy_gq(0.5)",),
    ),
    Mutant(
        "control: an overflow of SGD is set to zero",
        ADAM,
        "            theta -= self.rate * direction\n",
        "            theta -= np.nan_to_num(self.rate * direction, nan=0.0, posinf=0.0, neginf=0.0)\n"
        "            np.clip(theta, -0.9, 0.9, out=theta)\n",
        ("claim:control/greedy_gq(0.5)/cdf/w-threshold",),
    ),
    Mutant(
        "control: the next observation is the new episode's",
        ACTING,
        "replay.add(seen, actions, moved.reward, discount, moved.observation)",
        "replay.add(seen, actions, moved.reward, discount, world.observation)",
        (
            "claim:control/cartpole-v0/replayed",
            "test:tests/harness/runs/test_acting.py::test_what_is_replayed_is_what_happened",
        ),
    ),
    Mutant(
        "control: an agent's laws are all kept at the first state",
        ACTING,
        "np.broadcast_to(self.states, (lanes, *self.states.shape))",
        "np.broadcast_to(self.states[:1], (lanes, *self.states.shape))",
        ("claim:control/laws/agent",),
    ),
    Mutant(
        "control: policy iteration's laws are kept at observations without units",
        ITERATING,
        "for state in self.states / self.scale:",
        "for state in self.states:",
        ("claim:control/laws/policy-iteration",),
    ),
    Mutant(
        "agents: the final return is the mean over all steps",
        EARNINGS,
        "for part in (returns[:, late], returns[:, 1:])",
        "for part in (returns[:, 1:], returns[:, 1:])",
        ("claim:machinery/agents/returns", "claim:machinery/agents/choice"),
    ),
    Mutant(
        "agents: a lost lane counts as what it earned",
        EARNINGS,
        "np.where(lost, -np.inf, _known(part))",
        "np.where(lost, _known(part), _known(part))",
        ("claim:machinery/agents/returns",),
    ),
    Mutant(
        "agents: a sweep prefers the rate that loses most lanes",
        CONTEST,
        "key=lambda rate: (-lost[rate], means[rate])",
        "key=lambda rate: (lost[rate], means[rate])",
        ("claim:machinery/agents/choice",),
    ),
    Mutant(
        "agents: a rate is chosen by the median",
        CONTEST,
        "float(alive.mean()) if alive.size",
        "float(np.median(alive)) if alive.size",
        ("claim:machinery/agents/choice",),
    ),
    Mutant(
        "agents: who earns less wins",
        CONTEST,
        "winner = a.who.label if result.direction < 0 else b.who.label",
        "winner = a.who.label if result.direction > 0 else b.who.label",
        ("claim:machinery/agents/winner",),
    ),
    Mutant(
        "agents: p-values without Holm",
        CONTEST,
        "holm([result.p for result in results])",
        "np.array([result.p for result in results])",
        ("claim:machinery/agents/winner",),
    ),
    Mutant(
        "agents: a return is reached one checkpoint late",
        EARNINGS,
        "(self.lanes.returns >= threshold)",
        "(self.lanes.returns > threshold)",
        ("claim:machinery/agents/returns",),
    ),
    Mutant(
        "agents: sweep and report share their worlds",
        CONTEST,
        'self.steps, seed, "sweep" if sweep else "reported", states)',
        'self.steps, self.root_seed, "reported", states)',
        ("claim:machinery/agents/sweep-seeds",),
    ),
    Mutant(
        "agents: rates are extended on one side only",
        CONTEST,
        "more = [rates[0] ** 2 / rates[1]] if rates[0] in best else []",
        "more = []",
        ("claim:machinery/agents/grid",),
    ),
    Mutant(
        "agents: a lost lane may arrive",
        EARNINGS,
        " & np.isfinite(self.final)[:, None]",
        "",
        ("claim:machinery/agents/returns",),
    ),
    Mutant(
        "agents: unknown returns count as 0",
        EARNINGS,
        "return np.where(known, curves, 0.0).sum(1) / known.sum(1)",
        "return np.where(known, curves, 0.0).mean(1)",
        ("claim:machinery/agents/unknown",),
    ),
    Mutant(
        "agents: half-way to less than at first",
        CONTEST,
        'return (first + best) / 2 if best > first else float("nan")',
        "return (first + best) / 2",
        ("claim:machinery/agents/unknown",),
    ),
    Mutant(
        "control: laws are those of the first weights",
        ACTING,
        "found = players.engine.laws(players.theta, ",
        "found = players.engine.laws(self.players(range(lanes)).theta, ",
        ("claim:control/laws/agent",),
    ),
    Mutant(
        "control: all lanes draw from the first one's stream",
        REPLAY,
        "at = np.int64(uniform(streams[lane]) * size)",
        "at = np.int64(uniform(streams[0]) * size)",
        ("claim:control/replay",),
    ),
)
