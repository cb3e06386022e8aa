"""Tables and sentences in a narrow terminal: no id and no number is split, and nothing is lost."""

import os
import re

import pytest

from dgtd.harness.commands import output
from dgtd.harness.commands.tables import lines_of
from tests.harness.test_cli import dgtd

LONG_ID = "instrument/mlp/random_walk,cdf,atoms=11,pinned/loop/averaged/mirror-prox/gtd2_sb"
WORDS = "the largest of sixty ratios is 0.948683298, which is well below the margin of 1.000000000"


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def tokens(text):
    return text.split()


def test_a_table_of_texts_that_does_not_fit_becomes_records_with_every_id_whole(narrow, capsys):
    output.print_table("title", ["claim", "verdict", "evidence"], [[LONG_ID, "PASS", WORDS], ["a/b", "FAIL", WORDS]])
    shown = capsys.readouterr().out
    assert LONG_ID in shown.splitlines()
    assert max(map(len, shown.splitlines())) <= 80
    assert tokens(shown).count("0.948683298,") == 2
    assert " ".join(tokens(shown)).count("well below the margin of 1.000000000") == 2


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_word_is_split_at_any_width(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [[f"suite/claim-{i}", "CAUGHT", WORDS] for i in range(3)]
    output.print_table("", ["claim", "verdict", "evidence"], rows)
    shown = capsys.readouterr().out
    whole = {word for row in rows for cell in row for word in cell.split()}
    found = {word for word in tokens(shown) if word.strip("─")} - {"claim", "verdict", "evidence"}
    assert found == whole
    assert max(map(len, shown.splitlines())) <= columns


def test_a_table_of_numbers_that_does_not_fit_becomes_blocks_with_the_first_column_again(narrow, capsys):
    columns = ["rule", "α", "RMSPBE, end", "area", "value error", "curve"]
    interval = "0.00708 [0.0069, 0.0073]"
    rows = [[name, "0.00781", interval, interval + " ★", interval, "█▇▆▅"] for name in ("gtd2", "distributional gtd2")]
    output.print_table("baird", columns, rows, numbers={1, 2, 3, 4})
    shown = capsys.readouterr().out
    assert shown.count("distributional gtd2") == 3
    assert shown.count(interval) == 6  # whole, on one line each
    assert shown.count("█▇▆▅") == 2
    assert max(map(len, shown.splitlines())) <= 80


def test_sentences_wrap_at_words_below_their_own_first_word(narrow, capsys):
    output.tell(f"head\n  · {WORDS} and {WORDS}")
    _, first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("  · the largest")
    assert all(line.startswith("    ") and len(line) <= 80 for line in rest)
    assert len(rest) == 2
    assert lines_of("a" * 100, 80) == ["a" * 100]


def test_a_pipe_without_columns_gets_sentences_as_they_are(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    output.tell(WORDS * 5)
    assert capsys.readouterr().out == WORDS * 5 + "\n"


@pytest.mark.parametrize("columns", ["80", "100"])
def test_a_pipe_is_plain_and_as_wide_as_columns_says(columns):
    done = dgtd("problem", "list", env=os.environ | {"COLUMNS": columns})
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    widths = [len(line) for line in done.stdout.splitlines()]
    assert int(columns) - 25 < max(widths) <= int(columns)
    assert not re.search(r"random_walk_inverted_on_polic\b", done.stdout)
    assert "random_walk_inverted_on_policy" in done.stdout
