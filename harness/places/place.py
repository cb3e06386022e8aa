"""Places: where learning happens, a finite problem or a world, by name. Of both the harness knows

name, summary   as it is stored, and one line
scores          numbers of a lane: the first is tested, the others are described; each says what a diverged lane counts
learner         the kind of learner that fits, unless a user names another
acts            whether lanes act there, rather than sample a table
rising          metrics of which more is better
returns         where returns lie, for the atoms of return distributions
identity        what decides its numbers, beside our own code: runs are stored under it
"""

from dgtd.harness.oracle.problem import Problem
from dgtd.harness.places.world import WorldInfo, find_world, is_world
from dgtd.harness.plugins import find_problem

Place = Problem | WorldInfo


def find_place(name: str) -> Place:
    return find_world(name) if is_world(name) else find_problem(name)
