"""A rule may call functions that lie in other files of the user's, in compiled code and on tensors alike."""

import numpy as np
import torch

from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.harness.judging.conformance import examine
from dgtd.harness.runs.rule_files import reference, resolve

RULE = """
from dgtd.algorithms.rule import Cotangents, Promise, rule
from helpers import bounded

@rule(linear=False, promises={Promise.LINEAR_COST})
def mine(delta, u, rho):
    return Cotangents(-rho * bounded(delta), rho * u, rho * bounded(delta) - u)
"""
HELPERS = """
import numpy as np
from deeper import LIMIT, twice

def bounded(x):
    return np.clip(twice(x), -LIMIT, LIMIT)
"""
DEEPER = "LIMIT = 0.5\ndef twice(x):\n    return 2.0 * x\n"


def test_a_helper_of_another_file_is_compiled_with_the_rule(tmp_path):
    for name, text in (("mine", RULE), ("helpers", HELPERS), ("deeper", DEEPER)):
        (tmp_path / f"{name}.py").write_text(text)
    mine = resolve(reference(f"{tmp_path}/mine.py:mine"))
    delta, u, rho = np.array([-0.1, 0.2, 3.0]), np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, 0.5])
    expected = -rho * np.clip(2 * delta, -0.5, 0.5)
    np.testing.assert_allclose(mine(delta, u, rho).prediction, expected, rtol=1e-12)
    on_tensors = mine(*(torch.as_tensor(each) for each in (delta, u, rho)))
    np.testing.assert_allclose(on_tensors.prediction.numpy(), expected, rtol=1e-12)
    assert rule_as_data(mine, rho) is not None
    assert [complaint.words for complaint in examine(mine) if complaint.check == "numba"] == []
