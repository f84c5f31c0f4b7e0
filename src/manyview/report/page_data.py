"""What page.js draws from, as one JSON object."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.explain import effect_sizes
from manyview.present.page import (
    VIEW_POINTS,
    Layout,
    choose_rows,
    lay_out,
    lay_out_views,
    side_by_side,
)
from manyview.present.plot import COLOURS
from manyview.report.coding import places, shades, whole_numbers
from manyview.report.subject import Subject
from manyview.views.views import Views

Matrix = np.ndarray[Any, Any]

MOST_FEATURES = 300
FEATURE_BYTES = 12_000_000
MOST_CLASSES = 100


class Maps:
    """The maps of a page: the consensus, and the views where they are at hand."""

    def __init__(self, subject: Subject, method: str = "auto") -> None:
        rows = choose_rows(subject.n_samples)
        views = subject.views
        self.of_embedding = subject.embedding is not None
        self.main: Layout | None = None
        self.views: list[Layout] = []
        if subject.embedding is not None:
            self.main = lay_out(subject.embedding, rows, method=method)
        elif views is not None:
            joined = side_by_side(views, rows, subject.n_clusters)
            flat = lay_out(joined, np.arange(len(rows)), method=method)
            self.main = flat._replace(rows=rows)
        if views is not None and self.main is not None:
            # Places among the shown rows, so that the maps share colours and names.
            self.few = choose_rows(len(rows), VIEW_POINTS)
            self.views = lay_out_views(
                views, rows[self.few], subject.n_clusters, method=method
            )


def page_data(subject: Subject, maps: Maps) -> dict[str, Any]:
    """All charts of the page."""
    return {
        "clusters": subject.n_clusters,
        "rows": subject.n_samples,
        "sizes": subject.sizes.tolist(),
        "colours": list(COLOURS),
        "map": None if maps.main is None else _map(subject, maps.main),
        "views": _views(subject, maps),
        "influence": _influence(subject),
        "objective": list(subject.objective),
        "contingency": _contingency(subject),
    }


def _map(subject: Subject, flat: Layout) -> dict[str, Any]:
    rows = flat.rows
    names = subject.row_names
    certainty = subject.certainty
    classes, codes = subject.classes
    return {
        **places(flat.points),
        "row": whole_numbers(rows, "<u4"),
        "names": None if names is None else [str(n) for n in names[rows]],
        "cluster": whole_numbers(subject.labels[rows], "<u2"),
        "label": {"names": classes, "codes": whole_numbers(codes[rows], "<u2")}
        if classes
        else None,
        "certainty": None if certainty is None else shades(certainty[rows]),
        "features": _features(subject, rows),
    }


def _features(subject: Subject, rows: Matrix) -> list[dict[str, Any]]:
    """Shades of the features that set the clusters apart most, in the views' order."""
    views = subject.views
    if views is None:
        return []
    most = min(MOST_FEATURES, FEATURE_BYTES // len(rows))
    effect, _ = effect_sizes(views, subject.labels, subject.n_clusters)
    best = np.sort(np.argsort(-np.abs(effect).max(axis=0), kind="stable")[:most])
    begin = np.concatenate([[0], np.cumsum(views.n_features)])
    block = views.block(rows)
    found = []
    for v, x in enumerate(block.views):
        columns = best[(best >= begin[v]) & (best < begin[v + 1])] - begin[v]
        part = x[:, columns]
        dense = np.asarray(part.toarray() if sp.issparse(part) else part)
        there = np.asarray(block.present)[:, v]
        for i, values in zip(columns, dense.T, strict=True):
            name = {"view": views.names[v], "name": feature_name(views, v, int(i))}
            found.append({**name, **shades(values.astype(np.float64), there)})
    return found


def feature_name(views: Views, v: int, i: int) -> str:
    """What a reader calls feature `i` of view `v`."""
    names = views.feature_names[v]
    return f"feature {i}" if names is None else str(names[i])


def _views(subject: Subject, maps: Maps) -> list[dict[str, Any]]:
    if subject.views is None:
        return []
    return [
        {"name": name, "at": whole_numbers(maps.few[flat.rows], "<u4")}
        | places(flat.points)
        for name, flat in zip(subject.views.names, maps.views, strict=bool(maps.views))
    ]


def _influence(subject: Subject) -> dict[str, Any] | None:
    found = subject.influence
    if found is None:
        return None
    n_views = len(found.overall)
    names = [f"view{v}" for v in range(n_views)]
    if subject.views is not None:
        names = list(subject.views.names)
    shares = np.round(np.asarray(found.by_cluster, dtype=np.float64), 4)
    return {
        "views": names,
        "overall": np.round(np.asarray(found.overall, dtype=np.float64), 4).tolist(),
        "clusters": shares.tolist(),
    }


def _contingency(subject: Subject) -> dict[str, Any] | None:
    """Rows by class and cluster; of many classes the largest."""
    if subject.known is None:
        return None
    names, codes = subject.classes
    counts = np.zeros((len(names), subject.n_clusters), dtype=np.int64)
    np.add.at(counts, (codes, subject.labels), 1)
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    return {"classes": [names[c] for c in kept], "counts": counts[kept].tolist()}
