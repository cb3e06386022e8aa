"""The listed faults, room by room."""

from tests.mutants.catalogue import algorithms, harness, oracle, outsiders
from tests.mutants.mutant import Mutant

ROOMS: dict[str, tuple[Mutant, ...]] = {
    "rules": algorithms.RULES,
    "targets": algorithms.TARGETS,
    "sampler": algorithms.SAMPLER,
    "engines": algorithms.ENGINES,
    "loops": algorithms.LOOPS,
    "oracle": oracle.ORACLE,
    "certificates": oracle.CERTIFICATES,
    "statistics": harness.STATISTICS,
    "runs": harness.RUNS,
    "agents": harness.AGENTS,
    "iteration": harness.ITERATION,
    "drivers": outsiders.DRIVERS,
    "edges": outsiders.EDGES,
    "records": outsiders.RECORDS,
    "unseen": outsiders.UNSEEN,
}
MUTANTS = tuple(mutant for room in ROOMS.values() for mutant in room)


def room_of(mutant: Mutant) -> str:
    """The room that a mutant belongs to."""
    return next(room for room, mutants in ROOMS.items() if mutant in mutants)
