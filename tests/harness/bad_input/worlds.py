"""Learners in worlds that can't act as they are told, worlds without discrete actions, figures that are not there."""

from collections.abc import Iterator

from tests.harness.bad_input.case import IN_PROCESS, RUN, Case, having

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
    yield Case("policy iteration", (*RUN, "--episodes", "3"), ("episodes",))
    yield Case("policy iteration", (*RUN, "--explore", "0.1,0.02"), ("explore",))
    yield Case("policy iteration", having(ITERATE, "--rule", "dqn"), ("dqn",))
    for value in ("4", "0", "one", "", "1,9", "1;2"):
        yield Case("figures", (*FIGURES, "--only", value), ("figure",))
    yield Case("figures", (*FIGURES, "--profile", "quick"), ("profile",))
    yield Case("figures", (*FIGURES, "--seed", "-1"), ("seed",))
    yield Case("figures", (*FIGURES, "--workers", "0"), ("workers",))
