"""Clusters of stated sizes: all equal, or none smaller than asked.

The rows that have to leave a cluster are those for which that costs least, all of them
together: the cheapest flow from clusters that are too large to those that are too
small, along shortest paths between clusters. Nothing is of rows by rows. Few rows are
scored by their ties in the graph of neighbours; `stages.priced_clusters` has the many.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix
from manyview.errors import InputError
from manyview.stages.knowledge import Knowledge, check_knowledge
from manyview.stages.scaling import inverse
from manyview.views.arguments import check_choice, check_count
from manyview.views.joining import follow_rows

# Assignments along the graph, of which the best is kept: after five little changes.
MOST_ROUNDS = 10
# Steps in which sizes become as wanted, and more until rows hardly move: with ten steps
# BDGP and Reuters-1200 lose .01 of what forty keep.
STEPS, MORE_STEPS = 40, 5
# More than all scores of a row together: no row moves without need.
STAYING = 1.0
# Of prices, each of which is put midway: by then they hardly change.
MOST_SWEEPS = 10
ROUNDING = 1e-12  # of the largest cost: paths that differ by less are level


class Sizes(NamedTuple):
    """How many rows a cluster has at least and at most."""

    least: int
    most: int

    def of_sample(self, n_rows: int, n_samples: int) -> "Sizes":
        """The same for some of the rows, as far as whole rows allow."""
        share = n_rows / n_samples
        return Sizes(int(self.least * share), int(np.ceil(self.most * share)))

    def told(self) -> Matrix:
        """What a checkpoint has to have been made with."""
        return np.array(self)

    def excess(self, counts: Matrix) -> int:
        """Rows that are in the wrong cluster."""
        over = np.maximum(counts - self.most, 0).sum()
        return int(max(over, np.maximum(self.least - counts, 0).sum()))


def check_told(
    given: tuple[Any, Any, Any],
    stated: tuple[Any, Any],
    views: Any,
    n_clusters: Any,
) -> Knowledge | Sizes | None:
    """Links and labels that are `given`, or sizes that are `stated`; not both."""
    if all(part is None for part in stated):
        labels = follow_rows(given[2], views.row_names, "partial_labels")
        return check_knowledge(*given[:2], labels, len(views), n_clusters)
    if any(part is not None for part in given):
        raise InputError(
            "Sizes of clusters cannot be stated beside must_link, cannot_link or "
            "partial_labels. Give sizes, or what is known of some rows."
        )
    return check_sizes(*stated, len(views), n_clusters)


def check_sizes(
    cluster_sizes: Any, min_cluster_size: Any, n_samples: int, n_clusters: Any
) -> Sizes:
    """The sizes asked for; at least one of the two is."""
    check_choice(cluster_sizes, "cluster_sizes", (None, "equal"))
    if min_cluster_size is not None:
        check_count(min_cluster_size, "min_cluster_size")
    if isinstance(n_clusters, str):
        raise InputError(
            f"n_clusters={n_clusters!r} cannot be chosen where sizes of clusters are "
            "stated: they hold for a number of clusters. Give a number."
        )
    least, rest = divmod(n_samples, n_clusters)
    if min_cluster_size is not None and min_cluster_size > least:
        raise InputError(
            f"min_cluster_size={min_cluster_size} cannot be had: {n_clusters} clusters "
            f"of {n_samples} rows have {least} rows at most if all are alike. Ask for "
            "smaller or fewer clusters."
        )
    if cluster_sizes is None:
        return Sizes(int(min_cluster_size), n_samples)
    return Sizes(least, least + (rest > 0))


class Assigned(NamedTuple):
    """The cluster of every row, and what each cluster costs: less its price, a row's
    own cluster scores best."""

    labels: Matrix
    prices: Matrix


def assign(scores: Matrix, least: Matrix, most: Matrix) -> Assigned:
    """The labels of largest sum of scores (n_rows, n_clusters) within these sizes."""
    n_clusters = scores.shape[1]
    labels = scores.argmax(axis=1)
    counts = np.bincount(labels, minlength=n_clusters)
    costs = np.full((n_clusters, n_clusters), np.inf)  # of the cheapest row to move
    cheapest = np.zeros((n_clusters, n_clusters), dtype=np.intp)

    def look_at(cluster: int) -> None:
        rows = np.flatnonzero(labels == cluster)
        costs[cluster] = np.inf
        if rows.size:
            own = scores[rows, cluster][:, None] - scores[rows]
            best = own.argmin(axis=0)
            costs[cluster] = own[best, np.arange(n_clusters)]
            cheapest[cluster] = rows[best]
            costs[cluster, cluster] = np.inf

    for cluster in range(n_clusters):
        look_at(cluster)
    while True:
        if (counts > most).any():
            start, end = counts > most, counts < most
        elif (counts < least).any():
            start, end = counts > least, counts < least
        else:
            break
        path = _shortest_path(costs, start, end)
        moves = [(cheapest[a, b], b) for a, b in pairwise(path)]
        for row, cluster in moves:
            labels[row] = cluster
        counts[path[0]] -= 1
        counts[path[-1]] += 1
        for cluster in path:
            look_at(cluster)
    return Assigned(labels, _prices(costs))


def drawn_to_sizes(
    scored: Callable[[Matrix], Matrix], labels: Matrix, n_clusters: int, wanted: Sizes
) -> Matrix:
    """The labels after sizes have become as wanted step by step, by scores of labels.

    All at once, the rows that have to leave say nothing of where others then belong.
    """
    counts = np.bincount(labels, minlength=n_clusters)
    for step in range(1, STEPS + MORE_STEPS + 1):
        left = max(1.0 - step / STEPS, 0.0)
        least = wanted.least - np.ceil(left * np.maximum(wanted.least - counts, 0))
        most = wanted.most + np.ceil(left * np.maximum(counts - wanted.most, 0))
        former, labels = labels, assign(scored(labels), least, most).labels
        if left == 0.0 and (former == labels).all():
            break
    return labels


def _prices(costs: Matrix) -> Matrix:
    """Each midway between the least and the most at which all rows stay.

    So no row lies on the very border, where rounding would decide.
    """
    prices = -_distances(costs, np.ones(len(costs), dtype=bool))[0]
    for _ in range(MOST_SWEEPS):
        for cluster in range(len(costs)):
            least = (prices - costs[:, cluster]).max()
            most = (prices + costs[cluster]).min()
            if np.isfinite(most):  # nothing leaves an empty cluster
                prices[cluster] = (least + most) / 2.0
    return np.asarray(prices - prices.min())


def _shortest_path(costs: Matrix, start: Matrix, end: Matrix) -> list[int]:
    distances, before = _distances(costs, start)
    ends = np.flatnonzero(end)
    path = [int(ends[distances[ends].argmin()])]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return path[::-1]


def _distances(costs: Matrix, start: Matrix) -> tuple[Matrix, Matrix]:
    """Least cost to every cluster, and the one before it on the way (R. Bellman)."""
    distances = np.where(start, 0.0, np.inf)
    before = np.full(len(costs), -1)
    known = costs[np.isfinite(costs)]
    slack = ROUNDING * float(np.abs(known).max(initial=0.0))
    for _ in range(len(costs)):
        ways = distances[:, None] + costs
        best = ways.argmin(axis=0)
        found = ways[best, np.arange(len(costs))]
        shorter = found < distances - slack
        if not shorter.any():
            break
        distances[shorter], before[shorter] = found[shorter], best[shorter]
    return distances, before


def sized(
    graph: sp.csr_array, place: Matrix, labels: Matrix, n_clusters: int, wanted: Sizes
) -> Matrix:
    """The labels moved along the graph until the sizes are as wanted.

    Rows go where most of their ties are, in several rounds where there is an upper
    bound; the round of most ties inside clusters is kept. Where clusters are too small
    alone, all rows stay but those that fill them up.

    Parameters
    ----------
    place : array (n_rows,)
        Where every row is in the graph, which has copies but once.
    """
    counts = np.bincount(labels, minlength=n_clusters)
    if wanted.excess(counts) == 0:
        return labels
    bounds = [np.full(n_clusters, bound) for bound in wanted]
    each, copies = np.arange(len(labels)), np.bincount(place, minlength=graph.shape[0])
    shares = sp.diags_array(inverse(graph.sum(axis=1))) @ graph
    best, most_inside = labels, -np.inf
    for round_number in range(MOST_ROUNDS + 1):
        member = np.zeros((graph.shape[0], n_clusters))
        np.add.at(member, (place, labels), 1.0)
        scores = (shares @ (member / copies[:, None]))[place]
        inside = float(scores[each, labels].sum())
        if round_number > 0 and inside > most_inside:
            best, most_inside = labels, inside
        if round_number == MOST_ROUNDS:
            break
        upper = wanted.most < len(labels)
        if not upper:
            scores[each, labels] += STAYING
        former, labels = labels, assign(scores, *bounds).labels
        if not upper:
            return labels
        if (former == labels).all():
            break
    return best
