"""Headless Chromium, for the report's tests and for its pictures in docs/."""

import importlib.resources
import shutil
from contextlib import contextmanager

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars",
)  # fmt: skip


@contextmanager
def started(profile):
    """A driver with an empty profile, and a log of the console."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(DRIVER)) as made:
        yield made


def opened(browser, report, width=1400, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(report)
    return browser


def axe(browser, serious=False):
    """What axe-core's accessibility rules object to: everything, or what it calls serious and critical."""
    browser.execute_script(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text())
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert len(found["passes"]) > 15
    rules = [rule for rule in found["violations"] if not serious or rule["impact"] in ("serious", "critical")]
    return [(rule["id"], rule["help"], rule["nodes"][0]["html"][:120]) for rule in rules]
