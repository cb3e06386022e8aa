"""A copy of the sources, and what claims and tests say in it: each in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from dgtd.algorithms.fast.compiling import cache_folder, has_compiled
from tests import forked
from tests.forked import PYTEST, THREADS, Finished
from tests.mutants.mutant import Catcher

FOLDERS = ("dgtd", "algorithms", "harness", "suites", "tests", "examples", "docs")
FILES = ("pyproject.toml", "README.md", "Makefile", "asv.conf.json", "CHANGELOG.md")
SOURCES = (".py", ".toml", ".json", ".css", ".js", ".conf")  # what can decide a verdict: pages and pictures can't
PATIENCE = 900.0  # seconds for one command
COMMAND = "import sys; from dgtd.harness.cli import main; sys.exit(main())"
WHERE = "from dgtd import algorithms, harness, suites; print(*(m.__file__ for m in (algorithms, harness, suites)))"


def copy_sources(root: Path, folder: Path, bytecode: bool = False) -> None:
    """The checkout without what is not source; with Python's bytecode, which is valid as long as a file is the same."""
    ignore = shutil.ignore_patterns(*([] if bytecode else ["__pycache__"]), "*.sqlite*", ".*")
    for name in FOLDERS:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=ignore, symlinks=True)  # dgtd/ links to the rooms
    for name in FILES:
        if (root / name).is_file():
            shutil.copy2(root / name, folder / name)


def declare(folder: Path) -> None:
    """What an installation would write: a copy has the plug-ins that its own pyproject.toml declares."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    inside = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    inside.mkdir()
    (inside / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    groups = {"console_scripts": project["scripts"]} | project["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (inside / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def digest_of(folder: Path) -> str:
    """Of every source in a copy, but for the mutants: a changed catalogue does not make old results stale."""
    hasher = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        place = file.relative_to(folder).as_posix()
        if file.is_file() and file.suffix in SOURCES and not place.startswith("tests/mutants/"):
            hasher.update(place.encode() + b"\0" + file.read_bytes())
    return hasher.hexdigest()[:16]


@dataclass(frozen=True)
class Place:
    """A copy of the sources, with a cache of compiled code and a store of its own beside it.

    first   where nothing is broken: Python's bytecode is kept here, for the copies that are made of this one
    """

    folder: Path
    first: bool = False

    @property
    def sources(self) -> Path:
        """The copy."""
        return self.folder / "copy"

    @property
    def cache(self) -> Path:
        """Compiled code."""
        return self.folder / "cache"

    @staticmethod
    def make(root: Path, folder: Path) -> Place:
        """A fresh copy of a checkout."""
        folder.mkdir(parents=True)
        place = Place(folder, first=True)
        copy_sources(root, place.sources)
        declare(place.sources)
        if cache_folder().exists():  # code of the very same sources, by its name: nothing is compiled twice
            shutil.copytree(cache_folder(), place.cache)
        return place

    def another(self, folder: Path, file: str) -> Place:
        """A copy of this one, for a fault in a file: with its compiled code, if that does not depend on the file."""
        copy_sources(self.sources, folder / "copy", bytecode=True)
        declare(folder / "copy")
        if self.cache.exists() and not compiles_anew(self.sources, file):
            shutil.copytree(self.cache, folder / "cache")
        return Place(folder)

    def run(self, code: str, *words: str, patience: float = PATIENCE, **extra: str) -> Finished:
        """Python in the copy: its modules win over installed ones, and its compiled code is its own."""
        environment = os.environ | THREADS | {
            "PYTHONPATH": str(self.sources),
            "DGTD_CACHE": str(self.cache),
            "DGTD_EXECUTOR": "in-process",
            "PYTHONDONTWRITEBYTECODE": "" if self.first else "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
        } | extra  # fmt: skip
        environment.pop("DGTD_STORE", None)
        done = forked.run(code, *words, cwd=self.sources, env=environment, timeout=patience)
        if done.late:
            done.stderr += f"\nmore than {patience:g} s"
        return done

    def check(self) -> None:
        """RuntimeError if the modules that run are not those of the copy."""
        found = self.run(WHERE).stdout.split()
        if len(found) != 3 or not all(Path(file).is_relative_to(self.sources) for file in found):
            raise RuntimeError(f"the copy in {self.sources} is not what runs, but {found}")

    # ------------------------------------------------------------------ claims

    def statuses(self, suite: str, claims: list[str], store: str) -> dict[str, str]:
        """Claim → status, of the claims whose ids start so; empty if the command gave no ledger."""
        only = [word for claim in claims for word in ("--claim", claim)]
        words = ["suite", suite, *only, "--json", "--store", str(self.folder / store)]
        return ledger_of(self.run(COMMAND, *words))

    # ------------------------------------------------------------------ tests

    def failed_tests(self, names: list[str]) -> tuple[set[str], set[str]]:
        """(those that ran, those that failed) of tests, by file and function, whatever their parameters."""
        if not names:
            return set(), set()
        done = self.run(PYTEST, "-p", "no:cacheprovider", "-p", "no:xdist", "-rA", "--no-header", *names)
        lines = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S+::\w+)", done.stdout, re.M)
        ran = {name for word, name in lines if word in ("PASSED", "FAILED")}
        bad = {name for word, name in lines if word == "FAILED"} if done.returncode == 1 else set()
        return ran, bad

    # ------------------------------------------------------------------ both

    def catches(self, catcher: Catcher, turn: int) -> bool:
        """Whether the claim does not pass, or the test fails."""
        if catcher.kind == "claim":
            found = self.statuses(catcher.suite, [catcher.name], f"{turn}.sqlite")
            return found.get(catcher.name) in catcher.statuses
        return catcher.name in self.failed_tests([catcher.name])[1]

    def red(self, catchers: list[Catcher]) -> dict[str, str]:
        """Catcher → what is wrong with it where nothing is broken: it must pass there, or it catches nothing."""
        wrong = {}
        claims = [each for each in catchers if each.kind == "claim"]
        for suite in dict.fromkeys(each.suite for each in claims):
            names = [each for each in claims if each.suite == suite]
            found = self.statuses(suite, [each.name for each in names], "right.sqlite")
            for each in names:
                status = found.get(each.name, "no entry")
                if status in each.statuses or status not in ("PASS", "CAUGHT", "VACUOUS"):
                    wrong[each.text] = status
        tests = [each for each in catchers if each.kind == "test"]
        ran, failed = self.failed_tests(sorted({each.name for each in tests}))
        for each in tests:
            if each.name not in ran or each.name in failed:
                wrong[each.text] = "FAILED" if each.name in failed else "did not run"
        return wrong


def ledger_of(done: Finished) -> dict[str, str]:
    """Claim → status, of what `dgtd suite --json` printed; empty if that was no ledger."""
    try:
        return {entry["id"]: entry["status"] for entry in json.loads(done.stdout)["claims"]}
    except (ValueError, KeyError, TypeError):
        return {}


def compiles_anew(root: Path, file: str) -> bool:
    """Whether compiled code depends on a file: see `dgtd.algorithms.fast.compiling.source_stamp`."""
    path = root / file
    return file.startswith("algorithms/") and path.is_file() and has_compiled(path.read_bytes())
