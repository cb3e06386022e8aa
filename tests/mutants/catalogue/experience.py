"""Faults in the table of transitions, the sampler and the streams."""

from tests.mutants.mutant import Mutant

TABLE = "algorithms/table.py"
DRAWS = "algorithms/draws.py"
STREAMS = "algorithms/streams.py"

MUTANTS = (
    Mutant(
        "alias table: the donor keeps too much",
        TABLE,
        "scaled[high] -= 1.0 - scaled[low]",
        "scaled[high] -= 0.9 * (1.0 - scaled[low])",
        (
            "claim:engines/sampler/collision",
            "claim:engines/sampler/random_mdp",
        ),
    ),
    Mutant(
        "alias table: thresholds a twentieth too large",
        TABLE,
        "threshold[low], alias[low] = scaled[low], high",
        "threshold[low], alias[low] = min(1.0, 1.05 * scaled[low]), high",
        ("claim:engines/sampler/random_mdp",),
    ),
    Mutant(
        "outcomes as if all were equally likely",
        DRAWS,
        "return low + slot if scaled - slot < threshold[low + slot] else low + alias[low + slot]",
        "return low + slot",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "the alias is taken below the threshold, not above",
        DRAWS,
        "if scaled - slot < threshold[low + slot] else",
        "if scaled - slot > threshold[low + slot] else",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "start state always 0",
        DRAWS,
        ("    return pick(rng, table.start_threshold, table.start_alias, 0, table.start_threshold.shape[0])"),
        ("    pick(rng, table.start_threshold, table.start_alias, 0, table.start_threshold.shape[0])\n    return 0"),
        (
            "claim:engines/sampler/collision",
            "claim:engines/sampler/random_mdp",
        ),
    ),
    Mutant(
        "start states uniform",
        DRAWS,
        ("    return pick(rng, table.start_threshold, table.start_alias, 0, table.start_threshold.shape[0])"),
        "    return np.int64(uniform(rng) * table.start_threshold.shape[0])",
        (
            "claim:engines/sampler/collision",
            "claim:engines/sampler/random_mdp",
        ),
    ),
    Mutant(
        "an episode's end does not restart",
        DRAWS,
        ("    if table.ends[outcome] and not table.iid:\n        arrived = start(rng, table)\n"),
        "",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "independent transitions follow the trajectory",
        DRAWS,
        ("    if table.iid:\n        state = start(rng, table)\n"),
        "",
        ("claim:rates/random_walk/gtd2/exponent",),
    ),
    Mutant(
        "a lane's state is not kept between calls",
        DRAWS,
        "        state[lane] = here\n",
        "        pass\n",
        ("claim:engines/sampler/random_mdp",),
    ),
    Mutant(
        "batch: s for s'",
        TABLE,
        "x, x_next = inputs[self.state[outcome]], inputs[self.next_state[outcome]]",
        "x, x_next = inputs[self.state[outcome]], inputs[self.state[outcome]]",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "batch: ratios of other transitions",
        TABLE,
        "return Batch(x, x_next, shift, self.rho[outcome])",
        "return Batch(x, x_next, shift, self.rho[outcome[::-1]])",
        ("claim:gradients/collision/value/linear/gtd2/sampled-mean",),
    ),
    Mutant(
        "every lane on the same stream",
        STREAMS,
        'texts = (f"{before}{int(seed)}{after}" for seed in seeds)',
        'texts = (f"{before}0{after}" for seed in seeds)',
        (
            "claim:engines/sampler/collision",
            "claim:engines/sampler/random_mdp",
        ),
    ),
    Mutant(
        "streams of lanes do not depend on the root seed",
        STREAMS,
        "words = [root >> shift & _WORD",
        "words = [0 * root >> shift & _WORD",
        (
            "claim:engines/streams/numpy",
            "test:tests/algorithms/test_streams.py::test_all_lanes_at_once_are_numpys_one_by_one",
        ),
    ),
    Mutant(
        "streams of lanes are not numpy's",
        STREAMS,
        "found = _MIX_LEFT * x - _MIX_RIGHT * y",
        "found = _MIX_LEFT * x + _MIX_RIGHT * y",
        (
            "claim:engines/streams/numpy",
            "test:tests/algorithms/test_streams.py::test_all_lanes_at_once_are_numpys_one_by_one",
        ),
    ),
    Mutant(
        "streams do not depend on the root seed",
        STREAMS,
        "return np.random.SeedSequence(root, spawn_key=tuple(int(part) for part in key))",
        "return np.random.SeedSequence(0, spawn_key=tuple(int(part) for part in key))",
        (
            "claim:engines/streams/numpy",
            ("test:tests/algorithms/test_sampler.py::test_named_axes_make_streams_that_do_not_depend_on_their_order"),
        ),
    ),
    Mutant(
        "streams do not depend on named axes",
        STREAMS,
        "str(value)) for name, value in axes.items())",
        'str(value)) for name, value in axes.items() if name == "lane_seed")',
        (
            "claim:engines/streams/numpy",
            ("test:tests/algorithms/test_sampler.py::test_named_axes_make_streams_that_do_not_depend_on_their_order"),
        ),
    ),
)
