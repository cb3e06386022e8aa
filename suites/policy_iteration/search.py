"""Figure 1's search: which setting each rule and form is compared at, found among the same 64 for all of them.

The paper gives neither step sizes nor activation, replay or projection. So every form is run at the same points of a
Sobol sequence (`dgtd.harness.experiment.search`), the four best of a form meet again on fresh lanes, and the best of
these is its setting. What was found is data, in search.json; two commands find it and a third writes it down:

    dgtd suite policy_iteration --profile paper --json --claim policy_iteration/cartpole-v0/value \\
      --claim policy_iteration/cartpole-v0/cdf > found.json
    python -m dgtd.suites.policy_iteration.search found.json

The first run of these names the finalists, whose lanes are run by the second.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.search import Point, learner_at, points, run_spec
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.statistics import proportion_interval
from dgtd.harness.judging.verdicts import Finding, agrees, below
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request
from dgtd.suites.returns import final_returns

Form = tuple[str, str]  # a rule, and the target: value or cdf

V0, V1 = "cartpole-v0", "cartpole-v1"
FORMS: tuple[Form, ...] = (("gtd2", "value"), ("tdc", "value"), ("gtd2", "cdf"), ("tdc", "cdf"))
STEPS = 20_000
SEARCHED, LANES = 64, 4
FINALISTS, FINAL_LANES = 4, 8
LEARNS = 60.0  # random actions earn 22; what has learnt something earns more than this in the last fifth
SOURCE = "ours; the paper gives no step sizes"
RECORD = "search.json"


def shown(rule: str, target: str) -> str:
    return f"distributional {rule.upper()}" if target == "cdf" else rule.upper()


def claims() -> Iterator[Claim]:
    """Of each form the whole search, how much of the space works and which points are best, and its finalists.

    These meet again on fresh lanes: four lanes are too few to tell the best of 64.
    """
    own: dict[str, Any] = {"figure": True, "confirm": False, "profiles": ("paper",)}
    for form in FORMS:
        id_, name = f"policy_iteration/{V0}/{form[1]}/{form[0]}", shown(*form)
        says, judge = f"{name} learns on {V0} at half or more of {SEARCHED} settings", partial(how_much_works, form)
        yield Claim(f"{id_}/search", says, SOURCE, needs=partial(searched, form), judge=judge, **own)
        says = f"{name}'s setting earns most among its {FINALISTS} best of {SEARCHED}, on fresh lanes"
        needs, judge = partial(meeting, form), partial(earns_most, form)
        yield Claim(f"{id_}/finalists", says, SOURCE, needs=needs, judge=judge, **own)


# ---------------------------------------------------------------------- what was found


@cache
def record() -> dict[str, Any]:
    """Mean returns over the last fifth: of every setting, and of the finalists by number."""
    found: dict[str, Any] = json.loads(files("dgtd.suites.policy_iteration").joinpath(RECORD).read_text("utf-8"))
    return found


def returns(form: Form) -> Floats:
    """[64]: of every setting, on v0."""
    return np.array(record()["search"]["/".join(form)])


def finalists(form: Form) -> list[int]:
    """Numbers of the four best settings."""
    return np.argsort(-returns(form), kind="stable")[:FINALISTS].tolist()


def chosen(form: Form) -> Point:
    return points(SEARCHED)[number(form)]


def number(form: Form) -> int:
    """The best finalist's; before they have run, the search's best."""
    means = record()["runoff"].get("/".join(form))
    return finalists(form)[int(np.argmax(means)) if means else 0]


# ---------------------------------------------------------------------- how it is found


def searched(form: Form, setting: Setting) -> list[Need]:
    """Every point on v0, with a few lanes of its own."""
    return [lanes_at(point, form, LANES, "search", setting) for point in points(SEARCHED)]


def lanes_at(point: Point, form: Form, lanes: int, purpose: str, setting: Setting) -> Request:
    """Lanes on v0; every purpose has its own worlds and exploration."""
    made = learner_at(point, *form, V0, cohort=lanes)
    return Request(run_spec(V0, made, STEPS, setting.seed, purpose), lanes)


def how_much_works(form: Form, trials: list[Lanes], setting: Setting) -> Finding:
    """The share of points whose mean return over the last fifth is not above LEARNS."""
    means = np.array([final_returns(trial).mean() for trial in trials])
    idle = proportion_interval(int((means <= LEARNS).sum()), len(means), 2 * setting.false_alarm)
    order = np.argsort(-means, kind="stable")
    best = [f"{i} ({means[i]:.0f}: {points(len(means))[i].shown(form[1])})" for i in order[:3]]
    words = f"{int((means > LEARNS).sum())} of {len(means)} settings earn more than {LEARNS:g}; best: {'; '.join(best)}"
    return below(idle, 0.5, setting.false_alarm, words, returns=means.tolist())


def meeting(form: Form, setting: Setting) -> list[Need]:
    """The finalists, in the order of the search."""
    return [lanes_at(points(SEARCHED)[i], form, FINAL_LANES, "finalists", setting) for i in finalists(form)]


def earns_most(form: Form, trials: list[Lanes], setting: Setting) -> Finding:
    """By how much the best finalist earns more than the chosen one: by nothing, if the record is theirs."""
    means = np.array([final_returns(trial).mean() for trial in trials])
    at = finalists(form)
    listed = [f"{i} ({mean:.0f}: {points(SEARCHED)[i].shown(form[1])})" for i, mean in zip(at, means, strict=True)]
    gap = float(means.max() - means[at.index(number(form))])
    words = f"chosen: {number(form)}; {'; '.join(listed)}"
    return agrees(gap, 0.0, setting, FINAL_LANES, words, returns=means.tolist())


def written(ledger: dict[str, Any]) -> dict[str, Any]:
    """The record of a ledger of these claims; a search whose finalists changed has no finalists yet."""
    found: dict[str, dict[str, Any]] = {"search": {}, "runoff": {}}
    kinds = {"search": "search", "finalists": "runoff"}
    for claim in ledger["claims"]:
        _, _, target, rule, kind = claim["id"].split("/")
        rounded = [round(value, 2) for value in claim["finding"]["evidence"]["returns"]]
        found[kinds[kind]][f"{rule}/{target}"] = rounded
    if {"/".join(form) for form in FORMS} != set(found["search"]):
        raise ValueError("the ledger must hold the search of every form: run both claims of the command above")
    for form in FORMS:
        name = "/".join(form)
        if [round(value, 2) for value in record()["search"].get(name, [])] != found["search"][name]:
            found["runoff"].pop(name, None)
    return {"seed": ledger["seed"]} | found


def as_text(found: dict[str, Any]) -> str:
    """JSON with a line for each form."""
    parts = [f' "seed": {found["seed"]}']
    for kind in ("search", "runoff"):
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in found[kind].items())
        parts.append(f' "{kind}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    ledger = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    Path(str(files("dgtd.suites.policy_iteration").joinpath(RECORD))).write_text(
        as_text(written(ledger)), encoding="utf-8"
    )
