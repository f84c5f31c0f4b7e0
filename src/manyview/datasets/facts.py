"""What a data set is, at a glance: shapes, classes, row order, what is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets import registry
from manyview.datasets.formats.raw import NDArray
from manyview.views.views import Views

# A share of the label changes that random rows would show.
_NEARLY_RANDOM = 0.8


def row_order(labels: NDArray) -> str:
    """How the rows stand by class: label-sorted, label-grouped or random."""
    n_changes = label_changes(labels)
    counts = np.unique(labels, return_counts=True)[1]
    if n_changes == len(counts) - 1:
        return "label-sorted"
    n = len(labels)
    # Expected changes of a random permutation: n − Σ c²/n.
    expected = n - float((counts.astype(float) ** 2).sum()) / n
    return "random" if n_changes >= _NEARLY_RANDOM * expected else "label-grouped"


def label_changes(labels: NDArray) -> int:
    """How many rows have another class than the row before."""
    return int((labels[1:] != labels[:-1]).sum())


def summary(views: Views) -> dict[str, Any]:
    """Facts about a data set, ready to print or to write as JSON.

    Parameters
    ----------
    views : Views

    Returns
    -------
    dict
        ``origin``, ``rows``, ``views`` (one dict each: name, features, dtype,
        sparse, missing_rows), ``classes``, ``class_sizes`` (smallest, largest),
        ``label_changes``, ``order``.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> from manyview.datasets import summary
    >>> facts = summary(Views([np.eye(4)], labels=[0, 0, 1, 1]))
    >>> facts["rows"], facts["classes"], facts["order"]
    (4, 2, 'label-sorted')
    """
    facts: dict[str, Any] = {
        "origin": views.origin,
        "rows": len(views),
        "views": [_view_facts(views, v) for v in range(views.n_views)],
        "classes": None,
        "class_sizes": None,
        "label_changes": None,
        "order": None,
    }
    if views.labels is not None:
        sizes = np.unique(views.labels, return_counts=True)[1]
        entry = registry.find(views.origin) if views.origin else None
        facts["classes"] = len(sizes)
        facts["class_sizes"] = (int(sizes.min()), int(sizes.max()))
        facts["label_changes"] = label_changes(views.labels)
        facts["order"] = (entry and entry.order) or row_order(views.labels)
    return facts


def _view_facts(views: Views, v: int) -> dict[str, Any]:
    array = views.arrays[v]
    missing = 0 if views.present is None else int((~views.present[:, v]).sum())
    return {
        "name": views.names[v],
        "features": views.n_features[v],
        "dtype": str(array.dtype),
        "sparse": bool(sp.issparse(array)),
        "missing_rows": missing,
    }


def summary_lines(views: Views) -> list[str]:
    """The facts of `summary` as lines of text."""
    facts = summary(views)
    lines = [
        f"{facts['origin'] or 'data'}: {facts['rows']} rows, {views.n_views} views"
    ]
    for view in facts["views"]:
        extra = ", sparse" if view["sparse"] else ""
        if view["missing_rows"]:
            extra += f", missing for {view['missing_rows']} rows"
        lines.append(
            f"  {view['name']}: {view['features']} features, {view['dtype']}{extra}"
        )
    if facts["classes"] is None:
        return [*lines, "  no labels"]
    low, high = facts["class_sizes"]
    return [
        *lines,
        f"  {facts['classes']} classes of {low} to {high} rows, {facts['order']} "
        f"({facts['label_changes']} label changes)",
    ]


def describe(*, read: bool = True) -> list[dict[str, Any]]:
    """One row per known data set: what is expected, and what was found.

    Parameters
    ----------
    read : bool
        Load the sets that are found to check them and to count label changes.

    Returns
    -------
    list of dict
        ``name``, ``paper``, ``rows``, ``features``, ``classes``, ``order``,
        ``source``, ``preparation``, ``note``, ``found`` (path or None),
        ``label_changes`` and ``problem`` (None when all is as expected).

    Examples
    --------
    >>> from manyview.datasets import describe
    >>> [row["name"] for row in describe(read=False) if row["paper"]][:2]
    ['CCV', 'Caltech102']
    """
    return [_row(entry, read) for entry in registry.known()]


def _row(entry: registry.Known, read: bool) -> dict[str, Any]:
    path = registry.search(entry)
    row: dict[str, Any] = {
        "name": entry.name,
        "paper": entry.paper,
        "rows": entry.rows,
        "features": entry.features,
        "classes": entry.classes,
        "order": entry.order,
        "source": entry.source,
        "preparation": entry.preparation,
        "note": entry.note,
        "found": path,
        "label_changes": None,
        "problem": None,
    }
    if path is not None and read:
        row |= _read_row(entry)
    return row


def _read_row(entry: registry.Known) -> dict[str, Any]:
    from manyview.datasets.loading import load
    from manyview.errors import ManyviewError

    try:
        facts = summary(load(entry.name))
    except ManyviewError as error:
        return {"problem": str(error)}
    order = facts["order"] or entry.order
    return {"order": order, "label_changes": facts["label_changes"]}
