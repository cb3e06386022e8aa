"""Where a fault can be put, which one is drawn, and who is asked about it."""

from collections import Counter

import pytest

from tests.mutants.baseline import Baseline, Check
from tests.mutants.imports import Graph
from tests.mutants.sample import CAUGHT, INCOMPETENT, SURVIVED, Sample, Verdict, function_at, interval, summary
from tests.mutants.sites import all_sites, draw, sites_in

TEXT = '''"""A docstring with 1 + 1 in it."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LATER = 1 + 1


def add(left: int | None, *, right: "int" = 2) -> int | None:
    """Not 3."""
    kept: int | float = left - right
    return kept if left is not None else None


@property
def other(x):
    return x
'''


def changes(sites):
    return {
        (site.start, operator.partition("/")[2].partition("_")[0]) for site in sites for operator, _ in site.mutations
    }


def test_code_has_sites_and_strings_annotations_and_what_is_only_checked_have_none():
    sites = sites_in("algorithms/x.py", TEXT)
    assert {line for (line, _), _ in changes(sites)} == {8, 10, 11, 14}
    assert ((10, 29), "ReplaceBinaryOperator") in changes(sites)
    assert ((11, 24), "ReplaceComparisonOperator") in changes(sites)
    assert ((14, 0), "RemoveDecorator") in changes(sites)
    (minus,) = [site for site in sites if site.start == (10, 29)]
    assert len(minus.mutations) == 11


@pytest.fixture
def checkout(tmp_path):
    for name in ("algorithms", "harness", "tests"):
        (tmp_path / name).mkdir()
    (tmp_path / "algorithms/x.py").write_text(TEXT)
    (tmp_path / "harness/y.py").write_text("from dgtd.algorithms.x import add\n\n\ndef more(a):\n    return add(a)\n")
    (tmp_path / "harness/z.py").write_text("import dgtd.harness.y\n")
    return tmp_path


def test_what_is_drawn_is_python_and_differs_and_the_same_seed_draws_the_same(checkout):
    sites = all_sites(checkout)
    for seed in range(20):
        drawn = draw(checkout, sites, 5, seed)
        assert drawn == draw(checkout, sites, 5, seed)
        for change in drawn:
            change.apply(checkout)
            text = (checkout / change.file).read_text()
            assert text != TEXT
            compile(text, change.file, "exec")
            (checkout / change.file).write_text(TEXT)
    everything = draw(checkout, sites, 1000, 0)
    assert "*" not in {change.what[:1] for change in everything}  # a lone star is no operator, whatever replaces it
    assert len({(change.line, change.operator) for change in everything}) == len(everything)


def test_each_site_has_the_same_chance(checkout):
    sites = all_sites(checkout)
    lines = Counter(draw(checkout, sites, 1, seed)[0].line for seed in range(200))
    expected = Counter(change.line for change in draw(checkout, sites, 1000, 0))
    for line, count in expected.items():
        assert abs(lines[line] / 200 - count / expected.total()) < 0.18  # five standard deviations


def test_imports_have_distances(checkout):
    assert Graph(checkout, ("algorithms", "harness")).distances("algorithms/x.py") == {
        "algorithms/x.py": 0, "harness/y.py": 1, "harness/z.py": 2,
    }  # fmt: skip


def test_a_function_is_found_by_a_line_of_its_body(checkout):
    path = checkout / "algorithms/x.py"
    assert [function_at(path, line) for line in (5, 8, 10, 14, 16)] == [None, None, 8, None, 14]


@pytest.fixture
def sample(checkout, tmp_path_factory):
    class Planted(Sample):
        def __init__(self):
            self.graph = Graph(checkout, ("algorithms", "harness"))
            self.right = type("Right", (), {"sources": checkout})
            self.baseline = Baseline(TESTS, [], frozenset())

    return Planted()


def check(name, seconds, *calls):
    return Check(name, seconds, frozenset(calls))


TESTS = [
    check("tests/a.py::slow", 3.0, "algorithms/x.py:8"),
    check("tests/a.py::quick", 1.0, "algorithms/x.py:8", "harness/y.py:4"),
    check("tests/a.py::shares", 0.5, "harness/w.py:1"),
    check("tests/b.py::near", 1.0, "harness/y.py:4"),
    check("tests/c.py::far", 0.1, "harness/z.py:1"),
    check("tests/d.py::elsewhere", 0.1, "harness/w.py:1"),
    check("tests/e.py::endless", 1000.0, "algorithms/x.py:8"),
]


NEAREST = ["tests/a.py::quick", "tests/a.py::slow", "tests/a.py::shares"]


def test_who_calls_the_function_is_asked_then_its_neighbours_and_nobody_else(sample, checkout):
    inside = next(change for change in draw(checkout, all_sites(checkout), 1000, 0) if change.line == 10)
    assert [each.name for each in sample.nearest(inside, TESTS, 40.0)] == NEAREST


def test_of_code_whose_calls_are_not_seen_all_that_import_it_are_asked_the_nearest_first(sample, checkout):
    outside = next(change for change in draw(checkout, all_sites(checkout), 1000, 0) if change.line == 14)
    names = [each.name for each in sample.nearest(outside, TESTS, 40.0)]
    assert names == ["tests/a.py::quick", "tests/a.py::slow", "tests/b.py::near", "tests/c.py::far"]


def test_the_score_counts_what_hangs_as_caught_and_tells_it_apart():
    outcomes = [CAUGHT] * 7 + [INCOMPETENT] + [SURVIVED] * 2
    verdicts = [Verdict("f.py", f"f.py:{i}", "NumberReplacer", each, "", 1.0) for i, each in enumerate(outcomes)]
    low, high = interval(verdicts)
    assert (low, high) == pytest.approx((0.443904, 0.974789), abs=1e-6)  # of 8 out of 10, from tables
    words = summary(verdicts)
    assert "score: 8 of 10 = 80.0%, 95 % interval 44.4% to 97.5%" in words
    assert words.splitlines().count("  f.py:8") == 1
    assert ["all", "10", "7", "1", "2"] in [line.split() for line in words.splitlines()]
    assert "f.py 2" in words
