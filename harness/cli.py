"""The command line. A command's module is imported when the command is asked for, so that help answers at once."""

from __future__ import annotations

import atexit
import os
import sys
import warnings

import typer

from dgtd.harness.commands.lazily import Lazily
from dgtd.harness.commands.output import printable
from dgtd.harness.runs.timeouts import deaf, listening

# Engines parallelise over lanes; a matrix product that takes every core only gets in their way.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

app = typer.Typer(
    name="dgtd",
    cls=Lazily,
    help="Claims about gradient temporal-difference learning, checked by a machine.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
BAD_INPUT, INTERNAL, INTERRUPTED = 2, 5, 130


@app.callback()
def options(
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Claims about gradient temporal-difference learning, checked by a machine."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"dgtd {installed('dgtd-bench')}")
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a caller's mistake becomes one line on stderr and exit code 2."""
    words = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in words
    warnings.showwarning = lambda message, *_: print(f"dgtd: {message}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):  # a terminal without Greek letters must not cost a suite its results
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        _check_text(words)
        with listening():
            code = app(words, prog_name="dgtd", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        _say("interrupted")
        sys.exit(INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        if isinstance(error, ValueError | OSError):
            sys.exit(_say(str(error)))
        if isinstance(error, MemoryError):
            sys.exit(_say(f"not enough memory: {error or 'ask for less'}"))
        if not hasattr(error, "format_message"):  # typer brings its own click, whose usage errors all have this
            _say(f"{type(error).__name__}: {error} (this is a bug: run again with --debug)")
            sys.exit(INTERNAL)
        message = error.format_message()
        if message.startswith("Usage:"):  # no command was given, and this is the help
            print(message, file=sys.stderr)
            sys.exit(BAD_INPUT)
        sys.exit(_say(message))
    # Registered last, so called first: all is done, and a late signal must not hide the exit code.
    atexit.register(deaf)
    sys.exit(code if isinstance(code, int) else 0)


def _check_text(words: list[str]) -> None:
    """Bytes that are no UTF-8 reach Python as lone surrogates, which no file and no store can hold."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise ValueError(f"argument {word!a} is not UTF-8") from None


def _say(message: str) -> int:
    """One line on stderr."""
    print(f"dgtd: {printable(' '.join(message.split()))}", file=sys.stderr)
    return BAD_INPUT
