"""Faults in what lanes are compared with: LSTD's reference, distances from exact curves, maps and tails."""

from tests.mutants.mutant import Mutant

LSTD = "harness/oracle/lstd.py"
AGREEMENT = "harness/compare/agreement.py"
ZONES = "harness/compare/zones.py"
TAILS = "suites/rates/tails.py"
OF_LSTD = "test:tests/harness/oracle/test_lstd.py"
OF_AGREEMENT = "test:tests/harness/compare/test_agreement.py"
OF_ZONES = "test:tests/harness/compare/test_zones.py"
OF_TAILS = "test:tests/suites/test_rate_tails.py"

MUTANTS = (
    Mutant(
        "lstd: later transitions count once",
        LSTD,
        "return now + later + later.T",
        "return now + later",
        (
            "claim:oracle/lstd/collision",
            f"{OF_LSTD}::test_the_fundamental_matrix_sums_all_autocovariances",
        ),
    ),
    Mutant(
        "lstd: without importance ratios",
        LSTD,
        "g = (table.rho * delta)[:, None]",
        "g = delta[:, None]",
        (
            "claim:oracle/lstd/collision",
            f"{OF_LSTD}::test_lstd_itself_has_that_error",
        ),
    ),
    Mutant(
        "lstd: what ends goes on",
        LSTD,
        "following = np.where(table.ends[:, None], table.start @ sums, sums[table.next_state])",
        "following = sums[table.next_state]",
        (
            "claim:oracle/lstd/collision",
            f"{OF_LSTD}::test_lstd_itself_has_that_error",
        ),
    ),
    Mutant(
        "lstd: shown from the first transition on",
        LSTD,
        "np.where(n >= self.first, self.limit",
        "np.where(n >= 0, self.limit",
        (
            "claim:oracle/lstd/boyan",
            f"{OF_LSTD}::test_it_is_shown_from_ten_transitions_per_feature_on",
        ),
    ),
    Mutant(
        "lstd: a singular A is taken for a regular one",
        LSTD,
        "if singular[-1] <= SINGULAR * singular[0]:",
        "if singular[-1] < 0 * singular[0]:",
        (
            "claim:oracle/lstd/baird",
            f"{OF_LSTD}::test_there_is_none_where_a_is_singular",
        ),
    ),
    Mutant(
        "agreement: errors of single lanes",
        AGREEMENT,
        "error = squares.std(0, ddof=1) / np.sqrt(len(squares))",
        "error = squares.std(0, ddof=1)",
        (
            "claim:engines/agreement/standard-errors",
            f"{OF_AGREEMENT}::test_the_mean_of_squares_is_compared_not_the_square_of_the_mean",
        ),
    ),
    Mutant(
        "agreement: every distance counts as skewed towards its own side",
        AGREEMENT,
        "missing = -np.sign(away)",
        "missing = np.sign(away)",
        (
            "claim:engines/agreement/skewed",
            f"{OF_AGREEMENT}::test_a_distance_counts_less_towards_the_side_where_rare_lanes_may_be_missing",
        ),
    ),
    Mutant(
        "agreement: the band of one checkpoint",
        AGREEMENT,
        "within = float(stats.t.isf(CHANCE / 2 / tests, lanes - 1))",
        "within = float(stats.t.isf(CHANCE / 2, lanes - 1))",
        (
            "claim:engines/agreement/band",
            f"{OF_AGREEMENT}::test_the_band_is_over_all_checkpoints_of_all_contestants",
        ),
    ),
    Mutant(
        "zones: short products at every step size",
        ZONES,
        "steps = int(np.clip(UNITS / alpha, FEWEST, MOST))",
        "steps = FEWEST",
        (
            "claim:oracle/zones/slow-turn",
            f"{OF_ZONES}::test_a_slow_turn_does_not_pass_for_decay",
        ),
    ),
    Mutant(
        "zones: the boundary from the wrong side",
        ZONES,
        "low, high = (middle, high) if shrinks else (low, middle)",
        "low, high = (low, middle) if shrinks else (middle, high)",
        (
            "claim:oracle/zones/edge",
            f"{OF_ZONES}::test_the_edge_is_where_the_radius_is_1",
        ),
    ),
    Mutant(
        "tails: a bound without its concentration term",
        TAILS,
        "spread = np.sqrt(2 * np.log(1 / delta)) if concentration else 0.0",
        "spread = 0.0",
        (
            "claim:rates/expected-bound/gaussian",
            f"{OF_TAILS}::test_the_bound_is_the_expectation_and_a_multiple_of_the_spread",
        ),
    ),
)
