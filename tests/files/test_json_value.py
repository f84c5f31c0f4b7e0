"""Settings and results as JSON holds them."""

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from manyview.files.json_value import json_value


def test_everything_can_be_json() -> None:
    value = {
        "nan": float("nan"), "int": np.int64(3), "bool": np.True_, "path": Path("a"),
        "dtype": np.dtype("float32"), "tuple": (1, None), "vector": np.arange(2),
    }  # fmt: skip
    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == {
        "nan": "nan", "int": 3, "bool": True, "path": "a",
        "dtype": "float32", "tuple": [1, None], "vector": [0, 1],
    }  # fmt: skip


@pytest.mark.parametrize(
    "value, wanted",
    [
        (None, None),
        (3, 3),
        (np.float64(0.5), 0.5),
        (np.random.default_rng(0), "a generator"),
        (np.random.RandomState(0), "a generator"),
        (("a", (1, np.int64(2))), ["a", [1, 2]]),
        (np.float32, "float32"),
        (np.dtype("float64"), "float64"),
        (np.timedelta64(1500, "ns"), "1.5e-06s"),
        (timedelta(minutes=1), "60.0s"),
    ],
)
def test_settings_are_written_down_plainly(value, wanted):
    assert json_value(value) == wanted


def test_arrays_are_described_as_asked():
    table = np.arange(6.0).reshape(2, 3)
    assert json_value([table]) == ["array (2, 3) of float64"]
    assert json_value((1, {"a": table}), lambda array: array.shape) == [
        1,
        {"a": (2, 3)},
    ]
