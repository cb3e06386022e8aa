"""What the harness calls exact, against enumeration, optimisers and closed forms."""

from functools import partial
from typing import Any

import numpy as np
import torch

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2, gtd2_sb, td, tdc, tdrc
from dgtd.algorithms.streams import generator
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, agrees, exactly, largest
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.oracle.enumerated import Enumerated, saddle_error, second_moment_radius
from dgtd.harness.oracle.lstd import lstd
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.metrics import Metrics
from dgtd.harness.oracle.returns import return_variance
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.oracle.theorem import linear_case, network_case
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.work import Job
from dgtd.suites.instrument.steps import judged
from dgtd.suites.stability.lanes import certificate_numbers, class_of

ROUNDING = 1e-9
ENUMERATED = ("random_walk", "collision", "two_state")
MEASURED = ("random_walk", "boyan", "collision")
PLACES = {"random_walk_dependent": ("value", 21), "random_walk_dependent-cdf": ("cdf", 3)}
LIMITS = ("boyan", "collision")  # episodes end, at different rates; ρ is not 1 on the second
LAGS = 1000


def claims() -> list[Claim]:
    """They do not depend on the rule that is judged."""
    ours, bounds = "ours: the definitions, enumerated", "Nemirovski et al. 2009, Proposition 3.2"
    of_problems = (
        "d, v, the variance of returns, A, b, C, MSPBE and value error are what a problem's outcomes give; the "
        f"worst over {', '.join(ENUMERATED)}"
    )
    of_radii = f"the certificate's mean-square radius holds that of E[M⊗M]; the worst over {', '.join(RADII)}"
    made: list[tuple[str, str, str, Any]] = [
        ("problem", of_problems, ours, partial(judged, problem_errors, ROUNDING)),
        ("radius", of_radii, "ours; Sutton & Barto 2018, §11", partial(judged, radius_errors, 1e-7)),
    ]
    for target in ("value", "cdf"):
        says = f"the metrics of predictions ({target}) are what loops over outcomes give; the worst over "
        check = partial(judged, partial(metric_errors, target), ROUNDING)
        made.append((f"metrics/{target}", says + ", ".join(MEASURED), ours, check))
    for net in ("linear", "mlp"):
        says = f"J, w*(θ) and ‖w − w*‖_C of a {net} predictor on random_walk (a CDF) are what C and E[Σφδ] give"
        made.append((f"objective/{net}", says, "Theorem 1", partial(judged, partial(objective_errors, net), 1e-7)))
    for place in PLACES:
        says = f"Err in closed form is max over w minus min over θ, as an optimiser finds them, on {place}"
        made.append((f"err/{place}", says, "Proposition 2", partial(error_is_optimal, place)))
        says = f"step and bound on {place} follow Nemirovski et al.: M*² covers E‖G‖², not each ‖G‖², and not by much"
        made.append((f"bound/{place}", says, bounds, partial(constants_follow, place)))
    for problem in LIMITS:
        says = f"LSTD's n·E MSPBE on {problem} is tr(C⁻¹Σ) with every autocovariance; shown from 10 per feature on"
        made.append((f"lstd/{problem}", says, "definitions", partial(limit_is_the_sum, problem)))
    out = [
        # A check that draws no points is computed once for all seeds.
        Claim(f"instrument/{name}", says, source, check, seeded=not name.startswith(("radius", "lstd/")))
        for name, says, source, check in made
    ]
    for name, (rule, step) in CLASSES.items():  # what `dgtd certify` says, in a case of every class
        says = f"{rule.name} at α = β = {step:g} on θ → 2θ is {name.removesuffix('-fast')}"
        needs = Job.seeded(  # long products on independent transitions, and the radius
            certificate_numbers, rule, problem="two_state", target="value", atoms=2, alpha=step, beta=step, steps=4000,
            lanes=64, trajectory=False,
        )  # fmt: skip
        judge = partial(class_is, name)
        out.append(Claim(f"instrument/class/{name}", says, "closed form", needs=needs, judge=judge))
    return out


def off(found: Any, expected: Any) -> float:
    """The largest difference; as a share of the largest number where that is above 1."""
    return float(np.abs(np.asarray(found) - expected).max() / max(float(np.abs(expected).max()), 1.0))


# ---------------------------------------------------------------------- problems and metrics


def problem_errors(setting: Setting) -> dict[str, float]:
    errors: dict[str, float] = {}
    for problem in ENUMERATED:
        mdp = find_problem(problem).mdp
        by_hand = Enumerated(mdp)
        A, b, C = by_hand.key_matrices()
        theta = generator(setting.seed, purpose="theta").normal(size=len(b))
        values = mdp.features @ theta
        pairs = {
            "d": (mdp.d, by_hand.visits),
            "v": (mdp.v, by_hand.values),
            "variance": (return_variance(mdp), by_hand.second_moments - by_hand.values**2),
            "A": (mdp.A, A),
            "b": (mdp.b, b),
            "C": (mdp.C, C),
            "MSPBE": (mdp.mspbe(theta), by_hand.projected_norm(by_hand.backup(values) - values) ** 2),
            "value error": (mdp.msve(values), float(by_hand.visits @ (values - by_hand.values) ** 2)),
        }
        errors |= {f"{name} of {problem}": off(*pair) for name, pair in pairs.items()}
    return errors


def metric_errors(target: str, setting: Setting) -> dict[str, float]:
    """Of two random predictions; the Cramér distance where the law of returns is known by hand."""
    errors = {}
    for problem in MEASURED:
        world = find_problem(problem)
        goal, by_hand = world.target(target, 6), Enumerated(world.mdp)
        law = two_point_law(by_hand.values, goal) if problem == "random_walk" and target == "cdf" else None
        names = tuple(name for name in goal.metrics if name != "cramer" or law is not None)
        draws = generator(setting.seed, purpose="predictions").normal(size=(2, world.mdp.states, goal.outputs))
        found = Metrics(world.mdp, goal)(draws, names)
        expected = [by_hand.metrics(F, goal, law) for F in draws]
        for j, name in enumerate(names):
            shares = [abs(found[i, j] - expected[i][name]) / expected[i][name] for i in range(len(draws))]
            errors[f"{name} on {problem}"] = largest(shares)
    return errors


def two_point_law(values: Any, goal: Any) -> Any:
    """The off-policy walk ends with −1 or +1, undiscounted: F(s, z) = P(−1) between them, and P(+1) = (1 + v)/2."""
    z = goal.support[:-1]
    return np.where(z < -1, 0.0, np.where(z < 1, (1 - values)[:, None] / 2, 1.0))


def objective_errors(net: str, setting: Setting) -> dict[str, float]:
    """C = Σ d(s) Σ_j φ_jφ_jᵀ and Σ d(s) Σ_j φ_jδ_j by loops, and a pseudo-inverse."""
    made, theta = (linear_case if net == "linear" else network_case)(find_problem("random_walk"), "cdf", setting.seed)
    by_hand, at = Enumerated(made.mdp), torch.as_tensor(theta)
    F, phi = made.predictor(theta), made.predictor.jacobian(at).numpy()
    delta, d = by_hand.law_backup(F, made.target) - F, by_hand.visits
    C = sum(d[s] * phi[s].T @ phi[s] for s in range(len(d)))
    push = sum(d[s] * phi[s].T @ delta[s] for s in range(len(d)))
    best = np.linalg.pinv(C, rcond=1e-10, hermitian=True) @ push
    w = generator(setting.seed, purpose="w").normal(size=(len(theta),))
    pairs = {
        "J": (made.value(theta), float(push @ best)),
        "the distance": (made.distance_to_optimal_w(theta, w), float(np.sqrt((w - best) @ C @ (w - best)))),
        "Φw*": (phi @ made.optimal_w(theta), phi @ best),
    }
    return {name: off(*pair) for name, pair in pairs.items()}


# ---------------------------------------------------------------------- Err and the bound


def _saddle(place: str) -> Saddle:
    target, atoms = PLACES[place]
    problem = find_problem(place.removesuffix("-cdf"))
    return Saddle(problem.mdp.with_(weights=problem.mdp.d), problem.target(target, atoms), slack=1.1)


def error_is_optimal(place: str, setting: Setting) -> Finding:
    """At points well inside, and where the maximum lies on the ball."""
    saddle = _saddle(place)
    rng = generator(setting.seed, purpose="points")
    worst, on_ball, free_of_b = 0.0, 0, np.linalg.pinv(saddle.C)
    points = [
        [scale * saddle.R * x / np.linalg.norm(x) for x in rng.normal(size=(2, len(saddle.b)))]
        for scale in (0.1, 0.5, 1.0, 3.0)
    ]
    # Random points may all have their maximum inside, or all on the ball: one of each kind, θ in the direction that
    # moves w*(θ) most, far enough out, and the solution, where w* is 0.
    _, sizes, directions = np.linalg.svd(free_of_b @ saddle.A)
    far = 2 * (saddle.R + np.linalg.norm(free_of_b @ saddle.b)) / sizes[0]
    points.append([far * directions[0], points[0][1]])
    points.append([np.linalg.lstsq(saddle.A, saddle.b, rcond=None)[0], points[1][1]])
    for theta, w in points:
        ours = float(saddle.error(theta, w))
        theirs = saddle_error(saddle.A, saddle.b, saddle.C, saddle.R, theta, w)
        on_ball += bool(np.linalg.norm(free_of_b @ (saddle.b - saddle.A @ theta)) > saddle.R)
        worst = largest(worst, abs(ours - theirs) / max(abs(theirs), 1e-12))
    words = f"Err at {len(points)} points ({on_ball} with the maximum on the ball) is off by {worst:.1e}"
    return exactly(worst if 0 < on_ball < len(points) else 1.0, 1e-6, words)


def constants_follow(place: str, setting: Setting) -> Finding:
    """E‖G‖² on the balls against M*²/2R²; α = 2·2R²/(M*√5n) and (8 + 2 ln 2/δ)√5 M*/√n written out."""
    saddle = _saddle(place)
    A, b, C = saddle._samples
    rng, mass, cover = generator(setting.seed, purpose="balls"), saddle.mdp.mass, saddle.M_star**2 / (2 * saddle.R**2)
    most = single = light = 0.0
    for _ in range(200):
        theta, w = (saddle.R * x / np.linalg.norm(x) for x in rng.normal(size=(2, len(saddle.b))))
        of_theta, of_w = w @ A, b - A @ theta - C @ w
        squares = ((of_theta**2).sum(1) + (of_w**2).sum(1)) / cover
        most, single = largest(most, mass @ squares), largest(single, squares)
        light = largest(light, mass @ np.exp(squares))
    n, delta = 1000, 0.1
    error = largest(
        abs(saddle.step(n) * saddle.M_star * (5 * n) ** 0.5 / (4 * saddle.R**2) - 1),
        abs(saddle.bound(n, delta) * n**0.5 / ((8 + 2 * np.log(2 / delta)) * 5**0.5 * saddle.M_star) - 1),
    )
    words = (
        f"the largest E‖G‖² of 200 points on the balls is {most:.2f} of M*²/2R², the largest ‖G‖² of a transition "
        f"{single:.2f}, and E exp(‖G‖²·2R²/M*²) {light:.2f}; step and bound off by {error:.0e}"
    )
    return exactly(error if 0.05 < most <= 1 else 1.0, ROUNDING, words)


# ---------------------------------------------------------------------- certificates

# rule, problem, target, α, β: below 1 and above it, so that an error that shrinks a radius shows.
RADII: dict[str, tuple[Rule, str, str, float, float]] = {
    "two_state/gtd2/small": (gtd2, "two_state", "value", 0.02, 0.02),
    "two_state/gtd2/large": (gtd2, "two_state", "value", 0.5, 1.5),
    "two_state/td": (td, "two_state", "value", 1.0, 1.0),
    "two_state/tdrc": (tdrc(1.0), "two_state", "value", 0.2, 0.5),
    "two_state/cdf/tdc": (tdc, "two_state", "cdf", 0.5, 1.0),
    "tsitsiklis_van_roy/gtd2_sb": (gtd2_sb, "tsitsiklis_van_roy", "value", 0.5, 0.6),
    "random_walk_dependent/tdrc": (tdrc(0.5), "random_walk_dependent", "value", 1.5, 1.0),
}


def radius_errors(setting: Setting) -> dict[str, float]:
    """The bracket must hold the dense radius, and be narrow; on independent transitions and along trajectories."""
    errors = {}
    for name, (rule, problem, target, alpha, beta) in RADII.items():
        world = find_problem(problem)
        goal = world.target(target, 3)
        for along in (False, True):
            dense = second_moment_radius(rule, world.mdp, goal, alpha, beta, along)
            found = mean_square(Dynamics(rule, world.mdp, goal, alpha, beta), trajectory=along)
            outside = (found.low - dense) / dense, (dense - found.high) / dense
            errors[f"{name}{', along a trajectory' if along else ''}"] = largest(
                0.0, outside, found.high / found.low - 1 - 1e-4
            )
    return errors


# TD on θ → 2θ has one parameter, so M is a number: its radius is E[M²], and its exponent E log|M|.
CLASSES = {
    "stable": (gtd2, 0.02),
    "diverging": (td, 0.1),
    "heavy-tailed": (td, 1.0),
    "marginal": (td, 0.625),  # E log|M| is 0 here: no finite sample tells on which side
    "diverging-fast": (td, 2.0),
}


def class_is(name: str, evidence: list[Any], setting: Setting) -> Finding:
    """Radius and exponent against the closed form of a scalar M, and the class that they make together."""
    rule, alpha = CLASSES[name]
    numbers = evidence[0]
    kind, rate = class_of(numbers, setting.false_alarm)
    wrong = 0.0 if kind == name.removesuffix("-fast") else 1.0
    words = f"{kind}: radius {numbers['low']:.6f} … {numbers['high']:.6f}, exponent {rate.low:.5f} … {rate.high:.5f}"
    if rule is td:  # from either state: left (ρ = 0) or right (ρ = 2), half each; γ = 0.9, φ = 1, 2, φ' = 2
        moves = [1.0, 1.0, 1 + alpha * 2 * 1 * (0.9 * 2 - 1), 1 + alpha * 2 * 2 * (0.9 * 2 - 2)]
        square, growth = float(np.mean(np.square(moves))), float(np.mean(np.log(np.abs(moves))))
        wrong = largest(wrong, not rate.low <= growth <= rate.high, not abs(numbers["high"] / square - 1) <= 1e-3)
        words += f"; by hand {square:.6f} and {growth:.5f}"
    return agrees(wrong, 0.5, setting, rate.n, words)


# ---------------------------------------------------------------------- LSTD's reference line


def limit_is_the_sum(problem: str, setting: Setting) -> Finding:
    """Relative error of the limit, along trajectories and on independent transitions; infinite if shown too early."""
    mdp, errors = find_problem(problem).mdp, []
    for each in (mdp, mdp.with_(weights=mdp.d)):
        expected, found = float(np.trace(np.linalg.pinv(mdp.C) @ lag_by_lag(each))), lstd(each)
        if found is None:
            return exactly(np.inf, ROUNDING, "there is no limit")
        first = 10 * mdp.features.shape[1]
        shown = found.mspbe([first - 1, first])
        right = np.isnan(shown[0]) and abs(shown[1] * first / expected - 1) <= ROUNDING
        errors.append(abs(found.limit / expected - 1) if right else np.inf)
    words = f"tr(C⁻¹Σ) along trajectories and independent: the largest relative error is {largest(errors):.1e}"
    return exactly(largest(errors), ROUNDING, words)


def lag_by_lag(mdp: FiniteMDP) -> Floats:
    """Γ_0 + Σ (Γ_k + Γ_kᵀ), following the chain of transitions: after one that ends comes one from a start."""
    table = mdp.table
    theta = np.linalg.solve(mdp.A, mdp.b)
    g = np.zeros((len(table.probability), len(theta)))
    for o, (s, to) in enumerate(zip(table.state, table.next_state, strict=True)):
        delta = table.reward[o] + table.discount[o] * mdp.features[to] @ theta - mdp.features[s] @ theta
        g[o] = table.rho[o] * delta * mdp.features[s]
    mass = mdp.d[table.state] * table.probability
    total = (mass[:, None] * g).T @ g
    if mdp.iid:
        return total
    ahead = g  # E[g_t+k | transition t]
    for _ in range(LAGS):
        per_state = np.zeros((mdp.states, len(theta)))
        np.add.at(per_state, table.state, table.probability[:, None] * ahead)
        ahead = np.where(table.ends[:, None], table.start @ per_state, per_state[table.next_state])
        later = (mass[:, None] * g).T @ ahead
        total = total + later + later.T
    return total
