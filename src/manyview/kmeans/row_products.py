"""Anchors of few wide rows: k-means by the rows' inner products alone.

Where rows are fewer than columns, a step that looks products up costs the square of
the rows instead of rows times centres times columns. A centre is a mean of rows, kept
as the weights of these, and is made of the rows themselves only in the end.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from manyview.arrays.ops import Matrix, dense, in_float64
from manyview.engine.contract import cut
from manyview.engine.threads import side_by_side
from manyview.kmeans.first_centres import distinct_rows, spread_rows
from manyview.kmeans.passes import MOST_SPREAD, ROWS_PER_ANCHOR, search_steps

# Of entries that are stored, beyond which rows are multiplied with dense ones.
FULL = 1.0 / 64
PANEL = 2**22  # entries of rows that are made dense: 32 MB


def row_products(rows: Any) -> Matrix:
    """Inner products of all rows, in float64: distances are differences of them."""
    exact = in_float64(rows)
    if sp.issparse(exact) and exact.nnz > FULL * np.prod(exact.shape):
        return _products_by_panels(exact)
    # Of sparse rows in half the time of a product that is sparse itself.
    return np.asarray(safe_sparse_dot(exact, exact.T, dense_output=True))


def _products_by_panels(rows: Any) -> Matrix:
    """The same of fuller sparse rows: some at a time dense, half of all pairs.

    A product of two sparse matrices looks every pair up twice and stops all other
    threads meanwhile.
    """
    found = np.empty((rows.shape[0], rows.shape[0]))

    def panel(some: slice) -> None:
        across = np.ascontiguousarray(rows[some].toarray().T)
        found[some.start :, some] = rows[some.start :] @ across

    parts = cut(rows.shape[0], max(1, PANEL // rows.shape[1]))
    side_by_side([partial(panel, some) for some in parts])
    for some in parts:
        found[some, some.stop :] = found[some.stop :, some].T
    return found


def anchors_by_products(
    rows: Any, n_anchors: int, seed: int, products: Matrix
) -> Matrix:
    """Anchors of one view's prepared rows, dense or sparse: means of them, or all."""
    n_rows = min(rows.shape[0], ROWS_PER_ANCHOR * n_anchors)
    some, own = in_float64(rows), products[:n_rows, :n_rows]
    some = some[:n_rows] if n_rows < rows.shape[0] else some
    if n_anchors >= n_rows:
        return np.asarray(dense(some))
    rng = np.random.default_rng(seed)
    if n_anchors > MOST_SPREAD:
        first = distinct_rows(some, rng.permutation(n_rows), n_anchors, own)[0]
    else:
        first = spread_rows(some, n_anchors, rng, products=own)[0]
    centres = lloyd_by_products(own, first, search_steps(n_anchors)) @ some
    # Beside sparse rows anchors stand column by column.
    return np.asarray(centres.toarray(order="F") if sp.issparse(centres) else centres)


def lloyd_by_products(products: Matrix, first: Matrix, n_steps: int) -> Any:
    """Weights (n_centres, n_rows) of the rows in the centres after some steps.

    The first centres are rows; a centre that loses all its rows stays where it is.
    """
    n_rows, n_centres = len(products), len(first)
    shape = (n_centres, n_rows)
    weights = sp.csr_array((np.ones(n_centres), (np.arange(n_centres), first)), shape)
    score, lengths = products[first], np.diagonal(products)[first]
    for step in range(n_steps):
        nearest = np.argmin(lengths[:, None] - 2.0 * score, axis=0)
        counts = np.bincount(nearest, minlength=n_centres)
        share = 1.0 / counts[nearest]
        lost = (counts == 0).astype(np.float64)
        ends = np.append(0, np.cumsum(counts))
        order = np.argsort(nearest, kind="stable")
        fresh = sp.csr_array((share[order], order, ends), shape)
        if lost.any():
            fresh = fresh + weights.multiply(lost[:, None]).tocsr()
        weights = fresh
        if step + 1 < n_steps:
            score = weights @ products
            own = share * score[nearest, np.arange(n_rows)]
            sums = np.bincount(nearest, own, minlength=n_centres)
            lengths = np.where(lost, lengths, sums)
    return weights
