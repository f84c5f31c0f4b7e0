"""Clusters of few rows: communities of the graph of exact nearest neighbours.

Where all rows have been drawn, their neighbours in every view are looked up exactly.
The graphs of the views are summed, each with the view's weight, and cut by modularity
(`stages.leiden`). A partition of the embedding stands instead where it tells more of
neighbours in and across views: a sum of graphs joins what only some views tell apart.
Rows are then moved one by one by what all views say, first of neighbours
(`stages.block_model`), then of rows as a whole as well (`stages.held_out`).
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.linear import where_exact
from manyview.arrays.ops import Array, Matrix, like, namespace, to_host
from manyview.engine.contract import cut
from manyview.engine.threads import Background, side_by_side
from manyview.stages.block_model import (
    Graphs,
    gains_of_views,
    moved_by_views,
    on_host,
    tells_more,
    ties_to_clusters,
)
from manyview.stages.cluster_sizes import Sizes, drawn_to_sizes, sized
from manyview.stages.device_graph import DeviceGraph, in_one
from manyview.stages.held_out import (
    MOST_STRAIGHT,
    ROWS_PER_DIRECTION,
    Seen,
    SeenColumns,
    held_out,
    in_columns,
    see_straight,
)
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import (
    graphs_of_views,
    kinds_of_rows,
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
# Of what whole views say where sizes are stated. Their fits are to labels of other
# sizes and hold rows to these; at full weight they moved more rows that were right.
SAID_OF_SIZED = 0.5


class RowGraph(NamedTuple):
    """The summed graph of different rows, and its parts, the weighed graphs of views.

    `place` is where each drawn row is among those, `arrays` their prepared views and
    `present` (n_different, n_views) which of these they have.
    """

    graph: Any
    of_views: Graphs
    place: Matrix
    arrays: list[Any]
    present: Matrix


# All but the sum, before any view is weighed.
ViewGraphs = tuple[Graphs, Matrix, list[Any], Matrix]


class Sought:
    """The graph of all rows and its communities, sought while the fit goes on.

    `drawn` are all rows; a job of the background waits for the earlier it needs.
    """

    def __init__(
        self, background: Background, drawn: Draw, scalings: Any, n_clusters: int
    ) -> None:
        self._background, self._n_clusters = background, n_clusters
        how = (drawn, scalings, n_clusters)
        self._graphs = background(lambda: _on_host(view_graphs(*how)))

    def hear(self, seen: list[Seen], seed: int | None) -> None:
        """Go on to columns that fits of whole views are made of.

        These are of the rows as `seen` and of the prepared views themselves. With the
        seed communities will be sought.
        """
        self._seed = seed
        self.columns = self._background(lambda: _in_columns(seen, self._graphs()))

    def weigh(self, view_weights: Matrix) -> None:
        """Go on to the sum of the graphs and, with the seed, to its communities."""
        self.graph = self._background(lambda: weighed(self._graphs(), view_weights))
        if self._seed is not None:
            how = (self._n_clusters, self._seed)
            self._labels = self._background(
                lambda: leiden_with_k(self.graph().graph, *how)
            )

    def communities(self, others: list[Matrix], wanted: Sizes | None) -> Matrix:
        """Labels of all rows, in the order drawn; `others` are the embedding's.

        They are several, the one of least inertia first. With `wanted` sizes rows are
        moved until the clusters have these.
        """
        rows: RowGraph = self.graph()
        told = most_told(rows, others, self._n_clusters)
        labels = settled(rows, self._labels(), told, self._n_clusters)
        labels = moved_as_seen(rows, self.columns(), labels, self._n_clusters)
        everywhere: Matrix = labels[rows.place]
        if wanted is None:
            return everywhere
        counts = np.bincount(everywhere, minlength=self._n_clusters)
        if wanted.most < len(everywhere) and wanted.excess(counts) > 0:
            return sized_as_seen(rows, self.columns(), labels, self._n_clusters, wanted)
        return sized(rows.graph, rows.place, everywhere, self._n_clusters, wanted)


def _on_host(found: ViewGraphs) -> ViewGraphs:
    """The same for what no device does: Leiden's algorithm, and known rows."""
    graphs, place, arrays, present = found
    arrays = [X if sp.issparse(X) else to_host(X) for X in arrays]
    return on_host(graphs), place, arrays, present


def _in_columns(seen: list[Seen], graphs: ViewGraphs) -> SeenColumns:
    """The different rows in every view, by its features and by itself."""
    _, place, arrays, present = graphs
    most = min(MOST_STRAIGHT, max(len(present) // ROWS_PER_DIRECTION, 1))
    views = zip(arrays, present.T, strict=True)
    jobs = [partial(see_straight, x, there, most) for x, there in views]
    return in_columns([seen, side_by_side(jobs)], first_of(place))


def most_told(rows: RowGraph, several: list[Matrix], n_clusters: int) -> Matrix:
    """Those labels of the graph's rows that tell most of neighbours.

    `several` are labels of all drawn rows; the first stand unless others tell more.
    """
    first = first_of(rows.place)
    best, *others = (labels[first] for labels in several)
    for labels in others:
        if tells_more(rows.of_views, labels, best, n_clusters):
            best = labels
    return best


def settled(rows: RowGraph, labels: Matrix, others: Matrix, n_clusters: int) -> Array:
    """The labels of the graph's rows, or what the embedding says, moved by views."""
    if tells_more(rows.of_views, others, labels, n_clusters):
        moved = moved_by_views(rows.of_views, others, n_clusters)
        if np.mean(moved == others) >= LEAST_KEPT:
            return moved
    return moved_by_views(rows.of_views, labels, n_clusters)


def moved_as_seen(
    rows: RowGraph, columns: SeenColumns, labels: Matrix, n_clusters: int
) -> Array:
    """The labels of the graph's rows, moved by what whole views say of them as well."""
    said = held_out(columns, labels, n_clusters)
    return moved_by_views(rows.of_views, labels, n_clusters, said.scores)


def sized_as_seen(
    rows: RowGraph, columns: SeenColumns, labels: Matrix, n_clusters: int, wanted: Sizes
) -> Matrix:
    """Labels of all drawn rows in clusters of these sizes, by all that moves rows."""
    said, first = held_out(columns, labels, n_clusters), first_of(rows.place)

    def scored(labels: Matrix) -> Array:
        own = labels[first]
        gains = gains_of_views(rows.of_views, own, n_clusters)
        return (gains + SAID_OF_SIZED * said.scores(own))[rows.place]

    return drawn_to_sizes(scored, labels[rows.place], n_clusters, wanted)


def graphs_in_parts(drawn: Draw, n_rows: int, *how: Any) -> list[ViewGraphs]:
    """The graphs of all views, of every so many drawn rows by themselves."""
    cuts = cut(len(drawn.rows), n_rows)
    parts = [drawn._replace(block=drawn.block.part(rows)) for rows in cuts]
    return [view_graphs(part, *how) for part in parts]


def places_in_parts(parts: list[ViewGraphs]) -> tuple[Matrix, list[slice]]:
    """Where each drawn row is among the different ones of all parts; the parts' own."""
    ends = np.cumsum([0, *(len(present) for *_, present in parts)])
    pairs = zip(parts, ends, strict=False)
    place = np.concatenate([own + first for (_, own, *_), first in pairs])
    return place, [slice(*x) for x in pairwise(ends.tolist())]


def weighed_in_parts(
    parts: list[ViewGraphs], view_weights: Matrix
) -> tuple[list[Any], Graphs]:
    """The sums of the parts' graphs, and those of the views side by side in one."""
    made = [weighed(graphs, view_weights) for graphs in parts]
    of_views: Any = [x.of_views for x in made]
    whole = of_views[0]
    if isinstance(whole, DeviceGraph):
        whole = in_one(of_views)
    elif len(made) > 1:
        kinds = zip(*of_views, strict=True)
        whole = [sp.csr_array(sp.block_diag(x, format="csr")) for x in kinds]
    return [x.graph for x in made], whole


def view_graphs(
    drawn: Draw, scalings: tuple[Scaling, ...], n_clusters: int
) -> ViewGraphs:
    """The graphs of all views, of exact neighbours among the drawn rows."""
    pairs = zip(drawn.block.views, scalings, strict=True)
    arrays = [where_exact(apply_scaling(x, s)) for x, s in pairs]
    kinds = kinds_of_rows(arrays, np.asarray(to_host(drawn.block.present)))
    new, place = distinct(kinds)
    arrays, kinds = [rows_of(X, new) for X in arrays], kinds[new]
    kinds = np.where(kinds < 0, -1, np.searchsorted(new, kinds))
    sizes = neighbourhoods(len(new), n_clusters)
    near = neighbours_of_views(arrays, kinds, max(sizes))
    return graphs_of_views(near, len(new), sizes), place, arrays, kinds >= 0


def weighed(graphs: ViewGraphs, view_weights: Matrix) -> RowGraph:
    """The sum of the views' graphs, each times its weight, its pieces tied together."""
    of_views, place, arrays, present = graphs
    parts: Graphs
    graph: Any
    if isinstance(of_views, DeviceGraph):
        parts, graph = of_views.weighed_sum(view_weights)
    else:
        pairs = zip(of_views, view_weights, strict=True)
        parts = [float(weight) * own for own, weight in pairs]
        graph = sp.csr_array(sum(parts))
    if not present.all():
        graph = against_chance(graph, parts, present)
    return RowGraph(linked(graph, arrays, present), parts, place, arrays, present)


def against_chance(graph: Any, parts: Graphs, present: Matrix) -> Any:
    """Ties over what chance would make them, given the views that both rows have.

    Rows that share more views, or views that fewer rows have, would else be tied the
    more, and clusters be the rows that lack the same views.
    """
    n_rows = present.sum(axis=0)
    pairs = np.maximum(n_rows * (n_rows - 1), 1)
    one: Array = like(np.zeros(len(present), dtype=np.intp), graph.data)
    per_pair = ties_to_clusters(parts, one, 1).sum(axis=0)[:, 0] / like(pairs, one)
    xp, there = namespace(graph.data), like(present, one)

    def divided(data: Array, i: Array, j: Array) -> Array:
        chance = xp.astype(there[i] & there[j], xp.float64) @ per_pair
        known = chance > 0
        return xp.where(known, data / xp.where(known, chance, 1.0), 0.0)

    if isinstance(graph, DeviceGraph):
        return graph.changed(divided)
    rows = np.repeat(np.arange(len(present)), np.diff(graph.indptr))
    weight = divided(graph.data, rows, graph.indices)
    return sp.csr_array((weight, graph.indices, graph.indptr), shape=graph.shape)


def neighbourhoods(n_rows: int, n_clusters: int) -> tuple[int, ...]:
    """The sizes whose graphs are summed: few ties, none much larger than a cluster."""
    most = max(n_rows / n_clusters, LEAST_SIZE)
    for sizes in SIZES:
        fitting = tuple(k for k in sizes if k <= most)
        if n_rows * sum(fitting) <= MOST_TIES:
            return fitting
    return SIZES[-1]


def distinct(kinds: Matrix) -> tuple[Matrix, Matrix]:
    """Which rows are the first of their kinds, and where each is among those."""
    _, first, place = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[place.ravel()]


def first_of(place: Matrix) -> Matrix:
    """The first drawn row of every different one."""
    return np.unique(place, return_index=True)[1]
