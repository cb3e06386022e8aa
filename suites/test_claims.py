"""Every claim as a test, for those whose CI speaks pytest: `pytest suites`, or `pytest --pyargs suites`."""

from __future__ import annotations

import pytest

from harness.judging.claims import Claim, Setting
from harness.judging.ledger import judge, share


@pytest.fixture(scope="session")
def setting(request: pytest.FixtureRequest) -> Setting:
    """The profile and seed of the command line, and each check's share of the false-alarm budget."""
    option = request.config.getoption
    return Setting(option("--dgtd-profile"), option("--dgtd-seed"), share(None, option("--dgtd-profile")))


def test_claim(dgtd_claim: Claim, setting: Setting, request: pytest.FixtureRequest) -> None:
    """PASS and CAUGHT pass; what is open or not replicated is an expected failure; unpromised claims are skipped."""
    (entry,) = judge([dgtd_claim], setting, request.config.getoption("--dgtd-rule"))
    if entry.finding is None:
        pytest.skip("not promised by the rule")
    words = f"{entry.status}: {dgtd_claim.says}: {entry.finding.words}\nagain: {entry.command}"
    if entry.status in ("INCONCLUSIVE", "VACUOUS", "NOT REPLICATED"):
        pytest.xfail(words)
    if entry.status in ("FAIL", "MISSED"):
        pytest.fail(words, pytrace=False)
