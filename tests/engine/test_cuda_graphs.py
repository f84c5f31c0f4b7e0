"""Playing back launches must not change what a step gives."""

import numpy as np
import pytest

from manyview.arrays.ops import is_on_gpu
from manyview.engine.cuda_graphs import recorded, side_by_side


def one_step(total, x):
    return total + x, total * x


def devices():
    torch = pytest.importorskip("torch")
    return ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def test_a_recorded_step_gives_what_the_step_gives():
    torch = pytest.importorskip("torch")
    for device in devices():
        inputs = [torch.arange(4.0, device=device) + k for k in range(6)]
        step = recorded(one_step, inputs[0])
        total = plain = torch.ones(4, device=device)
        for x in inputs:
            total, product = step(total, x)
            plain, wanted = one_step(plain, x)
            assert torch.equal(total, plain) and torch.equal(product, wanted)


def test_items_side_by_side_keep_their_order():
    torch = pytest.importorskip("torch")
    for device in devices():
        items = [torch.full((3,), float(k), device=device) for k in range(5)]
        found = side_by_side(lambda x: float((2 * x).sum()), items, items[0])
        assert found == [0.0, 6.0, 12.0, 18.0, 24.0]


def test_arrays_of_the_host_take_plain_calls():
    x = np.ones(2)
    assert not is_on_gpu(x)
    assert recorded(one_step, x) is one_step
    assert side_by_side(len, [x, x[:1]], x) == [2, 1]
