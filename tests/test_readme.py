"""The README's Python runs as printed."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_example_shows_td_leaving_and_gtd2_staying():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(BLOCKS[0], {})
    td, gtd2 = (float(line.split()[-1]) for line in out.getvalue().splitlines())
    assert td > 1e6
    assert gtd2 < 10


def test_the_rule_of_your_own_is_a_rule():
    # A function needs a source file for nothing but its hash, so it is checked as typed.
    scope: dict = {}
    exec(BLOCKS[1], scope)
    assert scope["mine"].name == "mine"
    assert len(scope["mine"].source_hash) == 16


def test_every_command_it_names_exists():
    from typer.main import get_command

    from harness.cli import app

    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", text, re.MULTILINE))
    assert {"compare", "test"} <= named <= targets
    commands = set(get_command(app).commands)
    assert {"compare", "suite", "certify"} <= set(re.findall(r"^    dgtd ([a-z]+)", text, re.MULTILINE)) <= commands


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size > 10_000 for picture in pictures)
