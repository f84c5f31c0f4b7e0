import base64

import numpy as np
import pytest

from manyview.report.coding import MISSING, places, shades, whole_numbers


def back(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def test_whole_numbers_come_back() -> None:
    values = np.array([0, 1, 65535])
    np.testing.assert_array_equal(back(whole_numbers(values, "<u2"), "<u2"), values)


def test_places_keep_the_shape_of_the_map() -> None:
    points = np.array([[0.0, 5.0], [10.0, 5.0], [5.0, 7.5]])
    coded = places(points)
    x, y = back(coded["x"], "<u2"), back(coded["y"], "<u2")
    np.testing.assert_array_equal(x, [0, 65535, 32768])
    np.testing.assert_array_equal(y, [0, 0, 16384])


def test_shades_span_the_percentiles() -> None:
    values = np.arange(101.0)
    column = shades(values)
    codes = back(column["codes"], "u1")
    assert (column["low"], column["high"]) == (1.0, 99.0)
    assert (codes[0], codes[1], codes[50], codes[99], codes[100]) == (
        0,
        0,
        127,
        254,
        254,
    )
    assert MISSING not in codes


def test_missing_values_have_a_code_of_their_own() -> None:
    values = np.array([1.0, np.nan, 3.0, 100.0])
    column = shades(values, np.array([True, True, True, False]))
    assert back(column["codes"], "u1").tolist() == [0, MISSING, 254, MISSING]
    assert column["high"] <= 3.0


@pytest.mark.parametrize("values", [np.full(5, 2.0), np.full(3, np.nan)])
def test_constant_and_empty_columns_stay_finite(values) -> None:
    column = shades(values)
    assert np.isfinite([column["low"], column["high"]]).all()


def test_a_rare_value_is_not_lost_between_percentiles() -> None:
    values = np.zeros(1000)
    values[3] = 7.0
    codes = back(shades(values)["codes"], "u1")
    assert codes[3] == 254 and codes.sum() == 254
