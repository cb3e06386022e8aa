"""Agents compared: planted lanes are judged right, and the command does what it says."""

import json
from dataclasses import replace

import numpy as np
import pytest

from harness.compare.agents import learner, run_spec
from harness.compare.control import (
    ControlComparison,
    ControlContest,
    _match,
    choose,
    entrants,
    words,
)
from harness.compare.earnings import Earned, Earnings, Entrant, Sweep
from harness.judging.statistics import paired
from harness.runs.acting import NAMES, Acting
from harness.runs.spec import PredictorSpec, StepSchedule
from tests.harness.test_cli import dgtd

SMALL = [
    "--problems",
    "cartpole-v0",
    "--steps",
    "1200",
    "--seeds",
    "3",
    "--alpha",
    "0.001",
    "--predictor",
    "mlp(8,relu)",
]


def lanes(final):
    """An agent with these final returns."""
    final = np.asarray(final, dtype=float)
    who = Entrant("dqn", "value")
    nothing = np.zeros((len(final), 2))
    earned = Earned(nothing, nothing, nothing, nothing, final, final, np.zeros((len(final), 0)), 0, 1.0)
    return Earnings("cartpole-v0", who, Sweep(1e-3, {}), np.arange(2), earned, 1.0)


def learning(returns, episodes):
    """An agent whose lanes have these curves, [lanes, checkpoints]."""
    returns, ended = np.asarray(returns, dtype=float), np.asarray(episodes, dtype=float)
    final = returns[:, -1]
    earned = Earned(returns, returns, returns, ended, final, final, np.zeros((len(final), 0)), 0, 1.0)
    return Earnings("cartpole-v0", Entrant("dqn", "value"), Sweep(1e-3, {}), 100 * np.arange(4), earned, 1.0)


def test_steps_to_a_return_and_returns_over_episodes():
    entry = learning([[0, 10, 20, 40], [0, 10, 10, 10]], [[0, 10, 15, 17], [0, 10, 20, 30]])
    np.testing.assert_array_equal(entry.steps_to(20), [200, np.inf])
    np.testing.assert_array_equal(entry.steps_to(0), [100, 100])  # nothing is known before the first checkpoint
    at, returns = entry.over_episodes()
    assert at.tolist() == list(range(1, 18))  # as far as the slower lane has come
    np.testing.assert_allclose(returns[0][[9, 11, 14, 16]], [10, 14, 20, 40])
    np.testing.assert_allclose(returns[1], 10)


def test_the_threshold_is_half_way_unless_it_is_given():
    good, bad = learning([[0, 10, 20, 40]] * 3, [[0, 1, 2, 3]] * 3), learning([[0, 20, 20, 20]] * 3, [[0, 1, 2, 3]] * 3)
    contest = ControlContest(("cartpole-v0",), entrants(("dqn",), ("cdf",)), 300, 3, rates=(1e-3,))
    assert ControlComparison(contest, [good, bad], []).threshold("cartpole-v0") == (15 + 40) / 2
    assert ControlComparison(replace(contest, threshold=33.0), [good, bad], []).threshold("cartpole-v0") == 33


def test_more_is_better():
    rng = np.random.default_rng(0)
    low, high = rng.normal(100, 5, 20), rng.normal(150, 5, 20)
    result = paired(-high, -low)
    found = _match("cartpole-v0", lanes(high), lanes(low), result, result.p)
    assert found.winner == "DQN"
    assert found.difference == pytest.approx(50, abs=10)
    assert found.better.estimate == 1.0


def test_a_diverged_lane_is_the_worst_there_is():
    few = np.full(12, 10.0)
    lost = np.where(np.arange(12) < 10, -np.inf, 500.0)
    result = paired(-few, -lost)
    assert result.direction < 0  # the first earns more


def test_published_agents_have_their_own_target_and_rules_have_each():
    assert entrants(("dqn", "c51", "greedy_gq(0.5)"), ("value", "cdf")) == (
        Entrant("dqn", "value"),
        Entrant("c51", "cdf"),
        Entrant("greedy_gq(0.5)", "value"),
        Entrant("greedy_gq(0.5)", "cdf"),
    )


def test_a_rule_that_is_written_in_two_ways_is_one_agent():
    found = entrants(("greedy_gq(0.5)", "greedy_gq(.5)", "greedy_gq(eta=0.5)", "dqn", "dqn"), ("cdf",))
    assert [(who.name, who.target) for who in found] == [("greedy_gq(0.5)", "cdf"), ("dqn", "value")]


def test_a_schedule_reaches_policy_iteration():
    made = ControlContest(
        ("cartpole-v0",), entrants(("tdc",), ("value",)), 100, 4, kind="policy-iteration",
        schedule=StepSchedule("robbins-monro"),
    )  # fmt: skip
    assert made.spec("cartpole-v0", made.entrants[0], 0.1).learner.schedule.name == "robbins-monro"


def test_policy_iteration_is_compared_with_its_own_steps_networks_and_replay():
    named = ControlContest(("cartpole-v0",), entrants(("gtd2",), ("value", "cdf")), 100, 4, kind="policy-iteration")
    value, law = (named.learner("cartpole-v0", named.entrants[i], rate, 2) for i, rate in enumerate((0.03, 0.1)))
    assert named.rates == (0.01, 0.03, 0.1, 0.3)
    assert (value.alpha, value.beta, value.predictor.hidden) == (0.03, 0.03, (30,))
    assert (law.alpha, law.beta, law.predictor.hidden, law.atoms) == (0.1, 0.1, (50,), 30)
    assert (law.iteration.capacity, law.iteration.batch, law.control) == (10_000, 8, None)
    given = replace(named, beta=0.5, atoms=11).learner("cartpole-v0", named.entrants[1], 0.1, 2)
    assert (given.beta, given.atoms) == (0.5, 11)


def test_what_can_not_iterate_over_policies_is_said_before_anything_runs():
    for worlds, names, says in (
        (("baird",), ("gtd2",), "no world 'baird'"),
        (("cartpole-v0",), ("dqn",), "policy iteration takes a rule"),
    ):
        with pytest.raises(ValueError, match=says):
            ControlContest(worlds, entrants(names, ("cdf",)), 100, 4, kind="policy-iteration")


def test_a_report_of_policy_iteration(tmp_path):
    done = dgtd(
        "compare", *SMALL, "--rules", "tdc", "--targets", "value,cdf", "--learner", "policy-iteration", "--atoms", "7",
        "--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.sqlite"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["worlds"]["cartpole-v0"]) == {"tdc", "distributional tdc"}
    assert "--learner policy-iteration" in found["command"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "the greedy action" in page


def test_settings_and_states_reach_every_learner_and_states_no_sweep():
    made = ControlContest(
        ("cartpole-v0",), entrants(("dqn", "gtd2"), ("cdf",)), 100, 4, settings={"batch": 8, "v_max": 7.0},
        states=((0, 0, 0.1, 0),),
    )  # fmt: skip
    for who in made.entrants:
        reported, sweep = (made.spec("cartpole-v0", who, 1e-3, sweep=each) for each in (False, True))
        assert (reported.learner.control.batch, reported.learner.control.v_max) == (8, 7.0)
        assert sweep.probe.states == ()
        assert reported.probe.states == (((0.0, 0.0, 0.1, 0.0),) if who.target == "cdf" else ())
    with pytest.raises(ValueError, match="states of 'cartpole-v0' have 4 numbers, got 2"):
        replace(made, states=((0.0, 1.0),))
    with pytest.raises(ValueError, match="policy iteration has no setting 'every'"):
        replace(made, entrants=entrants(("gtd2",), ("cdf",)), kind="policy-iteration", rates=(), settings={"every": 2})


def test_where_every_rate_has_lost_lanes_the_fewest_decide(monkeypatch):
    """A lane that diverges is data: the comparison goes on."""
    finals = {1e-3: [5.0, -np.inf, -np.inf], 2e-3: [1.0, 2.0, -np.inf], 4e-3: [3.0, 1.0, -np.inf]}

    def earned(_, spec, seeds):
        final = np.array(finals[spec.learner.alpha])
        return replace(lanes(final).lanes, diverged=int(np.isinf(final).sum()))

    monkeypatch.setattr("harness.compare.control.earned", earned)
    contest = ControlContest(("cartpole-v0",), entrants(("dqn",), ("cdf",)), 100, 3, rates=tuple(finals))
    (found,) = choose(contest, None).values()
    assert found.best == 4e-3
    assert (found.means, found.lost) == ({1e-3: 5.0, 2e-3: 1.5, 4e-3: 2.0}, {1e-3: 2, 2e-3: 1, 4e-3: 1})


def test_an_agent_whose_lanes_all_diverged_is_in_the_report(tmp_path):
    """Without a distribution, w overflows at such a β."""
    done = dgtd(
        "compare", "--problems", "cartpole-v0", "--rules", "dqn,greedy_gq(0.5)", "--targets", "value", "--alphas",
        "1e-3,2e-3", "--beta", "3", "--begin", "64", "--batch", "16", "--every", "1", "--steps", "400", "--seeds", "3",
        "--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.sqlite"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = found["worlds"]["cartpole-v0"]["greedy_gq(0.5)"]
    assert (lost["diverged"], lost["final_sd"]) == (3, None)
    assert "3 of 3 lanes of greedy_gq(0.5) diverged." in found["answer"]
    assert "3 seeds can't decide 1 test, whatever they show" in found["answer"][0]
    assert "can't decide" in done.stderr
    assert "Warning" not in done.stderr
    assert "--begin 64" in found["command"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "3 of 3" in page


def test_sweep_and_reported_lanes_share_no_seed():
    contest = ControlContest(("cartpole-v0",), entrants(("dqn",), ("cdf",)), 100, 4, rates=(1e-3, 1e-2))
    who = contest.entrants[0]
    sweep, final = contest.spec("cartpole-v0", who, 1e-3, sweep=True), contest.spec("cartpole-v0", who, 1e-3)
    assert sweep.root_seed != final.root_seed
    assert len(contest.sweep_requests()) == 2
    assert len(contest.final_requests({("cartpole-v0", who): Sweep(1e-3, {})})) == 1


def test_lanes_that_finish_no_episode_are_said_to(tmp_path):
    words = ["--problems", "cartpole-v0", "--rules", "dqn", "--steps", "4", "--seeds", "2", "--alpha", "0.001"]
    done = dgtd("compare", *words, "--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.sqlite"))
    assert done.returncode == 2
    assert "a lane of td on cartpole-v0 finished no episode within 4 steps: take more" in done.stderr


@pytest.mark.slow
def test_the_command_writes_a_report_and_a_second_time_runs_nothing(tmp_path):
    places = ["--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.sqlite")]
    rules = ["--rules", "dqn,c51,greedy_gq(0.5)", "--targets", "cdf"]
    first = dgtd("compare", *SMALL, *rules, *places, "--json")
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert list(found["worlds"]["cartpole-v0"]) == ["DQN", "C51", "distributional greedy_gq(0.5)"]
    assert len(found["matches"]) == 3
    again = json.loads(dgtd("compare", *SMALL, *rules, *places, "--json").stdout)
    assert again["worlds"] == found["worlds"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "distributional greedy_gq(0.5)" in page
    for name in ("returns", "worth", "law"):
        assert (tmp_path / "out" / "figures" / f"{name}-cartpole-v0.png").stat().st_size > 5000
    assert "action 1" in page
    assert "what was earned, discounted" in page
    shown = dgtd("compare", *SMALL, *rules, *places)
    assert "median return over the last fifth" in " ".join(shown.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["compare", "--problems", "cartpole-v9", "--rules", "dqn"],
            "no world 'cartpole-v9'; did you mean 'cartpole-v",
        ),
        (["compare", "--problems", "cartpole-v0,baird", "--rules", "dqn"], "no world 'baird'"),
        (["compare", "--problems", "cartpole-v0", "--rules", "dqm"], "no rule 'dqm'; did you mean 'dqn'?"),
        (["compare", "--problems", "cartpole-v0", "--rules", "dqn", "--predictor", "table"], "must be a network"),
        (["compare", "--problems", "gym:Pendulum-v1", "--rules", "dqn"], "must have discrete actions"),
        (["compare", "--problems", "baird", "--threshold", "3"], "threshold is a return of agents"),
        (["compare", "--problems", "cartpole-v0", "--rules", "dqn", "--threshold", "nan"], "must be a finite return"),
        (["run", "--problem", "gym:CartPol-v1", "--rule", "dqn"], "no world 'gym:CartPol-v1'"),
        (["run", "--problem", "baird", "--rule", "gtd2", "--alpha", "0.1"], "--beta"),
        (["world", "show", "cartpole-v3"], "no world 'cartpole-v3'; did you mean"),
    ],
)
def test_bad_input_is_one_line_and_code_2(words, said, tmp_path):
    done = dgtd(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_in_a_world_and_the_worlds_themselves(tmp_path):
    words = ["run", "--problem", "cartpole-v0", "--rule", "c51", "--steps", "1100", "--seeds", "2"]
    done = dgtd(*words, "--store", str(tmp_path / "s.sqlite"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["outcomes"] == {"budget spent": 2}
    assert set(found["final"]) == set(NAMES)
    listed = json.loads(dgtd("world", "list", "--json").stdout)
    names = ["cartpole-v0", "cartpole-v1", "vizdoom-defend-the-center", "cartpole-deaf", "treadmill", "treadmill-ends"]
    assert [row["name"] for row in listed] == names
    facts = json.loads(dgtd("world", "show", "cartpole-v1", "--json").stdout)
    assert 15 < facts["random_return_mean"] < 30
    assert "gym:Acrobot-v1" in dgtd("world", "list").stdout


def test_the_words_say_what_the_seeds_can_not_tell():
    contest = ControlContest(("cartpole-v0",), entrants(("dqn", "c51"), ("cdf",)), 100, 3, rates=(1e-3,))
    one, other = lanes([1, 2, 3]), lanes([3, 2, 1])
    result = paired(-one.final, -other.final)
    found = ControlComparison(contest, [one], [_match("cartpole-v0", one, other, result, 1.0)])
    assert any("not told apart by 3 seeds" in line for line in words(found))


def test_the_last_law_is_that_of_every_action_where_the_observation_is_0():
    made = learner("c51", "cartpole-v0", predictor=PredictorSpec("mlp", (8,), "relu"))
    acting = Acting.of(run_spec("cartpole-v0", made, 1100))
    kept = []
    players = Acting.players
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Acting, "players", lambda self, seeds: kept.append(players(self, seeds)) or kept[-1])
        trial = acting.simulate(range(3), lambda: None)
    law = trial.law.reshape(3, 2, -1)
    found = 100.0 - acting.target.spacing * law.sum(-1)  # the means of the laws
    assert law.shape == (3, 2, 39)
    np.testing.assert_allclose(found, kept[0].engine.values(kept[0].theta, np.zeros((3, 4))), rtol=1e-5)
