"""Faults in runs: what is run, where it is stored, under which hash, and what is measured."""

from tests.mutants.mutant import Mutant

STORE = "harness/runs/store.py"
SPEC = "harness/runs/spec.py"
JOB = "harness/runs/job.py"
DRIVER = "harness/runs/driver.py"
COHORT = "harness/runs/cohort.py"
FINGERPRINT = "harness/runs/fingerprint.py"
LEARNING = "harness/runs/learning.py"
TRIAL = "harness/runs/trial.py"

MUTANTS = (
    Mutant(
        "store: a cohort with one settled lane is settled",
        STORE,
        "return {cohort for cohort, count in rows if count == size}",
        "return {cohort for cohort, count in rows}",
        (
            "claim:machinery/store/settled",
            "test:tests/harness/runs/test_store.py::test_a_cohort_is_settled_when_every_lane_of_it_is",
        ),
    ),
    Mutant(
        "store: settled rows are overwritten",
        STORE,
        'f"WHERE lanes.outcome NOT IN ({_SETTLED})",\n',
        '"",\n',
        (
            "claim:machinery/store/overwritten",
            "test:tests/harness/runs/test_store.py::test_a_settled_row_is_never_overwritten",
        ),
    ),
    Mutant(
        "store: failures count as settled",
        SPEC,
        "return self in (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED)",
        "return self in (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED, Outcome.FAILED)",
        (
            "claim:machinery/store/settled",
            "test:tests/harness/runs/test_runs.py::test_failures_and_time_outs_are_rows_and_are_tried_again",
        ),
    ),
    Mutant(
        "store: curves are stored in single precision",
        STORE,
        'curves = np.ascontiguousarray(lane.curves, dtype="<f8")',
        'curves = np.ascontiguousarray(lane.curves.astype("<f4"), dtype="<f8")',
        (
            "claim:engines/run/linear/gtd2/path",
            "claim:engines/run/linear-averaged/gtd2/path",
        ),
    ),
    Mutant(
        "store: jobs of older code are answers",
        JOB,
        '            "code": of_code(tuple(packages)),\n',
        '            "code": "",\n',
        (
            "claim:machinery/fingerprint/code",
            "test:tests/harness/runs/test_fingerprint.py::test_a_job_sees_the_code",
        ),
    ),
    Mutant(
        "driver: everything is run again",
        DRIVER,
        "for cohort in request.cohorts if cohort not in settled]",
        "for cohort in request.cohorts]",
        (
            "claim:machinery/runs/resume",
            "test:tests/harness/runs/test_runs.py::test_resume_repeats_no_stored_run",
        ),
    ),
    Mutant(
        "spec: cohorts share their seeds",
        SPEC,
        "    return range(cohort * size, (cohort + 1) * size)\n",
        "    return range(0, size)\n",
        (
            "claim:machinery/runs/seeds",
            "test:tests/harness/runs/test_runs.py::test_resume_repeats_no_stored_run",
        ),
    ),
    Mutant(
        "spec: a power law's exponents swapped on the way to the schedule",
        SPEC,
        "return kind(self.alpha_exponent, self.beta_exponent, self.offset)",
        "return PowerLaw(self.beta_exponent, self.alpha_exponent, self.offset)",
        (
            "claim:engines/run/linear/gtd2/path",
            "claim:engines/run/linear-averaged/gtd2/path",
        ),
    ),
    Mutant(
        "cohort: a diverged lane has spent its budget",
        COHORT,
        "outcomes = np.where(diverged, Outcome.DIVERGED, np.where(",
        "outcomes = np.where(diverged & False, Outcome.DIVERGED, np.where(",
        (
            "claim:machinery/runs/outcomes",
            "test:tests/harness/runs/test_runs.py::test_diverged_lanes_are_rows_with_their_curves",
        ),
    ),
    Mutant(
        "cohort: lanes and seeds mixed up",
        COHORT,
        "int(trial.died[i]), trial.curves[:, i].copy()",
        "int(trial.died[i]), trial.curves[:, i - 1].copy()",
        (
            "claim:engines/run/linear/gtd2/path",
            "claim:engines/run/linear-averaged/gtd2/path",
        ),
    ),
    Mutant(
        "fingerprint: of the rule's name",
        FINGERPRINT,
        '"rule": digest(update.fingerprint(ratios), "" if update.linear else _sources(rule), *source),',
        '"rule": rule.name,',
        (
            "claim:machinery/fingerprint/rule",
            (
                "test:tests/harness/runs/test_fingerprint.py"
                "::test_two_files_with_equal_functions_and_other_constants_are_two_rules"
            ),
        ),
    ),
    Mutant(
        "fingerprint: rewards left out",
        FINGERPRINT,
        "asdict(mdp.transitions), mdp.gamma, mdp.behaviour",
        "asdict(mdp.transitions)['probability'], mdp.gamma, mdp.behaviour",
        (
            "claim:machinery/fingerprint/problem",
            "test:tests/harness/runs/test_fingerprint.py::test_a_problem_is_its_arrays",
        ),
    ),
    Mutant(
        "fingerprint: code left out",
        FINGERPRINT,
        '"code": of_code(DECISIVE),',
        '"code": "",',
        (
            "claim:machinery/fingerprint/code",
            (
                "test:tests/harness/runs/test_fingerprint.py"
                "::test_a_worker_with_other_code_is_refused_by_name_and_stores_nothing"
            ),
        ),
    ),
    Mutant(
        "learning: independent transitions are not",
        LEARNING,
        "mdp = problem.mdp.with_(weights=problem.mdp.d) if spec.place.iid else problem.mdp",
        "mdp = problem.mdp",
        ("claim:engines/run/independent/gtd2/path",),
    ),
    Mutant(
        "learning: a run that starts at zeros does not",
        LEARNING,
        'return np.zeros_like(theta) if learner.start == "zeros" else theta',
        "return theta",
        ("claim:engines/run/independent/gtd2/path",),
    ),
    Mutant(
        "learning: another rule meets other transitions",
        LEARNING,
        "problem=self.spec.place.problem, **dict(self.spec.axes))",
        "problem=self.spec.place.problem, rule=self.rule.name, **dict(self.spec.axes))",
        (
            "claim:machinery/runs/streams",
            "test:tests/harness/runs/test_runs.py::test_every_rule_meets_the_same_transitions",
        ),
    ),
    Mutant(
        "learning: the spread of first weights is ignored",
        LEARNING,
        "return learner.spread * self.engine.engine.init(rng)",
        "return self.engine.engine.init(rng)",
        ("claim:engines/run/mlp/gtd2/path",),
    ),
    Mutant(
        "learning: metrics of w in place of theta",
        LEARNING,
        ("        F = self.predictions(theta)\n        with"),
        ("        F = self.predictions(w)\n        with"),
        ("claim:evaluation/random_walk/linear/same-path",),
    ),
    Mutant(
        "trial: the average is never looked at",
        TRIAL,
        "averaged = learner.average and t > 0",
        "averaged = False",
        (
            "claim:engines/run/linear-averaged/gtd2/path",
            "claim:engines/run/mirror-prox/gtd2/path",
        ),
    ),
    Mutant(
        "trial: Mirror-Prox is never run",
        TRIAL,
        '{"average": learner.average, "extragradient": learner.extragradient}',
        '{"average": learner.average}',
        (
            "claim:engines/run/mirror-prox/gtd2/path",
            "claim:engines/run/mirror-prox/tdrc(kappa=0.5)/path",
        ),
    ),
    Mutant(
        "trial: the schedule is forgotten",
        TRIAL,
        '{"schedule": learner.schedule.make(), "radius": radius}',
        '{"radius": radius}',
        (
            "claim:engines/run/linear/gtd2/path",
            "claim:engines/run/linear-averaged/gtd2/path",
        ),
    ),
    Mutant(
        "trial: the radius is forgotten",
        TRIAL,
        '{"schedule": learner.schedule.make(), "radius": radius}',
        '{"schedule": learner.schedule.make()}',
        (
            "claim:engines/run/linear/gtd2/path",
            "claim:engines/run/mirror-prox/gtd2/path",
        ),
    ),
    Mutant(
        "trial: alpha and beta swapped",
        TRIAL,
        "learning.engine.run(state, min(length, left), learner.alpha, learner.beta, **options)",
        "learning.engine.run(state, min(length, left), learner.beta, learner.alpha, **options)",
        (
            "claim:engines/run/linear/gtd2/path",
            "claim:engines/run/linear-averaged/gtd2/path",
        ),
    ),
    Mutant(
        "trial: only what is not finite has diverged",
        TRIAL,
        "beyond = ~np.isfinite(size) | (size > far * np.maximum(size[:1], 1.0))",
        "beyond = ~np.isfinite(size)",
        (
            "claim:stability/control/baird/value/td",
            "claim:stability/control/baird/cdf/td",
        ),
    ),
    Mutant(
        "store: flipped bits are results",
        STORE,
        "    return bool(mark) and checksum(row) != mark\n",
        "    return False\n",
        (
            "claim:machinery/store/flipped-bit",
            "test:tests/harness/runs/test_store.py::test_flipped_bits_are_found_and_run_again",
        ),
    ),
    Mutant(
        "store: another program's database is taken over",
        "harness/runs/database.py",
        'older = mark == 0 and 1 <= found <= 3 and {"runs", "lanes"} <= tables',
        "older = mark == 0 and 1 <= found <= 3",
        (
            "claim:machinery/store/other-database",
            "test:tests/harness/runs/test_store.py::test_a_store_that_cannot_be_used_says_why_and_stays_as_it_was",
        ),
    ),
    Mutant(
        "driver: what ends its worker is tried for ever",
        DRIVER,
        "        if self.deaths[work] < DEATHS:\n",
        "        if self.deaths[work] < 3 * DEATHS:\n",
        (
            "claim:machinery/runs/deaths",
            "test:tests/harness/runs/test_driver.py::test_a_worker_that_dies_twice_at_one_cohort_has_failed_at_it",
        ),
    ),
)
