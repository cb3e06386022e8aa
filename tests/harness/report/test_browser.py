"""The report in a real browser: headless Chromium, driven by Selenium, with axe-core's accessibility rules."""

import os
import shutil
import subprocess
from pathlib import Path
from urllib.request import url2pathname

import pytest

from tests.harness.experiment.test_compare import small
from tests.harness.report.chromium import CHROMIUM, DRIVER, axe, opened, started

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver: `make browser` installs them"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    found = small(folder, "--seeds", "6")
    assert found.returncode == 0, found.stderr
    return (folder / "out" / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with started(tmp_path_factory.mktemp("profile")) as made:
        yield made


def shown(browser, parts):
    """How many are drawn (an empty group has no size, so Selenium's own answer won't do)."""
    script = "return arguments[0].filter(part => getComputedStyle(part).display !== 'none').length"
    return browser.execute_script(script, parts)


def test_it_opens_without_a_word_on_the_console(browser, report):
    opened(browser, report)
    assert "compare" in browser.title
    assert browser.get_log("browser") == []


def test_a_key_hides_the_curves_of_its_rule_everywhere_and_shows_them_again(browser, report):
    from selenium.webdriver.common.by import By

    opened(browser, report)
    key = browser.find_elements(By.CSS_SELECTOR, ".key")[2]
    curve = key.get_attribute("data-curve")
    parts = browser.find_elements(By.CSS_SELECTOR, f"figure .{curve}")
    others = browser.find_elements(By.CSS_SELECTOR, "figure .curve-0")
    assert len(parts) > 8
    assert shown(browser, parts) == len(parts)
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert shown(browser, parts) == 0
    assert shown(browser, others) == len(others) > 8
    key.click()
    assert shown(browser, parts) == len(parts)


def test_a_column_sorts_up_and_down_by_number(browser, report):
    from selenium.webdriver.common.by import By

    opened(browser, report)
    table = browser.find_element(By.CSS_SELECTOR, "table")
    head = table.find_elements(By.TAG_NAME, "th")[3]

    def column():
        return [
            float(cell.get_attribute("data-value")) for cell in table.find_elements(By.CSS_SELECTOR, "td:nth-child(4)")
        ]

    before = column()
    assert len(before) == 4
    head.find_element(By.TAG_NAME, "button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(before)
    head.find_element(By.TAG_NAME, "button").click()
    assert column() == sorted(before, reverse=True)


@pytest.mark.parametrize("width", [380, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_accessible(browser, report, width, scheme):
    opened(browser, report, width, scheme)
    wider = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 24, 28)")
    assert axe(browser) == []


@pytest.mark.parametrize("width", [380, 1400])
def test_every_column_of_every_table_is_visible(browser, report, width):
    opened(browser, report, width)
    script = "return [...document.querySelectorAll('.wide')].map(table => table.scrollWidth - table.clientWidth)"
    beyond = browser.execute_script(script)
    assert len(beyond) > 5
    assert max(beyond) <= 0


# ---------------------------------------------------------------------- values on the curves


def said(browser):
    """What the boxes beside the curves say now."""
    script = "return [...document.querySelectorAll('.said')].filter(box => !box.hidden).map(box => box.innerText)"
    return browser.execute_script(script)


def test_a_pointer_on_a_panel_reads_the_values_of_the_curves_that_are_shown(browser, report):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    opened(browser, report)
    assert said(browser) == []
    svg = browser.find_element(By.CSS_SELECTOR, "section .panel svg")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    right = svg.size["width"] // 2 - 12  # close to the last checkpoint
    ActionChains(browser).move_to_element_with_offset(svg, right, 0).perform()
    (text,) = said(browser)
    head, *lines = text.split("\n")
    assert head == "step 2,000"
    names = [line.split(", exact ")[0].rsplit(" ", 3)[0] for line in lines[:-1]]  # before the median and its bounds
    assert names == ["GTD2", "TDC", "distributional GTD2", "distributional TDC"]
    assert lines[-1].startswith("LSTD, about ")
    # The same numbers as the table's: the median at the end, with its interval.
    cell = browser.find_element(By.CSS_SELECTOR, "tbody td:nth-child(4)")
    assert lines[0].split(", exact ")[0].split()[1:] == cell.text.split()
    key = browser.find_elements(By.CSS_SELECTOR, ".key")[1]
    browser.execute_script("arguments[0].click()", key)
    ActionChains(browser).move_to_element_with_offset(svg, right - 3, 0).perform()
    (text,) = said(browser)
    assert "TDC" not in [line.split()[0] for line in text.split("\n")]
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h1")).perform()
    assert said(browser) == []


def test_arrow_keys_read_the_same_values_and_a_screen_reader_is_told(browser, report):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    opened(browser, report)
    slider = browser.find_element(By.CSS_SELECTOR, ".panel input[type=range]")
    assert slider.get_attribute("aria-label").startswith("Values along: RMSPBE")
    browser.execute_script("arguments[0].focus()", slider)
    slider.send_keys(Keys.HOME)
    first = slider.get_attribute("aria-valuetext")
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    text = slider.get_attribute("aria-valuetext")
    assert first.startswith("step 1: GTD2 ")
    assert text.startswith("step 3: GTD2 ")
    assert said(browser)[0].split("\n")[0] == "step 3"
    browser.execute_script("arguments[0].blur()", slider)
    assert said(browser) == []


# ---------------------------------------------------------------------- the Nu HTML checker

JAR = os.environ.get("VNU_JAR", "")
needs_checker = pytest.mark.skipif(
    not (shutil.which("java") and JAR and Path(JAR).exists()),
    reason="no java, or no vnu.jar (npm install vnu-jar) that VNU_JAR names; html5lib checks the page in any case",
)


def complaints(file):
    """What the checker says of a page."""
    found = subprocess.run(["java", "-jar", JAR, str(file)], capture_output=True, text=True)
    return found.returncode, found.stderr


@needs_checker
def test_the_html_checker_is_silent_and_is_not_deaf(report, tmp_path):
    page = Path(url2pathname(report.removeprefix("file://")))
    assert complaints(page) == (0, "")
    wrong = tmp_path / "wrong.html"
    wrong.write_text(page.read_text(encoding="utf-8").replace("</figcaption>", "", 1), encoding="utf-8")
    code, words = complaints(wrong)
    assert code != 0
    assert "figcaption" in words
