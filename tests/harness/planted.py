"""Lanes, stores and contests whose numbers are given: what is stored, resumed, chosen and compared is then known."""

from concurrent.futures import Future

import numpy as np

from dgtd.harness.experiment.comparison import compare
from dgtd.harness.experiment.experiment import Entrant, Experiment
from dgtd.harness.experiment.search import Choice, Grid
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lane, Lanes
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import FileRef, Outcome, Probe
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.world import NAMES
from dgtd.harness.runs.work import Cohort, Result
from tests.harness.runs.lanes import spec

FINE, LOST, FAILED = Outcome.BUDGET_SPENT, Outcome.DIVERGED, Outcome.FAILED

# ---------------------------------------------------------------------- runs and stores

SIZE = 2  # lanes of a cohort


def run_of(rule="gtd2", problem="boyan", alpha=0.1, root_seed=0, cohort=SIZE):
    """A short one, in cohorts of two lanes."""
    return spec(problem, rule, alpha, alpha, steps=10, root_seed=root_seed, cohort=cohort)


def save(store, run, outcomes, height=1.0):
    """Lanes of these outcomes, by seed, as a worker's result is saved; a curve says whose it is."""
    store.save(Cohort(run, 0), result_of(run_hash(run), outcomes, height))


def result_of(run, outcomes, height=1.0):
    lanes = [Lane(seed, outcome, -1, np.full((3, 2), height + seed)) for seed, outcome in outcomes.items()]
    return Result(run, FINE, tuple(lanes), ("rmspbe", "size"))


def outcomes_in(store, run):
    """By seed."""
    return {lane.seed: lane.outcome for lane in store.lanes(run_hash(run))}


class Workers(InProcess):
    """They simulate nothing: lanes fail in some cohorts and are fine in others. `asked` has the cohorts in order."""

    def __init__(self, failing):
        self.failing, self.asked = failing, []

    def submit(self, fn, /, task):
        self.asked.append(task.work.index)
        outcome = FAILED if task.work.index in self.failing else FINE
        future = Future()
        future.set_result(result_of(task.hash, dict.fromkeys(task.work.seeds, outcome)))
        return future


def lanes_with(sizes, died):
    """What is stored of lanes of these sizes [lanes, checkpoints] that overflowed at these steps, or −1."""
    curves = np.stack([np.ones_like(sizes), sizes], axis=-1).swapaxes(0, 1)
    times = np.arange(len(curves))
    lanes = Lanes(times, curves, np.asarray(died), ("rmspbe", "size"), np.zeros((len(sizes), 0)))
    return lanes.rows(range(len(sizes)), Probe(tuple(times.tolist())))


def plant(store, run, metrics, curves, lost=(), seconds=1.0):
    """Lanes with these curves [lanes, checkpoints, metrics], the last cohort and in it the last lane first.

    Those that are lost have diverged, however finite they still are.
    """
    size = run.learner.cohort
    for cohort in reversed(range(-(-len(curves) // size))):
        seeds = range(cohort * size, min((cohort + 1) * size, len(curves)))
        each = seconds / len(seeds)
        lanes = [Lane(seed, LOST if seed in lost else FINE, -1, curves[seed], seconds=each) for seed in reversed(seeds)]
        store.save(Cohort(run, cohort), Result(run_hash(run), FINE, tuple(lanes), metrics))


# ---------------------------------------------------------------------- contests of rules

GTD2, TDC = (Entrant(reference(name), "value") for name in ("gtd2", "tdc"))
GTD2_LAW, TDC_LAW = (Entrant(reference(name), "cdf") for name in ("gtd2", "tdc"))
POINT = (0.1, 0.1)
BASE = np.linspace(1.0, 2.0, 8)  # heights of eight lanes


def contest(*people, problems=("boyan",), **rest):
    """A short one."""
    return Experiment(problems, people, **{"steps": 100, "seeds": 16, "atoms": 5} | rest)


def flat(made, who, heights, other=1.0):
    """Curves [lanes, checkpoints, metrics]: RMSPBE stays at a height per lane, every other metric at `other`."""
    heights = np.asarray(heights, dtype=float)
    times = made.spec(made.places[0], who, *POINT).times()
    curves = np.full((len(heights), len(times), len(who.metrics)), other, dtype=float)
    curves[..., who.metrics.index("rmspbe")] = heights[:, None]
    return curves


def swept(store, made, who, sweep, lost=None):
    """Plant a sweep on boyan: (α, β) → curves, or heights of flat ones; lost: (α, β) → seeds."""
    for point, lanes in sweep.items():
        curves = lanes if np.ndim(lanes) == 3 else flat(made, who, lanes)
        run = made.spec("boyan", who, *point, sweep=True)
        plant(store, run, who.metrics, curves, (lost or {}).get(point, ()), seconds=2.0)


def chosen_at_once(made):
    """The choice of a contest that needs no sweep."""
    return {pair: Choice(POINT) for pair in made.pairs()}


def weighed(made, lanes, lost=None):
    """The comparison of lanes: (problem, contestant) → curves, or heights of flat ones; lost: the same → seeds."""
    with Store(":memory:") as store:
        for pair, given in lanes.items():
            problem, who = pair
            curves = given if np.ndim(given) == 3 else flat(made, who, given)
            plant(store, made.spec(problem, who, *POINT), who.metrics, curves, (lost or {}).get(pair, ()))
        return compare(made, store, chosen_at_once(made))


# ---------------------------------------------------------------------- contests of agents

PLACE, STEPS, RATE, BETA = "cartpole-v0", 100, 1e-3, 0.01
DQN, C51 = Entrant(FileRef("dqn"), "value"), Entrant(FileRef("c51"), "cdf")
TD = Entrant(reference("td"), "value")
EARNED = np.linspace(50.0, 60.0, 8)  # what eight lanes earn


def agents(*people, rates=(RATE,), seeds=8):
    """A short contest."""
    return Experiment((PLACE,), people, STEPS, seeds, grid=Grid(rates, (), BETA), sweep_seeds=seeds)


def earning(store, run, late, early=0.0, lost=0, first=0):
    """Plant lanes that earn `early`, then `late` in the last fifth; some are lost. Episodes end after step `first`."""
    times = run.times()
    curves = np.zeros((len(late), len(times), len(NAMES)))
    of_return, of_episodes = NAMES.index("return"), NAMES.index("episodes")
    curves[..., of_return] = np.where(times > 0.8 * STEPS, late[:, None], early)
    curves[..., of_episodes] = np.maximum(times - first, 0)
    curves[:, times <= first, of_return] = np.nan
    plant(store, run, NAMES, curves, range(lost))


def rate_chosen(sweep):
    """By DQN's sweep: rate → options of `earning`."""
    made = agents(DQN, rates=tuple(sweep))
    with Store(":memory:") as store:
        for rate, lanes in sweep.items():
            earning(store, made.spec(PLACE, DQN, rate, BETA, sweep=True), **lanes)
        return made.choose(store)[PLACE, DQN].best[0]


def rates_beyond(rates, best):
    """Those that DQN and C51 each try after they chose these."""
    made = agents(DQN, C51, rates=rates)
    wider = made.wider({(PLACE, who): Choice((rate, BETA)) for who, rate in zip((DQN, C51), best, strict=True)})
    return [sorted(alpha for alpha, _ in wider.points(PLACE, who)) for who in (DQN, C51)]


def earners(finals, lost=None, **rest):
    """The comparison of agents whose lanes earn so much, agent → [lanes]; lost: agent → how many."""
    made = agents(*finals, seeds=len(next(iter(finals.values()))))
    with Store(":memory:") as store:
        for who, late in finals.items():
            earning(store, made.spec(PLACE, who, RATE, BETA), late, lost=(lost or {}).get(who, 0), **rest)
        return compare(made, store, {(PLACE, who): Choice((RATE, BETA)) for who in finals})
