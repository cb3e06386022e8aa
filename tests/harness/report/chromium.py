"""Headless Chromium, for the report's tests and for its pictures in docs/.

python -m tests.harness.report.chromium results/compare/report.html docs
"""

import base64
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars",
)  # fmt: skip
VIEWS = [(width, scheme) for width in (380, 1400) for scheme in ("light", "dark")]


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


def screenshots(report: Path, folder: Path, height: int = 2400) -> None:
    """The top of the page on a phone and on a desk, light and dark."""
    with tempfile.TemporaryDirectory() as profile, started(profile) as browser:
        for width, scheme in VIEWS:
            opened(browser, report.resolve().as_uri(), width, scheme)
            area = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1 if width < 500 else 0.6}
            taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": area})
            (folder / f"report-{width}-{scheme}.png").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    screenshots(Path(sys.argv[1]), Path(sys.argv[2]))
