"""What a report shows, recomputed with pandas alone from `dgtd export --report`."""

import itertools
import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tests.harness.test_cli import dgtd

SEEDS = 20
WORDS = [
    "--problems",
    "two_state,boyan",
    "--rules",
    "gtd2,td",
    "--steps",
    "2000",
    "--seeds",
    str(SEEDS),
    "--atoms",
    "5",
]
GRID = ["--atoms", "5", "--alphas", "0.02,0.1", "--ratios", "1,4"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    store = ["--store", str(folder / "s.sqlite")]
    done = dgtd("compare", *WORDS, *GRID, *store, "--out", str(folder / "out"), "--json")
    assert done.returncode == 0, done.stderr
    found = dgtd("export", "--curves", "--report", str(folder / "out"), *store)
    assert found.returncode == 0, found.stderr
    return folder, json.loads(done.stdout), pd.read_csv(StringIO(found.stdout))


def numbers(table, problem, label, metric):
    """number → one value per seed; a diverged seed counts as infinitely bad."""
    rows = table[(table.problem == problem) & (table.label == label) & (table.metric == metric)]
    curves = rows.pivot(index="seed", columns="step", values="value")
    t = curves.columns.to_numpy(float)
    lost = rows.groupby("seed").diverged.first().to_numpy()
    area = np.trapezoid(curves.to_numpy(), t, axis=1) / t[-1]
    made = {"final": curves.to_numpy()[:, -1], "auc": area}
    return {name: np.where(lost | ~np.isfinite(values), np.inf, values) for name, values in made.items()}


def close(found, expected):
    assert found == pytest.approx(expected, rel=1e-9, nan_ok=True)


def as_number(value):
    return np.inf if value in (None, "inf") else value


def test_only_the_reports_lanes_are_there(shown):
    _, found, table = shown
    assert set(table.problem) == set(found["problems"])
    for (problem, label), rows in table.groupby(["problem", "label"]):
        assert sorted(rows.seed.unique()) == list(range(SEEDS))  # 32 are stored
        assert set(rows.run) == {found["problems"][problem][label]["run"]}
    assert set(table.purpose) == {"reported"}


def test_every_median_and_its_interval(shown):
    _, found, table = shown
    k = int(stats.binom.ppf(0.025, SEEDS, 0.5))
    for problem, rules in found["problems"].items():
        for label, entry in rules.items():
            for metric, by_number in entry["metrics"].items():
                own = numbers(table, problem, label, metric)
                for number, interval in by_number.items():
                    values = np.sort(own[number])
                    close(as_number(interval["estimate"]), np.median(values))
                    close(as_number(interval["low"]), values[k - 1])
                    close(as_number(interval["high"]), values[SEEDS - k])


def test_how_many_diverged_and_when_a_tenth_was_reached(shown):
    _, found, table = shown
    for problem, rules in found["problems"].items():
        for label, entry in rules.items():
            rows = table[(table.problem == problem) & (table.label == label) & (table.metric == "rmspbe")]
            lost = rows.groupby("seed").diverged.first()
            assert entry["diverged"] == lost.sum()
            curves = rows.pivot(index="seed", columns="step", values="value")
            there = curves.le(0.1 * curves[0], axis=0) & np.isfinite(curves)
            first = np.where(there.any(axis=1) & ~lost, there.idxmax(axis=1), np.inf)
            close(as_number(entry["steps_to_target"]["median"]), np.sort(first)[SEEDS // 2])
            assert entry["steps_to_target"]["reached"] == np.isfinite(first).sum()
    assert found["problems"]["two_state"]["TD"]["diverged"] == SEEDS  # its mean diverges at every step size


def test_every_paired_test(shown):
    _, found, table = shown
    ps = []
    for test in found["tests"]:
        a, b = (numbers(table, test["problem"], test[side], test["metric"])[test["number"]] for side in "ab")
        with np.errstate(invalid="ignore"):
            gap = np.where(np.isinf(a) & np.isinf(b), 0.0, a - b)
        digits = 10.0 ** (np.ceil(np.log10(np.where(np.isfinite(a) & (a > 0), a, 1.0))) - 9)
        gap = np.where(np.abs(gap) <= digits, 0.0, gap)
        if np.isfinite(gap).all():
            assert test["median_difference"] == pytest.approx(np.sort(gap)[(SEEDS - 1) // 2], rel=1e-6, abs=1e-12)
        close(test["a_better"]["estimate"], ((gap < 0) + 0.5 * (gap == 0)).mean())
        if test["p_holm"] is not None:
            ranks = stats.rankdata(np.abs(gap))
            total, squares = abs((np.sign(gap) * ranks).sum()), (ranks[gap != 0] ** 2).sum()
            p = min(1.0, 2 * stats.norm.sf((total - 1) / np.sqrt(squares))) if squares else 1.0
            few = (gap != 0).sum() <= 16
            if not few:
                close(test["p"], p)
            ps.append((test["p"], test["p_holm"]))
    ps.sort()
    holm = np.minimum(np.maximum.accumulate([(len(ps) - i) * p for i, (p, _) in enumerate(ps)]), 1.0)
    close([adjusted for _, adjusted in ps], holm)
    assert len(ps) == 2 * len(list(itertools.combinations(range(4), 2)))


def test_every_variance_ratio(shown):
    """Morgan's interval and Spearman's p; of a rule's distributional form against the same rule on values."""
    _, found, table = shown
    seen = 0
    for problem, rules in found["problems"].items():
        for label, entry in rules.items():
            for number, ratio in entry["variance_ratio"].items():
                value = label.removeprefix("distributional ")
                a, b = (numbers(table, problem, name, "rmspbe")[number] for name in (label, value))
                if not (np.isfinite(a).all() and np.isfinite(b).all()):
                    assert (ratio["estimate"], ratio["p"]) == (None, 1.0)
                    continue
                f, r = a.var(ddof=1) / b.var(ddof=1), np.corrcoef(a, b)[0, 1]
                close(ratio["estimate"], f)
                if 1 - r * r < 1e-12:  # the same path
                    continue
                # The bounds are the ratios at which sums and differences are as correlated as the t test allows.
                k = 1 + 2 * (1 - r * r) * stats.t.isf(0.025, SEEDS - 2) ** 2 / (SEEDS - 2)
                close([ratio["low"], ratio["high"]], f * (k + np.array([-1, 1]) * np.sqrt(k * k - 1)))
                close(ratio["p"], stats.spearmanr(a + b, a - b).pvalue)
                seen += 1
    assert seen >= 2


def test_all_problems_at_once(shown):
    """Interquartile means of areas as shares of their starts, and how often one form has less than another."""
    _, found, table = shown
    shares = {}
    for label in found["problems"]["boyan"]:
        of = []
        for problem in found["problems"]:
            rows = table[(table.problem == problem) & (table.label == label) & (table.metric == "rmspbe")]
            start = rows[rows.step == 0].sort_values("seed").value.to_numpy()
            of.append(numbers(table, problem, label, "rmspbe")["auc"] / start)
        shares[label] = np.array(of)
    for label, bounds in found["across"]["iqm"].items():
        if np.isfinite(middle := stats.trim_mean(shares[label], 0.25, axis=1).mean()):
            close(bounds["estimate"], middle)
            low, high = trimmed_interval(shares[label])
            close([bounds["low"], bounds["high"]], [low, high])
        else:
            assert bounds["estimate"] in (None, "inf")
    for pair in found["across"]["improvement"]:
        a, b = (np.array([float(f"{x:.9g}") for x in shares[pair[side]].ravel()]) for side in "ab")
        close(pair["b_lower"]["estimate"], ((b < a) + 0.5 * (a == b)).mean())


def trimmed_interval(x):
    """Tukey and McLaughlin's of each problem, joined as Welch joins two means."""
    cut, kept = SEEDS // 4, SEEDS - 2 * (SEEDS // 4)
    parts = []
    for row in np.sort(x, axis=1):
        winsorised = np.concatenate([[row[cut]] * cut, row[cut : SEEDS - cut], [row[SEEDS - cut - 1]] * cut])
        parts.append(winsorised.var(ddof=1) * (SEEDS - 1) / (kept * (kept - 1)) / len(x) ** 2)
    freedom = sum(parts) ** 2 / sum(part**2 / (kept - 1) for part in parts)
    half = stats.t.isf(0.025, freedom) * np.sqrt(sum(parts))
    middle = stats.trim_mean(x, 0.25, axis=1).mean()
    return middle - half, middle + half


def test_a_folder_that_is_no_report_and_another_store_are_one_line(shown, tmp_path):
    folder, *_ = shown
    for words, says in (
        (["--report", str(tmp_path)], "report must be a folder that `dgtd compare` wrote"),
        (["--report", str(folder / "out"), "--store", str(tmp_path / "other.sqlite")], "other.sqlite"),
    ):
        store = [] if "--store" in words else ["--store", str(folder / "s.sqlite")]
        done = dgtd("export", *words, *store)
        assert done.returncode == 2
        assert says in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
