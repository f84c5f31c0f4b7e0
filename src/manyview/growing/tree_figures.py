"""Pictures of a tree: a dendrogram with distances, and an icicle of levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram

from manyview.arrays.ops import Matrix
from manyview.present.plot import COLOURS, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#777777"
# Levels of an icicle: more cannot be told apart.
MOST_LEVELS = 10
# A part this wide, as a share of all rows, has room for its number.
NAMED_SHARE = 0.02


def draw_dendrogram(tree: Any, title: str) -> Figure:
    """The tree with its distances; the clusters of the fit are coloured."""
    owners = {s.node: s.clusters for s in tree.splits}

    def colour(node: int) -> str:
        left, right = owners[node]
        inside = left == right and len(left) == 1
        return COLOURS[left[0] % len(COLOURS)] if inside else GREY

    plain = dendrogram(tree.linkage, no_plot=True, link_color_func=colour)
    width = float(np.clip(0.16 * tree.n_leaves, 6.0, 14.0))
    figure = new_figure(width, 4.2, title or f"{tree.n_clusters} clusters as a tree")
    axis = figure.subplots()
    lines = zip(plain["icoord"], plain["dcoord"], plain["color_list"], strict=True)
    for x, y, own in lines:
        axis.plot(x, y, color=own)
    where = 5.0 + 10.0 * np.arange(tree.n_leaves)
    of_leaf = tree.leaf_clusters[plain["leaves"]]
    middles = [where[of_leaf == j].mean() for j in np.unique(of_leaf)]
    axis.set_xticks(middles, [str(j) for j in np.unique(of_leaf)])
    axis.set(xlabel="cluster of the fit", ylabel="distance (½: tied as by chance)")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    return figure


def levels(tree: Any) -> list[int]:
    """Numbers of clusters to show, the fit's among them, coarse to fine."""
    last = tree.n_leaves
    if last - 1 <= MOST_LEVELS:
        return list(range(min(2, last), last + 1))
    steps = np.unique(np.geomspace(2, last, MOST_LEVELS).round().astype(int)).tolist()
    own = tree.n_clusters
    if own not in steps and own > 1:
        steps[int(np.argmin([abs(np.log(s / own)) for s in steps[:-1]]))] = own
    return sorted(steps)


def leaf_order(tree: Any) -> Matrix:
    """The leaves from left to right, so that no branches cross."""
    return np.array(dendrogram(tree.linkage, no_plot=True)["leaves"])


def draw_icicle(tree: Any, title: str) -> Figure:
    """A bar of rows for every level, coarse above fine, widths by rows."""
    shown = levels(tree)
    figure = new_figure(
        8.0, 1.4 + 0.42 * len(shown), title or "Clusters from coarse to fine"
    )
    axis = figure.subplots()
    order = leaf_order(tree)
    rows = np.bincount(tree.leaves, minlength=tree.n_leaves)
    for height, k in enumerate(shown):
        groups, start = tree.leaf_groups(k)[order], 0
        edges = np.flatnonzero(np.diff(groups)) + 1
        for part in np.split(order, edges):
            wide = int(rows[part].sum())
            largest = part[rows[part].argmax()]
            colour = COLOURS[int(tree.leaf_clusters[largest]) % len(COLOURS)]
            axis.barh(
                height, wide, left=start, height=0.92, color=colour,
                edgecolor="white", alpha=0.8,
            )  # fmt: skip
            if wide > NAMED_SHARE * rows.sum():
                name = str(tree.leaf_groups(k)[part[0]])
                axis.text(start + wide / 2, height, name, ha="center", va="center")
            start += wide
    marks = [f"{k} (fit)" if k == tree.n_clusters else str(k) for k in shown]
    axis.set_yticks(range(len(shown)), marks)
    axis.set(xlabel="rows", ylabel="clusters", xlim=(0, rows.sum()))
    axis.invert_yaxis()
    return figure
