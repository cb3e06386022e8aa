"""Every claim as a test, for those whose CI speaks pytest: `pytest suites`, or `pytest --pyargs suites`."""

from __future__ import annotations

import pytest

from dgtd.harness.judging.claims import Claim
from dgtd.harness.judging.ledger import Entry, Workshop, judge, setting_for
from dgtd.harness.runs.executors import executor_maker
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import Store


@pytest.fixture(scope="session")
def ledger(request: pytest.FixtureRequest) -> dict[str, Entry]:
    """Claim → entry, of every claim that was collected: the evidence of all is gathered at once."""
    option = request.config.getoption
    items = [item for item in request.session.items if "dgtd_claim" in getattr(item, "fixturenames", ())]
    claims: list[Claim] = [item.callspec.params["dgtd_claim"] for item in items]  # type: ignore[attr-defined]
    text = option("--dgtd-rule")
    judged = resolve(reference(text)) if text else None
    setting = setting_for(judged, option("--dgtd-profile"), option("--dgtd-seed"))
    make = executor_maker(option("--dgtd-executor"), option("--dgtd-workers"), option("--dgtd-scheduler"))
    with Store(option("--dgtd-store") or ":memory:") as store:
        entries = judge(claims, setting, text, Workshop(store, make, option("--dgtd-timeout")), judged)
    return {entry.claim.id: entry for entry in entries}


def test_claim(dgtd_claim: Claim, ledger: dict[str, Entry]) -> None:
    """PASS and CAUGHT pass; what is open or not replicated is an expected failure; unpromised claims are skipped."""
    entry = ledger[dgtd_claim.id]
    if entry.status == "NOT PROMISED":
        pytest.skip("not promised by the rule")
    words = f"{entry.status}: {dgtd_claim.says}: {entry.words}\nagain: {entry.command}"
    if entry.status in ("INCONCLUSIVE", "VACUOUS", "NOT REPLICATED"):
        pytest.xfail(words)
    if entry.status in ("FAIL", "MISSED", "ERROR"):
        pytest.fail(words, pytrace=False)
