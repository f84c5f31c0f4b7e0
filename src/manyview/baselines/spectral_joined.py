"""Spectral clustering of the views side by side, as scikit-learn does it."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import spectral_clustering

from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.prepared_rows import HowScaled, prepared_rows
from manyview.stages.neighbour_graph import nearest_rows
from manyview.views.arguments import child_seed


@dataclass(eq=False, repr=False, kw_only=True)
class SpectralJoined(ComparedMethod):
    """Spectral clustering of the neighbour graph of all views side by side.

    The views are prepared, joined, and every row is tied to its `n_neighbors` nearest,
    W_ij = 1/2 for each of i and j that is among the other's. The eigenvectors of the
    normalised Laplacian are cut by k-means: scikit-learn's ``SpectralClustering`` with
    ``affinity="nearest_neighbors"``. Rows that are the same count once.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_neighbors : int
        Nearest rows, the row itself among them, as scikit-learn counts.
    scaling : {"standard", "auto", "global", "cosine", "unit", "root", None}
        Preparation of every view, as in `S2MVTC`; z-scores by default.
    random_state : int, numpy.random.Generator or None
        Seed of eigenvectors and k-means. Rows are taken in the order of their content:
        a shuffled file gives the same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.

    Notes
    -----
    Nothing of size n × n is kept, and rows that do not fit as dense arrays are refused
    with `ResourceError`. The time of exact neighbours grows with their square.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import SpectralJoined
    >>> x = np.repeat([[0.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> model = SpectralJoined(n_clusters=2, random_state=0).fit([x, x**2])
    >>> np.bincount(model.labels_)
    array([20, 20])
    """

    citation: ClassVar[str] = (
        "A. Y. Ng, M. I. Jordan, Y. Weiss: On spectral clustering: analysis and an "
        "algorithm. NIPS 2001; scikit-learn's implementation."
    )

    n_neighbors: int = 10
    scaling: HowScaled = "standard"

    def fit(self, X: Any, y: Any = None) -> Self:
        views, rng = self._begin(X, y)
        rows = prepared_rows(views, self.scaling, self.n_clusters_, rng)
        labels = np.arange(len(rows)) % self.n_clusters_
        if 1 < self.n_clusters_ < len(rows) - 1:
            graph = tied_to_nearest(np.hstack(rows.arrays), self.n_neighbors)
            labels = cut_in_parts(graph, self.n_clusters_, child_seed(rng))
        return self._store_labels(labels[rows.place])


def tied_to_nearest(X: FloatArray, k: int) -> sp.csr_array:
    """Ties of 1 to the row itself and its k - 1 nearest, made symmetric by the mean."""
    n_rows = len(X)
    _, ids = nearest_rows(X, max(k - 1, 1))
    ties = np.ones(ids.size)
    W = sp.csr_array((ties, ids.ravel(), np.arange(n_rows + 1) * ids.shape[1]))
    W.resize((n_rows, n_rows))
    return sp.csr_array((W + W.T) / 2 + sp.eye_array(n_rows))


def cut_in_parts(graph: sp.csr_array, n_clusters: int, seed: int) -> IntArray:
    """scikit-learn's spectral clustering of a graph, whatever its pieces."""
    with warnings.catch_warnings():
        # More pieces than one are no mistake of the caller's: they are clusters.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        found = spectral_clustering(
            sp.csr_matrix(graph), n_clusters=n_clusters, random_state=seed
        )
    return np.asarray(found, dtype=np.intp)
