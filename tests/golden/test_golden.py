"""Today's numbers against the golden record: nothing moves unless it is moved on purpose."""

import json
import math

import pytest

from tests.golden.record import HERE, comparison, ledgers

EXACT, BOUNDED = 1e-12, 1e-9
NOISE = 1e-4  # of a margin
KEYS = ("estimate", "low", "high", "margin")


def close(found, expected, tolerance):
    """Relative, and absolute below 1: an exact error of 1e-15 is not known to 12 digits."""
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance)


def rounding(now, then):
    """Whether an exact error is what rounding leaves, then and now: how much that is depends on the processor."""
    if not then["exact"] or None in (now["high"], then["high"], then["margin"]) or now["margin"] != then["margin"]:
        return False
    return max(now["high"], then["high"]) < NOISE * then["margin"]


def differences(found, expected):
    """Claims whose verdict or numbers are not the recorded ones."""
    unmatched = found.keys() ^ expected.keys()
    out = [f"{claim}: only in the {'record' if claim in expected else 'code'}" for claim in unmatched]
    for claim in found.keys() & expected.keys():
        now, then = found[claim], expected[claim]
        # How wrong a control is may rest on a badly conditioned solve: 1e-11 from one processor to another.
        tolerance = EXACT if then["exact"] and then["status"] != "CAUGHT" else BOUNDED
        same = now["status"] == then["status"] and now["n"] == then["n"]
        unmoved = rounding(now, then) or all(close(now[key], then[key], tolerance) for key in KEYS if key in then)
        if not (same and unmoved):
            out.append(f"{claim}: {then} became {now}")
    return out


@pytest.mark.slow
def test_the_ledgers_are_the_golden_ones():
    for seed, found in ledgers().items():
        assert differences(found, json.loads((HERE / f"ledger-{seed}.json").read_text())) == []


@pytest.mark.slow
def test_stored_lanes_and_paired_tests_are_the_golden_ones():
    found, expected = comparison(), json.loads((HERE / "compare.json").read_text())
    assert found["runs"].keys() == expected["runs"].keys()
    wrong = []
    for run, lanes in expected["runs"].items():
        for now, then in zip(found["runs"][run], lanes, strict=True):
            same = now["outcome"] == then["outcome"]
            if then["outcome"] != "diverged":
                same &= all(
                    close(now[when][name], number, BOUNDED)
                    for when in ("half", "end")
                    for name, number in then[when].items()
                )
            if not same:
                wrong.append(f"{run}: {then} became {now}")
    for now, then in zip(found["tests"], expected["tests"], strict=True):
        p = then["p_holm"]
        if {**now, "p_holm": p} != then or not close(now["p_holm"], p, BOUNDED):
            wrong.append(f"{then} became {now}")
    assert wrong == []


def test_a_moved_number_and_a_flipped_verdict_are_seen():
    then = {"status": "PASS", "exact": False, "estimate": 0.5, "low": 0.4, "high": 0.6, "margin": 1.0, "n": 16}
    assert differences({"a": then}, {"a": then}) == []
    assert differences({"a": then | {"estimate": 0.5 + 1e-11}}, {"a": then}) == []  # another processor's last digits
    for change in ({"estimate": 0.5 + 1e-8}, {"status": "FAIL"}, {"n": 17}, {"low": None}):
        assert len(differences({"a": then | change}, {"a": then})) == 1
    assert len(differences({"a": then | {"exact": True, "estimate": 0.5 + 1e-11}}, {"a": then | {"exact": True}})) == 1
    error = then | {"exact": True, "estimate": 2e-11, "low": 2e-11, "high": 2e-11, "margin": 1e-6}
    for now, moved in ((6e-12, 0), (2e-9, 1)):  # rounding, and more than rounding
        assert len(differences({"a": error | {"estimate": now, "low": now, "high": now}}, {"a": error})) == moved
    assert len(differences({}, {"a": then})) == len(differences({"a": then}, {})) == 1
