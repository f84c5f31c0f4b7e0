"""Values on their way between processes: tensors travel as arrays."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

from manyview.engine.travel import Held, Sealed, here, unpack

torch = pytest.importorskip("torch", reason="torch is not installed")


class Small(NamedTuple):
    """What a pass might broadcast."""

    matrix: object
    rows: np.ndarray
    name: str


def test_tensors_travel_as_arrays_and_arrive_where_they_are_opened():
    value = {"x": torch.arange(3.0), "y": [np.ones(2), "text"]}
    sealed = pickle.loads(pickle.dumps(Sealed(value)))
    assert b"torch" not in sealed.content
    plain, there = sealed.open(), sealed.open("cpu")
    assert isinstance(plain["x"], np.ndarray) and isinstance(there["x"], torch.Tensor)
    np.testing.assert_array_equal(plain["x"], there["x"].numpy())
    assert isinstance(there["y"][0], np.ndarray) and there["y"][1] == "text"


def test_small_values_are_opened_on_a_device_with_their_numbers():
    small = Small(np.eye(2), np.arange(2), "a")
    assert unpack(Sealed(small)).matrix is not None
    assert isinstance(unpack(Sealed(small)).matrix, np.ndarray)
    there = here(unpack(Sealed(small), "cpu"))
    assert isinstance(there, Small) and isinstance(there.matrix, torch.Tensor)
    assert isinstance(there.rows, np.ndarray)


def test_what_a_device_holds_leaves_it_as_arrays():
    held = Held([{"x": torch.arange(4.0)}], "cpu")
    content = pickle.dumps(held)
    assert b"_rebuild_tensor" not in content
    found = pickle.loads(content)
    assert found.device == "cpu" and torch.equal(here(found)[0]["x"], torch.arange(4.0))


def test_dask_takes_what_a_device_holds_for_small():
    sizeof = pytest.importorskip("dask.sizeof", reason="Dask is not installed").sizeof
    assert sizeof(Held([{"x": torch.zeros(100_000)}], "cpu")) < 1000
