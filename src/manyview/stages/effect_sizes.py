"""Features that set a cluster apart: its mean against the others', in deviations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix, in_float64, to_host
from manyview.stages.scaling import FINE_ROUNDING, ROUNDING
from manyview.views.views import Block, Views

# Rows whose features are summed by cluster at a time: a few megabytes of each view.
BLOCK_ROWS = 4096


class Sums(NamedTuple):
    """Of the rows of every cluster, about a centre: count, sum, sum of squares.

    A spread below `rounding` is none. Every field has a column per feature.
    """

    counts: Matrix
    sums: Matrix
    squares: Matrix
    centre: Matrix
    rounding: Matrix


def effect_sizes(
    views: Views, labels: Matrix, n_clusters: int
) -> tuple[Matrix, tuple[Matrix, Matrix]]:
    """Effect sizes (n_clusters, n_features), and the means inside and outside."""
    found = _cluster_sums(views, labels, n_clusters)
    inside = found.counts, found.sums, found.squares
    return _effects(inside, tuple(part.sum(axis=0) - part for part in inside), found)


def effect_between(sums: Sums, left: Matrix, right: Matrix) -> tuple[Matrix, ...]:
    """Effect sizes (n_features,) of some clusters against others, and both means."""
    parts = sums.counts, sums.sums, sums.squares
    first, second = (tuple(p[j].sum(axis=0) for p in parts) for j in (left, right))
    effect, means = _effects(first, second, sums)
    return effect, *means


def _effects(
    inside: tuple[Matrix, ...], outside: tuple[Matrix, ...], sums: Sums
) -> tuple[Matrix, tuple[Matrix, Matrix]]:
    """(mean inside − mean outside) / pooled deviation, of counts, sums and squares."""
    (counts, own, own_squares), (rest, others, other_squares) = inside, outside
    mean, other_mean = own / np.maximum(counts, 1.0), others / np.maximum(rest, 1.0)
    spread = own_squares - counts * mean**2
    spread += other_squares - rest * other_mean**2
    pooled = np.sqrt(np.maximum(spread, 0.0) / np.maximum(counts + rest - 2.0, 1.0))
    # A feature that is constant but for rounding sets nothing apart.
    least = np.maximum(ROUNDING * (np.abs(mean) + np.abs(other_mean)), sums.rounding)
    real = (pooled > least) & (counts > 0) & (rest > 0)
    effect = np.where(real, (mean - other_mean) / np.where(real, pooled, 1.0), 0.0)
    return effect, (mean + sums.centre, other_mean + sums.centre)


def _cluster_sums(views: Views, labels: Matrix, n_clusters: int) -> Sums:
    """Sums of every feature, block by block."""
    parts = [[np.zeros((n_clusters, d)) for d in views.n_features] for _ in range(3)]
    centres: tuple[Matrix, ...] = ()
    for block in views.blocks(BLOCK_ROWS):
        centres = centres or centres_of(block)
        own = labels[block.start : block.start + len(block)]
        for v, found in enumerate(add_up(block, own, centres, n_clusters)):
            for part, one in zip(parts, found, strict=True):
                part[v] += one
    return gathered(block, centres, parts)


def centres_of(block: Block) -> tuple[Matrix, ...]:
    """Near the mean: squares of numbers far from zero would lose their digits."""
    return tuple(_centre(block, v) for v in range(len(block.views)))


def add_up(
    block: Block, labels: Matrix, centres: tuple[Matrix, ...], n_clusters: int
) -> list[tuple[Matrix, Matrix, Matrix]]:
    """Per view: counts, sums and sums of squares of every feature, by cluster."""
    place = (labels, np.arange(len(block)))
    hot = sp.csr_array((np.ones(len(block)), place), shape=(n_clusters, len(block)))
    found = []
    for v, x in enumerate(block.views):
        there = to_host(block.present[:, v]).astype(np.float64)
        away, square = _away(x, centres[v], there)
        counts = np.broadcast_to((hot @ there)[:, None], (n_clusters, x.shape[1]))
        found.append((counts, _dense(hot @ away), _dense(hot @ square)))
    return found


def gathered(
    block: Block, centres: tuple[Matrix, ...], parts: Sequence[Sequence[Matrix]]
) -> Sums:
    """The sums of all views side by side; any block tells their precision."""
    wide = [not sp.issparse(x) and "64" in str(x.dtype) for x in block.views]
    rounding = [
        (FINE_ROUNDING if w else ROUNDING) * np.abs(c)
        for w, c in zip(wide, centres, strict=True)
    ]
    counts, sums, squares = (np.concatenate(p, axis=1) for p in parts)
    return Sums(
        counts, sums, squares, np.concatenate(centres), np.concatenate(rounding)
    )


def _centre(block: Block, v: int) -> Matrix:
    """The mean of the block's rows; 0 for sparse ones, which stay sparse."""
    x, there = block.views[v], to_host(block.present[:, v])
    if sp.issparse(x) or not there.any():
        return np.zeros(x.shape[1])
    return np.asarray(in_float64(to_host(x)[there]).mean(axis=0))


def _away(x: Any, centre: Matrix, there: Matrix) -> tuple[Any, Any]:
    """Rows and their squares about the centre, 0 for rows without the view."""
    if sp.issparse(x):
        wide = in_float64(x)
        return wide, wide.multiply(wide)
    away = (in_float64(to_host(x)) - centre) * there[:, None]
    return away, away**2


def _dense(shared: Any) -> Matrix:
    return np.asarray(shared.toarray() if sp.issparse(shared) else shared)
