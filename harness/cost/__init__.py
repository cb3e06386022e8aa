"""What a step costs. `peers` and `work` import torch when they are first asked for: suites are imported without it."""

from dgtd.algorithms.names import lazily

__getattr__ = lazily(__name__, {"peers": "", "work": ""})
