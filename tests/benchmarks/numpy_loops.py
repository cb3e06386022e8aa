"""GTD2 in plain numpy, one transition at a time, as one writes it first: what the engines' speed is measured against.

tests/algorithms/fast/test_numpy_loops.py holds every loop to the engines' numbers.
"""

import numpy as np

from tests.problems import baird

ALPHA = BETA = 2**-8


def value_loop(steps, outcomes=None):
    """GTD2 on Baird's star, to be called; it draws its transitions unless they are given. θ and w at the end."""
    table, features, start = baird()
    states, nexts, ratios = table.state, table.next_state, table.rho

    def run():
        rng = np.random.default_rng(0)
        theta, w, s = start[0].copy(), np.zeros(8), 0
        for step in range(steps):
            outcome = 7 * s + rng.integers(7) if outcomes is None else outcomes[step]
            s, s_next, rho = states[outcome], nexts[outcome], ratios[outcome]
            phi, phi_next = features[s], features[s_next]
            delta = 0.99 * (theta @ phi_next) - theta @ phi
            u = w @ phi
            theta += ALPHA * rho * u * (phi - 0.99 * phi_next)
            w += BETA * (rho * delta - u) * phi
            s = s_next
        return theta, w

    return run


def tabled_loop(steps, outcomes):
    """The same with ρ, φ and α(φ − γφ') looked up by outcome: about as fast as numpy gets, a step at a time."""
    table, features, start = baird()
    phi = features[table.state]
    fall = phi - 0.99 * features[table.next_state]
    rows = list(zip(table.rho.tolist(), phi, fall, ALPHA * table.rho[:, None] * fall, strict=True))

    def run():
        theta, w = start[0].copy(), np.zeros(8)
        for outcome in outcomes[:steps]:
            rho, here, down, move = rows[outcome]
            u = w @ here
            q = -BETA * (rho * (theta @ down) + u)
            theta += u * move
            w += q * here
        return theta, w

    return run


def linear_step(theta, w, phi, phi_next, T, t, rho, alpha, beta):
    """Distributional GTD2 with f = Θφ, in place."""
    f, u = theta @ phi, w @ phi
    delta = T @ (theta @ phi_next) + t - f
    theta += alpha * rho * (np.outer(u, phi) - np.outer(u @ T, phi_next))
    w += beta * np.outer(rho * delta - u, phi)


def mlp_step(theta, w, x, x_next, T, t, rho, alpha, beta):
    """Distributional GTD2 with one hidden tanh layer and softmax, in place: the R-operator by hand.

    theta, w  [V1 (inputs + 1, hidden), V2 (hidden + 1, atoms)], biases in the last rows; x and x_next end in a 1.
    """
    (v1, v2), (w1, w2) = theta, w
    h, p = _forward(v1, v2, x)
    h_next, p_next = _forward(v1, v2, x_next)
    slope = 1 - h[:-1] ** 2
    ra = x @ w1
    rh = slope * ra
    ry = h @ w2 + rh @ v2[:-1]
    mean = p @ ry
    u = np.cumsum(p * (ry - mean))[:-1]
    delta = T @ np.cumsum(p_next)[:-1] + t - np.cumsum(p)[:-1]

    # Backwards, from the cotangents −ρu on f, ρu on g and q on u.
    into_p, into_p_next, s = _tails(-rho * u), _tails(rho * u @ T), _tails(rho * delta - u)
    into_p = into_p + s * (ry - mean) - (p @ s) * ry
    dy, dy_next, dry = _softmax_back(p, into_p), _softmax_back(p_next, into_p_next), _softmax_back(p, s)
    drh = v2[:-1] @ dry
    da = (v2[:-1] @ dy + w2[:-1] @ dry - 2 * h[:-1] * ra * drh) * slope
    da_next = (v2[:-1] @ dy_next) * (1 - h_next[:-1] ** 2)
    v2 -= alpha * (np.outer(h, dy) + np.outer(h_next, dy_next))
    v2[:-1] -= alpha * np.outer(rh, dry)
    v1 -= alpha * (np.outer(x, da) + np.outer(x_next, da_next))
    w2 += beta * np.outer(h, dry)
    w1 += beta * np.outer(x, drh * slope)


def _forward(v1, v2, x):
    """The hidden layer with its constant 1, and the atoms' probabilities."""
    h = np.append(np.tanh(x @ v1), 1.0)
    y = h @ v2
    e = np.exp(y - y.max())
    return h, e / e.sum()


def _tails(cotangent):
    """Into the probabilities, from the first m − 1 of their running sums."""
    return np.append(np.cumsum(cotangent[::-1])[::-1], 0.0)


def _softmax_back(p, into):
    return p * (into - p @ into)
