"""Files that are not what they should be: rule files, networks, stores, and places to write to."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tests.harness.bad_input.case import CERTIFY, COMPARE, EXPLAIN, RUN, SUITE, SWEEP, Case, having, without

HEAD = "from dgtd.algorithms.rule import Cotangents, Rule, rule\n"
GTD2 = "    return Cotangents(-rho * u, rho * u, rho * delta - u)\n"
MINE = HEAD + "@rule\ndef mine(delta, u, rho):\n" + GTD2
PLAIN = HEAD + "def mine(delta, u, rho):\n"

# Rule files and what is said of `file.py:mine`.
RULE_FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "no function in empty.py 'mine'"),
    "comment": ("# nothing\n", "no function in comment.py 'mine'"),
    "near": (MINE.replace("mine", "mini"), "did you mean 'mini'"),
    "binary": (bytes(range(256)), "is not text"),
    "latin": ("# Grüße\n".encode("latin-1"), "is not text"),
    "utf16": (MINE.encode("utf-16"), "is not text"),
    "nul": ("x = 1\0\n", "is not Python"),
    "syntax": ("def mine(:\n", "is not Python"),
    "indent": ("def mine(delta, u, rho):\nreturn 1\n", "is not Python"),
    "unclosed": (MINE + "print((\n", "is not Python"),
    "tabs": ("def mine(d, u, r):\n\tif d:\n        return 1\n", "is not Python"),
    "quote": ("x = 'never closed\n", "is not Python"),
    "markup": ("raise ValueError('[/x] [bold]')\n", "raised ValueError: [/x] [bold]"),
    "lines": ("raise ValueError('one\\ntwo\\nthree')\n", "raised ValueError: one two three"),
    "colour": ("raise ValueError('\\x1b[31mred')\n", "raised ValueError"),
    "raises": ("raise KeyError('k')\n", "raised KeyError"),
    "exits": ("import sys\nsys.exit(0)\n", "raised SystemExit"),
    "keyboard": ("raise KeyboardInterrupt\n", "raised KeyboardInterrupt"),
    "missing": ("import no_such_module_here\n", "raised ModuleNotFoundError"),
    "broken_import": ("import syntax\n", "is not Python"),
    "wrong_name": (HEAD + "from dgtd.algorithms.rule import Cotangent\n", "raised ImportError"),
    "deep": ("def f(): return f()\nf()\n", "raised RecursionError"),
    "memory": ("raise MemoryError\n", "raised MemoryError"),
    "divides": ("1 / 0\n", "raised ZeroDivisionError"),
    "number": ("mine = 3\n", "must be a function, got int"),
    "nothing": ("mine = None\n", "must be a function, got NoneType"),
    "text": ("mine = 'gtd2'\n", "must be a function, got str"),
    "module": ("import os as mine\n", "must be a function, got module"),
    "two": (HEAD + "def mine(delta, u):\n    return u\n", "must take (delta, u, rho)"),
    "four": (HEAD + "def mine(a, b, c, d):\n    return a\n", "must take (delta, u, rho)"),
    "tuple": (PLAIN + "    return (delta, u, u)\n", "must return Cotangents"),
    "none": (PLAIN + "    return None\n", "must return Cotangents"),
    "generator": (PLAIN + "    yield delta\n", "must return Cotangents"),
    "class": ("class mine:\n    def __init__(self, a, b, c):\n        pass\n", "must return Cotangents"),
    "nan": (PLAIN + "    return Cotangents(u, u, float('nan'))\n", "must return finite numbers"),
    "texts": (PLAIN + "    return Cotangents('a', 'b', 'c')\n", "must return finite numbers"),
    "square": (PLAIN + "    return Cotangents(u * u, u, u)\n", "is not linear"),
    "constant": (PLAIN + "    return Cotangents(1.0, u, u)\n", "is not linear"),
    "fails": (PLAIN + "    return undefined\n", "raised NameError"),
    "leaves": ("import sys\n" + PLAIN + "    sys.exit(3)\n", "raised SystemExit"),
    "asserts": (PLAIN + "    assert False, 'no'\n", "raised AssertionError"),
    "dice": ("import random\n" + PLAIN + "    return Cotangents(u * random.random(), u, u)\n", "draws random numbers"),
    "changes": (PLAIN + "    u *= 2\n" + GTD2, "changes its arguments in place"),
    "promise": (HEAD + "@rule(promises={'descend'})\ndef mine(delta, u, rho):\n" + GTD2, "did you mean 'descends'"),
    "promised": (HEAD + "@rule(promises='stable')\ndef mine(delta, u, rho):\n" + GTD2, "promises must be a set"),
    "decay": (HEAD + "@rule(w_decay=-1.0)\ndef mine(delta, u, rho):\n" + GTD2, "w_decay must be 0 or more"),
    "keyword": (HEAD + "@rule(curvatur=True)\ndef mine(delta, u, rho):\n" + GTD2, "curvatur"),
    "loops": ("while True:\n    pass\n", "a rule is arithmetic"),
    "hangs": (PLAIN + "    while True:\n        pass\n", "a rule is arithmetic"),
}
REFERENCES = {
    "mine.py": "must name a function",
    "mine.py:": "must name a function",
    "mine.py:nope": "no function in mine.py 'nope'",
    "mine.py:Mine": "did you mean 'mine'",
    "mine.py:__name__": "must be a function, got str",
    "mine.py:mine()": "no function in mine.py 'mine()'",
    "mine.py:mine:mine": "mine.py:mine",
    "nowhere.py:mine": "no file 'nowhere.py'",
    "no/such/mine.py:mine": "no file 'no/such/mine.py'",
    ".py:mine": "no file '.py'",
    "folder.py:mine": "no file 'folder.py'",
    "/dev/null.py:mine": "no file '/dev/null.py'",
    "mine.py :mine": "mine.py :mine",
    "mine:mine": "mine:mine",
    "mine.txt:mine": "mine.txt:mine",
    "[/x].py:mine": "no file '[/x].py'",
    "$a$.py:mine": "no file '$a$.py'",
    "mine.py:\x1b[31m": "no function in mine.py",
}
NETWORKS: dict[str, tuple[str, str]] = {
    "net_number": ("mine = 3\n", "must be a function that returns a torch.nn.Module"),
    "net_empty": ("", "no function in net_empty.py 'mine'"),
    "net_none": ("def mine():\n    return None\n", "must return a torch.nn.Module, got NoneType"),
    "net_raises": ("def mine():\n    raise ValueError('[/x]')\n", "[/x]"),
    "net_exits": ("import sys\ndef mine():\n    sys.exit(0)\n", "raised SystemExit"),
    "net_three": ("def mine(a, b, c):\n    return None\n", "raised TypeError"),
    "net_narrow": ("import torch\ndef mine(i, o):\n    return torch.nn.Linear(i + 1, o)\n", "can't take 2 inputs"),
    "net_wide": ("import torch\ndef mine(i, o):\n    return torch.nn.Linear(i, o + 1)\n", "must give 1 outputs"),
    "net_syntax": ("def mine(\n", "is not Python"),
}
BAD_STORES = {  # what can't even be opened
    "text.sqlite": "it is not a dgtd store",
    "folder.sqlite": "can't be opened",
    "other.sqlite": "is a database of something else",
    "newer.sqlite": "has schema 99",
    "bare.sqlite": "is damaged",
    "text.sqlite/x.sqlite": "can't be opened",
}
BAD_ROWS = {  # what opens, and has rows that nobody can read
    "json.sqlite": "JSON is malformed",
    "keys.sqlite": "missing required field",
    "list.sqlite": "Expected `object`, got `array`",
    "outcome.sqlite": "is not a valid Outcome",
    "blob.sqlite": "buffer size",
    "page.sqlite": "page.sqlite",
}


def prepare(folder: Path) -> None:
    """Write every file that a case names."""
    from dgtd.harness.runs.database import SCHEMA
    from dgtd.harness.runs.spec import FileRef, Learner, PlaceSpec, Probe, RunSpec
    from dgtd.harness.runs.store import Store

    for name, (source, _) in {**RULE_FILES, **NETWORKS}.items():
        (folder / f"{name}.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    (folder / "mine.py").write_text(MINE)
    for name in ("folder.py", "folder.sqlite", "folder", "folder.png"):
        (folder / name).mkdir()
    (folder / "file").write_text("a file")
    (folder / "text.sqlite").write_text("this is no database, and it is long enough to be looked at\n" * 20)
    for name, script in {
        "other.sqlite": "CREATE TABLE theirs (x)",
        "newer.sqlite": "PRAGMA user_version=99",
        "bare.sqlite": f"PRAGMA user_version={SCHEMA}",
    }.items():
        _execute(folder / name, script)
    run = "INSERT INTO runs (hash, spec, created, metrics, version) VALUES ('h', '{}', 'now', '[]', '0');"
    right = RunSpec(PlaceSpec("baird"), Learner(FileRef("gtd2"), 1.0, 1.0), Probe((0, 1))).to_json()
    for name, script in {
        "json.sqlite": run.format("no json"),
        "keys.sqlite": run.format("{}"),
        "list.sqlite": run.format("[1]"),
        "outcome.sqlite": run.format(right) + _lane("lost", 0, b""),
        "blob.sqlite": run.format(right) + _lane("diverged", 1, bytes(1)),
        "page.sqlite": run.format(right),
    }.items():
        Store(folder / name).close()
        _execute(folder / name, script)
    page = folder / "page.sqlite"
    page.write_bytes(page.read_bytes()[:4096] + b"\xff" * (page.stat().st_size - 4096))


def _lane(outcome: str, checkpoints: int, curves: bytes) -> str:
    """A row whose checksum is right: what is wrong with it was written so."""
    from dgtd.harness.runs.store import checksum

    columns = "run, seed, outcome, died, checkpoints, curves, seconds, error, law, created, checksum"
    mark = checksum(("h", 0, outcome, -1, checkpoints, curves, "", b""))
    values = f"'h', 0, '{outcome}', -1, {checkpoints}, x'{curves.hex()}', 0, '', x'', 'now', '{mark}'"
    return f"INSERT INTO lanes ({columns}) VALUES ({values})"


def _execute(path: Path, script: str) -> None:
    database = sqlite3.connect(path)
    database.executescript("PRAGMA journal_mode=DELETE;" + script)
    database.close()


def cases() -> Iterator[Case]:
    """Rule files, networks, stores, and where to write."""
    for name, (_, says) in RULE_FILES.items():
        yield Case("rule file", ("rule", "check", f"{name}.py:mine"), (says,))
        yield Case("rule file", having(RUN, "--rule", f"{name}.py:mine"), (says,))
    for command, option in ((SWEEP, "--rule"), (SUITE, "--rule"), (EXPLAIN, "--rule"), (COMPARE, "--rules")):
        for name in list(RULE_FILES)[:15]:
            yield Case("rule file", having(command, option, f"{name}.py:mine"), (RULE_FILES[name][1],))
    for text, says in REFERENCES.items():
        yield Case("reference", ("rule", "check", text), (says,))
        yield Case("reference", having(RUN, "--rule", text), (says,))
        yield Case("reference", having(COMPARE, "--rules", f"gtd2,{text}"), (says,))
    yield Case("reference", ("rule", "show", "mine.py"), ("mine.py",))
    yield Case("reference", ("certify", "mine.py", *CERTIFY[2:]), ("mine.py",))
    for name, (_, says) in NETWORKS.items():
        yield Case("network", having(RUN, "--predictor", f"{name}.py:mine"), (says,))
    for text in ("nowhere.py:mine", "mine.py", "folder.py:mine", "mine.py:mini"):
        yield Case("network", having(RUN, "--predictor", text), (text.split(":")[0],))
    yield from _stores()
    yield from _places()


def _stores() -> Iterator[Case]:
    for store, says in BAD_STORES.items():
        for command in (("runs",), ("export",), RUN, SWEEP, COMPARE, SUITE, EXPLAIN, (*SUITE, "--dry-run")):
            if store.endswith("/x.sqlite") and command[0] in ("runs", "export"):
                continue  # not there at all, as below
            yield Case("store", having(command, "--store", store), (says, store))
    for store, says in BAD_ROWS.items():
        for words in (
            ("runs",),
            ("runs", "--json"),
            ("export",),
            ("export", "--format", "parquet", "--out", "a.parquet"),
        ):
            if words[0] == "runs" and store in ("outcome.sqlite", "blob.sqlite"):
                continue  # no lane is read
            yield Case("store rows", (*words, "--store", store), (says, store))
    for command in ("runs", "export"):
        for store in ("none.sqlite", "no/such/store.sqlite", "[/x]", "$a$"):
            yield Case("store", (command, "--store", store), (f"no store {store!r}",))
        yield Case("store", (command, "--store", ""), ("--store",))
    for command in (RUN, SWEEP, COMPARE, SUITE, EXPLAIN):
        yield Case("store", having(command, "--store", ""), ("--store",))
        yield Case("store", having(command, "--store", "a\0b"), ("--store",))


def _places() -> Iterator[Case]:
    for option in ("--junit", "--markdown", "--document"):
        for value, says in (("no/such/x", "no folder 'no/such'"), ("folder", "got the folder"), ("file/x", "'file'")):
            yield Case("place", (*SUITE, option, value), (option[2:], says))
        yield Case("place", (*SUITE, option, ""), (option,))
    yield Case("place", (*SUITE, "--junit", "same", "--markdown", "same"), ("different files",))
    yield Case("place", (*SUITE, "--markdown", "same.md", "--document", "./same.md"), ("different files",))
    yield Case("place", (*SUITE, "--document", "claims.txt"), ("document must end in .md or .html",))
    yield Case("place", (*SUITE, "--pictures", "file"), ("pictures must name a folder",))
    yield Case("place", (*SUITE, "--pictures", ""), ("--pictures",))
    yield Case("place", having(COMPARE, "--out", "file"), ("can't write to 'file'",))
    yield Case("place", having(COMPARE, "--out", "file/sub"), ("can't write to 'file/sub'",))
    yield Case("place", having(COMPARE, "--out", "/proc/x"), ("can't write to '/proc/x'",))
    yield Case("place", having(COMPARE, "--out", ""), ("--out",))
    for command in (SWEEP, ("problem", "show", "two_state")):
        for value in ("x.foo", "x", "folder", "x.jpg", ".png", "x.png.", "[/x]", "x.PNG2"):
            yield Case("plot", (*command, "--plot", value), ("plot must end in png, svg or pdf", value))
        yield Case("plot", (*command, "--plot", "folder.png"), ("plot must name a file",))
        yield Case("plot", (*command, "--plot", ""), ("--plot",))
    yield Case("plot", ("problem", "show", "two_state", "--plot", "no/such/x.png"), ("no/such/x.png",))
    yield Case("plot", (*SWEEP, "--plot", "file/x.png"), ("file",))
    exact = (*SWEEP, "--exact", "--map", "m.png")
    yield Case("map", (*SWEEP, "--map", "m.png"), ("--map needs --exact",))
    yield Case("map", having(exact, "--map", "m.txt"), ("map must end in png, svg or pdf",))
    yield Case("map", having(exact, "--map", "folder.png"), ("map must name a file",))
    yield Case("map", having(exact, "--map", ""), ("--map",))
    yield Case("map", (*exact, "--plot", "p.png"), ("--plot draws areas and --map classes",))
    yield Case("map", (*exact, "--predictor", "mlp(5)"), ("--map needs a linear --predictor",))
    yield Case("map", (*having(exact, "--problem", "baird"), "--target", "cdf"), ("a map needs at most 64 unknowns",))
    yield Case("map", having(exact, "--problem", "two_state,spiral"), ("nonlinear predictor",))
    yield Case("map", having(exact, "--problem", ","), ("a map needs a problem",))
    yield Case("map", having(exact, "--rule", " "), ("a map needs a rule",))
    yield Case("map", having(exact, "--rule", "gtd2,gtd3"), ("did you mean 'gtd2'?",))
    for words, says in (
        (("--format", "xml"), "format must be 'csv', 'parquet' or 'latex'"),
        (("--format", ""), "format must be"),
        (("--format", "CSV"), "format must be"),
        (("--format", "parquet"), "out must be given"),
        (("--out", "folder"), "got the folder"),
        (("--out", "no/such/x.csv"), "no folder 'no/such'"),
        (("--out", "file/x.csv"), "no folder 'file'"),
        (("--format", "parquet", "--out", "folder"), "got the folder"),
        (("--out", ""), "--out"),
    ):
        yield Case("export", ("export", "--store", "keys.sqlite", *words), (says,))
    for option in ("--problem", "--rule", "--alpha", "--beta"):
        yield Case("missing", without(RUN, option), (option,))
    for option in ("--problem", "--rule"):
        yield Case("missing", without(SWEEP, option), (option,))
    for option in ("--problem", "--alpha", "--beta"):
        yield Case("missing", without(CERTIFY, option), (option,))
