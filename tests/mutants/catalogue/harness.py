"""Faults in statistics and verdicts, in stored runs, in agents and in policy iteration."""

from tests.mutants.mutant import Mutant

STATISTICS = (
    Mutant(
        "mean interval: one-sided",
        "harness/judging/statistics.py",
        "half = stats.t.isf(false_alarm / 2, len(x) - 1) * x.std(ddof=1)",
        "half = stats.t.isf(false_alarm, len(x) - 1) * x.std(ddof=1)",
        ("test:tests/harness/judging/test_statistics.py::test_known_values",),
    ),
    Mutant(
        "Clopper–Pearson: the wrong beta",
        "harness/judging/statistics.py",
        "stats.beta.isf(false_alarm / 2, successes + 1, n - successes)",
        "stats.beta.isf(false_alarm / 2, successes, n - successes + 1)",
        ("test:tests/harness/judging/test_statistics.py::test_known_values",),
    ),
    Mutant(
        "SPRT: the two errors swapped",
        "harness/judging/statistics.py",
        "np.log(self.miss / (1 - self.false_alarm)), np.log((1 - self.miss) / self.false_alarm)\n",
        "np.log(self.false_alarm / (1 - self.miss)), np.log((1 - self.false_alarm) / self.miss)\n",
        (
            "test:tests/harness/judging/test_statistics.py::test_the_sprt_needs_about_26_clean_lanes_where_a_fixed_sample_needs_62",
        ),
    ),
    Mutant(
        "Wilcoxon: diverged lanes dropped",
        "harness/judging/statistics.py",
        "gap = np.where(np.isinf(x) & np.isinf(y), 0.0, x - y)",
        "gap = np.where(np.isinf(x) | np.isinf(y), 0.0, x - y)",
        ("test:tests/harness/judging/test_statistics.py::test_a_diverged_lane_is_never_dropped",),
    ),
    Mutant(
        "Holm: not monotone",
        "harness/judging/statistics.py",
        "np.maximum.accumulate((len(values) - np.arange(len(values))) * values[order])",
        "(len(values) - np.arange(len(values))) * values[order]",
        ("test:tests/harness/judging/test_statistics.py::test_known_values",),
    ),
    Mutant(
        "median interval: one order statistic too narrow",
        "harness/judging/statistics.py",
        "low, high = (x[k - 1], x[n - k]) if k >= 1",
        "low, high = (x[k], x[n - k - 1]) if k >= 1",
        (
            "test:tests/harness/judging/test_planted.py::test_the_bounds_of_a_median_are_the_innermost_order_statistics_that_binomials_allow",
        ),
    ),
    Mutant(
        "exactly: a number that is none passes",
        "harness/judging/verdicts.py",
        "    passes = error <= margin\n",
        "    passes = not error > margin\n",
        ("test:tests/harness/judging/test_verdicts.py::test_a_number_passes_up_to_its_margin_and_nan_never_does",),
    ),
    Mutant(
        "a failure stands whatever fresh seeds say",
        "harness/judging/verdicts.py",
        "    if again.verdict is Verdict.FAIL:\n",
        "    if first.verdict is Verdict.FAIL:\n",
        ("test:tests/harness/judging/test_statistics.py::test_a_failure_stands_only_if_fresh_seeds_fail_too",),
    ),
    Mutant(
        "a missed control sets no exit code",
        "harness/judging/ledger.py",
        'if statuses & {"FAIL", "MISSED"}:',
        'if statuses & {"FAIL"}:',
        ("test:tests/suites/test_ledger.py::test_exit_codes_are_0_1_3_4",),
    ),
)

RUNS = (
    Mutant(
        "store: a cohort with one settled lane is settled",
        "harness/runs/store.py",
        "return {cohort for cohort, count in rows if count == size}",
        "return {cohort for cohort, count in rows}",
        ("test:tests/harness/runs/test_store.py::test_a_cohort_is_settled_when_every_lane_of_it_is",),
    ),
    Mutant(
        "store: failures count as settled",
        "harness/runs/spec.py",
        "return self in (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED)",
        "return self in (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED, Outcome.FAILED)",
        ("test:tests/harness/runs/test_runs.py::test_failures_and_time_outs_are_rows_and_are_tried_again",),
    ),
    Mutant(
        "spec: cohorts share their seeds",
        "harness/runs/spec.py",
        "    return range(cohort * size, (cohort + 1) * size)\n",
        "    return range(0, size)\n",
        ("test:tests/harness/runs/test_runs.py::test_resume_repeats_no_stored_run",),
    ),
    Mutant(
        "fingerprint: rewards left out",
        "harness/oracle/problem.py",
        "asdict(mdp.transitions), mdp.gamma, mdp.behaviour",
        "asdict(mdp.transitions)['probability'], mdp.gamma, mdp.behaviour",
        ("test:tests/harness/runs/test_fingerprint.py::test_a_problem_is_its_arrays",),
    ),
    Mutant(
        "checkpoints: the replay's place is forgotten",
        "algorithms/replay.py",
        "        self.added = int(added)\n",
        "        self.added = max(self.added, 1)\n",
        ("test:tests/harness/runs/test_checkpoints.py::test_save_load_and_go_on_is_to_go_on",),
    ),
)

AGENTS = (
    Mutant(
        "control: agents act by their logits, not by their law",
        "algorithms/fast/acting.py",
        "mass, stack.support)",
        "mass, stack.support) * 0.0",
        (
            "claim:control/cartpole-v0/c51/learns",
            "test:tests/algorithms/test_agents.py::test_agents_act_by_the_means_of_their_laws",
        ),
    ),
    Mutant(
        "control: KL's cotangent is not differenced",
        "algorithms/fast/network_heads.py",
        "        c[j] = here - before\n",
        "        c[j] = here\n",
        ("claim:control/published/c51",),
    ),
    Mutant(
        "control: a kind of transition is taken for the one before",
        "algorithms/fast/network_batches.py",
        "keys[row, 0] == asked[i, 0] and keys[row, 1] == asked[i, 1]",
        "keys[row, 0] == asked[i, 0]",
        ("claim:control/published/dqn",),
    ),
    Mutant(
        "control: Adam without its correction",
        "algorithms/stepping.py",
        "self.rate / (1.0 - BETA1**self.count)",
        "self.rate / 1.0",
        (
            "claim:control/updates/dqn",
            "test:tests/algorithms/test_agents.py::test_a_hundred_updates_are_those_of_torch",
        ),
    ),
    Mutant(
        "control: a fall on the last step is cut off",
        "harness/places/cartpole.py",
        "truncated[lane] = not fell and",
        "truncated[lane] =",
        (
            "test:tests/harness/places/test_worlds.py::test_a_fall_on_the_last_allowed_step_is_terminated",
            "test:tests/harness/places/test_worlds.py::test_a_fall_on_the_last_allowed_step_is_terminated",
        ),
    ),
    Mutant(
        "control: the next observation is the new episode's",
        "harness/runs/trainers/agent.py",
        "replay.add(seen, actions, moved.reward, discount, moved.observation)",
        "replay.add(seen, actions, moved.reward, discount, world.observation)",
        (
            "test:tests/harness/runs/test_acting.py::test_what_is_replayed_is_what_happened",
            "test:tests/harness/runs/test_acting.py::test_what_is_replayed_is_what_happened",
        ),
    ),
    Mutant(
        "control: all lanes draw from the first one's stream",
        "algorithms/replay.py",
        "at = np.int64(uniform(streams[lane]) * size)",
        "at = np.int64(uniform(streams[0]) * size)",
        (
            "test:tests/algorithms/test_agents.py::test_replay_keeps_the_last_transitions_and_draws_from_each_lanes_own_stream",
        ),
    ),
)

ITERATION = (
    Mutant(
        "iteration: the ratio is of the behaviour to itself",
        "algorithms/fast/acting.py",
        "(own / actions + (1.0 - own) * hit)",
        "(wider / actions + (1.0 - wider) * hit)",
        (
            "test:tests/algorithms/test_policy_iteration.py::test_a_draw_explores_its_action_below_epsilon_and_its_ratio_is_that_of_policy_and_behaviour",
            "test:tests/algorithms/test_policy_iteration.py::test_actions_and_ratios_are_those_of_policy_and_behaviour",
        ),
    ),
    Mutant(
        "iteration: an evaluation lasts an episode too long",
        "algorithms/agents.py",
        "due = self.seen >= self.episodes",
        "due = self.seen > self.episodes",
        ("claim:policy_iteration/frozen/3",),
    ),
    Mutant(
        "iteration: the policy is what learns",
        "algorithms/agents.py",
        "self.policy = theta.copy()",
        "self.policy = theta",
        ("claim:policy_iteration/frozen/3",),
    ),
    Mutant(
        "iteration: an end is weighed by what would follow",
        "harness/runs/trainers/policy_iteration.py",
        "np.where(moved.terminated, 1.0, following.rho)",
        "following.rho",
        (
            "test:tests/harness/runs/test_iterating.py::test_off_policy_the_next_action_is_weighed_and_an_end_is_not",
            "test:tests/harness/runs/test_iterating.py::test_off_policy_the_next_action_is_weighed_and_an_end_is_not",
        ),
    ),
    Mutant(
        "iteration: the Jacobian leaves out how the rule's cotangents change",
        "harness/oracle/objectives.py",
        "in rule(g - f, u, rho)))",
        "in rule((g - f).detach(), u, rho)))",
        (
            "test:tests/harness/oracle/test_linearised.py::test_the_jacobian_is_that_of_the_mean_update",
            "test:tests/harness/oracle/test_linearised.py::test_the_jacobian_is_that_of_the_mean_update",
        ),
    ),
)
