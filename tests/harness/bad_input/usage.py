"""Commands and options that are none, options without a value, options that contradict each other."""

from collections.abc import Iterator

from tests.harness.bad_input.case import CERTIFY, COMPARE, EXPLAIN, RUN, SUITE, SWEEP, Case, having

OPTIONS = {
    RUN: (
        "--problem", "--rule", "--alpha", "--beta", "--steps", "--seeds", "--target", "--atoms", "--projection",
        "--schedule", "--seed", "--predictor", "--learner", "--executor", "--workers", "--scheduler", "--timeout",
        "--store",
    ),
    SWEEP: ("--alphas", "--ratios", "--sweep-seeds", "--plot"),
    COMPARE: ("--problems", "--rules", "--targets", "--alphas", "--ratios", "--out"),
    SUITE: ("--profile", "--rule", "--seed", "--claim", "--junit", "--markdown", "--document", "--pictures"),
    EXPLAIN: ("--profile", "--rule", "--seed"),
    CERTIFY: ("--problem", "--alpha", "--beta", "--target", "--atoms", "--projection", "--seed"),
}  # fmt: skip
UNKNOWN_COMMANDS = (
    "rnu",
    "sweeps",
    "compar",
    "suites",
    "explian",
    "certifi",
    "exprot",
    "docter",
    "problems",
    "rules",
    "RUN",
)


def cases() -> Iterator[Case]:
    """What the parser sees, and what commands say of options that do not go together."""
    for word in UNKNOWN_COMMANDS:
        yield Case("command", (word, "x"), (f"'{word}'",))
    for group in ("problem", "rule"):
        for word in ("shw", "lst", "SHOW", "chek", "[/x]"):
            yield Case("command", (group, word), (word,))
    for command in (
        RUN,
        SWEEP,
        COMPARE,
        SUITE,
        EXPLAIN,
        CERTIFY,
        ("runs",),
        ("export",),
        ("doctor",),
        ("problem", "list"),
    ):
        for option in ("--nonsense", "--alhpa", "-x", "--[/x]", "--json=1", "--STORE"):
            yield Case("option", (*command, option), (option.split("=")[0][:10] if option != "-x" else "-x",))
        yield Case("extra", (*command, "extra"), ("extra",))
    for command, options in OPTIONS.items():
        for option in options:
            yield Case("no value", (*command, option), (option,))
    for command in (("problem", "show"), ("rule", "show"), ("rule", "check"), ("suite",), ("explain",), ("certify",)):
        yield Case("no argument", command, ("missing argument",))
        yield Case("no argument", (*command, "--json=x"), ("--json",))
    yield from _contradictions()
    yield from _claims()


def _contradictions() -> Iterator[Case]:
    given = having(having(COMPARE, "--alpha", "0.1"), "--beta", "0.1")
    yield Case("contradiction", (*given, "--alphas", "0.1"), ("alphas",))
    yield Case("contradiction", (*given, "--ratios", "1"), ("ratios",))
    for command in (RUN, SWEEP, COMPARE, SUITE, EXPLAIN):
        yield Case("contradiction", (*command, "--scheduler", "tcp://127.0.0.1:9"), ("scheduler",))
        pool = having(command, "--executor", "pool")
        yield Case("contradiction", (*pool, "--scheduler", "tcp://127.0.0.1:9"), ("scheduler",))
        yield Case("scheduler", (*having(command, "--executor", "dask"), "--scheduler", ""), ("scheduler",))
    for address in (
        "nonsense",
        "tcp://",
        "tcp://127.0.0.1:x",
        "127.0.0.1:99999",
        "[/x]",
        "http://127.0.0.1:9",
        "tcp://127.0.0.1:9",
    ):
        yield Case("scheduler", (*having(RUN, "--executor", "dask"), "--scheduler", address), ("scheduler", address))


def _claims() -> Iterator[Case]:
    for name in ("contractoin", "Contraction", "al", "ALL", "contraction/", "contraction,rates", "rates/x"):
        yield Case("suite", ("suite", name, *SUITE[2:]), ("suite", name))
    for prefix in ("contraction/crammer", "rates", "x", "contraction//", "[/x]"):
        yield Case("claim", (*SUITE, "--claim", prefix), ("claim", prefix))
    for claim in ("contraction/x", "nosuch/x", "", "/", "contraction/cramer/sqrt_gamma", "[/x]/y"):
        yield Case("claim", ("explain", claim, *EXPLAIN[2:]), ("no ", claim.split("/")[0]))
