"""What the page's charts are drawn from, as one JSON object.

Columns of the map are short base64: 50,000 rows in a few hundred kilobytes.
"""

import base64
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix
from manyview.growing.tree_figures import leaf_order, levels
from manyview.present.plot import COLOURS, Map
from manyview.report.maps import Maps
from manyview.report.subject import Subject
from manyview.stages.effect_sizes import effect_sizes

MISSING = 255  # code of a value that is not there
LOW, HIGH = 1.0, 99.0  # percentiles that the colours span; outliers would grey the rest
MOST_FEATURES = 300  # a longer menu is past reading
FEATURE_BYTES = 12_000_000  # with plotly's script a page of about 20 MB
MOST_CLASSES = 100  # lines of the map of classes that a screen can still show


def chart_data(subject: Subject, maps: Maps) -> dict[str, Any]:
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
        "tree": _tree(subject, maps),
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
        part, names = x[:, columns], views.feature_names[v]
        dense = np.asarray(part.toarray() if sp.issparse(part) else part)
        there = np.asarray(block.present)[:, v]
        for i, values in zip(columns, dense.T, strict=True):
            name = f"feature {i}" if names is None else str(names[i])
            shown = shades(values.astype(np.float64), there)
            found.append({"view": views.names[v], "name": name, **shown})
    return found


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
        "overall": np.round(np.asarray(found.overall, np.float64), 4).tolist(),
        "clusters": np.round(np.asarray(found.by_cluster, np.float64), 4).tolist(),
    }


def _contingency(subject: Subject) -> dict[str, Any] | None:
    """Rows by class and cluster; of many classes the largest."""
    if subject.known is None:
        return None
    names, counts = subject.classes[0], subject.contingency
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    return {"classes": [names[c] for c in kept], "counts": counts[kept].tolist()}


def _tree(subject: Subject, maps: Maps) -> dict[str, Any] | None:
    """The merges of the tree, how its branches lie, and the leaf of every point."""
    tree = subject.tree
    if tree is None or maps.main is None:
        return None
    return {
        "leaf": whole_numbers(tree.leaves[maps.main.rows], "<u2"),
        "clusters": tree.leaf_clusters.tolist(),
        "rows": np.bincount(tree.leaves, minlength=tree.n_leaves).tolist(),
        "pairs": tree.linkage[:, :2].astype(int).tolist(),
        "distances": np.round(tree.linkage[:, 2], 4).tolist(),
        "order": leaf_order(tree).tolist(),
        "levels": levels(tree),
    }


def whole_numbers(values: Matrix, dtype: str) -> str:
    """Little-endian whole numbers as base64 text."""
    return base64.b64encode(values.astype(dtype).tobytes()).decode("ascii")


def places(points: Matrix) -> dict[str, Any]:
    """Points in the plane, 16 bits per coordinate, in one scale for both."""
    if not len(points):
        return {"x": "", "y": ""}
    low = points.min(axis=0)
    span = max(float((points.max(axis=0) - low).max()), 1e-12)
    codes = np.rint((points - low) / span * 65535)
    x, y = codes[:, 0], codes[:, 1]
    return {"x": whole_numbers(x, "<u2"), "y": whole_numbers(y, "<u2")}


def shades(values: Matrix, present: Matrix | None = None) -> dict[str, Any]:
    """A number per row in 255 steps between two percentiles; `MISSING` elsewhere."""
    there = np.isfinite(values)
    if present is not None:
        there &= present
    seen = values[there]
    codes, low, high = np.full(len(values), MISSING), 0.0, 0.0
    if seen.size:
        low, high = (float(q) for q in np.percentile(seen, (LOW, HIGH)))
        if high <= low:
            low, high = float(seen.min()), float(seen.max())
        step = (high - low) / (MISSING - 1) or 1.0
        codes[there] = np.rint((np.clip(seen, low, high) - low) / step)
    return {"low": low, "high": high, "codes": whole_numbers(codes, "u1")}
