"""Tests of the instrument's parts pass, and fail where something wrong is planted."""

from dataclasses import replace

import numpy as np
import pytest

from dgtd.algorithms import rule, rules, stepping, streams
from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.fast import linear, module, replayed
from dgtd.algorithms.replay import Replay
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.experiment import agreement
from dgtd.harness.oracle import objectives, saddle
from dgtd.harness.places.cartpole import CartPole
from dgtd.harness.runs.trainers import policy_iteration as iterating
from tests import physics
from tests.algorithms import (
    test_agents,
    test_policy_iteration,
    test_replayed_module,
    test_rules,
    test_stepping,
    test_streams,
    test_traced,
)
from tests.algorithms.fast import test_by_hand
from tests.harness.experiment import test_agreement
from tests.harness.oracle import test_classes, test_err, test_exponents, test_linearised, test_objectives
from tests.harness.places import test_worlds
from tests.harness.runs import test_acting, test_iterating
from tests.suites import test_finite_cartpole


def scaled(function, factor):
    """The function with its result, or every part of it, times a factor."""

    def wrong(*given, **named):
        found = function(*given, **named)
        return type(found)(factor * part for part in found) if type(found) is tuple else factor * found

    return wrong


def changed(function, **parts):
    """The function, whose named tuple or dataclass has other parts: each is made from the right result."""

    def wrong(*given, **named):
        found = function(*given, **named)
        other = {name: make(found) for name, make in parts.items()}
        return found._replace(**other) if hasattr(found, "_replace") else replace(found, **other)

    return wrong


FACTORS, RUN, STEP, LESSON = stepping.PowerLaw.factors, linear.LinearEngine.run, CartPole.step, iterating.Lesson
TOGETHER, LYAPUNOV = module.ModuleEngine.directions_and_parts, test_classes.lyapunov


def undated(self, state, *given, **named):
    found = RUN(self, state, *given, **named)
    state.died[:] = np.where(state.died >= 0, 0, -1)
    return found


def into_the_next_episode(self, actions):
    """What is seen after a fall is where the next episode starts."""
    found = STEP(self, actions)
    over = (found.terminated | found.truncated)[:, None]
    return found._replace(observation=np.where(over, self.observation, found.observation))


def other_action(x, x_next, *rest):
    turned = x_next.copy()
    turned[..., 4:] = turned[..., :3:-1]
    return LESSON(x, turned, *rest)


def weighed_end(x, x_next, reward, discount, rho):
    return LESSON(x, x_next, reward, discount, np.where(discount == 0, 0.5, rho))


def one_sided(dynamics, lanes, steps, seed, confidence):
    return LYAPUNOV(dynamics, lanes, steps, seed, 2 * confidence - 1)


FREE, C51 = rules.tdrc(0.5), (rules.td, test_agents.LAW, "kl", True)
ACTING = ("tanh", CdfTarget(-3, 10, 7), test_agents.DOUBLE, 1e-12)
# test, its arguments, where the fault is, its name there, the fault
PLANTED = {
    "streams": (
        test_streams.test_a_stream_is_numpys_of_the_root_and_the_sha_256_of_its_named_axes, (7, {}),
        streams, "_INIT_A", 1,
    ),
    "schedule": (
        test_by_hand.test_snapshots_are_gtd2s_points_at_their_very_steps_over_two_calls, ("linear",),
        stepping.PowerLaw, "factors", lambda self, first, count: FACTORS(self, first + 1, count),
    ),
    "deaths": (
        test_by_hand.test_a_lane_that_overflows_in_a_later_call_is_dated_since_the_start_and_its_neighbours_do_not_notice,
        ("linear",), linear.LinearEngine, "run", undated,
    ),
    "ball": (
        test_stepping.test_a_step_on_a_saddle_of_two_numbers_is_the_one_written_out, (stepping.mirror_prox, 0.9),
        stepping, "project_ball", lambda point, radius: point,
    ),
    "linear": (
        test_rules.test_a_wrong_rule_is_refused_when_it_is_made,
        next(case for case in test_rules._wrong() if case[0].__name__ == "crossed"),
        rule, "_PROBES", ((1.0, 0.0), (0.0, 1.0)),
    ),
    "fingerprint": (
        test_rules.test_rules_that_differ_in_a_number_have_fingerprints_of_their_own_and_a_name_is_no_part_of_one, (),
        rule.Rule, "fingerprint", lambda self, ratios: self.name,
    ),
    "trace": (
        test_traced.test_what_changes_between_calls_is_never_held_in_a_trace, (),
        module, "_same", lambda one, other: True,
    ),
    "standard errors": (
        test_agreement.test_the_mean_of_squares_is_compared_not_the_square_of_the_mean, (),
        test_agreement, "standard_errors_away", scaled(agreement.standard_errors_away, 2),
    ),
    "skewed": (
        test_agreement.test_the_distance_is_halls, (), test_agreement, "careful", agreement.standard_errors_away
    ),
    "band": (
        test_agreement.test_the_band_holds_all_checkpoints_of_all_contestants_together_with_99_percent, (),
        agreement, "CHANCE", 0.02,
    ),
    "acts": (
        test_agents.test_agents_act_by_the_means_of_their_laws, ACTING,
        replayed.ReplayEngine, "values", scaled(replayed.ReplayEngine.values, 1.001),
    ),
    "replay": (
        test_agents.test_replay_keeps_the_last_transitions_and_draws_from_each_lanes_own_stream, (),
        Replay, "size", property(lambda self: 1),
    ),
    "a user's network": (
        test_replayed_module.test_directions_values_and_laws_are_the_compiled_engines, C51,
        module.ModuleEngine, "directions_and_parts", lambda self, theta, w, batch, frozen=None: TOGETHER(
            self, theta, w, batch
        ),
    ),
    "last step": (
        test_worlds.test_a_fall_on_the_last_allowed_step_is_terminated, (),
        CartPole, "step", changed(STEP, truncated=lambda found: found.truncated | found.terminated),
    ),
    "ratios": (
        test_policy_iteration.test_a_draw_explores_its_action_below_epsilon_and_its_ratio_is_that_of_policy_and_behaviour,
        (), Evaluators, "act", changed(Evaluators.act, rho=lambda found: 1.01 * found.rho),
    ),
    "next action": (
        test_iterating.test_the_action_that_is_learnt_from_is_the_one_that_is_taken_next, (),
        iterating, "Lesson", other_action,
    ),
    "ratio at an end": (
        test_iterating.test_off_policy_the_next_action_is_weighed_and_an_end_is_not, (),
        iterating, "Lesson", weighed_end,
    ),
    "motion": (
        test_finite_cartpole.test_every_step_inside_the_grid_leads_on_average_to_where_the_equations_of_motion_lead, (),
        physics, "GRAVITY", 9.9,
    ),
    "jacobian": (
        test_linearised.test_the_jacobian_is_that_of_the_mean_update, (rules.gtd2, "cdf"),
        test_linearised, "mean_jacobian", scaled(test_linearised.mean_jacobian, 1.001),
    ),
    "interval of an exponent": (
        test_classes.test_an_interval_for_an_exponent_is_the_t_interval_of_its_lanes, (),
        test_classes, "lyapunov", one_sided,
    ),
    "mean update": (
        test_objectives.test_engines_average_to_the_exact_mean_update, (FREE, "cdf"),
        objectives.Objective, "mean_update", scaled(objectives.Objective.mean_update, 1.001),
    ),
    "spectrum": (
        test_objectives.test_features_that_depend_on_each_other_add_nothing_to_the_rank, (),
        objectives, "NULL_OF_RANK", -1.0,
    ),
    "noise": (
        test_err.test_the_first_noise_is_the_largest_variance_over_the_ball, (next(iter(test_err.CASES)),),
        saddle.Saddle, "noise", (0.0, 0.0),
    ),
    "averages": (
        test_err.test_exact_errors_are_of_averages_over_the_points_whose_field_was_followed, (True,),
        saddle, "mirror_prox", stepping.mirror_descent,
    ),
    "unique law": (
        test_exponents.test_with_nearest_a_slow_discount_moves_no_atom_and_every_law_is_a_fixed_point, (),
        test_exponents, "projected_law", changed(test_exponents.projected_law, unique=lambda found: True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_test_passes_and_fails_where_something_wrong_is_planted(name, monkeypatch):
    test, arguments, where, attribute, wrong = PLANTED[name]
    test(*arguments)
    monkeypatch.setattr(where, attribute, wrong)
    test_err.saddle_of.cache_clear()  # it has the right noise
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test(*arguments)
    test_err.saddle_of.cache_clear()


def test_a_step_into_the_next_episode_is_seen(monkeypatch):
    """The replay then leads from a fall to an upright pole."""
    with monkeypatch.context() as patch:
        test_acting.test_what_is_replayed_is_what_happened(patch)
    monkeypatch.setattr(CartPole, "step", into_the_next_episode)
    with pytest.raises(AssertionError):
        test_acting.test_what_is_replayed_is_what_happened(monkeypatch)
