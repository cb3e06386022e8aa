"""A lane of an agent is the same alone as among thirty, here, in a pool and on a cluster: two hundred updates."""

import numpy as np
import pytest

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from tests.harness.runs.test_dask import cluster

LANES, BEGIN, UPDATES = 30, 64, 200
AGENTS = ("dqn", "c51", "greedy_gq(0.5)")


def spec(name, cohort):
    how = {"begin": BEGIN, "every": 1, "batch": 16, "explore_steps": 100}
    made = agent_learner(name, "cartpole-v1", alpha=1e-3, cohort=cohort, **how)
    return run_spec("cartpole-v1", made, BEGIN - 1 + UPDATES)


def curves(path, what, seeds, make=InProcess):
    """[runs][lanes, checkpoints, names]"""
    with Store(path) as store:
        execute([Request(each, seeds) for each in what], store, make)
        return [np.stack([lane.curves for lane in store.lanes(run_hash(each))]) for each in what]


@pytest.mark.slow
def test_a_lane_alone_is_the_lane_among_thirty_wherever_it_runs(tmp_path):
    together, alone = ([spec(name, cohort) for name in AGENTS] for cohort in (LANES, 1))
    many = curves(tmp_path / "many", together, LANES)
    places = {"here": InProcess, "pool": executor_maker("pool", 2)}
    pooled = curves(tmp_path / "pool", together, LANES, places["pool"])
    single = {where: curves(tmp_path / f"one-{where}", alone, 3, make) for where, make in places.items()}
    with cluster(tmp_path, workers=2) as dask:
        far = curves(tmp_path / "dask", together, LANES, lambda: dask.executor(2))
        single["dask"] = curves(tmp_path / "one-dask", alone, 3, lambda: dask.executor(2))
    for i, name in enumerate(AGENTS):
        assert pooled[i].tobytes() == many[i].tobytes() == far[i].tobytes(), name
        assert (many[i][:, -1, 0] > 0).all()
        for where, found in single.items():
            np.testing.assert_allclose(found[i], many[i][:3], rtol=1e-4, atol=1e-4, err_msg=f"{name}, {where}")
