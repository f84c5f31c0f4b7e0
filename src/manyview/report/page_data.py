"""What the page's charts are drawn from, as one JSON object."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.explain import effect_sizes
from manyview.present.plot import COLOURS, Map
from manyview.report.coding import places, shades, whole_numbers
from manyview.report.maps import Maps
from manyview.report.subject import Subject
from manyview.views.views import Views

Matrix = np.ndarray[Any, Any]

MOST_FEATURES = 300  # a longer menu is past reading
FEATURE_BYTES = 12_000_000  # with plotly's script a page of about 20 MB
MOST_CLASSES = 100  # lines of the map of classes that a screen can still show


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


def _map(subject: Subject, flat: Map) -> dict[str, Any]:
    rows, names, certainty = flat.rows, subject.row_names, subject.certainty
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
    names = () if subject.views is None else subject.views.names
    return [
        {"name": name, "at": whole_numbers(flat.rows, "<u4")} | places(flat.points)
        for name, flat in zip(names, maps.views, strict=True)
    ]


def _influence(subject: Subject) -> dict[str, Any] | None:
    found, views = subject.influence, subject.views
    if found is None:
        return None
    unnamed = [f"view{v}" for v in range(len(found.overall))]
    return {
        "views": unnamed if views is None else list(views.names),
        "overall": _rounded(found.overall),
        "clusters": _rounded(found.by_cluster),
    }


def _rounded(shares: Matrix) -> Any:
    return np.round(np.asarray(shares, dtype=np.float64), 4).tolist()


def _contingency(subject: Subject) -> dict[str, Any] | None:
    """Rows by class and cluster; of many classes the largest."""
    if subject.known is None:
        return None
    names, counts = subject.classes[0], subject.contingency
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    return {"classes": [names[c] for c in kept], "counts": counts[kept].tolist()}
