"""SNF: similarity networks of all views, diffused into one another."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import spectral_clustering

from manyview.arrays.ops import smallest, squared_distances
from manyview.base import FloatArray
from manyview.baselines.parts.in_memory import content_ordered, require_memory, restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.standardise import scaled
from manyview.errors import ResourceError
from manyview.stages.scaling import inverse
from manyview.views.arguments import child_seed

# Matrices of 10,000 × 10,000 take 0.8 GB each, and a round of products minutes.
MOST_ROWS = 10_000


@dataclass(eq=False, repr=False, kw_only=True)
class SNF(ComparedMethod):
    """Similarity network fusion (SNF), then spectral clustering.

    In every view, with r_ij the distance of rows i and j and r_i its mean over the
    `n_neighbors` nearest rows of i,

        W_ij = exp(-r_ij² / 2 (mu e_ij)²) / (mu e_ij),   e_ij = (r_i + r_j + r_ij) / 3,

    the authors' program; the paper prints exp(-r_ij² / mu e_ij), which depends on the
    unit of the features and leaves wide views without any similarity. P holds W with
    rows of sum 1, half of it on the diagonal, and S only the nearest rows of P, also of
    sum 1. Each view's P is diffused through its own S,

        P_v ← S_v ( Σ_{u≠v} P_u / (V - 1) ) S_v',

    `max_iter` times, brought to rows of sum 1 and symmetrised after each. The mean of
    all is cut by spectral clustering, its vectors discretised, as in the authors'
    program. One view alone is diffused through itself.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_neighbors : int
        Nearest rows that S keeps.
    mu : float
        Width of the kernel; the authors recommend 0.3 to 0.8.
    max_iter : int
        Rounds of diffusion.
    scaling : {"standard", "sample", "unit", None}
        "standard" takes z-scores per feature, as the authors do; "sample" z-scores per
        sample; "unit" rows of length 1; None features as given.
    random_state : int, numpy.random.Generator or None
        Seed of the spectral clustering. Rows are taken in the order of their content:
        a shuffled file gives the same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    n_iter_ : int
        Rounds of diffusion.

    Notes
    -----
    Two matrices of n × n are kept for every view: more than 10,000 rows are refused
    with `ResourceError`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import SNF
    >>> x = np.repeat([[0.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> np.bincount(SNF(n_clusters=2, random_state=0).fit([x, x**2]).labels_)
    array([20, 20])
    """

    citation: ClassVar[str] = (
        "B. Wang et al.: Similarity network fusion for aggregating data types on a "
        "genomic scale. Nature Methods 11 (2014)."
    )

    n_neighbors: int = 20
    mu: float = 0.5
    max_iter: int = 20
    scaling: Literal["standard", "sample", "unit", None] = "standard"

    def fit(self, X: Any, y: Any = None) -> Self:
        views, rng = self._begin(X, y)
        require_few_rows(len(views), views.n_views)
        arrays, order = content_ordered(views, rng)
        kernels = [
            affinity(scaled(a, self.scaling), self.n_neighbors, self.mu) for a in arrays
        ]
        fused = fuse(kernels, self.n_neighbors, self.max_iter)
        self.n_iter_ = self.max_iter
        labels = cut(fused, self.n_clusters_, child_seed(rng))
        return self._store_labels(restored(labels, order))


def require_few_rows(n_rows: int, n_views: int) -> None:
    """Refuse what n × n matrices cannot hold."""
    if n_rows > MOST_ROWS:
        raise ResourceError(
            f"SNF keeps matrices of n × n and takes up to {MOST_ROWS} rows; got "
            f"{n_rows}. Use KNNLeiden or S2MVTC, or give a part of the rows."
        )
    require_memory((2 * n_views + 4) * 8 * n_rows**2, "SNF", f"{n_rows} rows")


def affinity(X: FloatArray, k: int, mu: float) -> FloatArray:
    """W (n, n): normal densities of widths that follow the k nearest rows."""
    X = X.astype(np.float64)
    square = squared_distances(X - X.mean(axis=0), X - X.mean(axis=0))
    square = (square + square.T) / 2
    np.fill_diagonal(square, 0.0)
    apart = np.sqrt(square)
    nearest = np.sort(apart, axis=1)[:, 1 : k + 1]
    own = nearest.mean(axis=1) if nearest.shape[1] else np.zeros(len(X))
    width = mu * (own[:, None] + own + apart) / 3
    # Rows that repeat often enough are as near as any two are.
    width[width == 0] = width[width > 0].min(initial=1.0)
    return np.asarray(np.exp(-square / (2 * width**2)) / width)


def with_half_inside(W: FloatArray) -> FloatArray:
    """Rows of sum 1, half of it on the diagonal; symmetric."""
    P = W.copy()
    np.fill_diagonal(P, 0.0)
    P *= inverse(2 * P.sum(axis=1))[:, None]
    np.fill_diagonal(P, 0.5)
    return np.asarray((P + P.T) / 2)


def nearest_only(W: FloatArray, k: int) -> sp.csr_array:
    """S: the k largest of every row of W, itself among them, of sum 1."""
    k = min(k, len(W))
    negative, columns = smallest(-W, k)
    weights = -negative / -negative.sum(axis=1, keepdims=True)
    ends = np.arange(len(W) + 1) * k
    return sp.csr_array((weights.ravel(), columns.ravel(), ends), shape=W.shape)


def fuse(kernels: list[FloatArray], k: int, max_iter: int) -> FloatArray:
    """The mean of the diffused networks, symmetric."""
    P = [with_half_inside(W) for W in kernels]
    S = [nearest_only(p, k) for p in P]
    for _ in range(max_iter):
        total = np.sum(P, axis=0)
        others = [(total - p) / (len(P) - 1) if len(P) > 1 else p for p in P]
        moved = [s @ (s @ o).T for s, o in zip(S, others, strict=True)]
        P = [with_half_inside(m) for m in moved]
    return with_half_inside(np.mean(P, axis=0))


def cut(W: FloatArray, n_clusters: int, seed: int) -> Any:
    """Spectral clustering of a dense graph, as many rows as clusters left apart."""
    if n_clusters == 1 or len(W) <= n_clusters:
        return np.arange(len(W)) % n_clusters
    return spectral_clustering(
        W, n_clusters=n_clusters, assign_labels="discretize", random_state=seed
    )
