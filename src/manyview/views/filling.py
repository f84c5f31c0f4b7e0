"""Single missing entries of a view, filled with the mean of their feature."""

from typing import Any

import numpy as np
import scipy.sparse as sp


def feature_means(array: Any) -> np.ndarray[Any, Any] | None:
    """Means over the known entries (0 where there is none); None where all are."""
    if sp.issparse(array) or np.dtype(str(array.dtype).removeprefix("torch.")).kind != (
        "f"
    ):
        return None
    values = np.asarray(array)
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    return np.asarray(np.where(known, values, 0.0).sum(axis=0) / counts)


def fill_gaps(values: np.ndarray[Any, Any], means: np.ndarray[Any, Any]) -> Any:
    """Single NaN entries replaced by their feature's mean; rows of NaN stay."""
    gaps = np.isnan(values)
    some = gaps & ~gaps.all(axis=1, keepdims=True)
    return np.where(some, means.astype(values.dtype), values) if some.any() else values
