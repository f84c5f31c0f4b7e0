"""Clusters of few rows: communities of the graph of exact nearest neighbours.

Where all rows have been drawn, their neighbours in every view are looked up exactly.
The graphs of the views are summed, each with the view's weight, and cut by modularity
(`stages.leiden`). A partition of the embedding stands instead where it tells more of
neighbours in and across views: a sum of graphs joins what only some views tell apart.
Rows are then moved one by one by what all views say (`stages.block_model`).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix, is_on_gpu, to_host
from manyview.stages.block_model import moved_by_views, tells_more
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import (
    first_of_kind,
    graph_of_view,
    linked,
    neighbours_of_views,
    rows_of,
)
from manyview.stages.sampling import Draw
from manyview.stages.scaling import Scaling, apply_scaling

# Neighbourhoods whose graphs are summed, and how many ties of a view's rows they may
# come to: more take Leiden longer than all the rest of a fit. Several sizes were
# steadier than any one (DESIGN.md, "Communities of few rows").
SIZES = ((5, 10, 20, 40), (10, 20), (10,))
MOST_TIES = 160_000
LEAST_SIZE = 10  # neighbours even of the smallest clusters
# The embedding's clusters are no candidate where views move more of their rows: where
# they were the better ones 92 % or more stayed, where worse 65 to 88 % (DESIGN.md).
LEAST_KEPT = 0.9


class RowGraph(NamedTuple):
    """The summed graph of different rows, and its parts, the weighed graphs of views.

    `place` is where each drawn row is among those, `arrays` their prepared views and
    `present` (n_different, n_views) which of these they have.
    """

    graph: sp.csr_array
    of_views: list[sp.csr_array]
    place: Matrix
    arrays: list[Any]
    present: Matrix


def find_communities(
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    view_weights: Matrix,
    n_clusters: int,
    seed: int,
    others: list[Matrix],
) -> Matrix:
    """Labels of all rows, in the order drawn; `others` are what the embedding says.

    They are several, the one of least inertia first.
    """
    rows = row_graph(drawn, scalings, view_weights, n_clusters)
    return communities(rows, n_clusters, seed, others)


def communities(
    rows: RowGraph, n_clusters: int, seed: int, others: list[Matrix]
) -> Matrix:
    """The same, of a graph that is known."""
    labels = leiden_with_k(rows.graph, n_clusters, seed)
    told = most_told(rows, others, n_clusters)
    return settled(rows, labels, told, n_clusters)[rows.place]


def most_told(rows: RowGraph, several: list[Matrix], n_clusters: int) -> Matrix:
    """Those labels of the graph's rows that tell most of neighbours.

    `several` are labels of all drawn rows; the first stand unless others tell more.
    """
    first = np.unique(rows.place, return_index=True)[1]
    best, *others = (labels[first] for labels in several)
    for labels in others:
        if tells_more(rows.of_views, labels, best, n_clusters):
            best = labels
    return best


def settled(rows: RowGraph, labels: Matrix, others: Matrix, n_clusters: int) -> Matrix:
    """The labels of the graph's rows, or what the embedding says, moved by views."""
    if tells_more(rows.of_views, others, labels, n_clusters):
        moved = moved_by_views(rows.of_views, others, n_clusters)
        if np.mean(moved == others) >= LEAST_KEPT:
            return moved
    return moved_by_views(rows.of_views, labels, n_clusters)


def row_graph(
    drawn: Draw, scalings: tuple[Scaling, ...], view_weights: Matrix, n_clusters: int
) -> RowGraph:
    """The graphs of all views, of exact neighbours among the drawn rows, as one."""
    pairs = zip(drawn.block.views, scalings, strict=True)
    arrays = [_on_host(apply_scaling(x, s)) for x, s in pairs]
    present = np.asarray(to_host(drawn.block.present))
    new, place = distinct(kinds_of_rows(arrays, present))
    arrays, present = [rows_of(X, new) for X in arrays], present[new]
    sizes = neighbourhoods(len(present), n_clusters)
    device = next((x for x in drawn.block.views if is_on_gpu(x)), None)
    near = neighbours_of_views(arrays, present, max(sizes), device)
    parts = [
        float(weight) * graph_of_view(own, len(present), sizes)
        for own, weight in zip(near, view_weights, strict=True)
    ]
    graph = sp.csr_array(sum(parts))
    if not present.all():
        graph = against_chance(graph, parts, present)
    return RowGraph(linked(graph, arrays, present), parts, place, arrays, present)


def against_chance(
    graph: sp.csr_array, parts: list[sp.csr_array], present: Matrix
) -> sp.csr_array:
    """Ties over what chance would make them, given the views that both rows have.

    Rows that share more views, or views that fewer rows have, would else be tied the
    more, and clusters be the rows that lack the same views.
    """
    n_rows = present.sum(axis=0)
    pairs = np.maximum(n_rows * (n_rows - 1), 1)
    per_pair = np.array([part.sum() for part in parts]) / pairs
    ends = np.repeat(np.arange(len(present)), np.diff(graph.indptr)), graph.indices
    chance = (present[ends[0]] & present[ends[1]]) @ per_pair
    weight = np.where(chance > 0, graph.data / np.where(chance > 0, chance, 1.0), 0.0)
    return sp.csr_array((weight, graph.indices, graph.indptr), shape=graph.shape)


def neighbourhoods(n_rows: int, n_clusters: int) -> tuple[int, ...]:
    """The sizes whose graphs are summed: few ties, none much larger than a cluster."""
    most = max(n_rows / n_clusters, LEAST_SIZE)
    for sizes in SIZES:
        fitting = tuple(k for k in sizes if k <= most)
        if n_rows * sum(fitting) <= MOST_TIES:
            return fitting
    return SIZES[-1]


def kinds_of_rows(arrays: list[Any], present: Matrix) -> Matrix:
    """In each view the first row that is the same as each; −1 without the view."""
    kinds = np.full(present.shape, -1)
    for X, there, kind in zip(arrays, present.T, kinds.T, strict=True):
        rows = np.flatnonzero(there)
        kind[rows] = rows[first_of_kind(rows_of(X, rows))]
    return kinds


def distinct(kinds: Matrix) -> tuple[Matrix, Matrix]:
    """Which rows are the first of their kinds, and where each is among those."""
    _, first, place = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[place.ravel()]


def _on_host(x: Any) -> Any:
    """An array of the host; sparse rows are there."""
    return x if sp.issparse(x) else np.asarray(to_host(x))
