"""Settings and results in words and numbers that JSON holds; for people, one way."""

import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from manyview.arrays.ops import Matrix, to_host
from manyview.stages.durations import duration_text


def _list_or_shape(array: Matrix) -> Any:
    if array.ndim == 1:
        return [json_value(v) for v in array]
    return f"array {array.shape} of {array.dtype}"


def json_value(value: Any, describe: Callable[[Matrix], Any] = _list_or_shape) -> Any:
    """The value as JSON can hold it; arrays by `describe`, the rest by repr."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if np.isfinite(number) else repr(number)
    if isinstance(value, (timedelta, np.timedelta64)):
        return duration_text(value)
    if isinstance(value, np.generic):
        return json_value(value.item(), describe)
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return str(np.dtype(value))
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return "a generator"
    if isinstance(value, Mapping):
        return {str(k): json_value(v, describe) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(v, describe) for v in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return describe(to_host(value)) if hasattr(value, "__array__") else repr(value)
