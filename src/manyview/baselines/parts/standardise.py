"""The standardisations the compared methods ask for; rows are samples.

Per feature and per sample are not interchangeable: the published figures of a
method rest on the one its authors used.
"""

import numpy as np
from sklearn.utils import gen_batches

from manyview.arrays.ops import unit_rows
from manyview.base import FloatArray
from manyview.stages.scaling import near_one

# Rows whose float64 copies stay in cache.
BLOCK_ROWS = 4096


def scaled(X: FloatArray, scaling: str | None) -> FloatArray:
    """One view brought to scale, by the words that `scaling` has in every method.

    ``"standard"``: z-scores per feature; ``"sample"``: z-scores per sample;
    ``"unit"``: rows of length 1; None: as given, but for views whose squares leave
    their type.
    """
    if scaling is None:
        factor = near_one(float(np.abs(X).max()))
        return X if factor == 1.0 else X * X.dtype.type(factor)
    scales = {"standard": z_feature, "sample": z_sample, "unit": unit_rows}
    return np.asarray(scales[scaling](X))


def feature_moments(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation (ddof 1) of every feature, in X's dtype.

    A constant feature gets an infinite deviation, so that `z_feature` sends it to
    0 in these rows and in any later ones.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    square = np.zeros_like(mean)
    largest = np.zeros_like(mean)
    for rows in gen_batches(len(X), BLOCK_ROWS):
        square += ((X[rows] - mean) ** 2).sum(axis=0)
        largest = np.maximum(largest, np.abs(X[rows]).max(axis=0))
    std = np.sqrt(square / max(len(X) - 1, 1))
    rounding = 4 * np.finfo(X.dtype).eps * largest
    scale = np.where(std > rounding, std, np.inf)
    return mean.astype(X.dtype), scale.astype(X.dtype)


def z_feature(
    X: FloatArray, moments: tuple[FloatArray, FloatArray] | None = None
) -> FloatArray:
    """Every feature to mean 0 and standard deviation 1 (ddof 1) over the samples.

    New rows take the `moments` (`feature_moments`) of the training rows.
    """
    mean, scale = feature_moments(X) if moments is None else moments
    Z: FloatArray = X - mean
    Z /= scale
    return Z


def z_sample(X: FloatArray) -> FloatArray:
    """Every sample to mean 0 and standard deviation 1 (ddof 1) over its features."""
    return np.ascontiguousarray(z_feature(X.T).T)
