"""The site: every statement of the paper has claims that are there, and what is built needs nothing but itself."""

import importlib.util
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dgtd.harness.judging.claims import PROFILES
from dgtd.harness.judging.ledger import collect
from tests.harness.report.chromium import CHROMIUM, DRIVER, axe, opened, started

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("site_build", ROOT / "docs" / "site" / "build.py")
build = importlib.util.module_from_spec(spec)
sys.modules["site_build"] = build
spec.loader.exec_module(build)


def without_claims(rows, ids):
    """Patterns that no claim fits any more."""
    return [
        pattern
        for row in rows
        for pattern in row.claims
        if not pattern.startswith("?") and not any(fnmatchcase(id_, pattern) for id_ in ids)
    ]


def test_every_statement_has_claims_that_are_there_or_says_why_not():
    rows = build.statements()
    ids = {claim.id for profile in PROFILES for claim in collect("all", None, profile)}
    assert len(rows) >= 40
    assert without_claims(rows, ids) == []
    assert [row.says for row in rows if not (row.claims or row.but)] == []
    gone = {id_ for id_ in ids if id_ != "contraction/metric"}
    assert without_claims(rows, gone) == ["contraction/metric"]  # a claim that is renamed is seen


@pytest.mark.parametrize(
    ("found", "but", "word"),
    [
        ({}, "", "not judged"),
        ({"a/1": "PASS", "a/2": "CAUGHT"}, "", "held"),
        ({"a/1": "PASS", "a/2": "VACUOUS"}, "more", "holds, and says nothing yet"),
        ({"a/1": "PASS"}, "more", "corrected"),
        ({"a/1": "PASS", "a/2": "INCONCLUSIVE"}, "", "undecided"),
        ({"a/1": "PASS", "a/2": "NOT REPLICATED", "a/3": "INCONCLUSIVE"}, "", "in part"),
        ({"a/1": "NOT REPLICATED", "a/2": "NO DIFFERENCE"}, "more", "did not hold"),
        ({"a/1": "NOT REPLICATED", "a/2": "INCONCLUSIVE"}, "", "not shown"),
    ],
)
def test_a_statements_word_is_what_its_claims_say(found, but, word):
    row = build.Statement("here", "it is so", ("a/*",), but)
    assert row.word(found | {"b/1": "FAIL"}) == word


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        if tag in ("script", "img", "link", "iframe"):
            self.found.append((tag, given.get("src") or given.get("href") or ""))
        elif tag == "a" and given.get("href"):
            self.found.append((tag, given["href"]))


def read(path):
    found = Links()
    found.feed(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """With one suite's ledger; mkdocs is strict, so that a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    words = ["--suite", "contraction", "--store", str(folder / "s.sqlite"), "--out", str(folder / "html")]
    done = subprocess.run([sys.executable, str(ROOT / "docs/site/build.py"), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return folder / "html"


@pytest.mark.slow
def test_links_lead_somewhere_and_nothing_is_fetched(site):
    pages = {path: read(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 12
    for path, page in pages.items():
        for tag, address in page.found:
            parts = urlsplit(address)
            if parts.scheme or address.startswith("//"):
                assert tag == "a", f"{path.name} fetches {address}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.name}: {address}"
            if parts.fragment and target in pages and "=" not in parts.fragment:
                assert parts.fragment in pages[target].ids, f"{path.name}: {address}"
    style = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\((?:['\"])?https?:", style) == []


@pytest.mark.slow
def test_only_what_a_stored_result_has_is_said(site):
    """The ledger here is one suite's: what other suites hold is not judged."""
    text = (site / "statements.html").read_text(encoding="utf-8")
    assert "contraction/metric" in text
    assert "gradients/r-operator" not in text


@pytest.mark.slow
@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver: `make browser` installs them")
def test_pages_open_from_disk_fit_and_are_accessible(site, tmp_path):
    with started(tmp_path) as browser:
        for name in ("index", "statements", "glossary", "ledger"):
            for width, scheme in ((1400, "light"), (380, "dark")):
                opened(browser, (site / f"{name}.html").as_uri(), width, scheme)
                assert axe(browser, serious=True) == [], f"{name} at {width}, {scheme}"
                assert browser.execute_script("return document.documentElement.scrollWidth") <= width, name
