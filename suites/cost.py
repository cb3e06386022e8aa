"""Cost: a step is linear in the number of parameters. Judged by exact counts; wall time is extra evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import RULES, gtd2, tdc
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness import cost
from dgtd.harness.cost.fits import alternating, exact_law, interleaved, time_exponent
from dgtd.harness.judging.claims import FULL, PROFILES, Claim, Setting
from dgtd.harness.judging.statistics import mean_interval
from dgtd.harness.judging.verdicts import Finding, below, exactly
from dgtd.harness.runs.work import Job

if TYPE_CHECKING:
    from dgtd.harness.cost.peers import Maker, Network
    from dgtd.harness.cost.work import Work

SOURCE = "Remark 2, abstract"
FLOPS = 4.0  # a layer costs 12 products per weight, backprop 3
MEMORY = 3.0  # of the parameters' bytes, w included
EXPONENT = 1.5  # of time: backprop is at 1.3 because of caches alone, and a Hessian is at 2
PER_PARAMETER = 1.05  # the top layer's softmax and target add to its products
INPUTS, ATOMS = 16, 51
FEW = 11  # atoms of the explicit Jacobian: one backprop each is plain to see, and to count 51 takes seconds

Check = Callable[[str, Rule, Setting], Finding] | None  # None: by the clock


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about ours, on every engine; explicit Jacobians and Hessians are the controls."""
    made = [claim for each in ((rule,) if rule else RULES.values()) for claim in _about(each, own=rule is not None)]
    says = f"51 atoms cost their parameters: work per parameter at most {PER_PARAMETER} × a value's (gtd2, tdc)"
    made.append(Claim("cost/mlp/distribution", says, SOURCE, _distribution, seeded=False))
    controls: list[tuple[str, str, Check, str]] = [
        ("explicit-jacobian", "passes", _passes, "passes that do not depend on the number of atoms"),
        ("explicit-jacobian", "flops", _flops, "at most 4 backprops"),
        ("explicit-jacobian", "memory", _memory, "at most 3 × the parameters' bytes"),
        ("explicit-hessian", "affine", _affine, "work affine in d"),
        ("explicit-hessian", "time", None, "time linear in d"),
    ]
    for peer, name, check, says in controls:
        id_, what = f"cost/control/{peer}/{name}", f"GTD2 with an {peer.replace('-', ' ')}, claimed to need {says}"
        made.append(Claim(id_, what, SOURCE, control=True, **_how(check, peer, gtd2, everywhere=True)))
    return made


def _about(each: Rule, own: bool) -> Iterator[Claim]:
    about: list[tuple[str, str, Check, str]] = [
        ("mlp", "law", _layers, "the work of a step is c·in·out + e·out per layer, and a part linear in the inputs, "
         "exactly"),
        ("mlp", "affine", _affine, "the work of a step is affine in d, exactly (one hidden layer)"),
        ("mlp", "passes", _passes, "matrix products per step do not depend on the number of atoms"),
        ("mlp", "flops", _flops, "a step costs at most 4.0 times backprop's multiply-adds"),
        ("mlp", "memory", _memory, "extra memory is affine in d and at most 3 × the parameters' bytes"),
        ("mlp", "time", None, "wall time grows like d^p with p far below 2"),
        ("module", "affine", _affine, "the work of a step is affine in d, exactly (one hidden layer)"),
        ("linear", "law", _touches, "the elements a step touches are a·d + b·outputs + c, exactly (two outputs or "
         "more)"),
        ("small", "law", _network_touches, "the elements a step touches are c·in·out per layer, and a part linear in "
         "units, atoms and inputs, exactly"),
    ]  # fmt: skip
    for engine, name, check, says in about:
        id_, how = f"cost/{engine}/{each.name}/{name}", _how(check, engine, each, own or each in (gtd2, tdc))
        what = f"{each.name}, {engine} engine: {says}"
        yield Claim(id_, what, SOURCE, rule=each, promise=Promise.LINEAR_COST, **how)


def _how(check: Check, engine: str, rule: Rule, everywhere: bool) -> dict[str, Any]:
    """An exact check, or times that are measured and judged.

    Counts are exact on any machine; wall time is not, so it is not checked in CI.
    """
    if check is not None:
        profiles = PROFILES if everywhere else FULL
        return {"check": partial(check, engine, rule), "seeded": False, "profiles": profiles}
    needs = Job.seeded(measured_times, rule, engine=engine, alone=True)
    return {"needs": needs, "judge": _time, "profiles": FULL}


def _maker(engine: str, rule: Rule) -> Maker:
    made: dict[str, Maker] = {
        "mlp": partial(cost.peers.mlp_step, rule),
        "module": partial(cost.peers.module_step, rule),
        "explicit-jacobian": cost.peers.explicit_jacobian,
        "explicit-hessian": cost.peers.explicit_hessian,
    }
    return made[engine]


def _network(inputs: int, hidden: tuple[int, ...], atoms: int) -> Network:
    return cost.peers.Network(inputs, hidden, atoms)  # this imports torch


def _wide(engine: str, setting: Setting) -> list[Network]:
    """One hidden layer, 10³ to 10⁷ parameters, in ci to 10⁶; explicit Hessians only up to 3000."""
    if engine == "explicit-hessian":
        return [_network(4, (hidden,), 3) for hidden in (30, 60, 120, 240, 360)]
    hidden = (15, 50, 150, 500, 1_500, 15_000, *(() if setting.profile == "ci" else (150_000,)))
    return [_network(INPUTS, (units,), ATOMS) for units in hidden]


@lru_cache(maxsize=256)
def _work(engine: str, rule: Rule, network: Network) -> tuple[Work, Work, int]:
    """Work of the first step (it makes the buffers), work of a later step, and the bytes held between steps."""
    step = _maker(engine, rule)(network)
    return cost.work.count(step.call), cost.work.count(step.call), step.held


def _layers(engine: str, rule: Rule, setting: Setting) -> Finding:
    """Depths, widths, inputs and atoms vary at once; the coefficients are solved from the counts. (Two atoms are one
    number, and take a shorter path.)"""
    shapes = [
        (3, (5,), 3), (16, (50,), 11), (8, (40, 30), 21), (64, (7, 9), 4), (5, (20, 30, 40), 31), (40, (11,), 51),
        (10, (64, 64), 51), (16, (8, 8, 8, 8), 5), (128, (256, 128), 51), (64, (512, 512), 50), (16, (1000, 1000), 51),
        (16, (700, 900, 800), 101), (64, (2000, 2000), 51), (32, (3100, 3000), 201),
    ]  # fmt: skip
    networks = [_network(*shape) for shape in shapes]
    terms = []
    for network in networks:
        first, *later = (rows * columns for rows, columns in pairwise(network.widths))
        out, *hidden = network.hidden
        terms.append((first, sum(later), out, sum(hidden), network.inputs, network.atoms, 1))
    counts = [_work(engine, rule, network)[1].total for network in networks]
    law = exact_law(terms, counts)
    first, rest, first_out, hidden_out, inputs, atoms, constant = law.coefficients
    sizes = [network.size for network in networks]
    words = (
        f"{first}·in·out + {first_out}·out in the first layer, {rest}·in·out + {hidden_out}·out in later ones "
        f"({atoms}·out in the last), {inputs}·inputs and {constant}; largest residual {law.residual} over "
        f"{len(networks)} networks of {min(sizes)} to {max(sizes)} parameters"
    )
    return exactly(float(law.residual), 0.0, words, **_curve(networks, counts))


def _affine(engine: str, rule: Rule, setting: Setting) -> Finding:
    networks = _wide(engine, setting)
    counts = [_work(engine, rule, network)[1].total for network in networks]
    law = exact_law([(n.hidden[0], 1) for n in networks], counts)  # d is affine in the units, too
    slope = (counts[-1] - counts[0]) / (networks[-1].size - networks[0].size)
    words = (
        f"{slope:.4g} operations per parameter; largest residual {law.residual} over {len(networks)} sizes, "
        f"d = {networks[0].size} to {networks[-1].size}"
    )
    return exactly(float(law.residual), 0.0, words, **_curve(networks, counts))


def _passes(engine: str, rule: Rule, setting: Setting) -> Finding:
    atoms = (2, 5, FEW) if engine == "explicit-jacobian" else (2, 5, 11, 51, 101)
    passes = [_work(engine, rule, _network(INPUTS, (64, 64), m))[1].passes for m in atoms]
    words = f"{passes[0]} matrix products per step with {atoms[0]} atoms, {passes[-1]} with {atoms[-1]}"
    spread = float(max(passes) - min(passes))
    return exactly(spread, 0.0, words, x=list(atoms), y=passes, x_name="atoms", y_name="matrix products per step")


def _flops(engine: str, rule: Rule, setting: Setting) -> Finding:
    if engine == "explicit-jacobian":
        networks = [_network(6, (50,), FEW), _network(64, (512, 512), FEW)]
    else:
        networks = [_network(6, (50,), 30), _network(64, (512, 512), 50), _network(16, (1000, 1000), ATOMS)]
    if setting.profile != "ci" and engine == "mlp":
        networks += [_network(256, (2000, 2000), 51), _network(64, (3100, 3100), 51)]
    backprops = [cost.work.count(cost.peers.backprop(network).call).products for network in networks]
    ratios = [_work(engine, rule, n)[1].products / theirs for n, theirs in zip(networks, backprops, strict=True)]
    words = f"{min(ratios):.3f} to {max(ratios):.3f} times backprop's multiply-adds"
    return exactly(max(ratios), FLOPS, words, **_curve(networks, ratios, "multiply-adds / backprop's"))


def _memory(engine: str, rule: Rule, setting: Setting) -> Finding:
    """w and everything alive at the peak of the first step, in float32."""
    widths = [1_500, 2_500, 5_000, 10_000]
    if setting.profile != "ci" and engine == "mlp":
        widths += [50_000, 150_000]
    networks = [_network(INPUTS, (hidden,), ATOMS if engine == "mlp" else FEW) for hidden in widths]
    extra = [_work(engine, rule, n)[0].peak + _work(engine, rule, n)[2] for n in networks]
    law = exact_law([(n.hidden[0], 1) for n in networks], extra)
    shares = [bytes_ / (4 * n.size) for n, bytes_ in zip(networks, extra, strict=True)]
    words = (
        f"{min(shares):.3f} to {max(shares):.3f} × the parameters' bytes; largest residual from an affine law "
        f"{law.residual} bytes, d = {networks[0].size} to {networks[-1].size}"
    )
    worst = MEMORY + law.residual if law.residual else max(shares)
    return exactly(worst, MEMORY, words, **_curve(networks, shares, "extra / parameters"))


def measured_times(rule: Rule, engine: str, seed: int) -> dict[str, Any]:
    """Seconds per step [rounds, sizes], and the ratio to backprop at the last size but one; `seed` names a repeat."""
    if engine == "explicit-hessian":
        networks = [_network(4, (hidden,), 3) for hidden in (8, 30, 60, 120, 240, 480)]
    else:
        networks = [_network(INPUTS, (h, h), ATOMS) for h in (10, 25, 60, 150, 400, 1000, 3100)]
    make = _maker(engine, rule)
    calls = [make(network).call for network in networks]
    # The fastest of six rounds is hardly disturbed by a busy machine; eight such are the data.
    times = interleaved(calls, 48).reshape(8, 6, -1).min(1)
    ratio = alternating(calls[-2], cost.peers.backprop(networks[-2]).call)
    return {"sizes": [network.size for network in networks], "seconds": times.tolist(), "backprop": ratio}


def _time(evidence: list[Any], setting: Setting) -> Finding:
    """Evidence beside the counts; INCONCLUSIVE on a machine too noisy to tell 1 from 2."""
    sizes, times = evidence[0]["sizes"], np.array(evidence[0]["seconds"])
    exponent = mean_interval(time_exponent(sizes, times), 2 * setting.false_alarm)
    fastest = times.min(0)
    words = (
        f"a + b·d^p with p = {exponent:.2f}, the largest "
        f"{fastest[-1] / fastest[0]:.0f} × the overhead; {evidence[0]['backprop']:.2f} × backprop's time at {sizes[-2]}"
    )
    shown = {"x": sizes, "y": (1e3 * fastest).tolist(), "x_name": "parameters", "y_name": "ms per step, fastest"}
    return below(exponent, EXPONENT, setting.false_alarm, words, **shown)


def _touches(engine: str, rule: Rule, setting: Setting) -> Finding:
    shapes = [(3, 500), (11, 100), (3, 9), (21, 150), (51, 200), (101, 90), (3, 9000)]
    if setting.profile != "ci":
        shapes += [(101, 1000), *([(101, 100_000)] if rule is gtd2 else [])]  # the last takes two minutes in Python
    terms = [((atoms - 1) * k, atoms - 1, 1) for atoms, k in shapes]
    counts = [cost.work.count_touches(rule, CdfTarget(0, 10, atoms), k) for atoms, k in shapes]
    law = exact_law(terms, counts)
    a, b, c = law.coefficients
    sizes = [term[0] for term in terms]
    words = f"{a}·d + {b}·outputs + {c}; largest residual {law.residual}, d = {min(sizes)} to {max(sizes)}"
    return exactly(float(law.residual), 0.0, words, **_sorted(sizes, counts, "d", "elements touched"))


def _network_touches(engine: str, rule: Rule, setting: Setting) -> Finding:
    """One and two hidden layers, each with its own constant: seven numbers from seven sizes, and the others must agree.

    Hidden units add to the layer above in pairs. One that is left over reads and writes the sums for itself.
    """
    shallow = [
        (4, 5, 6), (7, 3, 6), (9, 10, 4), (16, 20, 11), (3, 8, 21), (30, 12, 5), (5, 40, 31), (11, 7, 9), (12, 60, 51),
    ]  # fmt: skip
    deep = [
        (4, 5, 6, 7), (7, 3, 6, 5), (9, 10, 4, 8), (16, 20, 7, 11), (3, 8, 9, 21), (30, 12, 5, 5), (11, 7, 9, 4),
        (6, 9, 3, 12), (5, 40, 31, 10),
    ]  # fmt: skip
    laws, sizes, counts = [], [], []
    for networks in (shallow, deep):
        terms, found = [], []
        for inputs, first, *hidden, atoms in networks:
            widths = (first, *hidden)
            above = list(pairwise((*widths, atoms)))
            upper = sum(rows * columns for rows, columns in above)
            left_over = sum(columns for rows, columns in above if rows % 2)
            terms.append((inputs * first, upper, left_over, sum(widths), atoms, inputs, 1))
            found.append(cost.work.count_network_touches(rule, CdfTarget(0, 10, atoms), (inputs, *widths)))
        laws.append(exact_law(terms, found))
        sizes += [term[0] + term[1] for term in terms]
        counts += found
    (a, b, c, *_), residual = laws[0].coefficients, max(law.residual for law in laws)
    same = laws[0].coefficients[:6] == laws[1].coefficients[:6]
    words = (
        f"{a} per weight of the first layer, {b} per weight above, {c} more in a last row without a pair; "
        f"largest residual {residual}"
        f"{'' if same else ', and two layers cost another law'}; {min(sizes)} to {max(sizes)} weights"
    )
    return exactly(float(residual + (not same)), 0.0, words, **_sorted(sizes, counts, "weights", "elements touched"))


def _distribution(setting: Setting) -> Finding:
    scalar, law = _network(INPUTS, (256, 256), 1), _network(INPUTS, (256, 256), ATOMS)
    words, shares = f"{law.size / scalar.size:.2f} × the parameters", []
    for rule in (gtd2, tdc):
        work = [_work("mlp", rule, network)[1].total for network in (scalar, law)]
        shares.append((work[1] / law.size) / (work[0] / scalar.size))
        words += f"; {rule.name}: {work[1] / work[0]:.2f} × the work"
    return exactly(max(shares), PER_PARAMETER, f"{words}; work per parameter {max(shares):.3f} × a value's")


def _curve(networks: list[Network], y: list[int] | list[float], name: str = "operations per step") -> dict[str, Any]:
    return _sorted([network.size for network in networks], y, "parameters", name)


def _sorted(sizes: list[int], y: list[int] | list[float], x_name: str, y_name: str) -> dict[str, Any]:
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    return {"x": [sizes[i] for i in order], "y": [y[i] for i in order], "x_name": x_name, "y_name": y_name}
