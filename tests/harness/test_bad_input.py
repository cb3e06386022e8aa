"""Whatever is wrong with a command line is one line on stderr and exit code 2, before anything is run or stored."""

import contextlib
import io
import os
import signal
import time
from collections import Counter

import pytest

import dgtd.harness.judging.ledger  # before `execute` is replaced: it would keep the replacement  # noqa: F401
from dgtd.harness.cli import main
from tests.harness.bad_input import files, names, numbers, usage, worlds
from tests.harness.bad_input.case import Case

pytestmark = pytest.mark.slow  # 1830 commands, half a minute

LIMIT, BUSY = 30.0, 5.0  # seconds by the clock, on a machine that does other things too, and of the processor's time
CASES = list(dict.fromkeys(case for part in (numbers, names, files, usage, worlds) for case in part.cases()))
FAMILIES = sorted({case.family for case in CASES})
tally: Counter[str] = Counter()


class Accepted(BaseException):
    """Something would have been run."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("bad")
    files.prepare(made)
    return made


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch, folder):
    def refuse(*_, **__):
        raise Accepted

    for place in ("dgtd.harness.runs.driver.execute", "dgtd.harness.judging.ledger.execute"):
        monkeypatch.setattr(place, refuse)
    # How long a rule or a scheduler may keep silent is tested elsewhere; here it would only take time.
    monkeypatch.setattr("dgtd.harness.runs.rule_files.PATIENCE", 0.3)
    monkeypatch.setattr("dgtd.harness.runs.executors.PATIENCE", 0.3)
    monkeypatch.delenv("DGTD_EXECUTOR", raising=False)
    monkeypatch.delenv("DGTD_STORE", raising=False)
    monkeypatch.chdir(folder)


def listing():
    """Every file and folder with its size; SQLite may leave its journal beside a store that it only read."""
    found = {}
    for place, folders, inside in os.walk("."):
        for name in inside:
            if not name.endswith(("-wal", "-shm")):
                found[os.path.join(place, name)] = os.path.getsize(os.path.join(place, name))
        found |= dict.fromkeys((os.path.join(place, name) for name in folders if name != "__pycache__"), 0)
    return found


def tried(case: Case) -> str:
    """What is wrong with the answer to a case, or nothing."""
    out, err = io.StringIO(), io.StringIO()
    rang = []

    def ring(*_):
        rang.append(True)
        raise Accepted

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    start, spent, code = time.monotonic(), time.process_time(), 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(list(case.words))
    except SystemExit as stop:
        code = stop.code
    except Accepted:
        code = -1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    said = err.getvalue()
    if rang or time.monotonic() - start > LIMIT or time.process_time() - spent > BUSY:
        return "hang"
    if "Traceback" in said:
        return "traceback"
    if "this is a bug" in said or code not in (-1, 0, 2):
        return f"internal error: {said.strip()}"
    if code != 2:
        return "wrongly accepted"
    if out.getvalue():
        return f"printed on stdout: {out.getvalue()!r:.100}"
    if len(said.splitlines()) != 1 or not said.startswith("dgtd: ") or not said.rstrip("\n").isprintable():
        return f"not one line: {said!r}"
    plain = said.lower().replace("-", "_")
    missing = [name for name in case.names if name.lower().replace("-", "_") not in plain]
    return f"does not name {missing}: {said.strip():.300}" if missing else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_bad_input_is_one_line_and_exit_code_2(family):
    wrong = []
    for case in CASES:
        if case.family == family:
            before = listing()
            found = tried(case)
            if not found and listing() != before:
                found = f"wrote {sorted(listing().items() - before.items())}"
            tally["cases"] += 1
            tally[found.split(":")[0] or "refused"] += 1
            if found:
                wrong.append(f"{case}\n    {found}")
    assert not wrong, f"{len(wrong)} of {sum(case.family == family for case in CASES)}:\n" + "\n".join(wrong)


def test_there_are_enough_cases_and_no_two_are_the_same(capsys):
    assert len({case.words for case in CASES}) == len(CASES) >= 500
    with capsys.disabled():
        kinds = ("traceback", "internal error", "hang", "wrongly accepted")
        print(f"\nbad input: {tally['cases']} cases, " + ", ".join(f"{kind} {tally[kind]}" for kind in kinds))
