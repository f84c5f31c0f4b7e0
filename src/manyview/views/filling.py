"""Single missing entries of a view, filled with the mean of their feature."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.ops import dtype_of, like, to_host

READ_ROWS = 8192  # at a time: arrays on disk need not fit into memory


class FilledRows:
    """An array read by rows, its single gaps filled where it is read."""

    chunks = None  # marks a lazy array

    def __init__(self, array: Any, means: np.ndarray[Any, Any]) -> None:
        self.array, self.means = array, means
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, rows: Any) -> Any:
        return fill_gaps(np.asarray(self.array[rows]), self.means)


def feature_means(array: Any) -> np.ndarray[Any, Any] | None:
    """Means over the known entries (0 where there is none); None of sparse views."""
    if sp.issparse(array):
        return None
    sums, counts = np.zeros((2, int(array.shape[1])))
    for first in range(0, int(array.shape[0]), READ_ROWS):
        values = to_host(array[first : first + READ_ROWS])
        known = ~np.isnan(values)
        sums += np.where(known, values, 0.0).sum(axis=0, dtype=np.float64)
        counts += known.sum(axis=0)
    return sums / np.maximum(counts, 1.0)


def fill_like_fit(model: Any, views: Any) -> Any:
    """New rows with their gaps filled as those of the fit were, where they were."""
    values = getattr(model, "fill_values_", None)
    far = not hasattr(views, "_filled_with")  # Dask's chunks are filled by nobody
    return views if far or values is None else views._filled_with(values)


def fill_gaps(array: Any, means: np.ndarray[Any, Any]) -> Any:
    """Single NaN entries replaced by their feature's mean; rows of NaN stay."""
    if dtype_of(array).kind != "f":
        return array
    values = to_host(array)
    gaps = np.isnan(values)
    some = gaps & ~gaps.all(axis=1, keepdims=True)
    if some.any():
        values = np.where(some, means.astype(values.dtype), values)
    return like(values, array) if is_torch_array(array) else values
