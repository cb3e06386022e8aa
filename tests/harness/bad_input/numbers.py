"""Numbers that are none, or out of range, for every option that takes one."""

from collections.abc import Iterator

from tests.harness.bad_input.case import CERTIFY, COMPARE, EXPLAIN, RUN, SUITE, SWEEP, Case, having

TEXTS = ("", " ", "x", "1,5", "1..5", "1e", "0x10", "½", "1 2", "None", "[/x]", "$1$", "−1", "1e5e5", "\x1b[31m1")
NOT_WHOLE = ("1.5", "1e3", "nan", "inf", "2.5e0")
NOT_POSITIVE = ("0", "-1", "-0.0", "nan", "inf", "-inf", "1e400", "-1e-300")

FLOATS = (
    (RUN, "--alpha"), (RUN, "--beta"), (RUN, "--timeout"), (CERTIFY, "--alpha"), (CERTIFY, "--beta"),
    (SUITE, "--timeout"), (EXPLAIN, "--timeout"), (SWEEP, "--timeout"),
)  # fmt: skip
WHOLE = (
    (RUN, "--steps", ("0", "-1", "-50", "100000001", "1" + "0" * 30)),
    (RUN, "--seeds", ("0", "-1", "1000001", "4000000000", "9" * 40)),
    (RUN, "--atoms", ("1", "0", "-3", "10001", "1000000000")),
    (RUN, "--seed", ("-1", "-4000000000")),
    (RUN, "--workers", ("0", "-1", "1025", "1000000")),
    (SWEEP, "--seeds", ("1", "0", "-2", "4000000000")),
    (SWEEP, "--sweep-seeds", ("0", "-1", "4000000000")),
    (SWEEP, "--steps", ("0", "-1", "100000001")),
    (SWEEP, "--atoms", ("1", "-1", "10001")),
    (SWEEP, "--workers", ("0", "1025")),
    (COMPARE, "--seeds", ("1", "0", "-1", "4000000000")),
    (COMPARE, "--steps", ("0", "-1", "1" + "0" * 18)),
    (COMPARE, "--atoms", ("0", "1", "10001")),
    (COMPARE, "--seed", ("-1",)),
    (COMPARE, "--workers", ("0", "-7", "1000000")),
    (SUITE, "--seed", ("-1",)),
    (SUITE, "--workers", ("0", "-1", "1000000")),
    (EXPLAIN, "--seed", ("-1",)),
    (EXPLAIN, "--workers", ("0", "1000000")),
    (CERTIFY, "--seed", ("-1",)),
    ((*CERTIFY, "--target", "cdf"), "--atoms", ("1", "0", "-1", "10001", "9" * 20)),
    (CERTIFY, "--atoms", ("1", "-5")),
)
LISTS = ("", ",", "x", "0.1,x", "0", "-1", "0.1,0", "nan", "inf", "0.1;0.2", "0.1,,nan", "(0.1", "0.1)")


def cases() -> Iterator[Case]:
    """Each option with texts, with numbers of the wrong kind, and with numbers that are out of range."""
    for command, option in FLOATS:
        for value in (*TEXTS, *NOT_POSITIVE):
            yield Case("float", having(command, option, value), (option[2:],))
    for command, option, out_of_range in WHOLE:
        few = TEXTS if command is RUN else TEXTS[:4]
        for value in (*few, *NOT_WHOLE, *out_of_range):
            yield Case("whole", having(command, option, value), (option[2:],))
    for option in ("--alpha", "--beta"):
        for value in ("1e7", "1e200", "1e308"):
            yield Case("float", having(CERTIFY, option, value), (f"{option[2:]} must be in",))
    for command in (SWEEP, COMPARE):
        for option in ("--alphas", "--ratios"):
            for value in LISTS:
                yield Case("list", having(command, option, value), (option[2:-1],))
    for option, other in (("--alpha", "--beta"), ("--beta", "--alpha")):
        for value in ("0", "-1", "nan", "inf", "x"):
            yield Case("pair", having(having(COMPARE, other, "0.1"), option, value), (option[2:],))
        yield Case("pair", having(COMPARE, option, "0.1"), ("alpha and beta",))
        yield Case("pair", having(RUN, option), (option,))
