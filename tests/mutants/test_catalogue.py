"""The catalogue of mutants: every fault can be applied, every catcher exists, and no room is left out."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from harness.judging.ledger import collect
from harness.runs.rule_files import reference, resolve
from tests.mutants import campaign
from tests.mutants.catalogue import MUTANTS, ROOMS, room_of
from tests.mutants.catching import compiles_anew
from tests.mutants.mutant import RULE_FILE, Catcher, Mutant, changed

ROOT = Path(__file__).parents[2]
REQUIRED = 130
NAMED = {"rules", "users", "targets", "engines", "loops", "oracle", "certificates", "statistics", "store", "compare"}


def source_of(mutant):
    return mutant.rule or (ROOT / mutant.file).read_text(encoding="utf-8")


@cache
def claims_about(rule):
    """Ids of the claims that are judged in ci, about our rules or about a user's file."""
    judged = resolve(reference(rule)) if rule else None
    return {claim.id for claim in collect("all", judged, "ci")}


@cache
def functions_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("room", ROOMS)
def test_every_fault_can_be_applied_and_is_still_python(room):
    for mutant in ROOMS[room]:
        ast.parse(changed(mutant, source_of(mutant)))


def test_there_are_enough_and_every_room_has_some():
    assert len(MUTANTS) >= REQUIRED
    assert set(ROOMS) >= NAMED
    assert all(ROOMS.values())
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []
    assert {room_of(mutant) for mutant in MUTANTS} == set(ROOMS)


def test_every_catcher_exists_and_claims_come_first(tmp_path):
    unknown = []
    for mutant in MUTANTS:
        kinds = [catcher.kind for catcher in mutant.catchers]
        assert kinds == sorted(kinds), mutant.name  # 'claim' before 'test'
        rule = ""
        if mutant.rule:
            file = tmp_path / f"{abs(hash(mutant.rule))}" / RULE_FILE
            file.parent.mkdir(exist_ok=True)
            file.write_text(mutant.rule, encoding="utf-8")
            rule = f"{file}:mine"
        for catcher in mutant.catchers:
            if catcher.kind == "claim":
                known = catcher.name in claims_about(rule)
            else:
                file, _, function = catcher.name.partition("::")
                known = (ROOT / file).is_file() and function in functions_in(file)
            if not known:
                unknown.append((mutant.name, catcher.text))
    assert unknown == []


def test_a_text_that_is_not_there_once_is_refused():
    for old, count in (("nothing like this", 0), ("a", 3)):
        with pytest.raises(ValueError, match=f"it is {count} times"):
            changed(Mutant("x", "x.py", old, "b"), "banana")
    with pytest.raises(ValueError, match="changes nothing"):
        changed(Mutant("x", "x.py", "b", "b"), "banana")


def test_a_catcher_says_what_it_is():
    figure = Catcher("claim:evaluation/grid_world/linear/cramer/speed=NOT REPLICATED")
    assert (figure.name, figure.statuses) == ("evaluation/grid_world/linear/cramer/speed", ("NOT REPLICATED",))
    sized = Catcher("claim:stability/baird/value/gtd2/alpha=0.00390625,beta=0.00390625/falls")
    assert sized.name.endswith("beta=0.00390625/falls")
    assert Catcher("claim:rates/x/bound/delta=0.1").name == "rates/x/bound/delta=0.1"
    for text in ("gradients/r-operator", "test:tests/x.py"):
        with pytest.raises(ValueError, match="got"):
            Catcher(text)


def test_compiled_code_is_made_anew_exactly_where_the_stamp_says():
    assert compiles_anew(ROOT, "algorithms/fast/kernels.py")
    assert compiles_anew(ROOT, "algorithms/draws.py")
    assert not compiles_anew(ROOT, "algorithms/rules.py")
    assert not compiles_anew(ROOT, "harness/cost/touches.py")
    assert not compiles_anew(ROOT, RULE_FILE)


def test_results_are_read_back_and_a_torn_line_is_left_out(tmp_path):
    first = campaign.Results(tmp_path / "deep" / "results.jsonl")
    first.add("key", by="claim:x", seconds=1.0)
    with first.path.open("a") as file:
        file.write('{"key": "torn", "by"')
    again = campaign.Results(first.path)
    assert again.get("key") == {"key": "key", "by": "claim:x", "seconds": 1.0}
    assert again.get("torn") is None


def test_all_must_be_caught_and_most_of_them_by_claims():
    def results(*by):
        return [campaign.Result("name", "room", each, 1.0) for each in by]

    claim, test = "claim:x", "test:y::z"
    assert campaign.exit_code(results(*[claim] * 17, *[test] * 3), sampled=False) == 0
    assert campaign.exit_code(results(*[claim] * 16, *[test] * 4), sampled=False) == 1
    assert campaign.exit_code(results(*[claim] * 16, *[test] * 4), sampled=True) == 0
    assert campaign.exit_code(results(*[claim] * 9, ""), sampled=True) == 1
    assert "   1 missed" in campaign.summary(results(claim, ""))


def test_a_sample_is_drawn_from_what_is_asked_for():
    given = campaign.options(["--only", "compare", "--sample", "5", "--seed", "1"])
    drawn = campaign.chosen(given)
    assert len(drawn) == 5
    assert drawn == campaign.chosen(given)
    assert all("compare" in mutant.file for mutant in drawn)
