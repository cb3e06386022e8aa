"""What every test shares."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _reproducible() -> None:
    """One thread a process, as the engines run, and torch's own draws the same each time."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
