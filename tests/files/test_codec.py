"""Values as JSON and arrays, and back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from manyview.files.codec import Encoder, decode


def test_shared_arrays_are_stored_once():
    encoder = Encoder()
    array = np.arange(4.0)
    coded = encoder.encode([array, (array,)], "x")
    assert len(encoder.arrays) == 1
    first, (second,) = decode(coded, encoder.arrays)
    assert first is second


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -1.5, float("inf"), "ä", [1, "a"], (1, (2,)), {"a": [None]},
        np.float32(1.5), np.dtype("float32"), 2**80,
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_come_back(value):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value, "x"), allow_nan=False)
    back = decode(json.loads(text), encoder.arrays)
    assert type(back) is type(value) and back == value


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
numbers = arrays(
    st.sampled_from(["f4", "f8", "i4", "u1", "?"]), array_shapes(max_dims=3, max_side=4)
)
values = st.recursive(
    plain | st.text() | numbers,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


def is_same(value, back):
    if isinstance(value, np.ndarray):
        return value.dtype == back.dtype and value.tobytes() == back.tobytes()
    if type(value) is not type(back):
        return False
    if isinstance(value, dict):
        return value.keys() == back.keys() and all(
            is_same(v, back[k]) for k, v in value.items()
        )
    if isinstance(value, (list, tuple)):
        return len(value) == len(back) and all(map(is_same, value, back))
    return value == back


@given(values)
def test_any_nest_of_values_and_arrays_comes_back(value):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value, "x"), allow_nan=False)
    assert is_same(value, decode(json.loads(text), encoder.arrays))
