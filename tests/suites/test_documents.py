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
from dgtd.harness.report.document import as_document, check_document, draw_all, verdicts_in, write_document

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "ledger-0.json").read_text())


def test_the_page_says_what_the_golden_ledger_says():
    """tests/golden holds the code to that ledger: every claim passes and every control is caught."""
    recorded = {claim: entry["status"] for claim, entry in GOLDEN.items()}
    data = (ROOT / "docs" / "claims.json").read_text()
    assert verdicts_in(data) == recorded
    for row in json.loads(data):
        assert f"--claim {row['id']}" in row["again"].replace("'", "")
    page = (ROOT / "docs" / "claims.md").read_text()
    assert len(page.splitlines()) < 80
    for status in set(recorded.values()):
        assert f"{list(recorded.values()).count(status)} {status}" in page


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
    top = page[page.index("## What could not be confirmed") : page.index("## Suites")]
    found = re.findall(r"^- \*\*(.+)\*\* `(.+)`: says [\w ]+. Found: words [\w ]+.$", top, re.MULTILINE)
    assert found == [
        ("FAIL", "a/FAIL0"), ("NOT REPLICATED", "a/FAIL1"), ("NO DIFFERENCE", "a/NO DIFFERENCE1"),
        ("INCONCLUSIVE", "a/INCONCLUSIVE0"), ("INCONCLUSIVE", "a/NO DIFFERENCE0"), ("INCONCLUSIVE", "a/INCONCLUSIVE1"),
        ("VACUOUS", "a/VACUOUS0"), ("VACUOUS", "a/VACUOUS1"),
    ]  # fmt: skip
    assert "## What could" not in as_document([entry(Verdict.PASS)], "x", "today")


def test_a_file_beside_the_page_that_is_no_ledger_stays(tmp_path):
    path = tmp_path / "claims.md"
    check_document(path)
    write_document([], path, "x", "today")
    check_document(path)  # ours
    (tmp_path / "claims.json").write_text('{"mine": 1}')
    with pytest.raises(ValueError, match="which is no ledger"):
        check_document(path)
    check_document(tmp_path / "claims.html")


@pytest.mark.slow
def test_a_claim_has_a_line_and_a_picture(tmp_path):
    some = [c for c in collect("all", None, "ci") if c.id.endswith(("gtd2/exponent", "metric", "h-dropped"))][:6]
    entries = judge(some, Setting("ci", 0, share(None, "ci")))
    write_document(entries, tmp_path / "own.md", "x", "today")
    assert verdicts_in((tmp_path / "own.json").read_text()) == {e.claim.id: e.status for e in entries}
    drawn = draw_all(entries, tmp_path, lambda done, total: None)
    assert len(drawn) == len(some)
    assert all(path.stat().st_size > 5000 for path in drawn)
