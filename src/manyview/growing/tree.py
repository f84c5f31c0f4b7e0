"""`hierarchy`: clusters from coarse to fine, and what stands behind every split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix, in_float64, to_host
from manyview.base import PassClusterer
from manyview.engine.contract import Engine
from manyview.engine.local import open_engine
from manyview.errors import InputError, InputTypeError
from manyview.explain import Effect, largest_effects
from manyview.growing.merging import (
    LEAVES,
    LeafSums,
    add_up_leaves,
    merge,
    split_clusters,
    view_shares,
    with_missing,
)
from manyview.growing.tree_figures import draw_dendrogram, draw_icicle
from manyview.kmeans.nodes import label_rows
from manyview.kmeans.passes import FIELD, LABELS, pick
from manyview.present.table import ShowsTables, Table
from manyview.stages.effect_sizes import effect_between
from manyview.stages.sampling import draw
from manyview.views.arguments import check_count, check_number, child_seed, generator
from manyview.views.parsing import fetched
from manyview.views.views import Views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Leaves of a cluster, on average: enough to see a cluster fall into parts of parts.
LEAVES_PER_CLUSTER = 4
MOST_LEAVES = 400  # ties between all of them are merged one by one
DRAWN_ROWS = 8192  # rows that leaves are found on


class Split(NamedTuple):
    """Where the tree divides, and why.

    Attributes
    ----------
    node : int
        Number of the node; leaves come first.
    left, right : int
        The nodes it falls into.
    distance : float
        0 to 1: 1/2 where both sides are tied as by chance, 1 where not at all.
    rows : tuple of two int
        Rows on the left and on the right.
    clusters : tuple of two tuples of int
        Clusters of the fit on either side; the same one where it is divided itself.
    views : array (n_views,)
        Share of every view in the split; they sum to 1.
    effects : list of Effect
        Features that set the left side apart from the right, largest first; `cluster`
        is the number of the left node.
    """

    node: int
    left: int
    right: int
    distance: float
    rows: tuple[int, int]
    clusters: tuple[tuple[int, ...], tuple[int, ...]]
    views: Matrix
    effects: list[Effect]


@dataclass(frozen=True)
class Hierarchy(ShowsTables):
    """A nested tree of clusters.

    Attributes
    ----------
    leaves : array (n_samples,)
        Leaf of every row.
    leaf_clusters : array (n_leaves,)
        Cluster of the fit that every leaf is a part of.
    linkage : array (n_leaves − 1, 4)
        Merges as ``scipy.cluster.hierarchy`` has them: two nodes, distance, leaves.
    splits : list of Split
        What stands behind every merge, the coarsest first.
    view_names : tuple of str
    """

    leaves: Matrix
    leaf_clusters: Matrix
    linkage: Matrix
    splits: list[Split]
    view_names: tuple[str, ...]

    @property
    def n_leaves(self) -> int:
        """The finest number of clusters that can be cut."""
        return len(self.leaf_clusters)

    @property
    def n_clusters(self) -> int:
        """Clusters of the fit: the cut that gives its labels back."""
        return len(np.unique(self.leaf_clusters))

    def cut(self, k: int | None = None, *, distance: float | None = None) -> Matrix:
        """Clusters (n_samples,) of one level: `k`, or merged up to a distance.

        ``cut(tree.n_clusters)`` are the labels of the fit; at other levels clusters are
        numbered from 0 in the order of the tree's leaves.
        """
        found: Matrix = self.leaf_groups(k, distance=distance)[self.leaves]
        return found

    def leaf_groups(
        self, k: int | None = None, *, distance: float | None = None
    ) -> Matrix:
        """The same for the leaves (n_leaves,)."""
        if (k is None) == (distance is None):
            raise InputError(
                f"A cut needs a number of clusters or a distance, one of the two; got "
                f"k={k} and distance={distance}. Give cut(5) or cut(distance=0.3)."
            )
        if k is None:
            check_number(distance, "distance")
            n_merges = int((self.linkage[:, 2] <= distance).sum())
        else:
            check_count(k, "k")
            if k > self.n_leaves:
                raise InputError(
                    f"The tree has {self.n_leaves} leaves, so it cannot be cut into "
                    f"{k} clusters. Ask for fewer, or build it with n_leaves={k}."
                )
            n_merges = self.n_leaves - k
        groups = np.arange(self.n_leaves)
        members = self._members()
        for m in range(n_merges):
            groups[members[self.n_leaves + m]] = members[self.n_leaves + m][0]
        first, numbers = np.unique(groups, return_inverse=True)
        if len(first) == self.n_clusters:
            return np.asarray(self.leaf_clusters[first[numbers]])
        return np.asarray(numbers)

    def _members(self) -> list[Matrix]:
        """Leaves of every node, ascending."""
        return members_of(self.linkage[:, :2].astype(int), self.n_leaves)

    def table(self, most: int | None = None) -> Table:
        """The splits, coarsest first: sides, views and features."""
        columns = ["into", "distance", "left", "right", *self.view_names, "features"]
        align = "rrll" + "r" * len(self.view_names) + "l"
        caption = f"{self.n_leaves} leaves in {self.n_clusters} clusters"
        found = Table("splits", caption, columns, align=align)
        for number, split in enumerate(self.splits[:most]):
            sides = [
                f"{_names(own)} ({rows})"
                for own, rows in zip(split.clusters, split.rows, strict=True)
            ]
            told = [f"{e.view} {e.feature} {e.size:+.1f}" for e in split.effects]
            shares = [f"{share:.2f}" for share in split.views]
            level = (str(number + 2), f"{split.distance:.3f}")
            found.add(*level, *sides, *shares, "; ".join(told))
        return found

    def dendrogram(self, *, title: str = "") -> Figure:
        """The tree with its distances; the clusters of the fit are coloured."""
        return draw_dendrogram(self, title)

    def icicle(self, *, title: str = "") -> Figure:
        """A bar of rows for every level, coarse above fine, widths by rows."""
        return draw_icicle(self, title)


def _names(clusters: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, clusters[:6]))
    return f"{shown}, …" if len(clusters) > 6 else shown


def hierarchy(
    model: Any,
    views: Any,
    *,
    n_leaves: int | None = None,
    n_features: int = 3,
    random_state: Any = 0,
) -> Hierarchy:
    """Build a nested tree, coarse to fine, whose one cut are the clusters of a model.

    Parameters
    ----------
    model : fitted S2MVTC, AnchorSpectral or SequenceS2MVTC with a graph
        Its clusters and its graph are what the tree is made of.
    views : Views, or list or dict of arrays
        The views it was fitted on.
    n_leaves : int, optional
        Leaves of the tree, at most; default four for every cluster.
    n_features : int
        Features to name for every split.
    random_state : int, generator or None
        Seed of the drawn rows that leaves are found on.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> from manyview import S2MVTC, hierarchy
    >>> from manyview.datasets import make_views
    >>> views = make_views(300, (5, 4), 6, random_state=0)
    >>> model = S2MVTC(6, random_state=0).fit(views)
    >>> tree = hierarchy(model, views)
    >>> bool((tree.cut(6) == model.labels_).all()), len(set(tree.cut(2)))
    (True, 2)
    """
    given = _fitted_views(model, views)
    check_count(n_features, "n_features", least=0)
    passes, live = model._passes, np.unique(fetched(model.labels_))
    k = len(live)
    most = max(min(MOST_LEAVES, LEAVES_PER_CLUSTER * k), k)
    if n_leaves is not None:
        check_count(n_leaves, "n_leaves", least=k)
        most = n_leaves
    engine = _replayed(model, given)
    seed = child_seed(generator(random_state))
    drawn = draw(engine, min(DRAWN_ROWS, engine.n_samples), seed)
    rows = to_host(in_float64(pick(engine, FIELD, drawn.rows)))
    labels = to_host(pick(engine, LABELS, drawn.rows))
    found = split_clusters(rows, labels, most, seed)
    points, clusters = with_missing(*found, passes.centres.points, live)
    sums = add_up_leaves(engine, points, clusters, passes.spectrum, drawn.block)
    leaves = fetched(engine.read(LEAVES)).astype(np.intp)
    return _grown(model, given, leaves, clusters, sums, n_features)


def _replayed(model: Any, views: Any) -> Engine:
    """The rows where the model runs, with their embedding, F and labels."""
    passes = model._passes
    engine = open_engine(
        views,
        np.dtype(passes.dtype),
        engine=model.engine,
        device=model.device,
        memory_limit=model.memory_limit,
        view_order=passes.view_order,
    )
    model._replay(engine)
    label_rows(engine, passes.centres, passes.nodes)
    return engine


def _fitted_views(model: Any, views: Any) -> Any:
    """The views as the model knows them; a sentence where there is no tree of it."""
    if not isinstance(model, PassClusterer):
        raise InputTypeError(
            "A tree is made of the graph of a fitted S2MVTC or AnchorSpectral; got "
            f"{type(model).__name__}. Give the model first, then its views."
        )
    model._check_fitted()
    if getattr(model._passes.spectrum, "graph", None) is None:
        raise InputError(
            f"This {type(model).__name__} was fitted along an order, without a graph "
            "to make a tree of. Fit S2MVTC, or SequenceS2MVTC(graph=True)."
        )
    return model._views_of_fit(views)


def members_of(pairs: Matrix, n_leaves: int) -> list[Matrix]:
    """Leaves of every node, ascending."""
    found = [np.array([leaf]) for leaf in range(n_leaves)]
    for left, right in pairs:
        found.append(np.sort(np.concatenate([found[left], found[right]])))
    return found


def _grown(
    model: Any,
    views: Views,
    leaves: Matrix,
    clusters: Matrix,
    sums: LeafSums,
    n_features: int,
) -> Hierarchy:
    """The merges, and what stands behind each."""
    merges = merge(sums.ties.sum(axis=0), clusters)
    members = members_of(merges.pairs, len(clusters))
    sizes = [int(sums.rows[own].sum()) for own in members]
    order = model._passes.view_order
    splits, linkage = [], np.zeros((len(merges.pairs), 4))
    for m, (a, b) in enumerate(merges.pairs.tolist()):
        node = len(clusters) + m
        left, right = sorted((a, b), key=lambda n: int(members[n][0]))
        linkage[m] = left, right, merges.distances[m], len(members[node])
        sides = (members[left], members[right])
        shares = view_shares(sums.ties, *sides, model._passes.spectrum.weights)
        numbers = effect_between(sums.features, *sides)
        split = Split(
            node=node,
            left=left,
            right=right,
            distance=float(merges.distances[m]),
            rows=(sizes[left], sizes[right]),
            clusters=(_own(clusters, sides[0]), _own(clusters, sides[1])),
            views=shares[np.argsort(order)],
            effects=largest_effects(views, order, left, numbers, n_features),
        )
        splits.append(split)
    return Hierarchy(leaves, clusters, linkage, splits[::-1], tuple(views.names))


def _own(clusters: Matrix, leaves: Matrix) -> tuple[int, ...]:
    """Clusters that some leaves are in."""
    return tuple(np.unique(clusters[leaves]).tolist())
