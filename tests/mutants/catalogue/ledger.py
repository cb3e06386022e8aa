"""Faults in the ledger: what is confirmed, what is counted, which exit code."""

from tests.mutants.mutant import Mutant

LEDGER = "harness/judging/ledger.py"
STABILITY = "suites/stability/lanes.py"

MUTANTS = (
    Mutant(
        "a FAIL is confirmed on the same seed",
        LEDGER,
        "FRESH = 1_000_003",
        "FRESH = 0",
        (
            "claim:machinery/ledger/fresh-seeds",
            "test:tests/harness/judging/test_ledger.py::test_a_sampled_fail_is_confirmed_on_fresh_seeds",
        ),
    ),
    Mutant(
        "a FAIL is not looked at again",
        LEDGER,
        'ALARMS = ("FAIL", "NOT REPLICATED")',
        "ALARMS = ()",
        (
            "claim:machinery/ledger/fresh-seeds",
            "test:tests/harness/judging/test_ledger.py::test_a_sampled_fail_is_confirmed_on_fresh_seeds",
        ),
    ),
    Mutant(
        "a control that passes counts as caught",
        LEDGER,
        'return "CAUGHT" if self.finding.verdict is Verdict.FAIL else "MISSED"',
        'return "CAUGHT"',
        (
            "claim:machinery/ledger/statuses",
            "test:tests/harness/judging/test_verdicts.py::test_a_control_is_not_looked_at_twice",
        ),
    ),
    Mutant(
        "the budget is each check's own",
        LEDGER,
        "return BUDGET / max(sampled, 1)",
        "return BUDGET",
        (
            "claim:machinery/ledger/budget",
            "test:tests/suites/test_ledger.py::test_the_budget_is_split_over_the_sampled_checks_of_all_suites",
        ),
    ),
    Mutant(
        "a missed control sets no exit code",
        LEDGER,
        'if statuses & {"FAIL", "MISSED"}:',
        'if statuses & {"FAIL"}:',
        (
            "claim:machinery/ledger/exit-codes",
            "test:tests/suites/test_ledger.py::test_exit_codes_are_0_1_3_4",
        ),
    ),
    Mutant(
        "an unpromised claim is judged",
        LEDGER,
        ("        if not claim.promised:\n            entries"),
        ("        if False:\n            entries"),
        (
            "claim:machinery/ledger/promises",
            "test:tests/suites/test_ledger.py::test_the_worked_example_is_judged_by_its_promises",
        ),
    ),
    Mutant(
        "few diverge: only an overflow counts",
        STABILITY,
        "    failed = trial.diverged(far)\n",
        "    failed = trial.died >= 0\n",
        (
            "claim:stability/control/baird/value/td",
            "claim:stability/control/baird/cdf/td",
        ),
    ),
    Mutant(
        "certificate and simulation never contradict each other",
        STABILITY,
        'return (kind == "stable" and share > 0.1) or (kind == "diverging" and share < 0.9)',
        "return False",
        (
            "claim:machinery/verdicts/contradiction",
            (
                "test:tests/suites/test_judges.py"
                "::test_only_stable_with_lanes_lost_and_diverging_with_lanes_kept_contradict"
            ),
        ),
    ),
)
