"""The sweep of Figure 3's rates: every agent at every rate, through the store; a mistyped world is said so."""

from dataclasses import replace

import pytest

from dgtd.harness.judging.ledger import Workshop
from dgtd.harness.runs.store import Store
from dgtd.suites.control import sweep
from dgtd.suites.control.figure_three import CARTPOLE, DQN


def test_every_agent_is_swept_at_the_same_rates_on_seeds_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "LANES", 2)
    panel = replace(CARTPOLE, steps=1_100, rates=(1e-3, 2e-3), chosen={DQN: 1e-3})
    with Store(tmp_path / "s.sqlite") as store:
        found = sweep.swept(panel, Workshop(store))
        assert {(run["root_seed"], sum(run["outcomes"].values())) for run in store.runs()} == {(103, 2)}
    assert set(found) == {DQN}
    assert set(found[DQN]) == {1e-3, 2e-3}
    assert all(8 < mean < 200 for mean in found[DQN].values())
    assert "DQN: 0.001: " in sweep.table(panel, found)


def test_the_best_rate_is_named():
    assert sweep.table(CARTPOLE, {DQN: {1e-3: 20.0, 2e-3: 30.4}}).endswith("DQN: 0.001: 20, 0.002: 30; best at 0.002")


@pytest.mark.parametrize("words", [[], ["cartpol-v1"], ["vizdoom-defend-the-center"]])
def test_a_world_without_a_sweep_is_an_error(words):
    with pytest.raises(ValueError, match="panel"):
        sweep.main(words)
