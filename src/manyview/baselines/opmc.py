"""OPMC: one-pass multi-view clustering, which turns out to be k-means."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils import gen_batches

from manyview.arrays.ops import index_sum
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.embedding_kmeans import Protocol
from manyview.baselines.parts.factor_updates import inverse_weights
from manyview.baselines.parts.in_memory import dense_views, restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.standardise import feature_moments, z_feature
from manyview.kmeans.passes import Centres, nearest

# Rows at once: their float64 copies and distances stay in cache.
BLOCK_ROWS = 8192


@dataclass(eq=False, repr=False, kw_only=True)
class OPMC(ComparedMethod):
    """One-pass multi-view clustering: factors and labels in one descent.

    With every view X_v (n_samples, d_v) standardised per feature, Y the one-hot
    labels (n_samples, c), C_v (c, c) and W_v (c, d_v) with W_v W_v' = I,

        min  Σ_v a_v² ‖X_v - Y C_v W_v‖²,   Σ_v a_v = 1,

    is descended by W_v = polar(C_v'Y'X_v), C_v = (Y'Y)⁻¹ Y'X_v W_v' and
    y_i = argmin_j Σ_v a_v² ‖x_vi - (C_v W_v)_j‖². For invertible C_v the first two
    give C_v W_v = (Y'Y)⁻¹ Y'X_v, the cluster means: one iteration is exactly one
    Lloyd iteration on the views side by side, and that is how it is computed. What
    remains of the method is its start, a uniformly random labelling. The same rows in
    another order get the same labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    weights : {"equal", "loss"}
        "equal": a_v = 1/V, which the paper finds the better one and the authors'
        program uses. "loss": a_v ∝ 1/ℓ_v, the minimiser for view losses ℓ_v.
    n_init : int
        Number of k-means starts, here random labellings; the one of lowest loss is
        kept. The authors' program takes 100; ten cost a tenth and lose nothing that
        the scores show.
    max_iter : int
        Most iterations per start.
    tol : float
        Stop when the loss changes by less than this share.
    protocol : {"manyview", "authors"}
        What becomes of a cluster that loses all its rows: it takes over the row worst
        served by its centre, or its centre moves to the origin, as in the authors'
        program, and may attract rows there or stay empty. That program also runs one
        iteration more before it stops.
    random_state : int, numpy.random.Generator or None
        Seed of the labellings.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    cluster_centers_ : array (n_clusters, n_features of all views)
        C_v W_v of all views side by side, in standardised units.
    view_weights_ : array (n_views,)
        a_v.
    objective_ : list of float
        Loss after every iteration of the winning start; never grows.
    n_iter_ : int
        Number of these iterations.

    Examples
    --------
    >>> from manyview.baselines import OPMC
    >>> views = [[[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]], [[0], [0], [1], [1]]]
    >>> labels = OPMC(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    citation: ClassVar[str] = (
        "J. Liu, X. Liu, Y. Yang, L. Liu, S. Wang, W. Liang, J. Shi, One-pass "
        "multi-view clustering for large-scale data, ICCV 2021."
    )

    weights: Literal["equal", "loss"] = "equal"
    n_init: int = 10
    max_iter: int = 100
    tol: float = 1e-5
    protocol: Protocol = "manyview"

    def fit(self, X: Any, y: Any = None) -> Self:
        Xs, order, rng = self._ordered(X, y)
        self._moments = [feature_moments(x) for x in Xs]
        rows = self._side_by_side(Xs)
        del Xs
        sizes = np.asarray(self.n_features_per_view_)
        draws = (
            rng.integers(self.n_clusters, size=len(rows)) for _ in range(self.n_init)
        )
        runs = (descend(rows, sizes, labels, self) for labels in draws)
        best = min(runs, key=lambda run: run.losses[-1])
        self.cluster_centers_ = best.centres.astype(rows.dtype)
        self.view_weights_ = best.weights
        self.objective_, self.n_iter_ = best.losses, len(best.losses)
        return self._store_labels(restored(best.labels, order))

    def predict(self, X: Any) -> IntArray:
        """Nearest centre (n_samples,) of every row of `X`, views weighted as in fit."""
        Xs = dense_views(self._views_to_predict(X), self.cluster_centers_.dtype)
        squared = np.repeat(self.view_weights_**2, self.n_features_per_view_)
        found = assign(self._side_by_side(Xs), self.cluster_centers_, squared)
        return found.labels.astype(np.intp)

    def _side_by_side(self, Xs: list[FloatArray]) -> FloatArray:
        pairs = zip(Xs, self._moments, strict=True)
        return np.concatenate([z_feature(x, m) for x, m in pairs], axis=1)


class Assignment(NamedTuple):
    """Labels, and the sums and sizes of the clusters they make."""

    labels: IntArray
    sums: FloatArray
    counts: FloatArray


class Run(NamedTuple):
    """One descent from one random labelling."""

    labels: IntArray
    centres: FloatArray
    weights: FloatArray
    losses: list[float]


def descend(
    rows: FloatArray, n_features: IntArray, labels: IntArray, model: OPMC
) -> Run:
    """Iterate from a labelling of the rows until the loss settles.

    `n_features` says how many columns belong to each view.
    """
    squares = np.zeros(rows.shape[1])
    for block in gen_batches(len(rows), BLOCK_ROWS):
        squares += np.sum(rows[block].astype(np.float64, copy=False) ** 2, axis=0)
    weights = np.full(len(n_features), 1 / len(n_features))
    now = _group(rows, labels, model.n_clusters)
    losses: list[float] = []
    # The authors look at the loss before an iteration: they stop one later.
    late = 1 if model.protocol == "authors" else 0
    starts = np.concatenate([[0], np.cumsum(n_features)[:-1]])
    for _ in range(model.max_iter):
        centres = now.sums / np.maximum(now.counts, 1)[:, None]
        now = assign(rows, centres, np.repeat(weights**2, n_features))
        if model.protocol == "manyview" and (now.counts == 0).any():
            now = _fill_empty(rows, now, centres)
        # ‖X_v - Y C_v W_v‖² per view, from column sums alone.
        columns = squares - 2 * np.sum(now.sums * centres, axis=0)
        columns += now.counts @ centres**2
        per_view = np.maximum(np.add.reduceat(columns, starts), 0)
        if model.weights == "loss":
            weights = inverse_weights(per_view)
        losses.append(float(weights**2 @ per_view))
        known = losses[: len(losses) - late]
        if len(known) > 1 and known[-2] - known[-1] <= model.tol * known[-2]:
            break
    return Run(now.labels, centres, weights, losses)


def assign(
    rows: FloatArray, centres: FloatArray, column_weights: FloatArray
) -> Assignment:
    """Nearest centre of every row in the weighted metric, and the new cluster sums."""
    weighted = Centres(centres * column_weights, centres**2 @ column_weights)
    blocks = gen_batches(len(rows), BLOCK_ROWS)
    found = [nearest(rows[block], weighted)[0] for block in blocks]
    return _group(rows, np.concatenate(found).astype(np.intp), len(centres))


def _group(rows: FloatArray, labels: IntArray, n_clusters: int) -> Assignment:
    """Sums (in float64, block by block) and sizes of given clusters."""
    sums = np.zeros((n_clusters, rows.shape[1]))
    for part in gen_batches(len(rows), BLOCK_ROWS):
        block = rows[part].astype(np.float64, copy=False)
        sums += index_sum(block, labels[part], n_clusters)
    return Assignment(labels, sums, np.bincount(labels, minlength=n_clusters))


def _fill_empty(rows: FloatArray, now: Assignment, centres: FloatArray) -> Assignment:
    """Give every empty cluster one of the rows farthest from their centres.

    The centre moves onto that row, so the loss cannot grow.
    """
    empty = np.flatnonzero(now.counts == 0)
    gaps = np.zeros(len(rows))
    for part in gen_batches(len(rows), BLOCK_ROWS):
        gaps[part] = np.sum((rows[part] - centres[now.labels[part]]) ** 2, axis=1)
    farthest = np.argsort(gaps)[::-1][: len(empty)]
    taken = gaps[farthest] > 0
    labels = now.labels.copy()
    labels[farthest[taken]] = empty[taken]
    centres[empty[taken]] = rows[farthest[taken]]
    return _group(rows, labels, len(centres))
