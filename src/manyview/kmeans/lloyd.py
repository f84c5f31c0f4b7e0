"""Lloyd steps of k-means as matrix products, several searches side by side.

For a device, where scikit-learn's k-means cannot go (`lloyd`), and for searches of
so many centres that its bookkeeping does not pay (`host_lloyd`).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import (
    Array,
    Matrix,
    group_sums,
    namespace,
    row_norms,
    sum_in_float64,
)

# Steps between looks at the labels: an answer of a device has to be waited for.
LOOK_EVERY = 8
# Scores that stay in a core's cache, and rows that a product needs to be quick.
CACHE_SCORES, LEAST_ROWS = 2**17, 128


class Found(NamedTuple):
    """Centres (s, k, d) of s searches, labels (s, n) and sums of squares (s,)."""

    centres: Array
    labels: Array
    inertia: Array


def lloyd(rows: Array, centres: Array, most_steps: int) -> Found:
    """Steps of every search until none changes a label, or `most_steps`.

    Rows (n, d), or (s, n, d) where every search has its own; centres (s, k, d).
    Whether labels change is looked at only now and then: on a device the answer
    has to be waited for. An empty cluster keeps its centre.
    """
    xp = namespace(rows)
    before = None
    for step in range(most_steps + 1):
        score = rows @ (-2.0 * xp.matrix_transpose(centres))
        score += row_norms(centres)[:, None, :]
        labels = xp.argmin(score, axis=2)
        if step == most_steps:
            break
        if step % LOOK_EVERY == 0:
            if before is not None and bool(xp.all(labels == before)):
                break
            before = labels
        sums, counts = group_sums(rows, labels, centres.shape[1])
        filled = counts[:, :, None] > 0
        one = xp.ones_like(sums)
        centres = xp.where(
            filled, sums / xp.where(filled, counts[:, :, None], one), centres
        )
    cost = xp.min(score, axis=2) + row_norms(rows)
    return Found(centres, labels, sum_in_float64(cost, axis=1))


def host_lloyd(rows: Any, centres: Matrix, n_steps: int) -> Matrix:
    """The steps of one search of many centres on the host, rows dense or sparse.

    The centres stand column by column: so products take them, and none is turned twice.
    """
    n_rows, n_centres = rows.shape[0], len(centres)
    turned, lengths = np.ascontiguousarray(centres.T), row_norms(centres)
    step = max(CACHE_SCORES // n_centres, LEAST_ROWS)
    chunks = [slice(first, first + step) for first in range(0, n_rows, step)]
    for _ in range(n_steps):
        half = 0.5 * lengths
        nearest = np.concatenate([_nearest(rows[c], turned, half) for c in chunks])
        counts = np.bincount(nearest, minlength=n_centres)
        share = (1.0 / counts[nearest]).astype(rows.dtype)
        place = (nearest, np.arange(n_rows))
        means = sp.csr_array((share, place), shape=(n_centres, n_rows)) @ rows
        lost, before = counts == 0, turned
        lengths = np.where(lost, lengths, row_norms(means))
        across = means.T.toarray(order="C") if sp.issparse(means) else means.T
        turned = np.ascontiguousarray(across)
        turned[:, lost] = before[:, lost]
    # Sparse rows are compared with such columns later on as well.
    return turned.T if sp.issparse(rows) else np.ascontiguousarray(turned.T)


def _nearest(rows: Any, turned: Matrix, half: Matrix) -> Matrix:
    """The number of every row's nearest centre: x·c less half its squared length."""
    score = rows @ turned
    score -= half
    return np.asarray(np.argmax(score, axis=1))
