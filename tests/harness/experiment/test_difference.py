"""`dgtd diff` on planted documents: what changed is found, what did not is not, and words for what can't be read."""

import copy
import json

import pytest

from dgtd.harness.commands.diff import differences, read
from tests.harness.test_cli import dgtd

REPORT = {
    "steps": 100, "seeds": 8, "seed": 0, "atoms": 5, "projection": "cramer",
    "problems": {
        "boyan": {
            name: {
                "alpha": 0.1, "beta": 0.2, "diverged": 0,
                "metrics": {"rmspbe": {"auc": {"estimate": area, "low": area - 0.1, "high": area + 0.1}}},
            }
            for name, area in (("GTD2", 1.0), ("TDC", 0.5))
        }
    },
    "tests": [{"problem": "boyan", "metric": "rmspbe", "number": "auc", "a": "GTD2", "b": "TDC", "winner": "TDC"}],
}  # fmt: skip
LEDGER = {
    "claims": [
        {"id": "a/b", "status": "PASS", "finding": {"estimate": 0.5}},
        {"id": "a/c", "status": "PASS", "finding": {"estimate": float("nan")}},
    ]
}


@pytest.mark.parametrize("document", [REPORT, LEDGER], ids=["report", "ledger"])
def test_equal_documents_and_rounding_do_not_differ(document):
    assert differences(document, document) == []
    again = json.loads(json.dumps(document).replace("0.5", str(0.5 * (1 + 1e-12))))
    assert differences(document, again) == []


def test_a_verdict_matters_and_comes_first():
    other = copy.deepcopy(LEDGER)
    other["claims"][0] |= {"status": "FAIL", "finding": {"estimate": 0.7}}
    other["claims"].append({"id": "a/d", "status": "PASS", "finding": {"estimate": 1.0}})
    found = differences(LEDGER, other)
    assert [(each.where, each.what, each.before, each.after, each.matters) for each in found] == [
        ("a/d", "claim", "-", "new", True),
        ("a/b", "verdict", "PASS", "FAIL", True),
        ("a/b", "estimate", "0.5", "0.7", False),
    ]


def test_a_winner_matters_a_number_is_told():
    other = copy.deepcopy(REPORT)
    other["tests"][0]["winner"] = None
    other["seeds"] = 16
    other["problems"]["boyan"]["TDC"]["alpha"] = 0.3
    other["problems"]["boyan"]["TDC"]["metrics"]["rmspbe"]["auc"]["estimate"] = 0.9
    del other["problems"]["boyan"]["GTD2"]
    told = {(each.where, each.what): (each.before, each.after, each.matters) for each in differences(REPORT, other)}
    assert told == {
        ("boyan · GTD2", "contestant"): ("there", "removed", True),
        ("boyan · GTD2 against TDC", "winner"): ("TDC", "nobody", True),
        ("all", "seeds"): ("8", "16", False),
        ("boyan · TDC", "alpha"): ("0.1", "0.3", False),
        ("boyan · TDC", "rmspbe, auc"): ("0.5 [0.4, 0.6]", "0.9 [0.4, 0.6]", False),
    }


def test_the_command_has_an_exit_code_for_each_answer(tmp_path):
    (tmp_path / "one").mkdir()
    one, two, three = tmp_path / "one" / "compare.json", tmp_path / "two.json", tmp_path / "three.json"
    one.write_text(json.dumps(REPORT))
    two.write_text(json.dumps(REPORT | {"seeds": 9}))
    three.write_text(json.dumps(LEDGER))
    same = dgtd("diff", str(tmp_path / "one"), str(one))
    assert (same.returncode, same.stdout.strip()) == (0, "nothing has changed")
    assert dgtd("diff", str(one), str(two)).returncode == 0
    other = json.loads(json.dumps(REPORT))
    other["tests"][0]["winner"] = "GTD2"
    two.write_text(json.dumps(other))
    changed = dgtd("diff", str(one), str(two))
    assert changed.returncode == 1
    assert "1 verdicts or winners changed, removed or new, 0 numbers" in changed.stdout
    assert json.loads(dgtd("diff", str(one), str(two), "--json").stdout)["differences"][0]["matters"] is True
    bad = dgtd("diff", str(one), str(three))
    assert (bad.returncode, bad.stderr.strip()) == (2, "dgtd: a report can't be compared with a ledger")
    (tmp_path / "no.json").write_text("[1")
    (tmp_path / "list.json").write_text("[]")
    for name, words in (("none", "no report or ledger"), ("no.json", "JSON"), ("list.json", "neither a report")):
        with pytest.raises(ValueError, match=words):
            read(tmp_path / name)
