"""Agents compared: planted lanes are judged right, and the command does what it says."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.comparison import Comparison, Entry, duels
from dgtd.harness.experiment.experiment import Entrant, Experiment, entrants
from dgtd.harness.experiment.search import Choice, SweepPoint, agent_learner, run_spec
from dgtd.harness.judging.statistics import paired
from dgtd.harness.report.words import answer, details
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lane, Lanes
from dgtd.harness.runs.spec import FileRef, Outcome, PredictorSpec
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.trainer import train
from dgtd.harness.runs.trainers.world import NAMES
from dgtd.harness.runs.work import Cohort, Result
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


WORLD = "cartpole-v0"
DQN, C51 = Entrant(FileRef("dqn"), "value"), Entrant(FileRef("c51"), "cdf")


def experiment(*people, **rest):
    return Experiment((WORLD,), people or (DQN, C51), **{"steps": 300, "seeds": 20, "alpha": 1e-3} | rest)


def learning(returns, episodes, who=DQN, lost=()):
    """An agent whose lanes have these returns and episodes so far, [lanes, checkpoints]."""
    returns, ended = np.asarray(returns, dtype=float), np.asarray(episodes, dtype=float)
    columns = {"return": returns, "value": returns, "earned": returns, "episodes": ended}
    curves = np.stack([columns.get(name, np.zeros_like(returns)).T for name in NAMES], axis=-1)
    outcomes = tuple(Outcome.DIVERGED if i in lost else Outcome.BUDGET_SPENT for i in range(len(returns)))
    times = np.linspace(0, 300, returns.shape[1]).astype(int)
    made = Lanes(times, curves, np.full(len(returns), -1), NAMES, np.zeros((len(returns), 0)), outcomes, 1.0)
    spec = experiment(DQN, C51).spec(WORLD, who, 1e-3, 0.01)
    return Entry(WORLD, who, spec, Choice((1e-3, 0.01)), made)


def earning(final, who=DQN, lost=()):
    """An agent with these final returns."""
    return learning(np.repeat(np.asarray(final, dtype=float)[:, None], 4, axis=1), np.ones((len(final), 4)), who, lost)


def met(*entries, **rest):
    made = experiment(*(entry.who for entry in entries), seeds=entries[0].count, **rest)
    return Comparison(made, list(entries), duels(made, list(entries)))


def test_steps_to_a_return_and_returns_over_episodes():
    entry = learning([[0, 10, 20, 40], [0, 10, 10, 10]], [[0, 10, 15, 17], [0, 10, 20, 30]])
    np.testing.assert_array_equal(entry.steps_to_return(20), [200, np.inf])
    np.testing.assert_array_equal(entry.steps_to_return(0), [100, 100])  # nothing is known before the first checkpoint
    at, returns = entry.over_episodes()
    assert at.tolist() == list(range(1, 18))  # as far as the slower lane has come
    np.testing.assert_allclose(returns[0][[9, 11, 14, 16]], [10, 14, 20, 40])
    np.testing.assert_allclose(returns[1], 10)


def test_the_threshold_is_half_way_unless_it_is_given():
    good, bad = learning([[0, 10, 20, 40]] * 3, [[0, 1, 2, 3]] * 3), learning([[0, 20, 20, 20]] * 3, [[0, 1, 2, 3]] * 3)
    assert met(good, replace(bad, who=C51)).threshold(WORLD) == (15 + 40) / 2
    assert met(good, replace(bad, who=C51), threshold=33.0).threshold(WORLD) == 33


def test_more_is_better():
    rng = np.random.default_rng(0)
    low, high = rng.normal(100, 5, 20), rng.normal(150, 5, 20)
    found = met(earning(low), earning(high, C51))
    (duel,) = found.duels
    assert duel.winner == found.best(WORLD) == "C51"
    assert duel.difference == pytest.approx(-50, abs=10)
    assert duel.result.better.estimate == 0.0
    assert found.variance(duel).ratio.estimate == pytest.approx(low.var() / high.var())


def test_a_diverged_lane_is_the_worst_there_is():
    few = np.full(12, 10.0)
    lost = np.where(np.arange(12) < 10, -np.inf, 500.0)
    result = paired(-few, -lost)
    assert result.direction < 0  # the first earns more
    found = met(earning(few), earning(np.full(12, 500.0), C51, lost=range(10)))
    np.testing.assert_array_equal(found.entries[1].tested, lost)
    assert found.best(WORLD) == "DQN"
    assert found.variance(found.duels[0]) is None


def test_published_agents_have_their_own_target_and_rules_have_each():
    rule = FileRef("greedy_gq(eta=0.5)")
    assert entrants(("dqn", "c51", "greedy_gq(0.5)"), ("value", "cdf")) == (
        DQN, C51, Entrant(rule, "value"), Entrant(rule, "cdf"),
    )  # fmt: skip


def test_a_rule_that_is_written_in_two_ways_is_one_agent():
    found = entrants(("greedy_gq(0.5)", "greedy_gq(.5)", "greedy_gq(eta=0.5)", "dqn", "dqn"), ("cdf",))
    assert [(who.rule.name, who.target) for who in found] == [("dqn", "value"), ("greedy_gq(eta=0.5)", "cdf")]


def test_a_schedule_reaches_policy_iteration():
    made = experiment(*entrants(("tdc",), ("value",)), kind="policy-iteration", schedule="robbins-monro")
    assert made.spec(WORLD, made.entrants[0], 0.1, 0.1).learner.schedule.name == "robbins-monro"


def test_policy_iteration_is_compared_with_its_own_steps_networks_and_replay():
    named = experiment(*entrants(("gtd2",), ("value", "cdf")), alpha=None, kind="policy-iteration")
    assert named.points(WORLD, named.entrants[0]) == [(rate, rate) for rate in (0.01, 0.03, 0.1, 0.3)]
    value, law = (named.spec(WORLD, who, 0.1, 0.1).learner for who in named.entrants)
    assert (value.alpha, value.beta, value.predictor.hidden) == (0.1, 0.1, (30,))
    assert (law.alpha, law.beta, law.predictor.hidden, law.atoms) == (0.1, 0.1, (50,), 30)
    assert (law.iteration.capacity, law.iteration.batch, law.control) == (10_000, 8, None)
    given = replace(named, beta=0.5, atoms=11)
    assert given.points(WORLD, given.entrants[0]) == [(rate, 0.5) for rate in (0.01, 0.03, 0.1, 0.3)]
    assert given.spec(WORLD, given.entrants[1], 0.1, 0.5).learner.atoms == 11


def test_agents_are_searched_over_rates_at_one_beta():
    made = experiment(DQN, alpha=None)
    assert made.points(WORLD, DQN) == [(rate, 0.01) for rate in (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)]
    edge = {pair: Choice((4e-3, 0.01)) for pair in made.pairs()}
    assert made.wider(edge).points(WORLD, DQN)[-1] == (8e-3, 0.01)
    assert made.wider({pair: Choice((1e-3, 0.01)) for pair in made.pairs()}) == made


def test_what_can_not_iterate_over_policies_is_said_before_anything_runs():
    for place, names, says in (
        ("baird", ("gtd2",), "no world 'baird'"),
        (WORLD, ("dqn",), "policy iteration takes a rule"),
    ):
        with pytest.raises(ValueError, match=says):
            Experiment((place,), entrants(names, ("cdf",)), 100, 4, kind="policy-iteration")


def test_a_report_of_policy_iteration(tmp_path):
    done = dgtd(
        "compare", *SMALL, "--rules", "tdc", "--targets", "value,cdf", "--learner", "policy-iteration", "--atoms", "7",
        "--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.sqlite"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["problems"]["cartpole-v0"]) == {"TDC", "distributional TDC"}
    assert "--learner policy-iteration" in found["command"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "the greedy action" in page


def test_settings_and_states_reach_every_learner_and_states_no_sweep():
    people = entrants(("dqn", "gtd2"), ("cdf",))
    made = experiment(*people, settings={"batch": 8, "v_max": 7.0}, states=((0, 0, 0.1, 0),))
    for who in made.entrants:
        reported, sweep = (made.spec(WORLD, who, 1e-3, 0.01, sweep=each) for each in (False, True))
        assert (reported.learner.control.batch, reported.learner.control.v_max) == (8, 7.0)
        assert sweep.probe.states == ()
        assert reported.probe.states == (((0.0, 0.0, 0.1, 0.0),) if who.target == "cdf" else ())
    with pytest.raises(ValueError, match="states of 'cartpole-v0' have 4 numbers, got 2"):
        replace(made, states=((0.0, 1.0),))
    with pytest.raises(ValueError, match="policy iteration has no setting 'every'"):
        replace(made, entrants=entrants(("gtd2",), ("cdf",)), kind="policy-iteration", settings={"every": 2})


def test_where_every_rate_has_lost_lanes_the_fewest_decide():
    """A lane that diverges is data: the comparison goes on."""
    finals = {1e-3: [5.0, -np.inf, -np.inf], 2e-3: [1.0, 2.0, -np.inf], 4e-3: [3.0, 1.0, -np.inf]}
    made = experiment(DQN, alpha=None, sweep_seeds=3)
    with Store(":memory:") as store:
        for rate, beta in made.points(WORLD, DQN):
            spec, values = made.spec(WORLD, DQN, rate, beta, sweep=True), finals.get(rate, [0.0, -np.inf, -np.inf])
            rows = []
            for seed, value in enumerate(values):
                curves = np.full((len(spec.probe.times), len(NAMES)), value if np.isfinite(value) else 7.0)
                lost = Outcome.BUDGET_SPENT if np.isfinite(value) else Outcome.DIVERGED
                rows.append(Lane(seed, lost, -1, curves))
            store.save(Cohort(spec, 0), Result(run_hash(spec), Outcome.BUDGET_SPENT, tuple(rows), NAMES))
        (found,) = made.choose(store).values()
    assert found.best == (4e-3, 0.01)
    assert not found.stable
    assert {p.alpha: (p.mean, p.diverged) for p in found.sweep if p.alpha in finals} == {
        1e-3: (5.0, 2), 2e-3: (1.5, 1), 4e-3: (2.0, 1),
    }  # fmt: skip
    assert Choice.among([SweepPoint(1, 1, 3.0, 0, 3), SweepPoint(2, 1, 5.0, 0, 3)], higher=True).best == (2, 1)


def test_an_agent_whose_lanes_all_diverged_is_in_the_report(tmp_path):
    """Without a distribution, w overflows at such a β."""
    done = dgtd(
        "compare", "--problems", "cartpole-v0", "--rules", "dqn,greedy_gq(0.5)", "--targets", "value", "--alphas",
        "1e-3,2e-3", "--beta", "3", "--begin", "64", "--batch", "16", "--every", "1", "--steps", "400", "--seeds", "3",
        "--out", str(tmp_path / "out"), "--store", str(tmp_path / "s.sqlite"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lost = found["problems"]["cartpole-v0"]["greedy_gq(eta=0.5)"]
    assert (lost["diverged"], lost["sd"], lost["stable"]) == (3, None, False)
    words = "greedy_gq(eta=0.5) on cartpole-v0 diverges at every step size tried (2 settings), in all 3 seeds"
    assert any(line.startswith(words) for line in found["answer"])
    assert any("3 seeds can't decide 1 test, whatever they show" in line for line in found["answer"])
    assert "can't decide" in done.stderr
    assert "Warning" not in done.stderr
    assert "--begin 64" in found["command"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "3 of 3" in page


def test_sweep_and_reported_lanes_share_no_seed():
    made = experiment(DQN, alpha=None)
    sweep, final = made.spec(WORLD, DQN, 1e-3, 0.01, sweep=True), made.spec(WORLD, DQN, 1e-3, 0.01)
    assert sweep.root_seed != final.root_seed
    assert len(made.sweep_requests()) == 5
    assert len(made.final_requests({(WORLD, DQN): Choice((1e-3, 0.01))})) == 1


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
    assert list(found["problems"]["cartpole-v0"]) == ["DQN", "C51", "distributional greedy_gq(eta=0.5)"]
    assert len(found["tests"]) == 3
    again = json.loads(dgtd("compare", *SMALL, *rules, *places, "--json").stdout)
    assert again["problems"] == found["problems"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "distributional greedy_gq(eta=0.5)" in page
    for name in ("returns", "worth", "law"):
        assert (tmp_path / "out" / "figures" / f"{name}-cartpole-v0.png").stat().st_size > 5000
    assert "action 1" in page
    assert "what was earned, discounted" in page
    shown = dgtd("compare", *SMALL, *rules, *places)
    assert "return over the last fifth" in " ".join(shown.stdout.split())


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
    assert set(NAMES) <= set(found["final"])
    listed = json.loads(dgtd("world", "list", "--json").stdout)
    names = {"cartpole-v0", "cartpole-v1", "vizdoom-defend-the-center", "cartpole-deaf", "treadmill", "treadmill-ends"}
    assert {row["name"] for row in listed} == names
    facts = json.loads(dgtd("world", "show", "cartpole-v1", "--json").stdout)
    assert 15 < facts["random_return_mean"] < 30
    assert "gym:Acrobot-v1" in dgtd("world", "list").stdout


def test_the_words_say_what_the_seeds_can_not_tell():
    found = met(earning([1, 2, 3]), earning([3, 2, 1], C51))
    lines = [*answer(found), *details(found)]
    assert any("3 seeds can't decide 1 test" in line for line in lines)
    assert any("C51 is not told apart from DQN on cartpole-v0" in line for line in lines)
    assert any("median return over the last fifth of the steps (300): DQN 2, C51 2" in line for line in lines)


def test_the_last_law_is_that_of_every_action_where_the_observation_is_0():
    made = agent_learner("c51", "cartpole-v0", predictor=PredictorSpec("mlp", (8,), "relu"))
    acting = Acting.of(run_spec("cartpole-v0", made, 1100))
    kept = []
    players = Acting.players
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Acting, "players", lambda self, seeds: kept.append(players(self, seeds)) or kept[-1])
        trial = train(acting, range(3), lambda: None)
    law = trial.law.reshape(3, 2, -1)
    found = 100.0 - acting.target.spacing * law.sum(-1)  # the means of the laws
    assert law.shape == (3, 2, 39)
    np.testing.assert_allclose(found, kept[0].engine.values(kept[0].theta, np.zeros((3, 4))), rtol=1e-5)
