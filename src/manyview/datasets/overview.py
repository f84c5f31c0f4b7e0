"""What a data set is, at a glance: shapes, classes, row order, what is found."""

from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets import registry
from manyview.datasets.loading import load
from manyview.datasets.raw_data import NDArray
from manyview.errors import ManyviewError
from manyview.views.views import Views

# Share of the label changes of random rows from which an order counts as random:
# far below it for rows that come in runs of one class, close to 1 for shuffled ones.
_NEARLY_RANDOM = 0.8
_HIDDEN = ("aliases", "decode", "sha256")  # of an entry, of no use in a table


def label_order(labels: NDArray) -> str:
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
    there = views.present
    facts: dict[str, Any] = {
        "origin": views.origin,
        "rows": len(views),
        "views": [
            {
                "name": views.names[v],
                "features": views.n_features[v],
                "dtype": str(array.dtype),
                "sparse": bool(sp.issparse(array)),
                "missing_rows": 0 if there is None else int((~there[:, v]).sum()),
            }
            for v, array in enumerate(views.arrays)
        ],
    }
    if views.labels is None:
        names = ("classes", "class_sizes", "label_changes", "order")
        return facts | dict.fromkeys(names)
    sizes = np.unique(views.labels, return_counts=True)[1]
    entry = registry.find(views.origin) if views.origin else None
    return facts | {
        "classes": len(sizes),
        "class_sizes": (int(sizes.min()), int(sizes.max())),
        "label_changes": label_changes(views.labels),
        "order": (entry and entry.order) or label_order(views.labels),
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
    rows = []
    for entry in registry.known():
        row = {k: v for k, v in asdict(entry).items() if k not in _HIDDEN}
        row |= {"found": registry.search(entry), "label_changes": None, "problem": None}
        try:
            if read and row["found"] is not None:
                facts = summary(load(entry.name))
                row["order"] = facts["order"] or entry.order
                row["label_changes"] = facts["label_changes"]
        except ManyviewError as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows
