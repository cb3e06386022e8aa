"""The ledger as a page, in a real browser: filters, a row's details, and its command gives the verdict again."""

import json
import shlex
from dataclasses import replace

import pytest

from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.ledger import Entry, collect, judge
from dgtd.harness.judging.verdicts import Verdict, exactly
from dgtd.harness.report.document import write_document
from tests.harness.report.chromium import CHROMIUM, DRIVER, axe, opened, started
from tests.harness.test_cli import dgtd

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver: `make browser` installs them"),
]
NASTY = "</script><b>bold</b> & 'quoted' \"words\""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Three real claims, one with a nasty name, and one about a figure that failed."""
    ids = ("contraction/metric", "contraction/baird-nearest", "instrument/class/stable")
    real = [each for each in collect("all", None, "ci") if each.id in ids]
    failed = replace(exactly(2.0, 1.0, NASTY), verdict=Verdict.FAIL)
    figure = Claim("evaluation/planted", NASTY, "Figure 2", check=lambda setting: None, figure=True)
    path = tmp_path_factory.mktemp("ledger") / "ledger.html"
    write_document([*judge(real, Setting()), Entry(figure, failed, "dgtd 'x y'")], path, "dgtd suite all", "today")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with started(tmp_path_factory.mktemp("profile")) as made:
        yield made


def found(browser):
    script = "return [...document.querySelectorAll('#claims > li')].filter(each => !each.hidden).map(each => each.id)"
    return browser.execute_script(script)


def choose(browser, **wanted):
    """Set filters as a reader does, and say which claims are left."""
    for name, value in wanted.items():
        browser.execute_script(
            "const field = document.querySelector(`[name=${arguments[0]}]`); field.value = arguments[1];"
            "field.dispatchEvent(new Event('input', {bubbles: true}))", name, value,
        )  # fmt: skip
    return found(browser)


def test_rows_are_filtered_by_verdict_text_and_book(browser, page):
    opened(browser, page.as_uri())
    assert len(found(browser)) == 4
    assert choose(browser, verdict="NOT REPLICATED") == ["evaluation/planted"]
    assert choose(browser, verdict="", text="BAIRD singular") == ["contraction/baird-nearest"]
    assert choose(browser, text="", book="the instrument") == ["instrument/class/stable"]
    browser.refresh()  # the filters stand in the address
    assert found(browser) == ["instrument/class/stable"]
    assert "1 of 4 claims" in browser.find_element("id", "count").text
    assert choose(browser, book="", text="no such words") == []
    assert browser.get_log("browser") == []


def test_an_open_row_has_its_evidence_and_its_command_gives_the_verdict_again(browser, page, tmp_path):
    opened(browser, page.as_uri().split("#")[0])
    row = browser.find_element("id", "contraction/metric")
    row.find_element("tag name", "summary").click()
    said = row.find_element("tag name", "dl").text
    assert "evidence" in said
    assert "would flip it" in said
    program, *words = shlex.split(row.find_element("css selector", "dd code").text)
    assert program == "dgtd"
    again = dgtd(*words, "--json", "--store", str(tmp_path / "s.sqlite"))
    (claim,) = json.loads(again.stdout)["claims"]
    assert claim["status"] == row.find_element("css selector", ".verdict").text == "PASS"


def test_names_are_shown_as_they_are(browser, page):
    opened(browser, page.as_uri())
    row = browser.find_element("id", "evaluation/planted")
    assert NASTY in row.text
    assert browser.find_elements("tag name", "b") == []


@pytest.mark.parametrize("width", [1400, 380])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_accessible(browser, page, width, scheme):
    opened(browser, page.as_uri(), width, scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert axe(browser) == []
