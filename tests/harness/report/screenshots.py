"""The pictures of the report and of a terminal in docs/: `make compare`, then `make screenshots`.

python -m tests.harness.report.screenshots results/compare/report.html docs
"""

import base64
import io
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.harness.report.chromium import opened, started

VIEWS = [(width, scheme) for width in (380, 1400) for scheme in ("light", "dark")]
COLUMNS = 80
COMMAND = ("suite", "contraction", "--executor", "in-process")


def of_report(browser, report: Path, folder: Path, height: int = 2400) -> None:
    """The top of the page on a phone and on a desk, light and dark."""
    for width, scheme in VIEWS:
        opened(browser, report.resolve().as_uri(), width, scheme)
        scale = 1 if width < 500 else 0.6
        _take(browser, folder / f"report-{width}-{scheme}.png", width, height, scale)


def of_terminal(browser, folder: Path) -> None:
    """A command in a terminal of 80 columns, as it stands there when it is done."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    shown = Text.from_ansi(f"$ dgtd {' '.join(COMMAND[:2])}\n" + in_terminal(*COMMAND))
    console.print(shown, soft_wrap=True)
    page = folder / "terminal.html"
    page.write_text(console.export_html(inline_styles=True), encoding="utf-8")
    opened(browser, page.resolve().as_uri(), 900)
    inside = "const box = document.querySelector('pre').getBoundingClientRect(); return [box.right, box.bottom]"
    right, bottom = browser.execute_script(inside)
    _take(browser, folder / "terminal-80.png", min(900, int(right) + 8), int(bottom) + 8, 1)
    page.unlink()


def in_terminal(*words: str) -> str:
    """What a command leaves on a terminal of 80 columns; its progress, which it removes, is left out."""
    command = [sys.executable, "-c", "from dgtd.harness.cli import main; main()", *words]
    with tempfile.TemporaryDirectory() as folder:
        parent, child = pty.openpty()
        env = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
        store = ("--store", str(Path(folder) / "s.sqlite"))
        with subprocess.Popen([*command, *store], stdout=child, stderr=subprocess.DEVNULL, env=env):
            os.close(child)
            taken = b""
            try:
                while piece := os.read(parent, 65536):
                    taken += piece
            except OSError:  # how a closed terminal ends on Linux
                pass
        os.close(parent)
    return taken.decode().replace("\r\n", "\n")


def _take(browser, path: Path, width: int, height: int, scale: float) -> None:
    area = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": area})
    path.write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as profile, started(profile) as browser_:
        of_report(browser_, Path(sys.argv[1]), Path(sys.argv[2]))
        of_terminal(browser_, Path(sys.argv[2]))
