"""UMAP of the views side by side, then HDBSCAN: what many people run first."""

import math
import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.neighbors import NearestNeighbors

from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.prepared_rows import HowScaled, prepared_rows
from manyview.views.arguments import child_seed

# Sizes tried below the rows per cluster, each three quarters of the one before, down
# to HDBSCAN's own default: fine enough to pass few numbers of clusters by.
SHRINK, LEAST_SIZE = 0.75, 5
# Fewer rows have no neighbourhoods that a layout could keep.
FEWEST_ROWS = 5


@dataclass(eq=False, repr=False, kw_only=True)
class UMAPHDBSCAN(ComparedMethod):
    """UMAP of the joined views, cut by HDBSCAN at the requested number of clusters.

    The views are prepared, joined and laid out by UMAP with ``min_dist=0``, as its
    documentation advises for clustering. HDBSCAN takes no number of clusters, so its
    smallest size of a cluster is lowered from the rows per cluster until there are at
    least `n_clusters`, of stable clusters first and then of the leaves of its tree; of
    more clusters the largest stay. Rows that it calls noise, or of clusters left out,
    join the nearest row of a cluster in the layout. Rows that are the same count once.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_neighbors : int
        Neighbours of a row that the layout keeps.
    n_components : int
        Dimensions of the layout.
    scaling : {"standard", "auto", "global", "cosine", "unit", "root", None}
        Preparation of every view, as in `S2MVTC`; z-scores by default.
    random_state : int, numpy.random.Generator or None
        Seed of the layout. Rows are taken in the order of their content: a shuffled
        file gives the same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_components)
        The layout.

    Notes
    -----
    Needs the extra ``umap``. Rows that do not fit as dense arrays are refused with
    `ResourceError`.

    Examples
    --------
    >>> from manyview.baselines import UMAPHDBSCAN
    >>> UMAPHDBSCAN(n_clusters=3).n_neighbors
    30
    """

    citation: ClassVar[str] = (
        "L. McInnes, J. Healy, J. Melville: UMAP: uniform manifold approximation and "
        "projection for dimension reduction. arXiv:1802.03426 (2018)."
    )
    needs: ClassVar[dict[str, str]] = {"umap": "umap"}

    n_neighbors: int = 30
    n_components: int = 10
    scaling: HowScaled = "standard"

    def fit(self, X: Any, y: Any = None) -> Self:
        views, rng = self._begin(X, y)
        rows = prepared_rows(views, self.scaling, self.n_clusters_, rng)
        layout = self._layout(np.hstack(rows.arrays), child_seed(rng))
        labels = np.arange(len(rows)) % self.n_clusters_
        if 1 < self.n_clusters_ < len(rows):
            labels = dense_parts(layout, self.n_clusters_)
        self.embedding_ = layout[rows.place]
        return self._store_labels(labels[rows.place])

    def _layout(self, X: FloatArray, seed: int) -> FloatArray:
        """UMAP's; rows too few for one stay where they are."""
        with warnings.catch_warnings():
            # It misses TensorFlow, for a part that is not used here.
            warnings.simplefilter("ignore", ImportWarning)
            from umap import UMAP
        n_components = min(self.n_components, len(X) - 2)
        if len(X) < FEWEST_ROWS or n_components < 1:
            return X
        model = UMAP(
            n_neighbors=min(max(self.n_neighbors, 2), len(X) - 1),
            n_components=n_components,
            min_dist=0.0,
            init="spectral" if n_components < len(X) // 2 else "random",
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(model.fit_transform(X))


def dense_parts(layout: FloatArray, n_clusters: int) -> IntArray:
    """HDBSCAN's clusters, as many as asked for or as there are, and no noise."""
    most = max(len(layout) / n_clusters, LEAST_SIZE)
    n_sizes = 1 + math.ceil(math.log(most / LEAST_SIZE, 1 / SHRINK))
    sizes = [max(round(most * SHRINK**i), 2) for i in range(n_sizes)]
    best = np.zeros(len(layout), dtype=np.intp)
    for how, size in product(("eom", "leaf"), sizes):
        least = min(size, len(layout))
        search = HDBSCAN(least, cluster_selection_method=how, copy=True)
        labels = search.fit(layout).labels_
        n_found = labels.max() + 1
        if abs(n_found - n_clusters) < abs(best.max() + 1 - n_clusters):
            best = labels
        if n_found >= n_clusters:
            break
    return without_noise(layout, best, n_clusters)


def without_noise(layout: FloatArray, labels: IntArray, n_clusters: int) -> IntArray:
    """The largest clusters, every other row joined to the nearest of their rows."""
    sizes = np.bincount(labels[labels >= 0])
    if not sizes.size:
        return np.zeros(len(labels), dtype=np.intp)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:n_clusters])
    inside = np.flatnonzero(np.isin(labels, kept))
    search = NearestNeighbors(n_neighbors=1).fit(layout[inside])
    nearest = search.kneighbors(layout, return_distance=False)[:, 0]
    return np.asarray(np.searchsorted(kept, labels[inside[nearest]]))
