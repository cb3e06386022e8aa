"""docs/claims.md says what the suites say today; a picture is drawn for every claim."""

import json
from pathlib import Path

import pytest

from harness.judging.claims import Setting
from harness.judging.ledger import collect, judge, share
from harness.report.claims import draw_all
from harness.report.document import as_document, verdicts_in

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "ledger-0.json").read_text())


def test_the_page_says_what_the_golden_ledger_says():
    """tests/golden holds the code to that ledger: every claim passes and every control is caught."""
    recorded = {claim: entry["status"] for claim, entry in GOLDEN.items()}
    page = (ROOT / "docs" / "claims.md").read_text()
    assert verdicts_in(page) == recorded
    for claim in recorded:
        assert f"--claim {claim}" in page.replace("'", "")


@pytest.mark.slow
def test_a_claim_has_a_line_and_a_picture(tmp_path):
    some = [c for c in collect("all", None, "ci") if c.id.endswith(("gtd2/exponent", "metric", "h-dropped"))][:6]
    entries = judge(some, Setting("ci", 0, share(None, "ci")))
    assert verdicts_in(as_document(entries, "x", "today")) == {e.claim.id: e.status for e in entries}
    drawn = draw_all(entries, tmp_path, lambda done, total: None)
    assert len(drawn) == len(some)
    assert all(path.stat().st_size > 5000 for path in drawn)
