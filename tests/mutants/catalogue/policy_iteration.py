"""Faults in policy iteration: which policy acts and is frozen, which action follows, the finite CartPole, its oracle."""

from tests.mutants.mutant import Mutant

CHOOSING = "algorithms/fast/choosing.py"
POLICIES = "algorithms/policy_iteration.py"
BATCHES = "algorithms/fast/network_batches.py"
ITERATING = "harness/runs/iterating.py"
LINEARISED = "harness/oracle/linearised.py"
POLES = "suites/problems/cartpole.py"
FROZEN = "claim:policy_iteration/frozen/3"
NEXT = "claim:policy_iteration/next-action"
POINT = "claim:policy_iteration/finite_cartpole"
ACTS = "test:tests/algorithms/test_policy_iteration.py"
RUNS = "test:tests/harness/runs/test_iterating.py"
TESTS = "test:tests/harness/oracle/test_linearised.py"

MUTANTS = (
    Mutant("iteration: nothing is explored", CHOOSING, "explore[row] < wider", "explore[row] < 0.0", (NEXT,)),
    Mutant(
        "iteration: what is explored is the first action",
        CHOOSING,
        "np.int64(choice[row] * actions)",
        "np.int64(choice[row] * 0)",
        (
            "claim:policy_iteration/ratios",
            f"{ACTS}::test_actions_and_ratios_are_those_of_policy_and_behaviour",
        ),
    ),
    Mutant(
        "iteration: the ratio is of the behaviour to itself",
        CHOOSING,
        "(own / actions + (1.0 - own) * hit)",
        "(wider / actions + (1.0 - wider) * hit)",
        (
            "claim:policy_iteration/ratios",
            f"{ACTS}::test_actions_and_ratios_are_those_of_policy_and_behaviour",
        ),
    ),
    Mutant("iteration: the worst action is greedy", CHOOSING, "not value[0] <= best", "value[0] <= best", (NEXT,)),
    Mutant(
        "iteration: an evaluation lasts an episode too long",
        POLICIES,
        "due = self.seen >= self.episodes",
        "due = self.seen > self.episodes",
        (FROZEN,),
    ),
    Mutant(
        "iteration: a lane's improvement changes all policies",
        POLICIES,
        "self.policy[due] = self.theta[due]",
        "self.policy[:] = self.theta",
        (FROZEN,),
    ),
    Mutant(
        "iteration: the policy is what learns", POLICIES, "self.policy = theta.copy()", "self.policy = theta", (FROZEN,)
    ),
    Mutant(
        "iteration: the next action is the last one",
        ITERATING,
        "lanes.inputs(x_next, following.action)",
        "lanes.inputs(x_next, action)",
        (
            "claim:policy_iteration/lessons",
            f"{RUNS}::test_the_action_that_is_learnt_from_is_the_one_that_is_taken_next",
        ),
    ),
    Mutant(
        "iteration: an end is weighed by what would follow",
        ITERATING,
        "np.where(moved.terminated, 1.0, following.rho)",
        "following.rho",
        (
            "claim:policy_iteration/lessons",
            f"{RUNS}::test_off_policy_the_next_action_is_weighed_and_an_end_is_not",
        ),
    ),
    Mutant(
        "iteration: a shift is found by its reward alone",
        BATCHES,
        "keys[row, 0] == first[i] and keys[row, 1] == second[i]",
        "keys[row, 0] == first[i]",
        (f"{POINT}/value/tdc/fixed-point", f"{ACTS}::test_rows_are_made_once_and_begun_anew_when_full"),
    ),
    Mutant(
        "iteration: the finite pole goes to the wrong corners",
        POLES,
        "[(low, 1.0 - (at - low)), (low + 1, at - low)]",
        "[(low, at - low), (low + 1, 1.0 - (at - low))]",
        (
            "claim:policy_iteration/finite_cartpole/steps",
            "test:tests/suites/test_finite_cartpole.py::test_a_step_leads_on_average_to_where_the_world_leads",
        ),
    ),
    Mutant(
        "iteration: the Jacobian leaves out how the rule's cotangents change",
        LINEARISED,
        "p, t, q = rule(g - f, u, rho)",
        "p, t, q = rule((g - f).detach(), u, rho)",
        (
            "claim:policy_iteration/diagnosis/jacobian",
            f"{TESTS}::test_the_jacobian_is_that_of_the_mean_update",
        ),
    ),
    Mutant(
        "iteration: what w misses is counted for half of the steps",
        LINEARISED,
        "** (2 * steps) * parts",
        "** steps * parts",
        (
            "claim:policy_iteration/diagnosis/missing",
            f"{TESTS}::test_what_w_misses_is_what_its_mean_steps_leave",
        ),
    ),
)
