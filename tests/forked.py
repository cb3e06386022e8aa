"""Python in a process of its own, without the seconds that it takes to import torch, numba and scipy.

A nursery imports other people's packages, and nothing of ours; every command is a fork of it, which imports our code
from where it is told to. So it is a fresh process in all that a test can see: its own modules, environment, folder,
signals and end.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

PACKAGES = (
    "numpy", "scipy.stats", "scipy.optimize", "scipy.linalg", "torch", "torch.func", "numba", "numba.extending",
    "matplotlib.pyplot", "matplotlib.figure", "typer.testing", "rich.console", "rich.table", "rich.progress", "pebble",
)  # fmt: skip
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
PYTEST = "import runpy; runpy.run_module('pytest', run_name='__main__', alter_sys=True)"
NURSERY = """
import atexit, gc, importlib, json, os, sys, threading, traceback
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)

def fresh(request):
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    kept = sys.stdout.encoding, sys.stdout.errors
    for number, path, mode in ((0, os.devnull, "r"), (1, request["out"], "w"), (2, request["err"], "w")):
        with open(path, mode) as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", encoding=kept[0], errors=kept[1], closefd=False)
    sys.stderr = open(2, "w", encoding=kept[0], errors="backslashreplace", buffering=1, closefd=False)
    sys.path[:] = ["", *os.environ.get("PYTHONPATH", "").split(os.pathsep), *sys.path[1:]]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv = ["-c", *request["words"]]

def end():
    # As an interpreter ends, but for taking all modules apart, which takes most of a second with torch among them.
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()

def exit_code(code):
    try:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

gc.collect()
gc.freeze()
for line in sys.stdin.buffer:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        fresh(request)
        status = exit_code(request["code"])
        end()
        os._exit(status)
    os.write(1, f"{child}\\n".encode())
    os.write(1, f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\\n".encode())
"""


class Nursery:
    """One process that forks; a command at a time. `python` and `env`, if another interpreter is to be forked."""

    def __init__(self, python: str = sys.executable, env: dict[str, str] | None = None) -> None:
        words = [python, "-c", NURSERY, json.dumps(PACKAGES)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        kept = dict(os.environ) if env is None else env
        self.process = subprocess.Popen(words, **pipes, cwd="/", env=kept | THREADS)
        atexit.register(self.close)

    def run(self, code: str, words: list[str], cwd: Path, env: dict[str, str], timeout: float | None) -> Finished:
        """Run it to its end, or kill it and all that it started."""
        with self.started(code, words, cwd, env) as child:
            late = not child.ended(timeout)
            if late:
                child.kill_all()
            done = child.wait()
        return Finished(done.args, done.returncode, done.stdout, done.stderr, late=late)

    @contextmanager
    def started(self, code: str, words: list[str], cwd: Path, env: dict[str, str]) -> Iterator[Child]:
        """Begin it; what is left of it afterwards is killed, with all that it started."""
        with tempfile.TemporaryDirectory(prefix="dgtd-forked-") as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            request = {
                "code": code, "words": words, "cwd": str(cwd), "env": env, "out": str(out), "err": str(err),
            }  # fmt: skip
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            child = Child(self, int(self.line()), words, (out, err))
            try:
                yield child
            finally:
                if child.done is None:
                    child.kill_all()
                    child.wait()

    def line(self) -> bytes:
        """What it says next: a child's process id, or how it ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks has ended")
        return line

    def close(self) -> None:
        """End it: it reads no more."""
        atexit.unregister(self.close)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Child:
    """A command under way: what `subprocess.Popen` offers of it, as far as it is needed."""

    def __init__(self, nursery: Nursery, pid: int, words: list[str], files: tuple[Path, Path]) -> None:
        self.pid = pid
        self.done: Finished | None = None
        self._nursery, self._words, self._files = nursery, words, files

    def send_signal(self, number: int) -> None:
        """To it alone; to nobody, if it has ended."""
        if not self.ended():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill_all(self) -> None:
        """It and its session, which it may not have begun yet."""
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)

    def ended(self, timeout: float | None = 0.0) -> bool:
        """Whether it ends within so many seconds."""
        said = self._nursery.process.stdout
        return self.done is not None or timeout is None or bool(select.select([said], [], [], timeout)[0])

    def wait(self, timeout: float | None = None) -> Finished:
        """Its end; TimeoutExpired, as of `subprocess`, if that does not come in time."""
        if not self.ended(timeout):
            assert timeout is not None
            raise subprocess.TimeoutExpired(self._words, timeout)
        if self.done is None:
            status = int(self._nursery.line())
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in self._files]
            self.done = Finished([*self._words], status, *texts)
        return self.done


class Finished(subprocess.CompletedProcess[str]):
    """What a command left behind; `late` if it was killed at its limit."""

    def __init__(self, args: list[str], returncode: int, stdout: str, stderr: str, late: bool = False) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.late = late


_nurseries = threading.local()  # one a thread: a nursery waits for its child


def run(code: str, *words: str, cwd: Path, env: dict[str, str] | None = None, timeout: float | None = None) -> Finished:
    """`python -c code words…`."""
    return _own().run(code, [*words], cwd, dict(os.environ) if env is None else env, timeout)


def started(code: str, *words: str, cwd: Path, env: dict[str, str] | None = None) -> AbstractContextManager[Child]:
    """The same, to be watched and sent signals; one at a time."""
    return _own().started(code, [*words], cwd, dict(os.environ) if env is None else env)


def _own() -> Nursery:
    if not hasattr(_nurseries, "own"):
        _nurseries.own = Nursery()
    found: Nursery = _nurseries.own
    return found
