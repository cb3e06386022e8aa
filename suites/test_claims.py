"""Every claim as a test, for those whose CI speaks pytest: `pytest --pyargs dgtd.suites`, with -p dgtd for options."""

import pytest

from dgtd.harness.judging.claims import Claim
from dgtd.harness.judging.ledger import Entry, Workshop, collect, judge, setting_for
from dgtd.harness.judging.pytest_plugin import option
from dgtd.harness.runs.executors import executor_maker
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import Store


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per claim."""
    if "dgtd_claim" not in metafunc.fixturenames:
        return
    config = metafunc.config
    try:
        rule = resolve(reference(option(config, "rule"))) if option(config, "rule") else None
        claims = collect(option(config, "suite"), rule, option(config, "profile"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize("dgtd_claim", claims, ids=[claim.id for claim in claims])


@pytest.fixture(scope="session")
def ledger(request: pytest.FixtureRequest) -> dict[str, Entry]:
    """Claim → entry, of every claim that was collected: the evidence of all is gathered at once."""
    config = request.config
    items = [item for item in request.session.items if "dgtd_claim" in getattr(item, "fixturenames", ())]
    claims: list[Claim] = [item.callspec.params["dgtd_claim"] for item in items]  # type: ignore[attr-defined]
    text = option(config, "rule")
    judged = resolve(reference(text)) if text else None
    setting = setting_for(judged, option(config, "profile"), option(config, "seed"))
    make = executor_maker(option(config, "executor"), option(config, "workers"), option(config, "scheduler"))
    with Store(option(config, "store") or ":memory:") as store:
        entries = judge(claims, setting, text, Workshop(store, make, option(config, "timeout")), judged)
    return {entry.claim.id: entry for entry in entries}


def test_claim(dgtd_claim: Claim, ledger: dict[str, Entry]) -> None:
    """PASS and CAUGHT pass; what is open or not replicated is an expected failure; unpromised claims are skipped."""
    entry = ledger[dgtd_claim.id]
    if entry.status == "NOT PROMISED":
        pytest.skip("not promised by the rule")
    words = f"{entry.status}: {dgtd_claim.says}: {entry.words}\nagain: {entry.command}"
    if entry.status in ("INCONCLUSIVE", "VACUOUS", "NOT REPLICATED", "NO DIFFERENCE"):
        pytest.xfail(words)
    if entry.status in ("FAIL", "MISSED", "ERROR"):
        pytest.fail(words, pytrace=False)
