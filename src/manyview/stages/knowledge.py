"""What is known of some rows before a fit: checked, and in the order they are drawn.

Rows that belong together, by a link or by one label, are a group. Groups of different
labels, and groups that a link keeps apart, go to different clusters. What contradicts
itself is refused here, before any work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from manyview.arrays.ops import to_host
from manyview.engine.contract import sizes
from manyview.errors import InputError, InputTypeError
from manyview.stages.keeping_apart import keep_apart
from manyview.stages.leiden import renumbered

IntArray = np.ndarray[Any, Any]

UNKNOWN = -1  # as in scikit-learn's semi-supervised classifiers


class Knowledge(NamedTuple):
    """Rows of which something is known.

    Attributes
    ----------
    rows : array (n_known,)
        Row numbers, each once.
    group : array (n_known,)
        The group of every row.
    tied : array (n_known,)
        The same by links alone: rows of one label are not tied in the graph.
    labels : array (n_groups,)
        The label of every group, or −1.
    apart : array (n_pairs, 2)
        Places in `rows` of pairs that a link keeps apart.
    names : array
        What the labels are called outside; labels themselves count from 0 on.
    """

    rows: IntArray
    group: IntArray
    tied: IntArray
    labels: IntArray
    apart: IntArray
    names: IntArray

    @property
    def classes(self) -> IntArray:
        """The label of every known row, or −1."""
        return np.asarray(self.labels[self.group])

    def as_drawn(self, place: IntArray) -> Knowledge:
        """The rows as places among those drawn, and all else numbered in that order.

        So nothing depends on the order or the names in which it was told.
        """
        order = np.argsort(place)
        group, tied = self.group[order], self.tied[order]
        _, first = np.unique(renumbered(group), return_index=True)
        labels = self.labels[group[first]]
        has, code = labels >= 0, np.full(len(labels), UNKNOWN)
        if has.any():
            code[has] = np.arange(has.sum())
        apart = np.sort(np.argsort(order)[self.apart], axis=1)
        return Knowledge(
            place[order],
            renumbered(group),
            renumbered(tied),
            code,
            np.unique(apart, axis=0).reshape(-1, 2),
            self.names[labels[has]],
        )

    def numbers(self, n_clusters: int) -> IntArray:
        """What each cluster is called: the label it has, or a number that is left."""
        rest = np.setdiff1d(np.arange(n_clusters), self.names)
        return np.concatenate([self.names, rest])

    def told(self) -> IntArray:
        """All of it in one row of numbers: a checkpoint goes on with the same only."""
        lengths = [len(part) for part in self]
        return np.concatenate([lengths, *(part.ravel() for part in self)])


def names_clusters(known: Any) -> bool:
    """Is there a row whose cluster is known, and not links alone, or nothing?"""
    return isinstance(known, Knowledge) and bool(known.names.size)


def check_knowledge(
    must_link: Any,
    cannot_link: Any,
    partial_labels: Any,
    n_samples: int,
    n_clusters: Any,
) -> Knowledge | None:
    """What was told of which rows; None where nothing was."""
    must = _pairs(must_link, "must_link", n_samples)
    cannot = _pairs(cannot_link, "cannot_link", n_samples)
    label = _labels(partial_labels, n_samples, n_clusters)
    labelled = np.flatnonzero(label >= 0)
    rows = np.unique(np.concatenate([must.ravel(), cannot.ravel(), labelled]))
    if rows.size == 0:
        return None
    if isinstance(n_clusters, str):
        raise InputError(
            f"n_clusters={n_clusters!r} cannot be chosen where something is known of "
            "the rows: links and labels hold for a number of clusters. Give a number."
        )
    must, cannot = np.searchsorted(rows, must), np.searchsorted(rows, cannot)
    own = label[rows]
    tied = _components(must, len(rows))
    for part in range(tied.max() + 1):
        given = np.unique(own[(tied == part) & (own >= 0)])
        if given.size > 1:
            one, two = (
                rows[np.flatnonzero((tied == part) & (own == g))[0]] for g in given[:2]
            )
            raise InputError(
                f"must_link ties rows {one} and {two} together, by one link or a "
                f"chain of them, but partial_labels gives them the labels {given[0]} "
                f"and {given[1]}. Check which of the two is right."
            )
    names, first = np.unique(own[own >= 0], return_index=True)
    leaders = np.flatnonzero(own >= 0)[first][np.searchsorted(names, own[own >= 0])]
    alike = np.stack([np.flatnonzero(own >= 0), leaders], axis=1)
    group = _components(np.concatenate([must, alike]), len(rows))
    inside = np.flatnonzero(group[cannot[:, 0]] == group[cannot[:, 1]])
    if inside.size:
        one, two = rows[cannot[inside[0]]]
        raise InputError(
            f"cannot_link keeps rows {one} and {two} apart, but must_link or "
            "partial_labels put them together. Check which of the two is right."
        )
    labels = np.full(group.max() + 1, UNKNOWN)
    labels[group[own >= 0]] = np.searchsorted(names, own[own >= 0])
    known = Knowledge(rows, group, tied, labels, cannot, names)
    _require_room(known, n_samples, n_clusters)
    return known


def _require_room(known: Knowledge, n_samples: int, n_clusters: int) -> None:
    """There are rows enough for all clusters, and clusters for all kept apart."""
    left = n_samples - len(known.rows) + len(known.labels)
    if left < n_clusters:
        raise InputError(
            f"must_link and partial_labels leave {left} rows and groups of rows, fewer "
            f"than n_clusters={n_clusters}. Ask for {left} clusters at most."
        )
    if len(known.rows) > sizes.exact_rows and n_samples > sizes.exact_rows:
        raise InputError(
            f"Something is known of {len(known.rows)} rows, and of {n_samples} rows "
            f"{sizes.exact_rows} may be known at most. Give links and labels of fewer."
        )
    alike = np.zeros((len(known.labels), n_clusters))
    if keep_apart(alike, known.labels, known.group[known.apart], alike=True) is None:
        raise InputError(
            f"No way was found to keep all {len(known.apart)} pairs of cannot_link "
            f"apart in n_clusters={n_clusters} clusters. Ask for more clusters, or "
            "leave pairs out."
        )


def _components(pairs: IntArray, n_rows: int) -> IntArray:
    ties = sp.coo_array((np.ones(len(pairs)), tuple(pairs.T)), (n_rows, n_rows))
    return np.asarray(connected_components(ties, directed=False)[1])


def _whole_numbers(given: Any, name: str, what: str) -> IntArray:
    try:
        array = np.asarray(to_host(given))
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)  # ragged lists
    if array.size == 0 and array.dtype.kind != "O":
        array = array.astype(np.intp)
    if array.dtype.kind not in "iu":
        whole = array.dtype.kind == "f" and np.all(array == np.rint(array))
        if not whole:
            raise InputTypeError(
                f"{name} must hold whole numbers, {what}; got an array of "
                f"{array.dtype}. Number them first, with np.unique(..., "
                "return_inverse=True) for instance."
            )
    return array.astype(np.intp)


def _pairs(given: Any, name: str, n_samples: int) -> IntArray:
    """Pairs of row numbers (m, 2), each of two rows that there are."""
    if given is None:
        return np.empty((0, 2), dtype=np.intp)
    pairs = _whole_numbers(given, name, "pairs of row numbers")
    if pairs.size == 0:
        return pairs.reshape(0, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(
            f"{name} must be pairs of row numbers, an array (m, 2); its shape is "
            f"{pairs.shape}. Give one pair per line."
        )
    outside = pairs[(pairs < 0) | (pairs >= n_samples)]
    if outside.size:
        raise InputError(
            f"{name} names row {outside[0]}, but the rows are 0 … {n_samples - 1}. "
            "Give row numbers from 0 on."
        )
    same = pairs[pairs[:, 0] == pairs[:, 1]]
    if name == "cannot_link" and same.size:
        raise InputError(
            f"cannot_link keeps row {same[0, 0]} apart from itself. Leave that pair "
            "out."
        )
    return pairs


def _labels(given: Any, n_samples: int, n_clusters: Any) -> IntArray:
    """One label per row, −1 where it is not known."""
    if given is None:
        return np.full(n_samples, UNKNOWN)
    labels = _whole_numbers(given, "partial_labels", "one per row, −1 for unknown")
    if labels.shape != (n_samples,):
        raise InputError(
            f"partial_labels must hold one label per row, {n_samples} in all, −1 for "
            f"unknown ones; its shape is {labels.shape}."
        )
    if labels.min() < UNKNOWN:
        raise InputError(
            f"partial_labels holds {labels.min()}. Give labels from 0 on, and −1 for "
            "unknown ones."
        )
    found = np.unique(labels[labels >= 0])
    if isinstance(n_clusters, str) or found.size == 0:
        return labels
    if found.size > n_clusters:
        raise InputError(
            f"partial_labels holds {found.size} different labels, more than "
            f"n_clusters={n_clusters}. Ask for at least {found.size} clusters."
        )
    if found[-1] >= n_clusters:
        raise InputError(
            f"partial_labels holds {found[-1]}, but the clusters of n_clusters="
            f"{n_clusters} are numbered 0 … {n_clusters - 1}. Give labels that are "
            "numbered from 0 on."
        )
    return labels
