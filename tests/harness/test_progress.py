"""What a command shows while it works: the first compile, and a bar that stays in 80 columns."""

import io
import re
import sys

import pytest

from dgtd.algorithms import streams
from dgtd.algorithms.fast.compiling import Compiled, cache_folder, source_stamp
from dgtd.harness.commands.carry_out import COMPILING, Ticker, compiled_before, progress


@pytest.fixture
def cold(monkeypatch, tmp_path):
    monkeypatch.setenv("DGTD_CACHE", str(tmp_path))
    return tmp_path


def test_the_first_compile_is_said_at_once_and_once(cold, capsys):
    tick = Ticker("sweep", None)
    tick(0, 320)
    tick(0, 320)
    assert capsys.readouterr().err == f"sweep: {COMPILING}\n"
    tick(1, 320)
    assert capsys.readouterr().err == ""


def test_nothing_is_said_of_compiling_where_compiled_code_is_kept_or_nothing_is_to_do(cold, capsys):
    Ticker("sweep", None)(0, 0)
    kept = cache_folder() / f"kernels-{source_stamp()[:16]}"
    kept.mkdir()
    (kept / "kernel.1.nbc").touch()
    Ticker("sweep", None)(0, 320)
    assert capsys.readouterr().err == ""


def test_compiled_code_is_found_where_it_is_kept(cold):
    """A kernel of ours, as a process meets it that has compiled nothing yet."""
    kernel = streams.start_states
    fresh = Compiled(kernel.py_func, kernel._returns, kernel._arguments, kernel._options)
    assert not compiled_before()
    assert fresh.dispatcher is not None
    assert compiled_before()


def shown_in_80_columns(monkeypatch, what, done):
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with progress(what) as tick:
        tick(done, 320)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue())
    return [line for line in re.split(r"[\r\n]+", plain) if line.strip()]


@pytest.mark.parametrize("what", ["sweep", "a very long description of what this command is doing at the moment " * 3])
def test_the_bar_and_its_numbers_stay_in_80_columns(monkeypatch, what):
    lines = shown_in_80_columns(monkeypatch, what, 7)
    assert any("7/320" in line and "━━━━━━━━━━" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_terminal_shows_the_first_compile_too(monkeypatch, cold):
    lines = shown_in_80_columns(monkeypatch, "sweep", 0)
    assert any("compiling, once" in line and "0/320" in line and "━━━━━━━━━━" in line for line in lines)
