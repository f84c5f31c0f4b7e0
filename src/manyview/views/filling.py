"""Single missing entries of a view, filled with the mean of their feature."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.from_torch import dtype_of
from manyview.arrays.ops import like, to_host


def feature_means(array: Any) -> np.ndarray[Any, Any] | None:
    """Means over the known entries (0 where there is none); None where all are."""
    if sp.issparse(array) or dtype_of(array).kind != "f":
        return None
    values = to_host(array)
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    return np.asarray(np.where(known, values, 0.0).sum(axis=0) / counts)


def fill_gaps(array: Any, means: np.ndarray[Any, Any]) -> Any:
    """Single NaN entries replaced by their feature's mean; rows of NaN stay."""
    values = to_host(array)
    gaps = np.isnan(values)
    some = gaps & ~gaps.all(axis=1, keepdims=True)
    if some.any():
        values = np.where(some, means.astype(values.dtype), values)
    return like(values, array) if is_torch_array(array) else values
