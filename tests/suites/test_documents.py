"""docs/claims.md says what the suites say today; a picture is drawn for every claim."""

import json
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.ledger import Entry, collect, judge, share
from dgtd.harness.judging.verdicts import Verdict, exactly
from dgtd.harness.report.document import as_document, draw_all, verdicts_in

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "ledger-0.json").read_text())


def test_the_page_says_what_the_golden_ledger_says():
    """tests/golden holds the code to that ledger: every claim passes and every control is caught."""
    recorded = {claim: entry["status"] for claim, entry in GOLDEN.items()}
    page = (ROOT / "docs" / "claims.md").read_text()
    assert verdicts_in(page) == recorded
    for claim in recorded:
        assert f"--claim {claim}" in page.replace("'", "")


def test_commands_of_the_findings_name_claims():
    """Of a suite that is there, in the profile that they say; LunarLander's are there with its extra."""
    lines = re.findall(r"^    (dgtd suite .*)$", (ROOT / "docs" / "findings.md").read_text(), re.MULTILINE)
    assert len(lines) > 20
    known = {profile: [claim.id for claim in collect("all", None, profile)] for profile in ("ci", "full")}
    for line in lines:
        _, _, suite, *words = line.split()
        profile = words[words.index("--profile") + 1] if "--profile" in words else "ci"
        for start in re.findall(r"--claim (\S+)", line) or [f"{suite}/"]:
            if "LunarLander" not in start or find_spec("Box2D"):
                assert any(claim.startswith(start) for claim in known[profile]), line
                assert start.startswith(f"{suite}/"), line


def test_what_did_not_hold_stands_at_the_top_with_its_words():
    def entry(verdict, **rest):
        claim = Claim(f"a/{verdict}{len(rest)}", f"says {verdict}", "x", check=lambda setting: None, **rest)
        return Entry(claim, replace(exactly(0.0, 1.0, f"words {verdict}"), verdict=verdict), "again")

    page = as_document([entry(v) for v in Verdict] + [entry(v, figure=True) for v in Verdict], "x", "today")
    top = page[page.index("## What could not be confirmed") : page.index("## a")]
    found = re.findall(r"^- \*\*(.+)\*\* `(.+)`: says \w+. Found: words \w+.$", top, re.MULTILINE)
    assert found == [
        ("FAIL", "a/FAIL0"), ("NOT REPLICATED", "a/FAIL1"), ("INCONCLUSIVE", "a/INCONCLUSIVE0"),
        ("INCONCLUSIVE", "a/INCONCLUSIVE1"), ("VACUOUS", "a/VACUOUS0"), ("VACUOUS", "a/VACUOUS1"),
    ]  # fmt: skip
    assert "## What could" not in as_document([entry(Verdict.PASS)], "x", "today")


@pytest.mark.slow
def test_a_claim_has_a_line_and_a_picture(tmp_path):
    some = [c for c in collect("all", None, "ci") if c.id.endswith(("gtd2/exponent", "metric", "h-dropped"))][:6]
    entries = judge(some, Setting("ci", 0, share(None, "ci")))
    assert verdicts_in(as_document(entries, "x", "today")) == {e.claim.id: e.status for e in entries}
    drawn = draw_all(entries, tmp_path, lambda done, total: None)
    assert len(drawn) == len(some)
    assert all(path.stat().st_size > 5000 for path in drawn)
