"""Faults in checkpoints: what is not kept, not put back, or believed though it is of something else."""

from tests.mutants.mutant import Mutant

ACTING = "harness/runs/acting.py"
ADAM = "algorithms/optimisers.py"
AGENTS = "algorithms/agents.py"
FILE = "harness/runs/checkpoint_file.py"
REPLAY = "algorithms/replay.py"
TESTS = "test:tests/harness/runs/test_checkpoints.py::"
RESUMED = "claim:control/resumed/"
GOES_ON = RESUMED + "dqn"

MUTANTS = (
    Mutant(
        "checkpoints: the replay is not put back",
        ACTING,
        'self.replay.restore(part_of(saved, "replay"))',
        'part_of(saved, "replay")',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: the replay's draws start again",
        REPLAY,
        'refill({"added": added, "streams": self.streams}, saved)',
        'refill({"added": added}, saved)',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: the replay's place is forgotten",
        REPLAY,
        "        self.added = int(added)\n",
        "        self.added = max(self.added, 1)\n",
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: exploration starts again",
        ACTING,
        'return {"explores": self.explores, "curves": self.curves} | numbers',
        'return {"explores": self.explores.copy(), "curves": self.curves} | numbers',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: the optimiser's steps are forgotten",
        ADAM,
        "        self.count = int(count)\n",
        "        self.count = 0\n",
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: an optimiser's moments are forgotten",
        ADAM,
        'refill({"first": self.first, "second": self.second, "count": count}, saved)',
        'refill({"count": count}, saved)',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: the frozen copy is the first one",
        AGENTS,
        "refill(self._weights(), saved)",
        'refill({"theta": self.theta, "w": self.w, "died": self.died}, saved)',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: the optimisers are left as they were",
        AGENTS,
        "            each.restore(part_of(saved, name))\n",
        "            part_of(saved, name)\n",
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: the world starts again",
        ACTING,
        'self.world.restore(part_of(saved, "world"))',
        'part_of(saved, "world")',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: episodes under way are forgotten",
        ACTING,
        'self.book.restore(part_of(saved, "book"))',
        'part_of(saved, "book")',
        (GOES_ON,),
    ),
    Mutant(
        "checkpoints: a file of another run is believed",
        FILE,
        "if label.get(name) != value:",
        "if label.get(name) is None:",
        (
            "claim:machinery/store/checkpoint-label",
            TESTS + "test_a_checkpoint_of_something_else_is_not_believed",
        ),
    ),
    Mutant(
        "checkpoints: a damaged file is believed",
        FILE,
        "digest_size=DIGEST).digest() != data[-DIGEST:]:",
        "digest_size=DIGEST).digest() is None:",
        (
            "claim:machinery/store/checkpoint-damage",
            TESTS + "test_a_damaged_checkpoint_is_removed_in_one_line_and_the_cohort_starts_again",
        ),
    ),
)
