"""Faults in intervals, tests and verdicts."""

from tests.mutants.mutant import Mutant

STATISTICS = "harness/judging/statistics.py"
VERDICTS = "harness/judging/verdicts.py"

MUTANTS = (
    Mutant(
        "mean interval: one-sided",
        STATISTICS,
        "half = stats.t.isf(false_alarm / 2, len(x) - 1) * x.std(ddof=1)",
        "half = stats.t.isf(false_alarm, len(x) - 1) * x.std(ddof=1)",
        (
            "claim:machinery/statistics/mean",
            "test:tests/harness/judging/test_statistics.py::test_known_values",
        ),
    ),
    Mutant(
        "Clopper–Pearson: the wrong beta",
        STATISTICS,
        "stats.beta.isf(false_alarm / 2, successes + 1, n - successes)",
        "stats.beta.isf(false_alarm / 2, successes, n - successes + 1)",
        (
            "claim:machinery/statistics/share",
            "test:tests/harness/judging/test_statistics.py::test_known_values",
        ),
    ),
    Mutant(
        "SPRT: the two errors swapped",
        STATISTICS,
        "np.log(self.miss / (1 - self.false_alarm)), np.log((1 - self.miss) / self.false_alarm)\n",
        "np.log(self.false_alarm / (1 - self.miss)), np.log((1 - self.false_alarm) / self.miss)\n",
        (
            "claim:machinery/statistics/sequential",
            (
                "test:tests/harness/judging/test_statistics.py"
                "::test_the_sprt_needs_about_26_clean_lanes_where_a_fixed_sample_needs_62"
            ),
        ),
    ),
    Mutant(
        "slopes: against n, not its logarithm",
        STATISTICS,
        "x, y = np.log(np.asarray(n, dtype=float)), np.log(",
        "x, y = np.asarray(n, dtype=float), np.log(",
        ("claim:rates/random_walk_dependent/gtd2/exponent",),
    ),
    Mutant(
        "slopes: any bend is a power law",
        STATISTICS,
        "abs(bend.estimate) < tolerance or bend.low <= 0 <= bend.high",
        "bend.estimate < tolerance or bend.low <= 0 <= bend.high",
        (
            "claim:machinery/statistics/bend",
            "test:tests/harness/judging/test_planted.py::test_a_bend_is_the_second_halfs_slope_minus_the_firsts",
        ),
    ),
    Mutant(
        "Wilcoxon: one-sided, exact",
        STATISTICS,
        "np.mean(np.abs(signs @ ranks) >= total - 1e-9)",
        "np.mean(signs @ ranks >= total - 1e-9)",
        (
            "claim:machinery/statistics/signed-ranks",
            "test:tests/harness/judging/test_statistics.py::test_the_paired_test_is_wilcoxons",
        ),
    ),
    Mutant(
        "Wilcoxon: one-sided, above 16 pairs",
        STATISTICS,
        "min(1.0, 2 * stats.norm.sf(",
        "min(1.0, stats.norm.sf(",
        (
            "claim:machinery/statistics/signed-ranks-many",
            "test:tests/harness/judging/test_planted.py::test_p_is_the_normal_limit_with_continuity_for_many_pairs",
        ),
    ),
    Mutant(
        "Wilcoxon: diverged lanes dropped",
        STATISTICS,
        "gap = np.where(np.isinf(x) & np.isinf(y), 0.0, x - y)",
        "gap = np.where(np.isinf(x) | np.isinf(y), 0.0, x - y)",
        (
            "claim:machinery/statistics/signed-ranks-lost",
            "test:tests/harness/judging/test_statistics.py::test_a_diverged_lane_is_never_dropped",
        ),
    ),
    Mutant(
        "Holm: not monotone",
        STATISTICS,
        "np.maximum.accumulate((len(values) - np.arange(len(values))) * values[order])",
        "(len(values) - np.arange(len(values))) * values[order]",
        (
            "claim:machinery/statistics/holm",
            "test:tests/harness/judging/test_statistics.py::test_known_values",
        ),
    ),
    Mutant(
        "median interval: one order statistic too narrow",
        STATISTICS,
        "low, high = (x[k - 1], x[n - k]) if k >= 1",
        "low, high = (x[k], x[n - k - 1]) if k >= 1",
        (
            "claim:machinery/statistics/median",
            (
                "test:tests/harness/judging/test_planted.py"
                "::test_the_bounds_of_a_median_are_the_innermost_order_statistics_that_binomials_allow"
            ),
        ),
    ),
    Mutant(
        "median interval: a lane that is not a number is best",
        STATISTICS,
        "np.where(np.isnan(values), np.inf,",
        "np.where(np.isnan(values), -np.inf,",
        (
            "claim:machinery/statistics/median-lost",
            "test:tests/harness/judging/test_planted.py::test_lanes_that_are_lost_are_the_largest_to_a_median",
        ),
    ),
    Mutant(
        "variance ratio: unpaired",
        STATISTICS,
        "r = float(np.corrcoef(x, y)[0, 1])",
        "r = 0.0",
        (
            "claim:machinery/statistics/variance-ratio",
            "test:tests/harness/compare/test_comparison.py::test_variance_ratio_knows_equal_smaller_and_missing",
        ),
    ),
    Mutant(
        "falls: diverged lanes are dropped",
        STATISTICS,
        "        ratio = np.where(np.isfinite(y[-1]), y[-1] / y[0], FAR_ABOVE)\n",
        ("        y = y[:, np.isfinite(y[-1])]\n        ratio = y[-1] / y[0]\n"),
        (
            "claim:machinery/statistics/fall",
            "test:tests/suites/test_judges.py::test_a_diverged_lane_keeps_a_fall_from_passing",
        ),
    ),
    Mutant(
        "exactly: a number that is none passes",
        VERDICTS,
        "    passes = error <= margin\n",
        "    passes = not error > margin\n",
        (
            "claim:machinery/verdicts/exact",
            "test:tests/harness/judging/test_verdicts.py::test_a_number_passes_up_to_its_margin_and_nan_never_does",
        ),
    ),
    Mutant(
        "below: passes on the estimate",
        VERDICTS,
        "Verdict.PASS if interval.high <= margin",
        "Verdict.PASS if interval.estimate <= margin",
        (
            "claim:machinery/verdicts/below",
            "test:tests/harness/judging/test_statistics.py::test_three_verdicts_and_what_is_still_needed",
        ),
    ),
    Mutant(
        "seldom: undecided passes",
        VERDICTS,
        "verdict = Verdict.INCONCLUSIVE if passes is None",
        "verdict = Verdict.PASS if passes is None",
        (
            "claim:machinery/verdicts/seldom",
            (
                "test:tests/harness/judging/test_verdicts.py"
                "::test_seldom_counts_the_lanes_that_the_test_used_and_no_others"
            ),
        ),
    ),
    Mutant(
        "a failure stands whatever fresh seeds say",
        VERDICTS,
        "    if again.verdict is Verdict.FAIL:\n",
        "    if first.verdict is Verdict.FAIL:\n",
        (
            "claim:machinery/verdicts/confirmed",
            "test:tests/harness/judging/test_statistics.py::test_a_failure_stands_only_if_fresh_seeds_fail_too",
        ),
    ),
)
