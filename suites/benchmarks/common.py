"""What the benchmarks share. Our modules are imported only in `setup`: an import error would end asv's discovery."""

import importlib
import time

RULES = ["gtd2", "tdc", "tdrc", "greedy_gq", "residual_gradient", "td"]
SIZES = {"2k": (6, (50,), 30), "300k": (64, (512, 512), 50), "4M": (64, (2000, 2000), 51)}


# Where older commits have what is elsewhere now: a move must not end a benchmark's history.
OLDER = {
    "harness.cost.peers": ("harness.peers",),
    "harness.cost.work": ("harness.cost.touches", "harness.work", "harness.touches"),
    "harness.oracle.metrics": ("harness.metrics",),
    "algorithms.replay": ("algorithms.experience.replay",),
    "harness.experiment.search": ("harness.experiment.learners", "harness.compare.agents"),
    "harness.runs.trainers.agent": ("harness.runs.acting",),
    "harness.places.world": ("harness.worlds.world",),
}
RENAMED = {"agent_learner": "learner"}


def take(module, *names):
    """These of a module, from where this commit has it; asv skips the benchmark where it has none."""
    here = module.removeprefix("dgtd.")
    wanted = []
    for place in (module, here, here.replace("algorithms.fast", "algorithms.engines"), *OLDER.get(here, ())):
        try:
            found = importlib.import_module(place)
            wanted = [getattr(found, name if hasattr(found, name) else RENAMED.get(name, name)) for name in names]
        except (ImportError, AttributeError):
            continue
        return wanted[0] if len(wanted) == 1 else wanted
    raise NotImplementedError(f"no {', '.join(names)} of {module}")


class Timed:
    """How times are taken.

    One thread and the processor's time, so that other work of the machine is not counted. Many short samples, not a few
    long ones: the gate compares the fastest, and a short sample is less often disturbed.
    """

    version = "3"
    timer = time.process_time
    repeat = (10, 1000, 1.0)  # minimum samples, maximum samples, seconds
    rounds = 1  # one process per round, and importing torch costs more than the samples


def one_thread():
    """Threads make times of different commits hard to compare."""
    import torch

    torch.set_num_threads(1)


def network(size):
    """The network of a name in SIZES."""
    return take("dgtd.harness.cost.peers", "Network")(*SIZES[size])


def step_of(peer, rule, size):
    """A step of a rule on the network of a name in SIZES, on one thread."""
    find_rule = take("dgtd.algorithms.rules", "find_rule")
    maker = take("dgtd.harness.cost.peers", peer)
    one_thread()
    return maker(find_rule(rule), network(size))


def linear(rule, problem, kind, atoms):
    """(the linear engine of a rule on a problem, the problem, its target, what makes streams of lanes)."""
    engine, find_rule = take("dgtd.algorithms.fast.linear", "LinearEngine"), take("dgtd.algorithms.rules", "find_rule")
    found = take("dgtd.harness.plugins", "find_problem")(problem)
    target, mdp = found.target(kind, atoms), found.mdp
    streams = take("dgtd.algorithms.streams", "lane_streams")
    return engine(find_rule(rule), mdp.table, mdp.features, target), found, target, streams
