"""The standardisations the compared methods ask for; rows are samples.

Per feature and per sample are not interchangeable: the published figures of a
method rest on the one its authors used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]

_BLOCK_ROWS = 4096


def feature_moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (ddof 1) of every feature, in X's dtype.

    A constant feature gets an infinite deviation, so that `z_feature` sends it to
    0 in these rows and in any later ones.
    """
    n_samples = X.shape[0]
    mean = X.mean(axis=0, dtype=np.float64)
    square = np.zeros_like(mean)
    largest = np.zeros_like(mean)
    for start in range(0, n_samples, _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        square += ((block - mean) ** 2).sum(axis=0)
        largest = np.maximum(largest, np.abs(block).max(axis=0))
    std = np.sqrt(square / max(n_samples - 1, 1))
    rounding = 4 * np.finfo(X.dtype).eps * largest
    scale = np.where(std > rounding, std, np.inf)
    return mean.astype(X.dtype), scale.astype(X.dtype)


def z_feature(
    X: FloatArray, moments: tuple[FloatArray, FloatArray] | None = None
) -> FloatArray:
    """Every feature to mean 0 and standard deviation 1 (ddof 1) over the samples.

    Parameters
    ----------
    X : array (n_samples, n_features)
    moments : pair of arrays (n_features,), optional
        Mean and deviation to use, from `feature_moments` of the training rows;
        default those of `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.parts.standardise import z_feature
    >>> z_feature(np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])).tolist()
    [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    mean, scale = feature_moments(X) if moments is None else moments
    Z: FloatArray = X - mean
    Z /= scale
    return Z


def z_sample(X: FloatArray) -> FloatArray:
    """Every sample to mean 0 and standard deviation 1 (ddof 1) over its features.

    A sample whose features are all equal becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.parts.standardise import z_sample
    >>> z_sample(np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]])).tolist()
    [[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    Z: FloatArray = X - X.mean(axis=1, keepdims=True)
    size = np.abs(X).max(axis=1)
    std = np.sqrt(np.vecdot(Z, Z) / max(X.shape[1] - 1, 1))
    constant = std <= 4 * np.finfo(X.dtype).eps * size
    Z /= np.where(constant, 1, std)[:, None]
    Z[constant] = 0
    return Z
