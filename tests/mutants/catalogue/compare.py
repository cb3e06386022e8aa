"""Faults in comparisons: sweeps, choices, paired tests, winners."""

from tests.mutants.mutant import Mutant

CONTEST = "harness/compare/contest.py"
COMPARISON = "harness/compare/comparison.py"

MUTANTS = (
    Mutant(
        "sweep and final share their seeds",
        CONTEST,
        "root_seed=self.root_seed + SWEEP_SEED * sweep",
        "root_seed=self.root_seed",
        (
            "claim:machinery/compare/sweep-seeds",
            (
                "test:tests/harness/compare/test_planted_contest.py"
                "::test_lanes_that_choose_step_sizes_are_never_lanes_that_are_reported"
            ),
        ),
    ),
    Mutant(
        "a diverged setting may be chosen",
        CONTEST,
        "stable = [setting for setting in settings if setting.stable]",
        "stable = [*settings]",
        (
            "claim:machinery/compare/choice",
            "test:tests/harness/compare/test_planted_contest.py::test_if_every_setting_lost_a_lane_nothing_is_chosen",
        ),
    ),
    Mutant(
        "the median chooses, not the mean",
        CONTEST,
        "mean = float(areas(spec.times(), curves).mean())",
        "mean = float(np.median(areas(spec.times(), curves)))",
        (
            "claim:machinery/compare/choice",
            (
                "test:tests/harness/compare/test_planted_contest.py"
                "::test_the_smallest_mean_area_is_chosen_and_not_the_smallest_median"
            ),
        ),
    ),
    Mutant(
        "a grid of beta, not of beta over alpha",
        CONTEST,
        "[(alpha, ratio * alpha) for alpha in self.alphas for ratio in self.ratios]",
        "[(alpha, ratio) for alpha in self.alphas for ratio in self.ratios]",
        (
            "claim:machinery/compare/grid",
            (
                "test:tests/harness/compare/test_planted_contest.py"
                "::test_the_smallest_mean_area_is_chosen_and_not_the_smallest_median"
            ),
        ),
    ),
    Mutant(
        "areas: checkpoints weigh the same",
        CONTEST,
        "area = np.trapezoid(curves, t, axis=1) / (t[-1] - t[0])",
        "area = curves.mean(1)",
        (
            "claim:machinery/compare/area",
            "test:tests/harness/compare/test_comparison.py::test_areas_are_mean_heights",
        ),
    ),
    Mutant(
        "steps to a share: the last checkpoint above",
        CONTEST,
        "times[there.argmax(1)].astype(float), np.inf)",
        "times[there.argmax(1) - 1].astype(float), np.inf)",
        (
            "claim:machinery/compare/steps",
            "test:tests/suites/test_judges.py::test_similar_speed_is_equivalence_and_never_counts_as_late",
        ),
    ),
    Mutant(
        "comparison: a diverged lane's numbers count",
        COMPARISON,
        'return {"final": np.where(lost, np.inf, ends),',
        'return {"final": np.where(lost, ends, ends),',
        (
            "claim:machinery/compare/diverged",
            (
                "test:tests/harness/compare/test_comparison.py"
                "::test_a_lane_that_diverged_loses_however_finite_it_still_is"
            ),
        ),
    ),
    Mutant(
        "comparison: tests are not corrected",
        COMPARISON,
        "adjusted[tested] = holm([found[i][-1].p for i in tested])",
        "adjusted[tested] = [found[i][-1].p for i in tested]",
        (
            "claim:machinery/compare/holm",
            "test:tests/harness/compare/test_planted_contest.py::test_a_winner_needs_holm_over_the_whole_command",
        ),
    ),
    Mutant(
        "comparison: the higher one wins",
        COMPARISON,
        "return self.a if self.result.direction < 0 else self.b",
        "return self.a if self.result.direction > 0 else self.b",
        (
            "claim:machinery/compare/winner",
            "test:tests/harness/compare/test_comparison.py::test_a_winner_beats_every_other_or_nobody_wins",
        ),
    ),
    Mutant(
        "comparison: rounding decides",
        COMPARISON,
        "result = paired(tidy(ours[number]), tidy(theirs[number]), ALPHA)",
        "result = paired(ours[number], theirs[number], ALPHA)",
        (
            "claim:machinery/compare/winner",
            "test:tests/harness/compare/test_comparison.py::test_a_winner_beats_every_other_or_nobody_wins",
        ),
    ),
    Mutant(
        "comparison: the median of those that got there",
        COMPARISON,
        "return float(np.sort(self.steps_to_target())[len(self.outcomes) // 2])",
        "return float(np.median(self.steps_to_target()[np.isfinite(self.steps_to_target())]))",
        (
            "claim:machinery/compare/steps",
            "test:tests/harness/compare/test_comparison.py::test_steps_to_target_keeps_never",
        ),
    ),
    Mutant(
        "comparison: spread against the rule's own numbers",
        COMPARISON,
        'ours, theirs = entry.numbers("rmspbe"), other.numbers("rmspbe")',
        'ours, theirs = entry.numbers("rmspbe"), entry.numbers("rmspbe")',
        (
            "claim:machinery/compare/spread",
            (
                "test:tests/harness/compare/test_planted_contest.py"
                "::test_spread_is_the_laws_over_that_of_the_same_rules_values"
            ),
        ),
    ),
)
