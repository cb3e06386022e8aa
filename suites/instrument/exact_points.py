"""Exact numbers at a point: starts, mean updates, spectra, M*, averages, uniqueness. Part of the suite `instrument`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rules import tdrc
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from suites.instrument.exponents import GAMMA, one_state

ROUNDING = 1e-9
SOURCE = "ours: the definitions, enumerated"
HORIZONS, STEP = (1, 3), 4.0  # steps of this length leave the balls


def claims() -> list[Claim]:
    """They do not depend on the rule that is judged."""
    made = [
        *(lift_start(problem) for problem in ("boyan", "random_walk")),
        Claim(
            id="instrument/mean-update/tdrc",
            says="the exact mean update of TDRC on collision is the sum of its steps over all transitions, κ included",
            source="Ghiassian et al. 2020",
            check=update_is_the_sum,
        ),
        Claim(
            id="instrument/spectrum",
            says="rank and condition number of E Σφφᵀ are those of the matrix itself, also where features depend",
            source="Theorem 2",
            check=spectrum_is_the_matrix,
            seeded=False,
        ),
        Claim(
            id="instrument/m-star",
            says="M* adds the largest noise of both gradients over the balls to the squares of their largest means",
            source="Nemirovski et al. 2009, Proposition 3.2",
            check=m_star_is_written_out,
            seeded=False,
        ),
        Claim(
            id="instrument/unique-law",
            says="with `nearest` a slow discount moves no atom and every law is a fixed point; with `cramer` one is",
            source="definitions",
            check=uniqueness_is_told,
            seeded=False,
        ),
    ]
    for name in ("mirror-descent", "mirror-prox"):
        says = f"Err without noise of {name} is that of the average of the points whose field was followed"
        check = partial(errors_are_of_averages, name == "mirror-prox")
        made.append(
            Claim(id=f"instrument/average/{name}", says=says, source="Proposition 2", check=check, seeded=False)
        )
    return made


def update_is_the_sum(setting: Setting) -> Finding:
    """(−G_θ, G_w − κw) of each transition with explicit Jacobians, weighed by how often it happens."""
    import torch

    from algorithms.streams import generator
    from harness.oracle import literal
    from harness.oracle.objectives import Objective, linear
    from harness.plugins import find_problem

    world = find_problem("collision")
    mdp, goal, rule = world.mdp, world.target("cdf", 4), tdrc(0.5)
    size = goal.outputs * mdp.features.shape[1]
    theta, w = generator(setting.seed, purpose="mean update").normal(size=(2, size))
    found = Objective(mdp, goal, linear(mdp.features, goal.outputs)).mean_update(rule, theta, w)

    def predict(at: Any, x: Any) -> Any:
        return at.reshape(goal.outputs, -1) @ x

    expected, at, aux = np.zeros((2, size)), torch.as_tensor(theta), torch.as_tensor(w)
    for chance, sample in zip(mdp.mass, literal.samples_of(mdp.table, mdp.features, goal), strict=True):
        g_theta, g_w = literal.directions(rule, predict, at, aux, sample)
        expected += chance * np.stack([-g_theta.numpy(), g_w.numpy()])
    error = float(np.abs(np.stack(found) - expected).max() / np.abs(expected).max())
    return exactly(error, ROUNDING, f"{len(mdp.mass)} transitions sum to an update that is off by {error:.1e}")


def spectrum_is_the_matrix(setting: Setting) -> Finding:
    """C = Σ d(s)φφᵀ of Boyan's four features, and with a fifth that is the sum of two of them."""
    from algorithms.targets import ValueTarget
    from harness.oracle.objectives import Objective, linear
    from harness.plugins import find_problem

    mdp = find_problem("boyan").mdp
    wide = np.column_stack([mdp.features, mdp.features[:, 0] + mdp.features[:, 1]])
    wrong, condition = 0.0, 0.0
    for X, rank in ((mdp.features, 4), (wide, 4)):
        found = Objective(mdp, ValueTarget(), linear(X)).spectrum(np.zeros((1, X.shape[1])))
        wrong += float(found["rank"][0] != rank)
        if X.shape[1] == rank:
            condition = np.linalg.cond(np.einsum("s,si,sj->ij", mdp.d, X, X))
            wrong += abs(found["condition"][0] / condition - 1)
    return exactly(wrong, ROUNDING, f"ranks, and a condition number of {condition:.4g}: off by {wrong:.1e}")


def dependent_walk() -> Any:
    """The saddle of a random walk whose features depend on each other, on independent transitions."""
    from harness.oracle.saddle import Saddle
    from harness.plugins import find_problem

    world = find_problem("random_walk_dependent")
    return Saddle(world.mdp.with_(weights=world.mdp.d), world.target(), slack=1.1)


def m_star_is_written_out(setting: Setting) -> Finding:
    """√(2R²(σ₁² + ‖A‖²R² + σ₂² + (‖b‖ + (‖A‖ + ‖C‖)R)²)), every σ² a sum over transitions."""
    saddle = dependent_walk()
    R, mass, table, X = saddle.R, saddle.mdp.mass, saddle.mdp.table, saddle.features
    samples = []
    for o in range(len(mass)):
        here, there, rho = X[table.state[o]], X[table.next_state[o]], table.rho[o]
        A = rho * np.outer(here, here - table.discount[o] * there)
        samples.append((A, rho * table.reward[o] * here, np.outer(here, here)))
    A, b, C = (sum(p * each[i] for p, each in zip(mass, samples, strict=True)) for i in range(3))
    along, across, of_b, of_C = (
        sum(p * part for p, part in zip(mass, parts, strict=True))
        for parts in zip(*(_squares(each, A, b, C) for each in samples), strict=True)
    )
    largest = [float(np.linalg.eigvalsh(part)[-1]) for part in (along, across, of_C)]
    first, second = largest[0] * R**2, (np.sqrt(of_b) + R * (np.sqrt(largest[1]) + np.sqrt(largest[2]))) ** 2
    norm_A, norm_C = (np.linalg.svd(part)[1][0] for part in (A, C))
    means = (norm_A * R) ** 2 + (np.linalg.norm(b) + (norm_A + norm_C) * R) ** 2
    expected = float(np.sqrt(2 * R**2 * (first + second + means)))
    error = abs(saddle.M_star / expected - 1)
    return exactly(error, ROUNDING, f"M* is {expected:.5g}, {(first + second) / means:.0%} noise; off by {error:.1e}")


def _squares(sample: Any, A: Floats, b: Floats, C: Floats) -> tuple[Any, ...]:
    """Of one transition's deviations: ΔΔᵀ and ΔᵀΔ of Â, ‖Δ‖² of b̂, ΔΔᵀ of Ĉ."""
    of_A, of_b, of_C = (part - mean for part, mean in zip(sample, (A, b, C), strict=True))
    return of_A @ of_A.T, of_A.T @ of_A, of_b @ of_b, of_C @ of_C.T


def errors_are_of_averages(extragradient: bool, setting: Setting) -> Finding:
    """Three steps from 0, written out with A, b and C."""
    saddle = dependent_walk()

    def moved(start: list[Floats], at: list[Floats]) -> list[Floats]:
        after = start[0] + STEP * saddle.A.T @ at[1], start[1] + STEP * (saddle.b - saddle.A @ at[0] - saddle.C @ at[1])
        return [part * min(1.0, saddle.R / max(np.linalg.norm(part), 1e-300)) for part in after]

    point, followed = [np.zeros_like(saddle.b)] * 2, []
    for _ in range(max(HORIZONS)):
        at = moved(point, point) if extragradient else point
        followed.append(at)
        point = moved(point, at)
    expected = [saddle.error(*(np.mean([each[i] for each in followed[:n]], axis=0) for i in (0, 1))) for n in HORIZONS]
    found = saddle.exact_errors(np.array(HORIZONS), extragradient=extragradient, step=STEP)
    error = float(np.abs(found / np.array(expected) - 1).max())
    return exactly(error, ROUNDING, f"Err after {' and '.join(map(str, HORIZONS))} steps is off by {error:.1e}")


def uniqueness_is_told(setting: Setting) -> Finding:
    """One state without reward, five atoms: each is nearest to where γ moves it, so I − T is 0 there."""
    from algorithms.targets import CdfTarget
    from harness.oracle.returns import projected_law

    said = {each: projected_law(one_state(0.0), CdfTarget(0.0, 4.0, 5, each)).unique for each in ("cramer", "nearest")}
    moved = [abs(z / GAMMA - z) for z in range(4)]
    wrong = float(said != {"cramer": True, "nearest": False} or max(moved) >= 0.5)
    return exactly(wrong, 0.0, "unique with " + (", ".join(each for each in said if said[each]) or "none"))


# ---------------------------------------------------------------------- starts


def lift_start(problem: str) -> Claim:
    """Or a comparison of forms begins with a head start."""
    return Claim(
        id=f"instrument/start/{problem}",
        says=f"a distributional learner on {problem} starts from the mean that the value learner starts from",
        source=SOURCE,
        check=partial(starts_are_one, problem),
    )


def starts_are_one(problem: str, setting: Setting) -> Finding:
    """The mean of the law that the lift's θ₀ gives, state by state, for a random θ₀ of the value."""
    from algorithms.streams import generator
    from harness.plugins import find_problem

    world = find_problem(problem)
    X, goal = world.mdp.features, world.target("cdf", 7)
    theta = generator(setting.seed, purpose="start").normal(size=(X.shape[1],))
    laws = X @ goal.start(theta, X).T
    means = np.array([np.linspace(*world.support, 7) @ np.diff([0.0, *law, 1.0]) for law in laws])
    error = float(np.abs(means - X @ theta).max() / max(float(np.abs(X @ theta).max()), 1.0))
    return exactly(error, ROUNDING, f"means differ by {error:.1e}")
