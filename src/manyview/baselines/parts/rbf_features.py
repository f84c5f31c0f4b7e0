"""Centred RBF features of the distances to drawn rows, one view at a time."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from manyview.base import FloatArray
from manyview.engine.local import open_engine
from manyview.stages.anchors import Kernel, features, make_kernels
from manyview.stages.scaling import Scaling, apply_scaling, make_scaling, measure
from manyview.views.views import Views

# Rows whose features to a thousand anchors stay in cache.
BLOCK_ROWS = 4096


class FeatureMap(NamedTuple):
    """Anchors and width of one view's RBF features, and their column means."""

    scaling: Scaling
    kernel: Kernel
    mean: FloatArray


def feature_map(X: FloatArray, n_anchors: int, rng: np.random.Generator) -> FeatureMap:
    """Draw anchors among the rows, measure the kernel width and the column means."""
    engine = open_engine(Views(X), X.dtype)
    # Shifting rows and anchors alike changes no distance but saves digits.
    scaling = make_scaling(measure(engine)[0], None)
    drawn = X[rng.choice(len(X), n_anchors, replace=False)]
    anchors = apply_scaling(drawn.astype(np.float64), scaling)
    (kernel,) = make_kernels(engine, "rbf", (scaling,), (anchors,))
    total = np.zeros(n_anchors)
    for rows in gen_batches(len(X), BLOCK_ROWS):
        total += features(X[rows], scaling, kernel).sum(axis=0, dtype=np.float64)
    return FeatureMap(scaling, kernel, total / len(X))


def centred_features(X: FloatArray, fmap: FeatureMap) -> FloatArray:
    """Φ_v (n_samples, m) in X's dtype."""
    Phi = np.empty((len(X), len(fmap.mean)), X.dtype)
    for rows in gen_batches(len(X), BLOCK_ROWS):
        Phi[rows] = features(X[rows], fmap.scaling, fmap.kernel) - fmap.mean
    return Phi
