"""Exact curves of contestants: which have one, what it costs, and that it is a stored job like any other."""

import numpy as np
import pytest

from dgtd.harness.experiment.agreement import agreement
from dgtd.harness.experiment.comparison import compare
from dgtd.harness.experiment.exact import add_exact, exact_jobs, job_of, seconds
from dgtd.harness.experiment.experiment import Entrant, Experiment
from dgtd.harness.experiment.search import Choice
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.driver import execute, missing
from dgtd.harness.runs.executors import InProcess, Workers
from dgtd.harness.runs.predictors import parse
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job

VALUES = tuple(Entrant(reference(name), "value") for name in ("gtd2", "tdc"))
LIFTS = tuple(Entrant(reference(name), "cdf") for name in ("gtd2", "tdc"))


def contest(*problems, people=VALUES, **rest):
    return Experiment(problems or ("boyan",), people, **{"steps": 500, "seeds": 16, "alpha": 0.1, "beta": 0.2} | rest)


def chosen(one):
    return {pair: Choice((one.alpha, one.beta)) for pair in one.pairs()}


def spec(place="boyan", who=VALUES[0], **rest):
    one = contest(place, people=(who,), **rest)
    return one.spec(place, who, 0.1, 0.2)


def curve_of(run):
    """Of a run, with the recursion called directly."""
    place, learner = find_problem(run.place.problem), run.learner
    moments = Moments(resolve(learner.rule), place.mdp, place.target(learner.target, learner.atoms))
    made = learner.schedule.make()
    return moments.run(learner.alpha, learner.beta, run.probe.times, metrics=("rmspbe",), schedule=made).of("rmspbe")


@pytest.mark.parametrize("who", [*VALUES, LIFTS[0]])
@pytest.mark.parametrize("schedule", ["constant", "robbins-monro"])
def test_a_job_has_the_expected_square_at_every_checkpoint_of_its_run(who, schedule):
    run = spec(who=who, schedule=schedule, atoms=4, steps=100)
    np.testing.assert_array_equal(job_of(run).run(), curve_of(run))
    assert len(run.probe.times) == len(job_of(run).run())


def test_a_second_moment_beyond_all_bounds_has_no_number():
    run = contest("baird").spec("baird", Entrant(reference("td"), "value"), 0.5, 0.5)
    found = job_of(run.with_learner(alpha=50.0)).run()
    assert found[0] > 0
    assert found[-1] is None


@pytest.mark.slow
def test_jobs_are_stored_and_bit_equal_in_process_and_in_a_pool(tmp_path):
    one = contest("boyan", "random_walk", people=(*VALUES, *LIFTS), atoms=5)
    jobs = exact_jobs(one, chosen(one))
    assert len(jobs) == 16  # a curve and an outlook each
    stores = []
    for name, make in (("a", InProcess), ("b", lambda: Workers(2))):
        with Store(tmp_path / name) as store:
            execute([], store, make, jobs=jobs)
            assert missing(store, [], jobs) == []
            stores.append([store.job(job.hash) for job in jobs])
    assert stores[0] == stores[1]


def test_what_the_jobs_gave_is_in_the_comparison(tmp_path):
    one = contest("boyan", "baird")
    with Store(tmp_path / "s") as store:
        execute(one.final_requests(chosen(one)), store, InProcess, jobs=exact_jobs(one, chosen(one)))
        found = compare(one, store, chosen(one))
        assert agreement(found) is None
        add_exact(found, store)
    for entry in found.entries:
        np.testing.assert_array_equal(entry.exact, curve_of(entry.spec))
    assert set(found.lstd) == {"boyan"}  # on Baird's star A is singular
    assert agreement(found).curves == 4


def test_a_job_that_failed_is_named(tmp_path, monkeypatch):
    one = contest("boyan", people=VALUES[:1])
    with Store(tmp_path / "s") as store:
        execute(one.final_requests(chosen(one)), store, InProcess)
        found = compare(one, store, chosen(one))
        monkeypatch.setattr(Job, "run", lambda self: 1 / 0)
        execute([], store, InProcess, jobs=exact_jobs(one, chosen(one)))
        add_exact(found, store)
    assert found.entries[0].exact is None
    assert found.entries[0].why_not_exact == "failed: ZeroDivisionError: division by zero"


def test_what_has_no_exact_curve_says_why(tmp_path):
    file = tmp_path / "odd.py"
    file.write_text(
        "import numpy as np\nfrom dgtd.algorithms.rule import Cotangents, rule\n@rule(linear=False)\n"
        "def odd(delta, u, rho):\n    return Cotangents(-rho * np.tanh(delta), rho * u, rho * delta - u)\n"
    )
    odd = Entrant(reference(f"{file}:odd"), "value")
    assert job_of(spec(who=odd)) == "the rule is not linear in (δ, u)"
    assert job_of(spec(predictor=parse("mlp(5)"))) == "its predictor is not linear"
    for change in ({"radius": 1.0}, {"average": True}, {"extragradient": True}, {"start": "zeros"}):
        assert job_of(spec().with_learner(**change)).startswith("only the last iterate along trajectories")


def test_a_dear_curve_is_left_out_by_size_and_steps():
    assert job_of(spec("grid_world", steps=50_000)) == "it would take more than 5 s"
    assert job_of(spec("grid_world", steps=100_000)) == "it would take more than 10 s"
    assert job_of(spec("grid_world", steps=2000)) == "it would take more than 1 s"
    assert isinstance(job_of(spec("grid_world", steps=500)), Job)
    assert isinstance(job_of(spec("baird", steps=1_000_000)), Job)  # where lanes take long, so may it
    assert job_of(spec("grid_world", who=LIFTS[0], steps=1)) == "it would need more than 30,000,000 numbers"


def test_by_default_the_curves_of_values_on_small_problems_are_affordable():
    """And all of them together take less than twelve seconds of one core by the estimate, a tenth of the lanes'."""
    problems = ("baird", "random_walk", "boyan", "grid_world")
    total = 0.0
    for place in problems:
        for who in (*VALUES, *LIFTS):
            job = job_of(spec(place, who, steps=50_000, atoms=21))
            assert isinstance(job, Job) == (place != "grid_world" and not who.distributional)
            if isinstance(job, Job):
                mdp = find_problem(place)
                total += seconds(Moments(resolve(who.rule), mdp.mdp, mdp.target("value")), 50_000)
    assert total < 13.0


def test_the_estimate_grows_with_steps_transitions_and_length():
    def of(place, target, steps, atoms=21):
        problem = find_problem(place)
        return seconds(Moments(resolve(reference("gtd2")), problem.mdp, problem.target(target, atoms)), steps)

    assert of("boyan", "value", 2000) == pytest.approx(2 * of("boyan", "value", 1000))
    assert of("boyan", "value", 1000) < of("baird", "value", 1000) < of("grid_world", "value", 1000)
    assert of("boyan", "value", 1000) < of("boyan", "cdf", 1000, 5) < of("boyan", "cdf", 1000)
