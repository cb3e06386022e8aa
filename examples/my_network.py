"""A network of one's own for an agent: convolutions over what ViZDoom's player sees, 10 × 40 blocks of grey.

dgtd run --problem vizdoom-defend-the-center --rule c51 --atoms 50 --predictor examples/my_network.py:convolutions
"""

import torch

HEIGHT, WIDTH = 10, 40


def convolutions(inputs: int, outputs: int) -> torch.nn.Module:
    """From [batch, inputs] to [batch, outputs]: that is all that is asked of it."""
    if inputs != HEIGHT * WIDTH:
        raise ValueError(f"these convolutions see {HEIGHT} × {WIDTH} numbers, got {inputs}")
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, HEIGHT, WIDTH)),
        torch.nn.Conv2d(1, 16, 4, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 1 * 9, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, outputs),
    )
