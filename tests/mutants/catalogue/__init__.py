"""Every mutant, room by room."""

from tests.mutants.catalogue import (
    agreement,
    certificates,
    checkpoints,
    compare,
    control,
    engines,
    experience,
    heads,
    ledger,
    limits,
    loops,
    moments,
    networks,
    oracle,
    policy_iteration,
    returns,
    rules,
    saddle,
    small,
    statistics,
    stepping,
    store,
    targets,
    users,
)
from tests.mutants.mutant import Mutant

ROOMS: dict[str, tuple[Mutant, ...]] = {
    "rules": rules.MUTANTS,
    "users": users.MUTANTS,
    "targets": targets.MUTANTS,
    "experience": experience.MUTANTS,
    "engines": engines.MUTANTS + networks.MUTANTS + heads.MUTANTS + small.MUTANTS,
    "loops": loops.MUTANTS + stepping.MUTANTS,
    "curves": moments.MUTANTS + agreement.MUTANTS,
    "oracle": oracle.MUTANTS + returns.MUTANTS + saddle.MUTANTS,
    "certificates": certificates.MUTANTS,
    "limits": limits.MUTANTS,
    "statistics": statistics.MUTANTS,
    "ledger": ledger.MUTANTS,
    "store": store.MUTANTS + checkpoints.MUTANTS,
    "compare": compare.MUTANTS,
    "control": control.MUTANTS,
    "iteration": policy_iteration.MUTANTS,
}
MUTANTS = tuple(mutant for room in ROOMS.values() for mutant in room)


def room_of(mutant: Mutant) -> str:
    """The room that a mutant belongs to."""
    return next(room for room, mutants in ROOMS.items() if mutant in mutants)
