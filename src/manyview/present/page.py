"""Which rows a page draws, and where."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from manyview.engine.contract import open_engine
from manyview.present.plot import flatten
from manyview.stages.sampling import choose_scalings, draw
from manyview.stages.scaling import Scaling, apply_scaling
from manyview.views.views import Views

Matrix = np.ndarray[Any, Any]

MOST_POINTS = 50_000  # WebGL pans that many without a stall
VIEW_POINTS = 2_000  # of every view's map
SCALING_ROWS = 2_000
BESIDE = 5  # laid-out neighbours that place a further row
WIDTH = 50  # t-SNE sees at most so many components


class Layout(NamedTuple):
    """`points` (n_shown, 2) of the rows `rows`, and how they were found, in words."""

    points: Matrix
    rows: Matrix
    how: str


def choose_rows(n_samples: int, most: int = MOST_POINTS, seed: int = 0) -> Matrix:
    """All rows, or `most` of them drawn at random, in order."""
    if n_samples <= most:
        return np.arange(n_samples)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_samples, most, replace=False))


def lay_out(
    embedding: Matrix, rows: Matrix, *, method: str = "auto", seed: int = 0
) -> Layout:
    """The map of the chosen rows.

    t-SNE lays out as many as `plot.flatten` takes; a further row is put in the
    middle of its nearest neighbours among them.
    """
    shown = np.asarray(embedding[rows], dtype=np.float64)
    flat = flatten(shown, method=method, random_state=seed)
    if len(flat.rows) == len(rows):
        return Layout(flat.points, rows, flat.how)
    search = NearestNeighbors(n_neighbors=BESIDE).fit(shown[flat.rows])
    rest = np.setdiff1d(np.arange(len(rows)), flat.rows)
    points = np.empty((len(rows), 2))
    points[flat.rows] = flat.points
    beside = search.kneighbors(shown[rest], return_distance=False)
    points[rest] = flat.points[beside].mean(axis=1)
    how = (
        f"{flat.how} of {len(flat.rows):,} rows, the others amid their nearest "
        "neighbours"
    )
    return Layout(points, rows, how)


def lay_out_views(
    views: Views, rows: Matrix, n_clusters: int, *, method: str = "auto", seed: int = 0
) -> list[Layout]:
    """The map of every view by itself, of the given rows that have it."""
    block = views.block(rows)
    scalings = _scalings(views, n_clusters, seed)
    found = []
    for v, scaling in enumerate(scalings):
        there = np.flatnonzero(np.asarray(block.present)[:, v])
        if not there.size:
            found.append(Layout(np.empty((0, 2)), there, "nothing"))
            continue
        flat = flatten(
            reduce(apply_scaling(block.views[v][there], scaling), seed),
            method=method,
            random_state=seed,
        )
        found.append(Layout(flat.points, there, flat.how))
    return found


def side_by_side(views: Views, rows: Matrix, n_clusters: int, seed: int = 0) -> Matrix:
    """All views scaled and joined, reduced: the map of a method without embedding."""
    block = views.block(rows)
    scalings = _scalings(views, n_clusters, seed)
    parts = [
        reduce(apply_scaling(x, s), seed)
        for x, s in zip(block.views, scalings, strict=True)
    ]
    spread = [p / max(float(np.sqrt((p**2).sum(axis=1).mean())), 1e-12) for p in parts]
    return reduce(np.concatenate(spread, axis=1), seed)


def _scalings(views: Views, n_clusters: int, seed: int) -> tuple[Scaling, ...]:
    engine = open_engine(views, views.dtype)
    drawn = draw(engine, min(SCALING_ROWS, len(views)), seed)
    return choose_scalings(drawn, "auto", n_clusters)


def reduce(x: Any, seed: int) -> Matrix:
    """Rows in at most `WIDTH` principal directions, dense."""
    if min(x.shape) <= WIDTH:
        return np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)
    svd = TruncatedSVD(WIDTH, random_state=seed)
    return np.asarray(svd.fit_transform(x), dtype=np.float64)
