"""The ledger: needs are collected, run once and stored; what was sampled says so, and a broken check is an entry."""

import re
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from dgtd.algorithms.rules import gtd2
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.ledger import (
    FRESH,
    Workshop,
    collect,
    evidence_of,
    exit_code,
    judge,
    needs_of,
    setting_for,
    share,
)  # fmt: skip
from dgtd.harness.judging.statistics import Interval
from dgtd.harness.judging.verdicts import Verdict, agrees, below, exactly
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job, package_of
from tests.harness.runs.lanes import ROOT, spec

SETTING = Setting("ci", 0, 1e-4)


def run_of(setting):
    return Request(spec(steps=20, root_seed=setting.seed), 16)


def sampled(judge_, needs=lambda setting: [run_of(setting)], **rest):
    return Claim("x/sampled", "", "", needs=needs, judge=judge_, **rest)


def passes(evidence, setting):
    return agrees(0.0, 0.5, setting, len(evidence[0].died), "fine")


def test_a_claim_is_exact_or_says_what_it_needs():
    for wrong in ({}, {"needs": lambda setting: []}, {"check": lambda s: None, "needs": list, "judge": passes}):
        with pytest.raises(ValueError, match="claim 'x/y' must have a check, or needs and a judge"):
            Claim("x/y", "", "", **wrong)


def test_needs_are_run_once_and_stored(tmp_path):
    twice = [sampled(passes), Claim("x/again", "", "", needs=lambda s: [run_of(s)], judge=passes)]
    seen = []
    with Store(tmp_path / "s.sqlite") as store:
        for _ in range(2):
            shop = Workshop(store, progress=lambda done, total: seen.append((done, total)))
            assert [entry.status for entry in judge(twice, SETTING, workshop=shop)] == ["PASS", "PASS"]
        assert [run["outcomes"] for run in store.runs()] == [{"budget spent": 16}]
    assert max(total for _, total in seen) == 1


def test_a_check_that_raises_and_a_run_that_fails_are_errors_and_cost_no_other_entry():
    def breaks(evidence, setting):
        raise RuntimeError("no such column")

    job = Job.of(boom, seed=0)
    claims = [sampled(breaks), Claim("x/fine", "", "", needs=lambda s: [run_of(s)], judge=passes)]
    claims.append(Claim("x/job", "", "", needs=lambda s: [job], judge=passes))
    entries = judge(claims, SETTING)
    assert [entry.status for entry in entries] == ["ERROR", "PASS", "ERROR"]
    assert entries[0].words == "RuntimeError: no such column"
    assert "failed: ZeroDivisionError" in entries[2].words
    assert exit_code(entries) == 5


def boom(seed):
    return 1 / 0


def test_a_sampled_fail_is_confirmed_on_fresh_seeds():
    roots = []

    def fails_at(bad, evidence, setting):
        roots.append(setting.seed)
        value = 1.0 if setting.seed in bad else 0.0
        return below(Interval(value, value, value, 16), 0.5, setting.false_alarm, "")

    stands = judge([sampled(partial(fails_at, (0, FRESH)))], SETTING)
    assert stands[0].finding.verdict is Verdict.FAIL
    assert stands[0].finding.false_alarm == pytest.approx(1e-8)
    once = judge([sampled(partial(fails_at, (0,)))], SETTING)
    assert once[0].finding.verdict is Verdict.INCONCLUSIVE
    assert set(roots) == {0, FRESH}


def test_one_share_for_the_command_line_and_for_pytest():
    assert setting_for(None, "ci", 3) == Setting("ci", 3, share(None, "ci"), {"Figure 2": 6})
    assert share(gtd2, "ci") != share(None, "ci")


@pytest.mark.parametrize("profile", ["ci", "full"])
def test_every_claim_says_truly_whether_it_was_sampled(profile):
    """The words of `explain` against what would run: only a claim with runs or sampling jobs may say so."""
    setting = setting_for(None, profile, 7)
    for claim in collect("all", None, profile):
        needs, words = needs_of(claim, setting, None), evidence_of(claim, setting, None)
        exact = [need for need in needs if isinstance(need, Job) and need.function.endswith(":exact_finding")]
        if claim.sampled:
            assert not exact
            assert "root seed 7" in words
            lanes = [need.seeds for need in needs if isinstance(need, Request)]
            assert not lanes or f"{len(lanes)} runs of {max(lanes)} lanes" in words
            for need in needs:
                if isinstance(need, Request):
                    assert need.spec.root_seed == 7
                else:
                    assert re.search(r'"(seed|root_seed)\\*": ?7\b', need.parameters)
        else:
            assert words == "computed exactly, nothing is sampled"
            assert needs == exact


def test_an_exact_claim_is_stored_under_the_sources_of_its_suite():
    """Ours all lie in one package; `dgtd` itself would be its face alone, the rooms in it being links."""
    exact = [claim for claim in collect("all", None, "ci") if not claim.sampled]
    assert {need.package for claim in exact for need in needs_of(claim, Setting(), None)} == {"dgtd.suites"}
    assert package_of("mine.suite") == "mine"


class NoSeed(Setting):
    """A setting whose seed must not be looked at."""

    def __getattribute__(self, name):
        assert name != "seed", "a check that says it draws no points looked at the seed"
        return super().__getattribute__(name)

    def __post_init__(self):
        pass


@pytest.mark.slow
def test_a_check_without_a_seed_is_one_job_for_all_seeds_and_reads_none():
    unseeded = [claim for claim in collect("all", None, "ci") if not claim.seeded]
    suites = {
        "contraction", "convergence", "cost", "evaluation", "instrument", "policy_iteration", "rates", "stability",
    }  # fmt: skip
    assert {claim.suite for claim in unseeded} == suites
    for claim in unseeded:
        assert needs_of(claim, Setting("ci", 3), None) == needs_of(claim, Setting("ci", 5), None)
    quick = (
        "gtd2/passes", "jacobian/flops", "mlp/distribution", "mdp/interior", "walk/infinity", "expected-markov",
        "lstd/boyan", "value/tdc/fixed-point",
    )  # fmt: skip
    cheap = [claim for claim in unseeded if claim.id.endswith(quick)]
    assert len(cheap) == len(quick)
    for claim in cheap:
        assert claim.check(NoSeed("ci")) == claim.check(Setting("ci", 9))
    with pytest.raises(ValueError, match="its seed matters"):
        sampled(passes, seeded=False)


@pytest.mark.slow
def test_an_exact_claim_samples_nothing(monkeypatch):
    """No lane is simulated for a claim that says so, in any suite."""
    from dgtd.algorithms.fast.linear import LinearEngine
    from dgtd.harness.runs import work
    from dgtd.harness.runs.trainers import trainer

    def refuse(*_, **__):
        raise AssertionError("an exact claim ran lanes")

    monkeypatch.setattr(trainer, "train", refuse)
    monkeypatch.setattr(work, "train", refuse)
    original = LinearEngine.run

    def short(self, state, steps, *args, **rest):
        assert steps <= 4, "an exact claim ran a long simulation"  # a few, each held to the formula
        return original(self, state, steps, *args, **rest)

    monkeypatch.setattr(LinearEngine, "run", short)
    claims = [c for c in collect("all", None, "ci") if not c.sampled and c.suite not in ("cost",)]
    entries = judge(claims, Setting("ci", 0))
    assert {entry.status for entry in entries} <= {"PASS", "CAUGHT"}
    assert all(entry.finding.false_alarm == 0 for entry in entries)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_prints_what_is_decided(tmp_path):
    store = tmp_path / "s.sqlite"
    words = ["suite", "stability", "--profile", "full", "--claim", "stability/baird", "--store", str(store)]
    command = [sys.executable, "-c", "from dgtd.harness.cli import main; main()", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    for _ in range(600):
        time.sleep(0.1)
        if store.exists():
            try:
                if sqlite3.connect(store).execute("SELECT count(*) FROM jobs").fetchone()[0] >= 2:
                    break
            except sqlite3.OperationalError:
                continue
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "verdicts are decided" in errors
    assert "Traceback" not in errors


def test_exactly_and_agrees_tell_exact_from_sampled():
    assert exactly(0.0, 1.0, "").false_alarm == 0
    found = agrees(0.0, 1.0, SETTING, 16, "")
    assert (found.false_alarm, found.n) == (1e-4, 16)
    assert np.isfinite(found.estimate)
