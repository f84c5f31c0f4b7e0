"""Playing back launches must not change what a step gives."""

import subprocess
import sys

import pytest

from manyview.engine.cuda_graphs import recorded, side_by_side

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="there is no CUDA GPU here"
)


def one_step(total, x):
    return total + x, total * x


def test_a_recorded_step_gives_what_the_step_gives():
    inputs = [torch.arange(4.0, device="cuda") + k for k in range(6)]
    step = recorded(one_step, inputs[0].device)
    total = plain = torch.ones(4, device="cuda")
    for x in inputs:
        total, product = step(total, x)
        plain, wanted = one_step(plain, x)
        assert torch.equal(total, plain) and torch.equal(product, wanted)


def test_items_side_by_side_keep_their_order():
    items = [torch.full((3,), float(k), device="cuda") for k in range(5)]
    found = side_by_side(lambda x: float((2 * x).sum()), items, items[0].device)
    assert found == [0.0, 6.0, 12.0, 18.0, 24.0]


def test_solvers_may_be_called_for_the_first_time_side_by_side():
    """Torch loads them then, and failed where two threads called at once."""
    program = """
import torch
from manyview.engine.cuda_graphs import side_by_side
items = [(1.0 + k) * torch.eye(200, device="cuda") for k in range(8)]
found = side_by_side(torch.linalg.cholesky, items, items[0].device)
assert [round(float(x[0, 0]) ** 2) for x in found] == [1, 2, 3, 4, 5, 6, 7, 8]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
