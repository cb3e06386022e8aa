"""Faults that somebody wrote who had not written the checks, and that no claim or test saw then.

What they have in common: only the loop itself knew (drivers); a case that nothing reached, or a bound where equality
can be asked (edges); a list or a number that was checked against itself (records).
"""

from tests.mutants.mutant import Mutant

_ACTS = (
    "test:tests/harness/runs/test_plain_driver.py::test_an_agent_acts_stores_learns_and_renews_as_the_plain_driver_does"
)
_ITERATES = "test:tests/harness/runs/test_plain_driver.py::test_policy_iteration_acts_weighs_learns_and_improves_as_the_plain_driver_does"
_AGENT, _WALK = "harness/runs/trainers/agent.py", "harness/runs/trainers/policy_iteration.py"

DRIVERS = (
    Mutant(
        "agents: the frozen copy is renewed before the update of its step",
        _AGENT,
        "            if done >= control.begin and done % control.every == 0:\n                players.learn(replay.draw(control.batch), done)\n            players.renew(done)\n",
        "            players.renew(done)\n            if done >= control.begin and done % control.every == 0:\n                players.learn(replay.draw(control.batch), done)\n",
        (_ACTS,),
    ),
    Mutant(
        "agents: learning begins one step late",
        _AGENT,
        "if done >= control.begin and",
        "if done > control.begin and",
        (_ACTS,),
    ),
    Mutant(
        "agents: epsilon one step ahead",
        _AGENT,
        "control.epsilon(done - 1)",
        "control.epsilon(done)",
        (_ACTS,),
    ),
    Mutant(
        "agents: an episode's first reward is discounted",
        "harness/runs/trainers/world.py",
        "        at[DISCOUNTED] += at[POWER] * reward[lane]\n        at[POWER] *= gamma\n",
        "        at[POWER] *= gamma\n        at[DISCOUNTED] += at[POWER] * reward[lane]\n",
        (
            "test:tests/harness/runs/test_acting.py::test_an_episode_is_worth_the_sum_of_its_discounted_rewards_the_first_of_them_whole",
        ),
    ),
    Mutant(
        "iteration: a new episode begins by the old policy",
        _WALK,
        "        lanes.close(ended, how.epsilon(self.steps))\n        self._next = following\n        if ended.any():  # a new episode begins, by a policy that may be new\n            lanes.act_again(following, ended, self._seen(), self._draws[:, 2], self._draws[:, 3], how.behave)\n",
        "        self._next = following\n        if ended.any():\n            lanes.act_again(following, ended, self._seen(), self._draws[:, 2], self._draws[:, 3], how.behave)\n        lanes.close(ended, how.epsilon(self.steps))\n",
        (_ITERATES,),
    ),
    Mutant(
        "iteration: epsilon one step behind",
        _WALK,
        "lanes.close(ended, how.epsilon(self.steps))",
        "lanes.close(ended, how.epsilon(self.steps - 1))",
        (_ITERATES,),
    ),
    Mutant(
        "iteration: step sizes one step ahead",
        _WALK,
        "self._schedule.factors(self.steps - 1, 1)",
        "self._schedule.factors(self.steps, 1)",
        (_ITERATES,),
    ),
    Mutant(
        "iteration: the ratio of the action that was taken, not of the next one",
        _WALK,
        "np.where(moved.terminated, 1.0, following.rho)",
        "np.where(moved.terminated, 1.0, self._next.rho)",
        (_ITERATES,),
    ),
    Mutant(
        "iteration: replayed next actions are the behaviour's",
        _WALK,
        "lanes.act(x_next, explore, choice).action",
        "lanes.act(x_next, explore, choice, self.how.behave).action",
        (_ITERATES,),
    ),
)

EDGES = (
    Mutant(
        "streams: xoshiro turns its last word by 44",
        "algorithms/streams.py",
        "(s3 << np.uint64(45)) | (s3 >> np.uint64(19))",
        "(s3 << np.uint64(44)) | (s3 >> np.uint64(20))",
        ("test:tests/algorithms/test_streams.py::test_draws_are_the_published_numbers_of_xoshiro256",),
    ),
    Mutant(
        "mlp: first weights count the bias among the inputs",
        "algorithms/fast/mlp.py",
        "edge = 1 / math.sqrt(layer.shape[1] - 1)",
        "edge = 1 / math.sqrt(layer.shape[1])",
        (
            "test:tests/algorithms/fast/test_edges.py::test_first_weights_are_uniform_within_one_over_the_root_of_the_inputs",
        ),
    ),
    Mutant(
        "nearest: half-way goes down",
        "algorithms/targets.py",
        "_one_source(target, r, gamma, half=0.5)",
        "_one_source(target, r, gamma, half=0.5 - 1e-6)",
        ("test:tests/algorithms/test_targets.py::test_half_way_between_two_atoms_nearest_takes_the_upper_one",),
    ),
    Mutant(
        "threads: the last lanes are left out where threads do not divide them",
        "algorithms/fast/compiled_loop.py",
        "edges = [count * i // threads for i in range(threads + 1)]",
        "edges = [count // threads * i for i in range(threads + 1)]",
        ("test:tests/algorithms/fast/test_edges.py::test_every_lane_is_run_once_however_many_threads_there_are",),
    ),
    Mutant(
        "softplus: the identity from 10",
        "algorithms/fast/network_kernels.py",
        "h[i] = a[i] if a[i] > 20.0 else",
        "h[i] = a[i] if a[i] > 10.0 else",
        ("test:tests/algorithms/fast/test_edges.py::test_softplus_is_itself_up_to_20_and_the_identity_beyond",),
    ),
    Mutant(
        "softmax: the pinned logit is not in the maximum",
        "algorithms/fast/network_heads.py",
        "top = 0.0 if atoms > logits else -np.inf",
        "top = -np.inf",
        ("test:tests/algorithms/fast/test_edges.py::test_a_pinned_logit_is_one_of_them_however_far_the_others_are",),
    ),
    Mutant(
        "greedy: of equal actions the last",
        "algorithms/fast/network_heads.py",
        "if mean > best_mean:",
        "if mean >= best_mean:",
        ("test:tests/algorithms/fast/test_edges.py::test_of_equal_next_actions_the_first_is_greedy",),
    ),
    Mutant(
        "module: a trace serves another dtype",
        "algorithms/fast/module.py",
        "shapes = [(part.shape, part.dtype) for part in tree_leaves(arguments)]",
        "shapes = [part.shape for part in tree_leaves(arguments)]",
        ("test:tests/algorithms/test_traced.py::test_another_dtype_starts_again",),
    ),
    Mutant(
        "torch run: snapshots are the weights themselves",
        "algorithms/fast/loop.py",
        "kept_theta.append(tree_map(torch.clone, state.theta))",
        "kept_theta.append(state.theta)",
        ("test:tests/algorithms/fast/test_edges.py::test_snapshots_are_of_their_steps_and_not_of_the_last",),
    ),
    Mutant(
        "mdp: what goes on starts in state 0",
        "harness/oracle/mdp.py",
        "return self.d if self.start is None else self.start",
        "return np.eye(self.states)[0] if self.start is None else self.start",
        (
            "test:tests/harness/oracle/test_edges.py::test_a_problem_that_goes_on_starts_where_its_behaviour_is_in_the_long_run",
        ),
    ),
    Mutant(
        "mdp: bounds of returns stop early",
        "harness/oracle/mdp.py",
        "if np.abs(after - v).max() < 1e-9:",
        "if np.abs(after - v).max() < 1e-3:",
        ("test:tests/harness/oracle/test_edges.py::test_bounds_of_returns_are_those_of_the_sum",),
    ),
    Mutant(
        "mdp: C's inverse drops directions below 1e-4",
        "harness/oracle/mdp.py",
        "np.linalg.pinv(self.C, rcond=1e-12, hermitian=True)",
        "np.linalg.pinv(self.C, rcond=1e-4, hermitian=True)",
        ("test:tests/harness/oracle/test_edges.py::test_directions_in_which_features_are_small_are_projected_on_too",),
    ),
    Mutant(
        "objective: with many parameters null directions count",
        "harness/oracle/objectives.py",
        "/ singular, NULL_BY_EIGENVALUES\n",
        "/ singular, NULL\n",
        (
            "test:tests/harness/oracle/test_edges.py::test_with_more_than_256_parameters_w_is_the_shortest_that_solves_its_equations",
        ),
    ),
    Mutant(
        "law: its resolution by the fine grid's spacing",
        "harness/oracle/returns.py",
        "cramer_distance(at_atoms, half, target.spacing)",
        "cramer_distance(at_atoms, half, grid.spacing)",
        ("test:tests/harness/oracle/test_edges.py::test_the_resolution_of_a_law_is_how_far_a_grid_half_as_fine_is",),
    ),
)

RECORDS = (
    Mutant(
        "store: one lane more than was asked for",
        "harness/runs/store.py",
        "FROM lanes WHERE run = ? AND seed < ? ORDER BY seed",
        "FROM lanes WHERE run = ? AND seed <= ? ORDER BY seed",
        (
            "test:tests/harness/runs/test_store.py::test_exactly_the_lanes_that_are_asked_for_are_read_each_under_its_own_seed",
        ),
    ),
    Mutant(
        "store: its marks are read before its tables, while another process creates it",
        "harness/runs/database.py",
        """        tables = _tables(made)
        found = int(made.execute("PRAGMA user_version").fetchone()[0])
        mark = made.execute("PRAGMA application_id").fetchone()[0]
""",
        """        found = int(made.execute("PRAGMA user_version").fetchone()[0])
        mark = made.execute("PRAGMA application_id").fetchone()[0]
        tables = _tables(made)
""",
        (
            "test:tests/harness/runs/test_store.py::test_a_store_that_another_process_creates_while_it_is_opened_is_a_store",
        ),
    ),
    Mutant(
        "fingerprint: a module that decides is left out",
        "harness/runs/fingerprint.py",
        '"runs.predictors", ',
        "",
        (
            "test:tests/harness/runs/test_decisive.py::test_all_that_a_worker_imports_is_decisive_or_named_as_being_aside",
        ),
    ),
    Mutant(
        "digest: floats by 15 digits",
        "algorithms/digest.py",
        "float(value).hex()",
        'f"{float(value):.15g}"',
        ("test:tests/harness/runs/test_fingerprint.py::test_a_digest_tells_floats_apart_that_differ_in_the_last_bit",),
    ),
    Mutant(
        "job: files that came with its rule are left out",
        "harness/runs/work.py",
        "digest(resolve(self.rule).source_hash, [file[2] for file in self.rule.files])",
        "digest(resolve(self.rule).source_hash)",
        ("test:tests/harness/runs/test_fingerprint.py::test_a_job_sees_its_rule_and_every_file_that_came_with_it",),
    ),
    Mutant(
        "comparison: a lane is known on the checkpoint at which it died",
        "harness/experiment/comparison.py",
        "(self.times >= ends[:, None])",
        "(self.times > ends[:, None])",
        (
            "test:tests/harness/experiment/test_earnings.py::test_a_lane_that_dies_on_a_checkpoint_is_not_known_there_and_one_that_dies_behind_it_is",
        ),
    ),
    Mutant(
        "comparison: a lost lane keeps its last return",
        "harness/experiment/comparison.py",
        "np.interp(at, *one, right=np.nan)",
        "np.interp(at, *one)",
        (
            "test:tests/harness/experiment/test_earnings.py::test_over_episodes_a_lost_lane_has_nothing_behind_its_last_known_return",
        ),
    ),
)

UNSEEN = (  # of 48 faults by somebody who had read neither tests nor claims, those that nothing saw
    Mutant(
        "digest: functions of one source with other defaults have one hash",
        "algorithms/digest.py",
        "[_source(value), value.__defaults__, value.__kwdefaults__]",
        "[_source(value), value.__kwdefaults__]",
        ("test:tests/algorithms/test_digest.py::test_functions_of_one_source_with_other_defaults_are_two",),
    ),
    Mutant(
        "activations: relu has a slope at 0",
        "algorithms/fast/activations.py",
        "lambda a, h: (a > 0).to(a.dtype), None, torch.relu",
        "lambda a, h: (a >= 0).to(a.dtype), None, torch.relu",
        ("test:tests/algorithms/fast/test_activations.py::test_slopes_are_autograds_at_0_too",),
    ),
    Mutant(
        "linear trainer: a checkpoint without the mass of the averages",
        "harness/runs/trainers/linear.py",
        '("theta", "w", "theta_mean", "w_mean", "mass")',
        '("theta", "w", "theta_mean", "w_mean")',
        ("test:tests/harness/runs/test_trainers.py::test_leaving_and_entering_again_is_to_go_on",),
    ),
    Mutant(
        "learn: a saved bias goes on learning",
        "dgtd/updates.py",
        "torch.from_numpy(layer[0, -1].copy())",
        "torch.from_numpy(layer[0, -1])",
        ("test:tests/dgtd/test_learning.py::test_what_is_saved_does_not_go_on_learning",),
    ),
    Mutant(
        "comparison: the seeds that would tell forget the other tests",
        "harness/experiment/comparison.py",
        "lanes_to_tell(ALPHA / len(made), POWER)",
        "lanes_to_tell(ALPHA, POWER)",
        ("test:tests/harness/experiment/test_comparison.py::test_the_seeds_that_would_tell_are_for_one_of_all_tests",),
    ),
    Mutant(
        "words: one of two tests of spread is enough",
        "harness/report/words.py",
        "if ratio.p >= ALPHA or ratio.ratio.low",
        "if ratio.p >= ALPHA and ratio.ratio.low",
        ("test:tests/harness/experiment/test_comparison.py::test_spread_is_smaller_only_where_both_tests_say_so",),
    ),
)
