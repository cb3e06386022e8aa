"""The listed faults: each can be applied, every catcher exists, and no room is left out."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from dgtd.harness.judging.ledger import collect
from tests.mutants import campaign
from tests.mutants.catalogue import MUTANTS, ROOMS, room_of
from tests.mutants.catching import compiles_anew
from tests.mutants.mutant import Catcher, Mutant, changed
from tests.mutants.results import Results

ROOT = Path(__file__).parents[2]


@cache
def claims():
    return {claim.id for claim in collect("all", None, "ci")}


@cache
def functions_in(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def exists(catcher):
    if catcher.kind == "claim":
        return catcher.name in claims()
    file, _, function = catcher.name.partition("::")
    return (ROOT / file).is_file() and function in functions_in(file)


@pytest.mark.parametrize("room", ROOMS)
def test_every_fault_can_be_applied_and_is_still_python(room):
    for mutant in ROOMS[room]:
        ast.parse(changed(mutant, (ROOT / mutant.file).read_text(encoding="utf-8")))


def test_about_a_hundred_faults_with_names_of_their_own_and_every_room_has_some():
    assert 80 <= len(MUTANTS) <= 110
    assert all(ROOMS.values())
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []
    assert {room_of(mutant) for mutant in MUTANTS} == set(ROOMS)


def test_every_fault_has_a_catcher_and_every_catcher_exists():
    assert [mutant.name for mutant in MUTANTS if not mutant.catchers] == []
    assert [(m.name, each.text) for m in MUTANTS for each in m.catchers if not exists(each)] == []


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
    assert compiles_anew(ROOT, "algorithms/streams.py")
    assert not compiles_anew(ROOT, "algorithms/rules.py")
    assert not compiles_anew(ROOT, "harness/cost/work.py")


def test_results_are_read_back_and_a_torn_line_is_left_out(tmp_path):
    first = Results(tmp_path / "deep" / "results.jsonl")
    first.add("key", by="claim:x", seconds=1.0)
    with first.path.open("a") as file:
        file.write('{"key": "torn", "by"')
    again = Results(first.path)
    assert again.get("key") == {"key": "key", "by": "claim:x", "seconds": 1.0}
    assert again.get("torn") is None


def test_what_nothing_caught_is_counted_as_missed():
    found = [campaign.Result("name", "room", by, 1.0) for by in ("claim:x", "test:y::z", "")]
    words = " ".join(campaign.summary(found).splitlines()[-1].split())
    assert words == "all 3 mutants 1 by claims 1 by tests 1 missed"
