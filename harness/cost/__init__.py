"""What a step costs. `peers` and `work` import torch when they are first asked for: suites are imported without it."""

from algorithms.checks import lazily

__getattr__ = lazily("harness.cost", {"peers": "", "work": ""})
