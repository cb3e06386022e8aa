"""How a learner acts in a world, as frozen data: an agent's replay and exploration, or policy iteration."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from dgtd.algorithms.checks import positive, whole, within


@dataclass(frozen=True)
class Acts:
    """What every learner in a world has: a discount, where the atoms of a law lie, and how it explores.

    explore   ε falls from the first number to the second within `explore_steps` steps
    """

    WHO: ClassVar[str] = "a learner"

    gamma: float = 0.99
    v_min: float = 0.0
    v_max: float = 100.0
    explore: tuple[float, float] = (1.0, 0.05)
    explore_steps: int = 10_000

    def __post_init__(self) -> None:
        for name in ("gamma", "v_min", "v_max"):
            object.__setattr__(self, name, float(getattr(self, name)))
        within("gamma", self.gamma, 0.0, 1.0)
        within("explore", self.explore, 0.0, 1.0)
        if self.explore[1] > self.explore[0]:
            raise ValueError(f"explore must fall, got {self.explore}")
        if not self.v_min < self.v_max:
            raise ValueError(f"v_min must be below v_max, got v_min={self.v_min}, v_max={self.v_max}")
        whole("explore_steps", self.explore_steps, 1)

    @classmethod
    def given(cls, **settings: Any) -> Self:
        """With what a user has said; ValueError for what this kind of learner does not have."""
        known = {each.name for each in fields(cls)}
        if others := [name for name in settings if name not in known]:
            raise ValueError(f"{cls.WHO} has no setting {', no '.join(map(repr, others))}")
        return cls(**settings)

    def epsilon(self, step: int) -> float:
        """The share of random actions at a step, or of a policy that is made then."""
        first, last = self.explore
        return first + (last - first) * min(1.0, step / self.explore_steps)


@dataclass(frozen=True)
class Control(Acts):
    """How a learner acts in a world and replays what it saw; α is the rate of θ's optimiser, β of w's.

    metric         of the target: cramer, or kl (C51)
    frozen         steps between two copies of the network that is bootstrapped from; 0: from θ itself
    batch, every   transitions per update, and steps between two; nothing is learnt before `begin` steps
    """

    WHO: ClassVar[str] = "an agent"

    metric: str = "cramer"
    frozen: int = 0
    theta_optimiser: str = "adam"
    w_optimiser: str = "sgd"
    batch: int = 64
    every: int = 4
    capacity: int = 20_000
    begin: int = 1_000

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("frozen", self.frozen, 0)
        for name in ("batch", "every", "capacity", "begin"):
            whole(name, getattr(self, name), 1)
        if self.batch > min(self.capacity, self.begin):
            raise ValueError(
                f"batch must fit the replay, {min(self.capacity, self.begin)} transitions at first, got {self.batch}"
            )


@dataclass(frozen=True)
class Iteration(Acts):
    """Policy iteration in a world: a frozen ε-greedy policy is evaluated for some episodes, and then improved.

    episodes       of a lane, until what it has learnt is its next policy
    behave         a lane acts with at least this ε; where that is more than the policy's, ρ weighs the next action
    capacity       of the replay; 0: each transition is used once, as it comes
    batch          transitions per update, where there is a replay; their next actions are drawn from the policy anew
    scale          what observations are divided by; none: by 1
    """

    WHO: ClassVar[str] = "policy iteration"

    gamma: float = 0.9
    v_max: float = 10.0
    explore: tuple[float, float] = (0.1, 0.02)
    episodes: int = 20
    behave: float = 0.0
    capacity: int = 0
    batch: int = 1
    scale: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "behave", float(self.behave))
        within("behave", self.behave, 0.0, 1.0)
        whole("capacity", self.capacity, 0)
        for name in ("episodes", "batch"):
            whole(name, getattr(self, name), 1)
        if self.batch > max(self.capacity, 1):
            why = f"fit the replay, {self.capacity} transitions" if self.capacity else "be 1 online, with capacity 0"
            raise ValueError(f"batch must {why}, got {self.batch}")
        for part in self.scale:
            positive("scale", part)
