"""What a ledger would cost: runs and jobs that are not stored, and core-hours from what similar ones took."""

from itertools import pairwise
from typing import Any

from dgtd.harness.judging.claims import Need
from dgtd.harness.places.world import find_world
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Request, RunSpec, unique
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job

# µs per lane-step where nothing similar is stored; a job: seconds.
LINEAR, PER_OUTPUT, NETWORK, JOB = 0.1, 0.03, 40.0, 1.0
# An agent: µs for a weight and a transition of an update, without w and with it, beside what a step of its world
# takes; a user's network, as a whole. Within a third of what agents in two worlds took.
PLAIN, WITH_W, USERS = 0.27e-3, 0.48e-3, 5000.0


def estimate(needs: list[Need], store: Store) -> dict[str, Any]:
    """Counts of what is needed and missing, and core-hours."""
    requests = unique(need for need in needs if isinstance(need, Request))
    jobs = list(dict.fromkeys(need for need in needs if isinstance(need, Job)))
    seconds, lost, measured = 0.0, 0, 0
    for request in requests:
        spec = request.spec
        settled = store.settled(run_hash(spec), spec.learner.cohort)
        missing = [cohort for cohort in request.cohorts if cohort not in settled]
        lost += len(missing)
        if missing:
            known = store.seconds_per_step(spec.place.problem, spec.learner.target, spec.learner.predictor.kind)
            measured += known is not None
            each = (1e-6 * _guess(spec)) if known is None else known
            seconds += len(missing) * spec.learner.cohort * spec.probe.steps * each
    absent = [job for job in jobs if not store.has_job(job.hash)]
    seconds += JOB * len(absent)
    return {
        "runs": len(requests),
        "cohorts": sum(len(request.cohorts) for request in requests),
        "jobs": len(jobs),
        "missing_cohorts": lost,
        "missing_jobs": len(absent),
        "core_hours": seconds / 3600,
        "basis": f"{measured} runs by what similar ones took, the rest by a rule of thumb",
    }


def _guess(spec: RunSpec) -> float:
    """µs per lane-step; of an agent, a step in the world, and its share of an update."""
    learner, control = spec.learner, spec.learner.control
    if control is None:
        outputs = 0 if learner.target == "value" else learner.atoms
        return LINEAR + PER_OUTPUT * outputs if learner.predictor.kind == "linear" else NETWORK
    if learner.predictor.kind != "mlp":
        return USERS
    world = find_world(spec.place.problem)
    outputs = world.actions * (learner.atoms if learner.target == "cdf" else 1)
    widths = (world.observations, *learner.predictor.hidden, outputs)
    weights = sum((rows + 1) * columns for rows, columns in pairwise(widths))
    return world.cost + (PLAIN if control.frozen else WITH_W) * weights * control.batch / control.every
