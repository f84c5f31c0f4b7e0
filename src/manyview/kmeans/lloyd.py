"""Lloyd steps of k-means as matrix products, several searches side by side.

For a device, where scikit-learn's k-means cannot go.
"""

from typing import NamedTuple

from manyview.arrays.ops import Array, group_sums, namespace, row_norms, sum_in_float64

# Steps between looks at the labels: an answer of a device has to be waited for.
LOOK_EVERY = 8


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
        means = sums / xp.where(filled, counts[:, :, None], one)
        centres = xp.where(filled, means, centres)
    cost = xp.min(score, axis=2) + row_norms(rows)
    return Found(centres, labels, sum_in_float64(cost, axis=1))
