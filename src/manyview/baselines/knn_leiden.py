"""KNNLeiden: nearest-neighbour graphs of all views summed, cut by modularity."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from manyview.baselines.parts.in_memory import require_memory
from manyview.baselines.parts.parameters import ComparedMethod, check_parameters
from manyview.baselines.parts.prepared_rows import COPIES, prepared_rows
from manyview.errors import InputTypeError
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import (
    kinds_of_rows,
    linked,
    neighbour_graph,
    neighbours_of_views,
)
from manyview.views.arguments import check_count, child_seed, generator
from manyview.views.views import Views

# Bytes of a tie while graphs are summed: weight and column of the graph, of its
# transpose, of their maximum and of the sum before and after.
TIE_BYTES = 5 * 2 * (8 + 4)
# Of three runs of Leiden the best: on 3Sources one alone ends at .77 to .90.
TRIALS = 3


@dataclass(eq=False, repr=False, kw_only=True)
class KNNLeiden(ComparedMethod):
    """Leiden's modularity clustering of the summed nearest-neighbour graphs.

    In every view a row is tied to its k nearest rows (exact ones), and they to it, by

        W_ij = exp(-d_ij² / s_i s_j),

    s_i its distance to the 7th of them (self-tuning, Zelnik-Manor and Perona, NIPS
    2004). The graphs are normalised, ``D^{-1/2} W D^{-1/2}``, and summed over the views
    and numbers of neighbours; pieces without a tie to the others get the weakest of all
    where they are nearest. Leiden's algorithm then looks for the partition of the
    largest modularity (best of three trials), at the resolution that gives
    `n_clusters`.

    Rows that are the same count once. A row of zeros in a view that is compared by
    angle has no neighbours there.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_neighbors : int or sequence of int
        Nearest rows in every view; of several numbers all graphs are summed.
    scaling : {"auto", "standard", "global", "cosine", "unit", "root", None}
        Preparation of every view, as in `S2MVTC`.
    random_state : int, numpy.random.Generator or None
        Seed of the order in which rows are visited. That order is by content: a
        shuffled file gives the same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.

    Notes
    -----
    Nothing of size n × n is kept: a million rows of three views of 100 features need
    11 GB, and more than the machine has is refused with `ResourceError`. The time of
    exact neighbours grows with the square of the rows, but for views of few features.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import KNNLeiden
    >>> x = np.repeat([[0.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> np.bincount(KNNLeiden(n_clusters=2, random_state=0).fit([x, x**2]).labels_)
    array([20, 20])
    """

    citation: ClassVar[str] = (
        "V. A. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden: guaranteeing "
        "well-connected communities. Scientific Reports 9 (2019)."
    )

    n_neighbors: int | Sequence[int] = 10
    scaling: Literal["auto", "standard", "global", "cosine", "unit", "root", None] = (
        "auto"
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        check_parameters(self)
        sizes = numbers_of_neighbours(self.n_neighbors)
        rng = generator(self.random_state)
        views = self._views_to_fit(X, y)
        needed = memory_need(views, sizes)
        require_memory(needed, "KNNLeiden", f"the neighbours of {len(views)} rows")
        rows = prepared_rows(views, self.scaling, self.n_clusters_, rng)
        kinds = kinds_of_rows(rows.arrays, rows.present)
        near = neighbours_of_views(rows.arrays, kinds, max(sizes))
        graph = neighbour_graph(near, len(rows), sizes)
        graph = linked(graph, rows.arrays, rows.present)
        labels = leiden_with_k(graph, self.n_clusters_, child_seed(rng), TRIALS)
        return self._store_labels(labels[rows.place])


def numbers_of_neighbours(value: Any) -> tuple[int, ...]:
    """One number or several, each a count."""
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if several and not value:
        raise InputTypeError(
            "n_neighbors names no number of neighbours: it is empty. Give a whole "
            "number or several."
        )
    sizes = tuple(value) if several else (value,)
    for size in sizes:
        check_count(size, "n_neighbors")
    return tuple(int(size) for size in sizes)


def memory_need(views: Views, sizes: Sequence[int]) -> int:
    """Bytes of dense copies of the views, and of the ties of all graphs."""
    dense = COPIES * sum(views.n_features) * 8
    return len(views) * (dense + views.n_views * sum(sizes) * TIE_BYTES)
