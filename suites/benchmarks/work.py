"""Exact numbers: they change only with the code, so any growth is a regression."""

from .common import network, step_of, take

RULES = ["gtd2", "tdc", "td"]


class Mlp:
    """Per step, batch 1."""

    params = (RULES, ["2k", "4M"])
    param_names = ("rule", "parameters")
    version = "1"

    def setup(self, rule, size):
        backprop, count = take("dgtd.harness.cost.peers", "backprop"), take("dgtd.harness.cost.work", "count")
        step = step_of("mlp_step", rule, size)
        self.first, self.later = count(step.call), count(step.call)
        self.held = step.held
        theirs = backprop(network(size))
        theirs.call()
        self.backprop = count(theirs.call)

    def track_work(self, rule, size):
        """Multiply-adds and elements touched."""
        return self.later.total

    def track_flop_ratio(self, rule, size):
        """Multiply-adds over those of one backprop step."""
        return self.later.products / self.backprop.products

    def track_extra_memory(self, rule, size):
        """Bytes in addition to the parameters, w included, at the peak of the first step."""
        return self.first.peak + self.held

    track_work.unit = "operations"  # type: ignore[attr-defined]
    track_flop_ratio.unit = "backprops"  # type: ignore[attr-defined]
    track_extra_memory.unit = "bytes"  # type: ignore[attr-defined]


class Memory:
    """The whole process, torch included."""

    params = (["gtd2", "td"], ["2k", "4M"])
    param_names = ("rule", "parameters")
    version = "1"

    def setup(self, rule, size):
        self.call = step_of("mlp_step", rule, size).call

    def peakmem_steps(self, rule, size):
        """Ten steps, batch 1."""
        for _ in range(10):
            self.call()


class Linear:
    """Per step of the linear engine's own source."""

    params = (RULES, [21, 101])
    param_names = ("rule", "atoms")
    version = "1"
    unit = "elements"

    def setup(self, rule, atoms):
        find_rule = take("dgtd.algorithms.rules", "find_rule")
        CdfTarget = take("dgtd.algorithms.targets", "CdfTarget")

        count_touches = take("dgtd.harness.cost.work", "count_touches")
        self.count = lambda: count_touches(find_rule(rule), CdfTarget(0, 10, atoms), 50)

    def track_touches(self, rule, atoms):
        """Elements read and written, 50 features."""
        return self.count()
