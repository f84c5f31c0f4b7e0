"""Which rows a report draws, and where."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from manyview.arrays.ops import Matrix
from manyview.engine.local import open_engine
from manyview.present.plot import Map, choose_rows, flatten_all
from manyview.report.subject import Subject
from manyview.stages.sampling import choose_scalings, draw
from manyview.stages.scaling import apply_scaling
from manyview.views.views import Views

MOST_POINTS = 50_000  # WebGL pans that many without a stall
VIEW_POINTS = 1_000  # of every view's map, a small picture
SCALING_ROWS = 2_000  # shares of zeros and signs are settled by then
BESIDE = 5  # laid-out neighbours that place a further row
WIDTH = 50  # components that t-SNE sees; customary, more are mostly noise


class Maps(NamedTuple):
    """The map of the consensus, and those of the views where they are at hand."""

    main: Map | None
    of_embedding: bool  # or else of all views side by side
    views: list[Map]  # their rows are places in main.rows: all share colours and names


def draw_maps(subject: Subject, method: str = "auto") -> Maps:
    rows = choose_rows(subject.n_samples, MOST_POINTS)
    views = subject.views
    if subject.embedding is not None:
        shown = np.asarray(subject.embedding[rows], dtype=np.float64)
    elif views is not None:
        shown = _side_by_side(views, rows, subject.n_clusters)
    else:
        return Maps(None, False, [])
    few = choose_rows(len(rows), VIEW_POINTS)
    with threadpool_limits(1):  # matrices this small gain nothing from threads
        parts, places = view_parts(views, rows[few], subject.n_clusters)
    flat, *by_view = flatten_all([shown, *parts], method=method)
    return Maps(
        place_others(shown, flat)._replace(rows=rows),
        subject.embedding is not None,
        [m._replace(rows=few[p]) for m, p in zip(by_view, places, strict=True)],
    )


def place_others(shown: Matrix, flat: Map) -> Map:
    """The map with the rows that `flatten` left out, amid their neighbours."""
    every = np.arange(len(shown))
    if len(flat.rows) == len(every):
        return flat
    search = NearestNeighbors(n_neighbors=BESIDE).fit(shown[flat.rows])
    rest = np.setdiff1d(every, flat.rows)
    points = np.empty((len(every), 2))
    points[flat.rows] = flat.points
    beside = search.kneighbors(shown[rest], return_distance=False)
    points[rest] = flat.points[beside].mean(axis=1)
    how = (
        f"{flat.how} of {len(flat.rows):,} rows, the others amid their nearest "
        "neighbours"
    )
    return Map(points, every, how)


def view_parts(
    views: Views | None, rows: Matrix, n_clusters: int
) -> tuple[list[Matrix], list[Matrix]]:
    """Every view of the given rows that have it, and the places of these."""
    if views is None:
        return [], []
    present = np.asarray(views.block(rows).present)
    there = [np.flatnonzero(present[:, v]) for v in range(views.n_views)]
    scaled = _scaled(views, rows, n_clusters)
    return [reduce(x[t]) for x, t in zip(scaled, there, strict=True)], there


def _side_by_side(views: Views, rows: Matrix, n_clusters: int) -> Matrix:
    """All views scaled and joined, reduced: the map of a method without embedding."""
    parts = [reduce(x) for x in _scaled(views, rows, n_clusters)]
    spread = [p / max(float(np.sqrt((p**2).sum(axis=1).mean())), 1e-12) for p in parts]
    return reduce(np.concatenate(spread, axis=1))


def _scaled(views: Views, rows: Matrix, n_clusters: int) -> list[Any]:
    """Every view of the given rows, scaled as a fit would."""
    engine = open_engine(views, views.dtype, view_order=range(views.n_views))
    drawn = draw(engine, min(SCALING_ROWS, len(views)), 0)
    scalings = choose_scalings(drawn, "auto", n_clusters)
    arrays = views.block(rows).views
    return [apply_scaling(x, s) for x, s in zip(arrays, scalings, strict=True)]


def reduce(x: Any) -> Matrix:
    """Rows in at most `WIDTH` principal directions, dense."""
    if min(x.shape) <= WIDTH:
        return np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)
    svd = TruncatedSVD(WIDTH, random_state=0)
    return np.asarray(svd.fit_transform(x), dtype=np.float64)
