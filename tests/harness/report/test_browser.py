"""The report in a real browser: headless Chromium, driven by Selenium, with axe-core's accessibility rules."""

import importlib.resources

import pytest

from tests.harness.compare.test_compare import small
from tests.harness.report.chromium import CHROMIUM, DRIVER, opened, started

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
    browser.execute_script(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text())
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    serious = [
        (rule["id"], rule["help"], rule["nodes"][0]["html"][:120])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert len(found["passes"]) > 15
