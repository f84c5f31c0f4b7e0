"""What became of the clusters: kept, moved, split, merged, born, died.

Clusters before and after are compared through rows that both partitions place. As in
MONIC (M. Spiliopoulou, I. Ntoutsi, Y. Theodoridis, R. Schult: MONIC, modeling and
monitoring cluster transitions, KDD 2006) a cluster lives on where half of its rows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from manyview.arrays.ops import Matrix
from manyview.growing.comparing import Measured, compare, holm
from manyview.present.page import notebook_html
from manyview.present.plot import COLOURS, new_figure
from manyview.present.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("kept", "moved", "split", "merged", "born", "died")
# MONIC's threshold of a match: half of the rows of one of the two.
HALF = 0.5
# A cluster is new, not a part of an old one, where most of its rows lie farther from
# the landmarks than this share of the old cluster's rows: the usual rare tail.
FAR = 0.95
# A cluster has moved where distances differ beyond chance at this rate, and by a gap
# that is worth a word: of many rows the least difference is beyond chance.
MOVED_RATE = 0.01
MOVED_GAP = 0.2


class Change(NamedTuple):
    """What became of some clusters.

    Attributes
    ----------
    kind : {"kept", "moved", "split", "merged", "born", "died"}
    before, after : tuples of int
        Cluster numbers before and after; a part that was split off, and a cluster that
        was born, has a number that was never used before.
    rows : int
        Rows that are in the clusters after, or were in one that died.
    views : tuple of str
        Views in which a cluster has moved.
    """

    kind: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    rows: int
    views: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The change in words."""
        old, new = _numbers(self.before), _numbers(self.after)
        words = {
            "kept": f"{new} is as it was",
            "moved": f"{new} has moved in {', '.join(map(repr, self.views))}",
            "split": f"{old} was split into {new}",
            "merged": f"{old} were merged into {new}",
            "born": f"{new} is new",
            "died": f"{old} is gone",
        }
        return f"{words[self.kind]} ({self.rows:,} rows)"


class Changes(NamedTuple):
    """What a refit, or rows that were added, have changed.

    Attributes
    ----------
    events : tuple of Change
        What became of every cluster, the unchanged ones first.
    overlap : array (n_before + 1, n_after)
        Rows by their cluster before and after, which has the same number in both; the
        last line are rows that had no cluster before.
    changed_rows : int
        Rows that have another number than before.
    relabelled : array (changed_rows,)
        Which rows of the model these are.
    refit_due : str
        Why the model should be fitted again, where added rows no longer fit it.
    """

    events: tuple[Change, ...]
    overlap: Matrix
    changed_rows: int
    relabelled: Matrix = np.empty(0, dtype=np.intp)
    refit_due: str = ""

    @property
    def sentence(self) -> str:
        """How many of each kind, how many rows have moved, and if a refit is due."""
        counts = {kind: len(self.of(kind)) for kind in KINDS}
        parts = [f"{n} {kind}" for kind, n in counts.items() if n]
        rows = int(self.overlap.sum())
        return (
            f"Clusters: {', '.join(parts)}; {self.changed_rows:,} of {rows:,} rows "
            f"have another cluster than before.{' ' * bool(self.refit_due)}"
            f"{self.refit_due}"
        )

    def of(self, kind: str) -> list[Change]:
        """The events of one kind, such as ``"born"``."""
        return [event for event in self.events if event.kind == kind]

    def table(self) -> Table:
        """Every event with its clusters and rows."""
        columns = ["what", "before", "after", "rows", "views"]
        found = Table("changes", self.sentence, columns, align="lllrl")
        for e in self.events:
            ends = [_numbers(numbers) or "–" for numbers in (e.before, e.after)]
            found.add(e.kind, *ends, str(e.rows), ", ".join(e.views) or "–")
        return found

    def __str__(self) -> str:
        return self.table().to_markdown()

    def _repr_html_(self) -> str:
        return notebook_html(self.table())

    def figure(self) -> Figure:
        """Clusters before on the left, after on the right, rows as bands between."""
        figure = new_figure(6.0, 5.0, self.sentence)
        axis = figure.subplots()
        left, right = _stacked(self.overlap.sum(axis=1)), _stacked(self.overlap.sum(0))
        out, into = left.copy(), right.copy()
        for i, j in np.argwhere(self.overlap > 0):
            rows = self.overlap[i, j]
            colour = COLOURS[j % len(COLOURS)]
            edges = [out[i], into[j]], [out[i] + rows, into[j] + rows]
            axis.fill_between([0.0, 1.0], *edges, color=colour, alpha=0.5, linewidth=0)
            out[i] += rows
            into[j] += rows
        for x, starts, sums, side in (
            (0.0, left, self.overlap.sum(axis=1), "right"),
            (1.0, right, self.overlap.sum(axis=0), "left"),
        ):
            for j in np.flatnonzero(sums):
                middle, gap = starts[j] + sums[j] / 2, -0.02 if x == 0 else 0.02
                name = "new" if x == 0 and j == len(sums) - 1 else str(j)
                axis.text(x + gap, middle, name, ha=side, va="center", fontsize=11)
        axis.set(xlim=(-0.12, 1.08), yticks=[], ylabel="rows")
        axis.set_xticks([0, 1], ["before", "after"])
        axis.invert_yaxis()
        return figure


def _numbers(clusters: tuple[int, ...]) -> str:
    return ", ".join(map(str, clusters))


def _stacked(sums: Matrix) -> Matrix:
    """Where every cluster's rows begin, with gaps between them."""
    gap = 0.02 * sums.sum()
    steps = np.where(sums > 0, sums + gap, 0.0)
    return np.asarray(np.concatenate([[0.0], np.cumsum(steps)[:-1]]))


def contingency(before: Matrix, after: Matrix, shape: tuple[int, int]) -> Matrix:
    """Rows by cluster before and after; one more line for rows that had none."""
    known = np.where(before >= 0, before, shape[0])
    flat = known * shape[1] + after
    size = (shape[0] + 1) * shape[1]
    return np.bincount(flat, minlength=size).reshape(-1, shape[1])


def match(counts: Matrix) -> Matrix:
    """The number of every cluster after: that of the one it goes on from, or a new one.

    `counts` are rows (n_before, n_after) by cluster. Pairs must share half of the rows
    of one of them; of these as many rows as possible keep their number. Others get
    numbers after all that were used.
    """
    old, new = _shares(counts)
    may = ((old >= HALF) | (new >= HALF)) & (counts > 0)
    rows, columns = linear_sum_assignment(-np.where(may, counts, 0))
    ids = np.full(counts.shape[1], -1)
    paired = may[rows, columns]
    ids[columns[paired]] = rows[paired]
    fresh = ids < 0
    ids[fresh] = counts.shape[0] + np.arange(fresh.sum())
    return ids


def _shares(counts: Matrix) -> tuple[Matrix, Matrix]:
    """Of every cluster before, and of every one after, the share of their rows."""
    sums = [counts.sum(axis=axis, keepdims=True) for axis in (1, 0)]
    old, new = (counts / np.maximum(total, 1) for total in sums)
    return old, new


def beyond_known(old: Measured, new: Measured, labels: Matrix, n_after: int) -> Matrix:
    """Which clusters of `labels` lie, for most rows, beyond the old ones in some view.

    `old` are rows of the fit before, `new` those that it places now.
    """
    far: Matrix = np.zeros(new.distances.shape, dtype=bool)
    for j in np.unique(new.labels):
        known, own = old.labels == j, new.labels == j
        for v in range(far.shape[1]):
            told = old.distances[known, v]
            if (told := told[told > 0]).size:
                far[own, v] = new.distances[own, v] > np.quantile(told, FAR)
    sums = np.zeros((n_after, far.shape[1]))
    np.add.at(sums, labels, far)
    share = sums / np.maximum(np.bincount(labels, minlength=n_after), 1)[:, None]
    return np.asarray((share > HALF).any(axis=1))


def moved_views(old: Measured, new: Measured, n_clusters: int) -> Matrix:
    """In which views (n_clusters, n_views) rows of the same number lie elsewhere."""
    cells = compare(old, new, n_clusters)
    return np.asarray((holm(cells.cells) <= MOVED_RATE) & (cells.gaps >= MOVED_GAP))


def tell(
    overlap: Matrix, sizes_before: Matrix, moved: Matrix, names: tuple[str, ...]
) -> tuple[Change, ...]:
    """What became of every cluster.

    `overlap` (n_before + 1, n_after) are rows by their numbers before and after, the
    last line those that had none; `sizes_before` (n_before,) rows of the fit before.
    """
    counts, sizes = overlap[:-1], overlap.sum(axis=0)
    n_before = len(counts)
    old, new = _shares(counts)
    lives = sizes > 0
    parts: dict[int, list[int]] = {}
    sources: dict[int, list[int]] = {}
    events = []
    for j in (np.flatnonzero(lives[n_before:]) + n_before).tolist():
        source = int(new[:, j].argmax())
        if new[source, j] >= HALF and lives[source]:
            parts.setdefault(source, [source]).append(j)
        else:
            events.append(Change("born", (), (j,), int(sizes[j])))
    for i in np.flatnonzero((sizes_before > 0) & ~lives[:n_before]).tolist():
        if old[i].max() >= HALF:
            sources.setdefault(int(old[i].argmax()), []).append(i)
        else:
            events.append(Change("died", (i,), (), int(sizes_before[i])))
    for source, found in parts.items():
        events.append(Change("split", (source,), tuple(found), int(sizes[found].sum())))
    for into, found in sources.items():
        merged = tuple(sorted({*found, into}))
        events.append(Change("merged", merged, (into,), int(sizes[into])))
    busy = {*parts, *sources}
    for j in [j for j in np.flatnonzero(lives[:n_before]).tolist() if j not in busy]:
        where = tuple(names[v] for v in np.flatnonzero(moved[j]))
        kind = "moved" if where else "kept"
        events.append(Change(kind, (j,), (j,), int(sizes[j]), where))
    return tuple(sorted(events, key=lambda e: (KINDS.index(e.kind), e.before, e.after)))
