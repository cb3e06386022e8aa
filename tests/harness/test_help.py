"""Help in panels, at 80 columns; and names in every spelling that people try."""

import contextlib
import io
import shlex

import pytest

from dgtd.harness.cli import main
from dgtd.harness.commands import compare as comparing
from dgtd.harness.commands.command import MOST, PANELS
from dgtd.harness.commands.lazily import COMMANDS, Lazily

FIRST = 15  # lines until what most people never need


def command(name):
    return Lazily().get_command(None, name)


def options(name):
    return [each for each in command(name).params if each.param_type_name == "option"]


LARGE = [name for name in COMMANDS if len(options(name)) > MOST]


def helped(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([name, "--help"])
    return out.getvalue().splitlines()


def test_the_commands_with_many_options_are_these():
    assert set(LARGE) == {"compare", "sweep", "run", "suite", "curve"}


@pytest.mark.parametrize("name", LARGE)
def test_help_has_panels_and_the_first_holds_what_most_people_need(name, monkeypatch):
    lines = helped(name, monkeypatch)
    headings = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [panel for panel in PANELS if panel in headings]  # in their order, and no other
    assert len(headings) >= 3
    assert lines.index(f"{headings[1]}:") <= FIRST
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", LARGE)
def test_no_option_is_left_out_of_help_and_none_stands_there_twice(name, monkeypatch):
    shown = [line.split()[0] for line in helped(name, monkeypatch) if line.startswith("  -")]
    assert sorted(shown) == sorted([*(each.opts[0] for each in options(name)), "--help"])


def test_a_small_command_has_one_list(monkeypatch):
    assert "Options:" in helped("export", monkeypatch)


# ---------------------------------------------------------------------- spellings

COMPARE_WAYS = [
    ["--rules", "greedy_gq(0.5),td", "--problems", "boyan,baird", "--targets", "value"],
    ["--rule", "greedy_gq(0.5)", "--rule", "td", "--problem", "boyan", "--problem", "baird", "--target", "value"],
    ["--rules", "greedy_gq(0.5)", "--rules=td", "--problem=boyan", "--problems", "baird", "--targets=value"],
    ["--rule=greedy_gq(0.5),td", "--problem", "boyan,baird", "--target", "value", "--target", "value"],
]
MAP = ["--exact", "--map", "m.png"]
SWEEP_WAYS = [
    ["--rule", "gtd2,td", "--problem", "boyan,baird", *MAP],
    ["--rules", "gtd2", "--rule", "td", *MAP, "--problems", "boyan", "--problems", "baird"],
]
NUMBERS = ["--alpha", "0.1", "--beta", "0.1"]
ONE = {
    "run": (
        ["--rule", "td", "--problem", "boyan", "--target", "cdf"],
        ["--rules", "td", "--problems=boyan", "--targets", "cdf"],
    ),
    "curve": (["td", "--problem", "boyan", *NUMBERS], ["td", "--problems", "boyan", "--problem", "boyan", *NUMBERS]),
    "certify": (["td", "--problem", "boyan", *NUMBERS], ["td", "--problems", "boyan", *NUMBERS]),
    "suite": (
        ["all", "--rule", "td", "--claim", "a", "--claim", "b"],
        ["all", "--rules", "td", "--claims", "a", "--claim", "b"],
    ),
    "explain": (["a/b", "--rule", "td"], ["a/b", "--rules", "td"]),
    "export": (["--rule", "td", "--problem", "boyan"], ["--rules", "td", "--problems", "boyan"]),
}  # fmt: skip


def parsed(name, words):
    return command(name).make_context(name, list(words)).params


@pytest.mark.parametrize(
    ("name", "ways"), [("compare", COMPARE_WAYS), ("sweep", SWEEP_WAYS), *ONE.items()], ids=["compare", "sweep", *ONE]
)
def test_every_spelling_means_the_same(name, ways):
    first, *others = (parsed(name, words) for words in ways)
    for other in others:
        assert other == first


def test_a_comma_in_brackets_is_part_of_a_name():
    given = parsed("compare", ["--problem", "random_mdp(states=5, seed=1)", "--problem", "boyan"])["problems"]
    assert comparing.split(given) == ("random_mdp(states=5, seed=1)", "boyan")


def test_the_command_that_repeats_has_one_spelling(monkeypatch):
    monkeypatch.delenv("DGTD_EXECUTOR", raising=False)
    (again,) = {comparing.repeat(parsed("compare", words)) for words in COMPARE_WAYS}
    assert again == "dgtd compare --problems boyan,baird --rules 'greedy_gq(0.5),td' --targets value"
    assert parsed("compare", shlex.split(again)[2:]) == parsed("compare", COMPARE_WAYS[0])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", *ONE["run"][0], "--rules", "gtd2"], "--rule takes one name in `dgtd run`, got td, gtd2"),
        (["curve", *ONE["curve"][0], "--problems", "baird"], "--problem takes one name in `dgtd curve`, got boyan"),
        (["suite", "all", "--rule", "td", "--rule", "gtd2"], "--rule takes one name in `dgtd suite`, got td, gtd2"),
        (["compare", "--rule"], "'--rule"),
        (["compare", "--rule", "td", "--rule"], "'--rule"),
        (["compare", "--rule", "td", "--", "--rule"], "unexpected extra argument"),
        (["compare", "--ruel", "td"], "--rule"),
    ],
)  # fmt: skip
def test_what_takes_one_name_says_so(words, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    said = capsys.readouterr()
    assert (stopped.value.code, said.out) == (2, "")
    assert len(said.err.strip().splitlines()) == 1
    assert says in said.err
