"""Views of single cells as the field prepares them, and graphs of shared neighbours."""

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA

from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.standardise import z_feature
from manyview.stages.scaling import inverse

# Counts of fewer features are a panel of antibodies: the largest have some 300, the
# smallest transcriptomes thousands.
MOST_PROTEINS = 500
# Counts per cell after normalisation, as Seurat and scanpy have it.
LIBRARY_SIZE = 10_000
# Ties of less shared neighbours are cut: Seurat's FindNeighbors.
LEAST_SHARED = 1 / 15


def cell_profile(X: FloatArray, n_components: int, seed: int) -> FloatArray:
    """One view as its kind asks for.

    Counts of many features (RNA): to the same library size, log1p, principal
    components. Counts of few (proteins): centred log ratio, z-scores. Other views are
    taken as prepared, and as z-scores; wide ones as their principal components.
    """
    X = X.astype(np.float64)
    if not are_counts(X):
        Z = z_feature(X)
        return Z if X.shape[1] <= n_components else components(Z, n_components, seed)
    if X.shape[1] <= MOST_PROTEINS:
        return z_feature(centred_log_ratio(X))
    return components(log_normalised(X), n_components, seed)


def are_counts(X: FloatArray) -> bool:
    """Whole numbers, none negative, and not all the same."""
    return bool((X >= 0).all() and (X == np.round(X)).all() and X.any())


def log_normalised(X: FloatArray) -> FloatArray:
    """log(1 + share of the cell's counts · 10,000)."""
    size = X.sum(axis=1, keepdims=True)
    return np.asarray(np.log1p(X * LIBRARY_SIZE * inverse(size)))


def centred_log_ratio(X: FloatArray) -> FloatArray:
    """Per cell, log(1 + x / g), log g the mean of log(1 + x): Seurat's, margin 2."""
    mean = np.log1p(X).mean(axis=1, keepdims=True)
    return np.asarray(np.log1p(X / np.exp(mean)))


def components(X: FloatArray, n_components: int, seed: int) -> FloatArray:
    """Principal components of the rows; no more than there are."""
    n_components = min(n_components, min(X.shape) - 1)
    if n_components < 1:
        return np.asarray(X - X.mean(axis=0))
    model = PCA(n_components, svd_solver="auto", random_state=seed)
    return np.asarray(model.fit_transform(X))


def shared_neighbours(ids: IntArray) -> sp.csr_array:
    """Jaccard overlap of the neighbourhoods (each row its own member) of all rows."""
    n_rows, k = ids.shape
    own = np.column_stack([np.arange(n_rows), ids])
    ends = np.arange(n_rows + 1) * (k + 1)
    A = sp.csr_array((np.ones(own.size), own.ravel(), ends), shape=(n_rows, n_rows))
    J = sp.csr_array(A @ A.T)
    J.data = J.data / (2 * (k + 1) - J.data)
    J.setdiag(0)
    J.eliminate_zeros()
    return J


def pruned(J: sp.csr_array) -> sp.csr_array:
    """Without the ties of few shared neighbours."""
    kept = J.copy()
    kept.data[kept.data < LEAST_SHARED] = 0.0
    kept.eliminate_zeros()
    return kept
