"""The README is true: its Python runs as printed, and every command in it is run, or is run by a test that is named.

A command that takes minutes as printed is run with smaller settings. HOW says what stands for what; a line of the
README that is not in it fails, so that no command changes without its test.
"""

import contextlib
import io
import re
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@dataclass(frozen=True)
class Elsewhere:
    """Run as it stands, by a test or by the commit's own check."""

    file: str
    name: str


SMALL = "--steps 200 --seeds 6 --alphas 0.05 --ratios 1 --atoms 5"
# A command of the README → what is run for it. The order is that of a reader who types along.
HOW: dict[str, list[str] | Elsewhere] = {
    "dgtd rule check mine.py:mine": ["dgtd rule check mine.py:mine"],
    "dgtd compare --problems baird,boyan --rules gtd2,mine.py:mine": [
        f"dgtd compare --problems boyan --rules gtd2,mine.py:mine {SMALL}"
    ],
    "dgtd sweep --problem boyan --rule tdc --target cdf --plot sweep.png": [
        f"dgtd sweep --problem boyan --rule tdc --target cdf --plot sweep.png {SMALL}"
    ],
    "dgtd suite all": Elsewhere("tests/golden/test_golden.py", "def test_"),
    "dgtd suite all --rule mine.py:mine": ["dgtd suite gradients --rule mine.py:mine --claim gradients/random_walk"],
    "dgtd suite all --profile full --dry-run": ["dgtd suite contraction --profile full --dry-run"],
    "dgtd suite evaluation": Elsewhere("tests/harness/judging/test_statuses.py", "INCONCLUSIVE, figure=True"),
    "dgtd explain rates/random_walk/gtd2/exponent": ["dgtd explain contraction/kl"],
    "dgtd certify gtd2 --problem baird --alpha 0.01 --beta 0.01": [
        "dgtd certify gtd2 --problem baird --alpha 0.01 --beta 0.01"
    ],
    "dgtd curve gtd2 --problem boyan --alpha 0.2 --beta 0.2": [
        "dgtd curve gtd2 --problem boyan --alpha 0.2 --beta 0.2"
    ],
    "dgtd sweep --exact --problem boyan --rule gtd2": [
        "dgtd sweep --exact --problem boyan --rule gtd2 --steps 200 --alphas 0.05,0.1 --ratios 1"
    ],
    "dgtd problem show baird --plot baird.png": ["dgtd problem show baird --plot baird.png"],
    "dgtd run --problem baird --rule tdc --alpha 0.005 --beta 0.05": [
        "dgtd run --problem baird --rule tdc --alpha 0.005 --beta 0.05 --steps 200 --seeds 2"
    ],
    "dgtd compare --predictor 'mlp(50)' --steps 10000 --seeds 16": [
        f"dgtd compare --predictor mlp(3,torch) --problems two_state --rules tdc {SMALL} --out network"
    ],
    "dgtd compare --problems cartpole-v0 --rules 'dqn,c51,greedy_gq(0.5)' --targets cdf": Elsewhere(
        "tests/harness/experiment/test_worlds.py", "test_the_command_writes_a_report"
    ),
    "dgtd export --curves --report results/compare --out c.csv": [
        "dgtd export --curves --report results/compare --out c.csv"
    ],
    "dgtd compare --until-decided --at-most '960 seeds'": Elsewhere(
        "tests/harness/experiment/test_deciding.py", "test_a_comparison_runs_until_it_is_decided"
    ),
    "dgtd suite --json": ["dgtd suite contraction --claim contraction/kl --json"],
    "dgtd diff BEFORE AFTER": ["dgtd diff results/compare results/compare"],
    "dgtd new rule|problem|suite NAME": ["dgtd new rule own", "dgtd new problem house", "dgtd new suite peace"],
    "dgtd rule|problem|suite check": [
        "dgtd rule check own.py:own", "dgtd problem check two_state", "dgtd suite check contraction",
    ],
    "dgtd gate main~5": Elsewhere("tests/harness/asv/test_gate.py", "test_every_outcome_has_its_own_code_and_words"),
    "dgtd new benchmark mine": ["dgtd new benchmark mine"],
    "dgtd compare": Elsewhere("tests/harness/experiment/test_compare.py", "test_json_has_every_number"),
    "pytest --pyargs dgtd.suites": Elsewhere("tests/suites/test_ledger.py", "test_pytest_collects_one_test_a_claim"),
}  # fmt: skip
MAKE = {
    "compare": "dgtd compare", "figures": "dgtd figures", "test": "-m pytest", "mutants": "-m tests.mutants",
    "bench": "tests/benchmarks", "control": "greedy_gq(0.5)",
    "asv": "asv run", "cost-picture": "docs/cost.png", "site": "docs/site/build.py",
}  # fmt: skip


def commands():
    """Every `dgtd` and `pytest` command: lines of code, and words between backticks."""
    lines = re.findall(r"^    (dgtd .*?)(?:\s{2,}#.*)?$", TEXT, re.MULTILINE)
    prose = re.sub(r"^(    |```).*$", "", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL), flags=re.MULTILINE)
    inline = re.findall(r"`((?:dgtd|pytest) [^`]+)`", prose)
    return list(dict.fromkeys(line.strip() for line in [*lines, *inline]))


def test_every_command_of_the_readme_is_run():
    assert sorted(commands()) == sorted(HOW)
    for how in HOW.values():
        if isinstance(how, Elsewhere):
            assert how.name in (ROOT / how.file).read_text(encoding="utf-8")


def typed(line):
    """In this process, as the command line does it: the exit code and what it printed."""
    from dgtd.harness.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        main(line.split()[1:])
    return end.value.code, out.getvalue()


@pytest.mark.slow
def test_a_reader_who_types_along_gets_what_the_readme_says(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "mine.py").write_text(BLOCKS[1], encoding="utf-8")
    for readme, how in HOW.items():
        for line in how if isinstance(how, list) else []:
            code, shown = typed(line)
            assert code == 0, (readme, line, shown)
            assert shown.strip() or "--out" in line
    for file in ("results/compare/report.html", "sweep.png", "baird.png", "c.csv"):
        assert (tmp_path / file).stat().st_size > 0
    (one_liner,) = re.findall(r"`(pd\.[^`]+)`", TEXT)
    curves = eval(one_liner, {"pd": pd})
    assert ("boyan", "mine", "cdf") in curves.columns
    assert curves.index[0] == 0
    assert curves["boyan"]["mine"].notna().all(axis=None)


@pytest.mark.slow
def test_the_example_compares_a_rule_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS[0].splitlines()) <= 12
    out, scope = io.StringIO(), {}
    with contextlib.redirect_stdout(out):
        exec(BLOCKS[0], scope)
    assert "GTD2" in out.getvalue()
    assert set(scope["result"].summary["rule"]) == {"GTD2", "TDC", "mine"}
    assert "mine" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_rule_of_your_own_is_a_rule():
    # A function needs a source file for nothing but its hash, so it is checked as typed.
    scope: dict = {}
    exec(BLOCKS[1], scope)
    assert scope["mine"].name == "mine"
    assert len(scope["mine"].source_hash) == 16


def test_every_target_of_make_does_what_it_says():
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", TEXT, re.MULTILINE))
    assert named == set(MAKE)
    for target, word in MAKE.items():
        done = subprocess.run(["make", "--dry-run", target], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0
        assert word in done.stdout


def test_the_codes_and_statuses_it_lists_are_all_there_are():
    from dgtd.harness.cli import BAD_INPUT, INTERNAL, INTERRUPTED
    from dgtd.harness.judging import ledger

    (codes,) = re.findall(r"^Exit codes: (.*)$", TEXT, re.MULTILINE)
    known = {ledger.PASSED, ledger.FAILED, ledger.INCONCLUSIVE, ledger.NOTHING, ledger.BROKEN}
    assert {int(code) for code in re.findall(r"\b(\d+) ", codes)} == known | {BAD_INPUT, INTERNAL, INTERRUPTED}
    said = TEXT[TEXT.index("Statuses:") : TEXT.index("## What is claimed")]
    assert all(status in said for status in ledger.STATUSES)


def test_the_tables_name_every_suite_and_every_room():
    from dgtd.harness.plugins import installed

    claimed = TEXT[TEXT.index("## What is claimed") : TEXT.index("## What a step costs")]
    assert set(re.findall(r"^\| ([a-z_]+) \|", claimed, re.MULTILINE)) - {"suite"} == set(installed("suites"))
    for path in re.findall(r"`((?:algorithms|harness|suites|tests)/[\w/.]*)`", TEXT):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / path).exists(), path


def test_it_is_short_and_its_pictures_are_there():
    assert len(TEXT.splitlines()) <= 150
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert len(pictures) == 3
    assert all((ROOT / picture).stat().st_size > 10_000 for picture in pictures)


def test_what_it_says_a_rule_may_use_is_what_a_rule_may_use(tmp_path):
    """The sentence under the rule, as rules: ρ clipped, δ clipped with linear=False, a branch by np.where."""
    from dgtd.harness.runs.rule_files import reference

    assert "`np.minimum(rho, 1)`; of delta and u with `@rule(linear=False)`" in TEXT
    source = textwrap.dedent("""
        import numpy as np
        from dgtd.algorithms.rule import Cotangents, Promise, rule

        @rule(promises={Promise.SOLVES_W})
        def clipped(delta, u, rho):
            r = np.minimum(rho, 1)
            return Cotangents(-r * delta, r * u, r * delta - u)

        @rule(linear=False)
        def bounded(delta, u, rho):
            return Cotangents(-rho * np.clip(delta, -1, 1), rho * u, rho * np.where(delta > 0, delta, 0.0) - u)
    """)
    (tmp_path / "some.py").write_text(source, encoding="utf-8")
    for name in ("clipped", "bounded"):
        assert reference(f"{tmp_path}/some.py:{name}").name == name
