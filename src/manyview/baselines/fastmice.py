"""FastMICE: an ensemble of random anchor graphs, cut and then cut together."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from manyview.arrays.linear import csr, eigh
from manyview.arrays.ops import unit_rows
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.bipartite import nearest_anchors
from manyview.baselines.parts.in_memory import restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.standardise import scaled
from manyview.kmeans.passes import quiet_fit
from manyview.kmeans.spherical import spherical_kmeans
from manyview.stages.scaling import inverse
from manyview.views.arguments import child_seed

# The share of features a member looks at, the rows drawn per anchor, and iterations
# and starts of the k-means: the authors' program.
FEATURE_SHARE = (0.2, 0.8)
ROWS_PER_ANCHOR = 10
MEMBER_ITER, CONSENSUS_ITER, CONSENSUS_INIT = 5, 20, 5


@dataclass(eq=False, repr=False, kw_only=True)
class FastMICE(ComparedMethod):
    """Fast multi-view clustering via ensembles (FastMICE).

    Each of `n_members` base clusterings is random in its number of clusters
    (n_clusters to twice that), its number of views, the views themselves and the
    share of features (0.2 to 0.8) it looks at. In every view chosen,

    1. anchors are k-means centres of a random pool of rows, 10 per anchor;
    2. a row is joined to its K nearest anchors with ``w = exp(-d² / (2 s²))``,
       s the mean of all distances kept (cosine: ``w = 1 - d``), brought to unit
       length; `n_anchors`, at most n_samples, and `n_neighbors` are shared out
       over the views;
    3. the views' graphs side by side, ``B`` (n_samples, ~n_anchors), are cut:
       transfer cut (`transfer_cut`), then spherical k-means.

    The one-hot memberships of all members side by side are a last bipartite
    graph; its transfer cut into `n_clusters` gives the labels. Nothing is
    iterated on a common objective and nothing needs tuning. The authors' program
    looks for nearest anchors among the neighbours of a near one; here the search is
    exact.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_members : int
        Base clusterings.
    n_anchors : int
        Anchors of a member, over all its views; never more than rows.
    n_neighbors : int
        Nearest anchors per row, over all views of a member.
    metric : {"euclidean", "cosine"}
        Cosine suits text.
    scaling : {None, "standard", "sample", "unit"}
        None uses features as given, as the authors do; the published figures rest on
        it. "standard" takes z-scores per feature, without which features of large
        scale decide alone; "sample" z-scores per sample; "unit" rows of length 1.
    random_state : int, numpy.random.Generator or None
        Seed of all choices. Rows are drawn by content: a shuffled file gives the
        same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_clusters)
        Consensus embedding, unit rows.
    member_labels_ : array (n_samples, n_members)
        Base clusterings.
    n_iter_ : int
        Iterations of the last k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import FastMICE
    >>> x = np.repeat(np.eye(3), 9, axis=0) + np.linspace(0, 0.1, 27)[:, None]
    >>> np.bincount(FastMICE(n_clusters=3, random_state=0).fit([x, x[:, ::-1]]).labels_)
    array([9, 9, 9])
    """

    citation: ClassVar[str] = (
        "D. Huang, C.-D. Wang, J.-H. Lai: Fast multi-view clustering via ensembles: "
        "towards scalability, superiority, and simplicity. TKDE 35 (2023)."
    )
    skipped_checks: ClassVar[dict[str, str]] = {
        "check_views_permuted": "members draw views and features by number: another "
        "order of the views is another seed"
    }

    n_members: int = 20
    n_anchors: int = 1000
    n_neighbors: int = 5
    metric: Literal["euclidean", "cosine"] = "euclidean"
    scaling: Literal[None, "standard", "sample", "unit"] = None

    def fit(self, X: Any, y: Any = None) -> Self:
        Xs, order, rng = self._ordered(X, y)
        Xs = [scaled(x, self.scaling) for x in Xs]
        members = [self._member(Xs, child) for child in rng.spawn(self.n_members)]
        embedding = transfer_cut(memberships(members), self.n_clusters)
        found = spherical_kmeans(
            embedding, self.n_clusters, rng, CONSENSUS_INIT, CONSENSUS_ITER
        )
        # A cluster can stay empty where rows repeat; labels have no gaps.
        _, labels = np.unique(found.labels, return_inverse=True)
        self.n_iter_ = found.n_iter
        self.embedding_ = restored(embedding, order)
        self.member_labels_ = restored(np.stack(members, axis=1), order)
        return self._store_labels(restored(labels, order))

    def _member(self, arrays: list[FloatArray], rng: np.random.Generator) -> IntArray:
        """Labels of one base clustering."""
        n_samples = len(arrays[0])
        widths = [a.shape[1] for a in arrays]
        n_parts, features = draw_plan(widths, self.n_clusters, rng)
        n_anchors = math.ceil(min(self.n_anchors, n_samples) / len(features))
        k = min(math.ceil(self.n_neighbors / len(features)), n_anchors)
        prepared = unit_rows if self.metric == "cosine" else np.asarray
        graphs = []
        for v, columns in features.items():
            x = prepared(np.ascontiguousarray(arrays[v][:, columns]))
            anchors = prepared(pool_centres(x, n_anchors, rng))
            graphs.append(neighbour_graph(x, anchors, k, self.metric))
        B = sp.csr_array(sp.hstack(graphs, format="csr"))
        n_parts = min(n_parts, n_samples, B.shape[1])
        embedding = transfer_cut(B, n_parts)
        return spherical_kmeans(embedding, n_parts, rng, 1, MEMBER_ITER).labels


def draw_plan(
    n_features: list[int], n_clusters: int, rng: np.random.Generator
) -> tuple[int, dict[int, IntArray]]:
    """Random number of clusters of one member, and features of the views it sees."""
    n_parts = int(rng.integers(n_clusters, 2 * n_clusters, endpoint=True))
    n_views = int(rng.integers(1, len(n_features), endpoint=True))
    features = {}
    for v in rng.choice(len(n_features), size=n_views, replace=False).tolist():
        n_kept = math.ceil(rng.uniform(*FEATURE_SHARE) * n_features[v])
        features[v] = rng.choice(n_features[v], size=n_kept, replace=False)
    return n_parts, features


def pool_centres(X: FloatArray, n_anchors: int, rng: np.random.Generator) -> FloatArray:
    """Centres of a few Lloyd iterations on a random pool of rows."""
    n_rows = min(len(X), ROWS_PER_ANCHOR * n_anchors)
    pool = rng.choice(len(X), size=n_rows, replace=False)
    once = {"init": "random", "n_init": 1, "max_iter": MEMBER_ITER}
    model = KMeans(n_anchors, **once, random_state=child_seed(rng))
    return np.asarray(quiet_fit(model, X[pool]).cluster_centers_)


def neighbour_graph(
    X: FloatArray, anchors: FloatArray, k: int, metric: str
) -> sp.csr_array:
    """Graph (n_samples, n_anchors) of the k nearest anchors, rows of unit length."""
    squared, ids = nearest_anchors(X, anchors, k)
    if metric == "cosine":
        w = np.maximum(1 - squared / 2, 0) + 1e-12
    else:
        scale = np.sqrt(squared).mean(dtype=np.float64) or 1.0
        # Taking off the row's smallest distance cancels in the unit row and keeps
        # far rows from vanishing.
        w = np.exp(-(squared - squared[:, :1]) / (2 * scale**2))
    return sp.csr_array(csr(ids, unit_rows(w.astype(np.float64)), len(anchors)))


def memberships(members: list[IntArray]) -> sp.csr_array:
    """One-hot incidence (n_samples, all base clusters), empty columns dropped."""
    codes = np.stack(
        [np.unique(labels, return_inverse=True)[1] for labels in members], axis=1
    )
    ends = np.cumsum(codes.max(axis=0) + 1)
    columns = codes + np.concatenate([[0], ends[:-1]])
    return sp.csr_array(csr(columns, np.ones(columns.shape), int(ends[-1])))


def transfer_cut(B: sp.csr_array, n_vectors: int) -> FloatArray:
    """Unit-row spectral embedding of the rows of a bipartite graph.

    With ``Dx = diag(B 1)``, ``W = B' Dx^{-1} B`` and ``D = diag(W 1)``, the leading
    eigenvectors ``E`` of ``D^{-1/2} W D^{-1/2}`` give ``Dx^{-1} B D^{-1/2} E``: the
    same subspace as the (n + p)-sized normalised cut, from a p-sized problem. Empty
    rows of B embed at zero; there are at most p vectors.
    """
    Q = sp.diags_array(inverse(B.sum(axis=1))) @ B
    W = (B.T @ Q).toarray()
    scale = np.sqrt(inverse(W.sum(axis=1)))
    W *= scale[:, None] * scale
    _, E = eigh(W, n_vectors)
    return np.asarray(unit_rows(Q @ (scale[:, None] * E[:, ::-1])))
