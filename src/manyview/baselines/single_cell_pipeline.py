"""The plain pipeline for single cells: prepared views side by side, then clusters."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.cluster import KMeans

from manyview.base import FloatArray
from manyview.baselines.parts.cell_profiles import (
    cell_profile,
    pruned,
    shared_neighbours,
)
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.prepared_rows import PreparedRows, plain_rows
from manyview.kmeans.passes import quiet_fit
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import nearest_rows
from manyview.stages.scaling import inverse
from manyview.views.arguments import child_seed
from manyview.views.views import Views

# Of three runs of Leiden the best, as in KNNLeiden.
TRIALS = 3


@dataclass(eq=False, repr=False, kw_only=True)
class SingleCellKMeans(ComparedMethod):
    """k-means of single cells, prepared as usual: log counts, PCA, CLR for proteins.

    Counts of more than 500 features are taken for RNA: brought to 10,000 per cell,
    log(1 + x), principal components. Counts of fewer features are taken for proteins:
    centred log ratio per cell (Seurat's CLR, margin 2) and z-scores. Other views are
    taken as prepared: z-scores, and their principal components where they are wide.
    Each view is brought to the same total variance, and k-means cuts them side by
    side. Cells that are the same count once.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_components : int
        Principal components of a wide view.
    n_init : int
        Number of k-means starts; the one of lowest inertia is kept.
    random_state : int, numpy.random.Generator or None
        Seed. Rows are taken in the order of their content: a shuffled file gives the
        same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_columns)
        The prepared views side by side.

    Notes
    -----
    Counts become dense: 30,000 genes of 20,000 cells need 14 GB, and more than the
    machine has is refused with `ResourceError`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import SingleCellKMeans
    >>> counts = np.random.default_rng(0).poisson(np.repeat([[1, 60], [60, 1]], 20, 0))
    >>> model = SingleCellKMeans(n_clusters=2, random_state=0).fit([counts, counts])
    >>> np.bincount(model.labels_)
    array([20, 20])
    """

    citation: ClassVar[str] = (
        "M. D. Luecken, F. J. Theis: Current best practices in single-cell RNA-seq "
        "analysis: a tutorial. Molecular Systems Biology 15 (2019)."
    )

    n_components: int = 30
    n_init: int = 10

    def fit(self, X: Any, y: Any = None) -> Self:
        views, rng = self._begin(X, y)
        rows, joined = joined_profiles(views, self.n_components, rng)
        labels = np.arange(len(rows))
        if self.n_clusters_ < len(rows):
            seed = child_seed(rng)
            model = KMeans(self.n_clusters_, n_init=self.n_init, random_state=seed)
            labels = quiet_fit(model, joined).labels_
        self.embedding_ = joined[rows.place]
        return self._store_labels(labels[rows.place])


@dataclass(eq=False, repr=False, kw_only=True)
class SingleCellLeiden(ComparedMethod):
    """Leiden's clustering of single cells, prepared as usual (`SingleCellKMeans`).

    Cells are tied by the overlap (Jaccard) of their `n_neighbors` nearest cells, the
    cell among them, ties below 1/15 cut, as in Seurat's FindNeighbors; the resolution
    of Leiden's modularity is sought that gives `n_clusters`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_components : int
        Principal components of a wide view.
    n_neighbors : int
        Cells of a neighbourhood.
    random_state : int, numpy.random.Generator or None
        Seed. Rows are visited in the order of their content: a shuffled file gives the
        same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_columns)
        The prepared views side by side.

    Notes
    -----
    Counts become dense, as in `SingleCellKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import SingleCellLeiden
    >>> counts = np.random.default_rng(0).poisson(np.repeat([[1, 9], [9, 1]], 40, 0))
    >>> model = SingleCellLeiden(n_clusters=2, random_state=0).fit([counts, counts])
    >>> len(set(model.labels_))
    2
    """

    citation: ClassVar[str] = SingleCellKMeans.citation

    n_components: int = 30
    n_neighbors: int = 20

    def fit(self, X: Any, y: Any = None) -> Self:
        views, rng = self._begin(X, y)
        rows, joined = joined_profiles(views, self.n_components, rng)
        _, ids = nearest_rows(joined, max(self.n_neighbors - 1, 1))
        graph = pruned(shared_neighbours(ids))
        labels = leiden_with_k(graph, self.n_clusters_, child_seed(rng), TRIALS)
        self.embedding_ = joined[rows.place]
        return self._store_labels(labels[rows.place])


def joined_profiles(
    views: Views, n_components: int, rng: np.random.Generator
) -> tuple[PreparedRows, FloatArray]:
    """The different rows, and their prepared views side by side."""
    rows = plain_rows(views, rng)
    profiles = [cell_profile(x, n_components, child_seed(rng)) for x in rows.arrays]
    return rows, np.hstack([of_equal_variance(p) for p in profiles])


def of_equal_variance(X: FloatArray) -> FloatArray:
    """The view with a total variance of 1, as long as it varies."""
    return np.asarray(X * np.sqrt(inverse(X.var(axis=0).sum())))
