"""Learners in worlds that can't act as they are told, worlds without discrete actions, figures that are not there."""

from collections.abc import Iterator

from tests.harness.bad_input.case import COMPARE, IN_PROCESS, RUN, Case, having

ITERATE = (
    "run", "--problem", "cartpole-v0", "--rule", "tdc", "--learner", "policy-iteration", "--steps", "50",
    "--seeds", "2", *IN_PROCESS,
)  # fmt: skip
COMPARED = (
    "compare", "--problems", "cartpole-v0", "--rules", "gtd2", "--learner", "policy-iteration", "--steps", "50",
    "--seeds", "2", "--out", "made", *IN_PROCESS,
)  # fmt: skip
FIGURES = ("figures", "--out", "made", *IN_PROCESS)
CONTINUOUS = "gym:Pendulum-v1"
ACT = ("run", "--problem", "cartpole-v0", "--rule", "c51", "--steps", "50", "--seeds", "2", *IN_PROCESS)
CONTEST = (
    "compare", "--problems", "cartpole-v0", "--rules", "dqn,c51", "--steps", "50", "--seeds", "2", "--out", "made",
    *IN_PROCESS,
)  # fmt: skip
AGENTS = [
    *((f"--{name}", value, (name,)) for name in ("batch", "every", "begin", "capacity") for value in ("0", "-1", "x")),
    ("--batch", "1001", ("batch must fit the replay",)),
    ("--capacity", "63", ("batch must fit the replay",)),
    ("--begin", "63", ("batch must fit the replay",)),
    *(("--gamma", value, ("gamma",)) for value in ("1.01", "-0.1", "nan", "x")),
    *(("--range", value, ("v_min", "v_max")) for value in ("3,3", "4,3", "nan,3", "0,-inf")),
    *(("--range", value, ("range", "two numbers")) for value in ("", "3", "1,2,3", "a,b")),
    *(("--states", value, ("states",)) for value in ("", "0,0", "0,0,0,nan", "0,0,0,0;", "0,0,0,0;1", "a,0,0,0")),
    ("--explore-steps", "0", ("explore_steps",)),
    ("--explore", "0.1,0.2", ("explore",)),
    ("--frozen", "-1", ("frozen",)),
    ("--metric", "cramér", ("metric",)),
    ("--w-optimiser", "adams", ("optimiser", "adam")),
    ("--theta-optimiser", "", ("optimiser",)),
    ("--rule", "c52", ("c51",)),
]


LAWLESS = having(ACT, "--rule", "dqn")
IGNORED = [
    (having(ACT, "--schedule", "robbins-monro"), ("schedule",)),
    (having(CONTEST, "--schedule", "robbins-monro"), ("schedule",)),
    (having(CONTEST, "--schedule", "nonsense"), ("schedule",)),
    (having(CONTEST, "--ratios", "1,2"), ("ratios",)),
    (having(ACT, "--target", "value"), ("target", "c51")),
    (having(LAWLESS, "--target", "cdf"), ("target", "dqn")),
    (having(LAWLESS, "--target", "foo"), ("target",)),
    (having(LAWLESS, "--projection", "foo"), ("projection",)),
    (having(LAWLESS, "--states", "0,0,0,0"), ("states", "cdf")),
    (having(having(CONTEST, "--rules", "dqn"), "--states", "0,0,0,0"), ("states", "cdf")),
    (having(CONTEST, "--targets", "foo"), ("target", "foo")),
    (having(ITERATE, "--target", "foo"), ("target", "foo")),
    (having(COMPARED, "--targets", "foo"), ("target", "foo")),
    *((having(ACT, "--predictor", f"mlp(8,relu,{word})"), ("mlp(8,relu)",))
      for word in ("pinned", "torch", "float32", "inputs=features")),
    (having(ITERATE, "--predictor", "mlp(8,torch)"), ("mlp(8)",)),
    *((having(words, "--steps", value), ("steps",)) for words in (ACT, CONTEST, ITERATE) for value in ("0", "-1")),
    *((having(ACT, "--problem", world), (world,)) for world in ("gym:nomodule:Env-v0", "gym:phys2d/CartPole-v0")),
]  # fmt: skip


def cases() -> Iterator[Case]:
    """Episodes, ε and its schedule, worlds; then the page of the paper's figures."""
    for value in ("0", "-1", "-20", "1.5", "x", "", "nan"):
        yield Case("policy iteration", having(ITERATE, "--episodes", value), ("episodes",))
    for value in ("1.2,0.1", "0.1,-0.1", "-0.1,-0.2", "nan,0.1", "0.1,nan", "inf,0", "0.1,0.2", "0,1"):
        yield Case("policy iteration", having(ITERATE, "--explore", value), ("explore",))
    for value in ("", ",", "0.1", "x,y", "0.3,0.2,0.1", "0.1;0.02"):
        yield Case("policy iteration", having(ITERATE, "--explore", value), ("explore", "two numbers"))
    for command, option in ((ITERATE, "--problem"), (COMPARED, "--problems")):
        yield Case("world", having(command, option, CONTINUOUS), ("discrete actions", CONTINUOUS))
        yield Case("world", having(command, option, "baird"), ("baird",))
    for option, value, names in AGENTS:
        yield Case("agent", having(ACT, option, value), names)
        if option not in ("--frozen", "--metric", "--w-optimiser", "--theta-optimiser", "--rule"):
            yield Case("agent", having(CONTEST, option, value), names)
            yield Case("agent", (*RUN, option, value), ())
            yield Case("agent", (*COMPARE, option, value), ())
    yield Case("agent", (*having(ACT, "--rule", "greedy_gq(0.5)"), "--frozen", "500"), ("frozen", "greedy_gq"))
    yield Case("agent", (*having(ACT, "--rule", "greedy_gq(0.5)"), "--metric", "kl"), ("kl",))
    yield Case("agent", (*ACT, "--episodes", "3"), ("episodes",))
    for words, names in IGNORED:
        yield Case("agent", words, names)
    yield Case("policy iteration", (*ITERATE, "--every", "3"), ("every",))
    yield Case("policy iteration", (*ITERATE, "--frozen", "3"), ("frozen",))
    yield Case("policy iteration", (*ITERATE, "--batch", "3"), ("batch must be 1 online, with capacity 0",))
    yield Case("policy iteration", (*RUN, "--episodes", "3"), ("episodes",))
    yield Case("policy iteration", (*RUN, "--explore", "0.1,0.02"), ("explore",))
    yield Case("policy iteration", having(ITERATE, "--rule", "dqn"), ("dqn",))
    for value in ("4", "0", "one", "", "1,9", "1;2"):
        yield Case("figures", (*FIGURES, "--only", value), ("figure",))
    yield Case("figures", (*FIGURES, "--profile", "quick"), ("profile",))
    yield Case("figures", (*FIGURES, "--seed", "-1"), ("seed",))
    yield Case("figures", (*FIGURES, "--workers", "0"), ("workers",))
