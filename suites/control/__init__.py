"""Control: agents make the published updates, and learn where they act (Algorithm 3; Figure 3).

ci decides what can be decided in a minute: the updates, and that an agent earns more than random actions do. Rankings
are in the full and paper profiles, and are findings about a figure (`suites.control.figure_three`).
"""

from __future__ import annotations

from algorithms.rule import Rule
from harness.judging.claims import Claim
from suites.control import (
    algorithm_three,
    cut_off,
    figure_three,
    laws,
    learning,
    networks,
    physics,
    published,
    resuming,
    seconds,
    step_sizes,
    updates,
)

# Shown at the top of docs/claims.md: what could not be confirmed, or only in part.
UNCONFIRMED = """
- **Figure 3, control** (`dgtd suite control --profile full`, each agent's rate by a sweep on other seeds; 30 lanes on
  CartPole, 50 on LunarLander; intervals at the ledger's error rate). None of the paper's sentences is decided.
  CartPole-v1, means of the last fifth of 50 000 steps: C51 334, DQN 299, distributional Greedy-GQ(0.5) 290. The
  chance that a lane earns less than DQN's: C51 0.33 [0.05, 0.75], Greedy-GQ 0.60 [0.20, 0.92]; Greedy-GQ and C51
  differ by 43 [0, 193], and comparable would be 50. The variance is *not* seen to be smaller: it is 2.8 [0.46, 17]
  (C51) and 1.5 [0.25, 8.8] (Greedy-GQ) times DQN's. LunarLander-v3, 60 000 steps: C51 70, Greedy-GQ 67, DQN 4; C51
  earns 66 [−14, 145] more than DQN, Greedy-GQ 63 [−20, 146]. That all three learn in both worlds is shown (`…/earns`,
  `…/rises`).
"""
# And what else was found.
FOUND = """
- **The rate decides more than the agent.** On CartPole-v1 C51 earns 196 at the paper's rate, 5e-4, and 387 at 2e-3;
  DQN 288 at 2.5e-4 and 188 at 4e-3 (`python -m suites.control.sweep cartpole-v1`, ten lanes). At one rate for all,
  5e-4, C51 is last; at 2e-3 it is first.
- **Does Greedy-GQ's correction earn anything?** At their best rate on CartPole-v1, 1e-3, η = 0.5 earns more than η = 0
  in 21 of 30 pairs (medians 296 and 249); with ten lanes a rate 313 against 270 at 2.5e-4, 263 against 259 at 1e-3 and
  214 against 133 at 4e-3, which is 42 [−201, 286] in the mean over rates. Neither is decided at the ledger's error rate
  (`control/cartpole-v1/greedy-gq-over-eta-0`, and `…/at-any-rate`, in full).
- **A distribution lets w climb faster.** Without one, w of Greedy-GQ(0.5) overflows at β = 0.01 in most lanes; with
  one it stays near 0.2 there, and diverges at β = 1 (`control/…/w-bounded`). The largest β with θ held still is
  2/λ_max(E[φφᵀ]), where a law's slope in its logits is at most ¼ (`control/…/w-threshold`).
- **What a distribution costs**: 40 atoms are 2.3 times a value's time per update; distributional Greedy-GQ(0.5) is
  1.7 times C51's (`control/seconds/…`, full).
"""


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the paper's agents; a user's rule is held to Algorithm 3's form by the suite `gradients`."""
    if rule is not None:
        return []
    updating = (published, algorithm_three, learning, updates, networks, laws)
    parts = (*updating, physics, cut_off, step_sizes, resuming, seconds, figure_three)
    return [claim for part in parts for claim in part.claims()]
