"""CartPole's equations of motion, by hand (Barto, Sutton & Anderson 1983; gymnasium's constants)."""

import numpy as np

GRAVITY, CART, POLE, HALF, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02


def moved(state, actions):
    """Euler's step [lanes, 4] of a pole of half length ½ on a cart: x, its speed, the angle, its speed."""
    x, speed, angle, turning = state.T
    push = np.where(actions == 1, FORCE, -FORCE)
    total = CART + POLE
    pulled = (push + POLE * HALF * turning**2 * np.sin(angle)) / total
    turned = (GRAVITY * np.sin(angle) - np.cos(angle) * pulled) / (HALF * (4 / 3 - POLE * np.cos(angle) ** 2 / total))
    driven = pulled - POLE * HALF * turned * np.cos(angle) / total
    return np.stack([x + TAU * speed, speed + TAU * driven, angle + TAU * turning, turning + TAU * turned], axis=1)


def fallen(state):
    """[lanes]: off the track, or the pole too low."""
    return (np.abs(state[:, 0]) > 2.4) | (np.abs(state[:, 2]) > np.radians(12))
