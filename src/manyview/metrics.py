"""Seven scores of a partition against known classes.

All come from one table that counts samples by (class, cluster). It is sparse, so
nothing grows with the square of the number of samples or with classes times clusters.
Accuracy, purity, precision and recall treat classes and clusters differently; NMI, the
pair F-score and ARI are symmetric.
"""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, eye_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.stats import entropy

from manyview.errors import InputError

__all__ = [
    "accuracy",
    "ari",
    "clustering_scores",
    "contingency",
    "nmi",
    "pair_f_score",
    "pair_precision",
    "pair_recall",
    "purity",
]

Labels = ArrayLike | Iterable[Hashable]
Codes = NDArray[np.integer[Any]]

# A dense table of so many cells, 8 MB, is counted faster than a sparse one is summed.
MOST_CELLS = 2**20


def clustering_scores(labels_true: Labels, labels_pred: Labels) -> dict[str, float]:
    """Score a partition with all seven measures.

    Parameters
    ----------
    labels_true : sequence of n_samples labels
        Known classes: numbers, strings or any hashable objects.
    labels_pred : sequence of n_samples labels
        Clusters. Their names and number need not match those of the classes.

    Returns
    -------
    dict of str to float
        ``ACC``, ``NMI``, ``Purity``, ``F-score``, ``Precision``, ``Recall``, ``ARI``.

    Examples
    --------
    >>> scores = clustering_scores(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    >>> {name: round(score, 3) for name, score in scores.items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'ACC': 0.75, 'NMI': 0.8, 'Purity': 1.0, 'F-score': 0.667,
     'Precision': 1.0, 'Recall': 0.5, 'ARI': 0.571}
    """
    table = contingency(labels_true, labels_pred)
    own = {"ACC": _accuracy(table), "NMI": _nmi(table), "Purity": _purity(table)}
    return own | _pair_scores(table)


def contingency(labels_true: Labels, labels_pred: Labels) -> csr_array:
    """Count the samples of every class in every cluster.

    Returns
    -------
    csr_array of int64, shape (n_classes, n_clusters)
        Rows and columns follow the sorted distinct labels, or the order of first
        appearance where labels cannot be compared.

    Examples
    --------
    >>> contingency([0, 0, 1], ["b", "a", "a"]).toarray()
    array([[1, 1],
           [1, 0]])
    """
    rows = _codes(labels_true, "labels_true")
    columns = _codes(labels_pred, "labels_pred")
    if len(rows) != len(columns):
        raise InputError(
            f"labels_true has {len(rows)} entries and labels_pred has "
            f"{len(columns)}; give one label per sample in both."
        )
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    n_cells = shape[0] * shape[1]
    if n_cells <= MOST_CELLS:
        counts = np.bincount(rows * shape[1] + columns, minlength=n_cells)
        return csr_array(counts.reshape(shape))
    ones = np.ones(len(rows), dtype=np.int64)
    return coo_array((ones, (rows, columns)), shape).tocsr()


def accuracy(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of samples covered by the best one-to-one match of clusters to classes.

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], [1, 1, 0, 2])
    0.75
    """
    return _accuracy(contingency(labels_true, labels_pred))


def nmi(labels_true: Labels, labels_pred: Labels) -> float:
    """Mutual information over the arithmetic mean of both entropies, 2 I / (H + H').

    Examples
    --------
    >>> nmi([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return _nmi(contingency(labels_true, labels_pred))


def purity(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of samples that belong to the majority class of their cluster.

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return _purity(contingency(labels_true, labels_pred))


def pair_f_score(labels_true: Labels, labels_pred: Labels) -> float:
    """Harmonic mean of pair precision and pair recall.

    Examples
    --------
    >>> pair_f_score([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    return _pair_scores(contingency(labels_true, labels_pred))["F-score"]


def pair_precision(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of the pairs within a cluster that share a class (1 if there is no pair).

    Examples
    --------
    >>> pair_precision([0, 0, 1, 1], [0, 0, 1, 2])
    1.0
    """
    return _pair_scores(contingency(labels_true, labels_pred))["Precision"]


def pair_recall(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of the pairs within a class that share a cluster (1 if there is no pair).

    Examples
    --------
    >>> pair_recall([0, 0, 1, 1], [0, 0, 1, 2])
    0.5
    """
    return _pair_scores(contingency(labels_true, labels_pred))["Recall"]


def ari(labels_true: Labels, labels_pred: Labels) -> float:
    """Adjusted Rand index of Hubert and Arabie: 0 by chance, 1 for equal partitions.

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return _pair_scores(contingency(labels_true, labels_pred))["ARI"]


def _accuracy(table: csr_array) -> float:
    """Match on the sparse table: the dense problem takes seconds at 5,000 clusters."""
    n_sure, rest = _settle_sure_matches(table)
    return (n_sure + _best_matching(rest)) / int(table.sum())


def _settle_sure_matches(table: csr_array) -> tuple[int, csr_array]:
    """Take out every cell larger than its best row and column rivals together.

    Some best matching holds all such cells, as each displaces one rival per side at
    most. What is left is small even where the full solver, whose cost grows with the
    square of the clusters, would take minutes.
    """
    cells = table.tocoo()
    rows, columns = cells.coords
    rivals = _largest_other(cells.data, rows) + _largest_other(cells.data, columns)
    sure = cells.data > rivals
    open_rows, open_columns = (np.ones(size, dtype=bool) for size in table.shape)
    open_rows[rows[sure]] = False
    open_columns[columns[sure]] = False
    left = open_rows[rows] & open_columns[columns]
    rest = table[np.unique(rows[left])][:, np.unique(columns[left])]
    return int(cells.data[sure].sum()), rest


def _largest_other(
    values: NDArray[np.int64], groups: NDArray[np.integer]
) -> NDArray[np.int64]:
    """For every entry, the largest other value in its group, 0 where it is alone."""
    order = np.lexsort((values, groups))
    last = np.flatnonzero(np.diff(groups[order], append=-1))
    largest, runner_up = order[last], order[last - 1]
    others: NDArray[np.int64] = values[largest][groups]
    has_rival = (groups[runner_up] == groups[largest]) & (runner_up != largest)
    others[largest] = np.where(has_rival, values[runner_up], 0)
    return others


def _best_matching(table: csr_array) -> int:
    """Largest sum of cells, at most one from each row and column."""
    if not table.nnz:
        return 0
    if table.shape[0] > table.shape[1]:
        table = table.T.tocsr()
    # Solvers want every row matched and drop zero weights. A spare column per row
    # makes that possible; adding 1 to all weights changes no comparison, since every
    # full matching has one edge per row.
    n_rows = table.shape[0]
    raised = csr_array((table.data + 1.0, table.indices, table.indptr), table.shape)
    weights = hstack([raised, eye_array(n_rows)], format="csr")
    rows, columns = min_weight_full_bipartite_matching(weights, maximize=True)
    return int(weights[rows, columns].sum() - n_rows)


def _nmi(table: csr_array) -> float:
    """2 (H + H' - H_both) / (H + H'), kept from leaving 0 … 1 by rounding."""
    margins = float(entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)))
    if not margins:
        return 1.0
    return min(max(2.0 - 2.0 * float(entropy(table.data)) / margins, 0.0), 1.0)


def _purity(table: csr_array) -> float:
    return float(table.max(axis=0).sum() / table.sum())


def _pair_scores(table: csr_array) -> dict[str, float]:
    """The four scores that count unordered pairs of samples."""
    margins = table.sum(), table.sum(axis=1), table.sum(axis=0)
    total, same_class, same_cluster, both = map(_pairs, (*margins, table.data))
    # (both - expected) / (mean - expected), times 2 * total to stay exact
    expected = 2 * same_class * same_cluster
    mean = total * (same_class + same_cluster)
    return {
        "F-score": _share(2 * both, same_class + same_cluster),
        "Precision": _share(both, same_cluster),
        "Recall": _share(both, same_class),
        "ARI": _share(2 * total * both - expected, mean - expected),
    }


def _pairs(counts: NDArray[np.int64]) -> int:
    """Pairs within groups of these sizes, a Python integer: products pass 2**63."""
    return int((counts * (counts - 1)).sum()) // 2


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _codes(labels: Labels, name: str) -> Codes:
    """Position of every label among the distinct ones, from 0 on without a gap."""
    vector = _vector(labels, name)
    if vector.dtype.kind in "OUSTV":
        return _object_codes(vector, name)
    if vector.dtype.kind in "iub":
        if int(vector.max()) - int(vector.min()) < 2 * len(vector):
            return _small_codes(vector)
    # NaN and NaT are the only values that differ from themselves.
    elif np.any(vector != vector):
        raise _missing_label(name, int(np.argmax(vector != vector)))
    return np.asarray(np.unique(vector, return_inverse=True)[1])


def _small_codes(vector: NDArray[Any]) -> Codes:
    """The same for whole numbers close together: by a count, without a sort."""
    # Unsigned differences are right for every type of integer, wrapped or not.
    unsigned = vector.astype(np.uint64)
    above = (unsigned - vector.min().astype(np.uint64)).astype(np.int64)
    taken = np.bincount(above) > 0
    return np.asarray(above if taken.all() else (np.cumsum(taken) - 1)[above])


def _vector(labels: Labels, name: str) -> NDArray[Any]:
    # NumPy would turn [1, "1"] into two equal strings and tuples into columns.
    numbers = (bool, int, float, np.number, np.bool_)
    if isinstance(labels, (list, tuple)) and not all(
        issubclass(kind, numbers) for kind in set(map(type, labels))
    ):
        vector = np.fromiter(labels, dtype=object, count=len(labels))
    else:
        vector = np.asarray(labels)
    if vector.ndim != 1:
        raise InputError(
            f"{name} must have one label per sample, but its shape is {vector.shape}; "
            "pass a 1-D sequence (np.ravel turns a single column into one)."
        )
    if not len(vector):
        raise InputError(f"{name} is empty; give at least one label.")
    return vector


def _object_codes(vector: NDArray[Any], name: str) -> Codes:
    values = vector.tolist()
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        raise InputError(
            f"{name} must have one hashable label per sample, but {error}; "
            "pass a 1-D sequence of numbers, strings or tuples."
        ) from error
    for label in distinct:
        if _is_missing(label):
            row = next(i for i, value in enumerate(values) if value is label)
            raise _missing_label(name, row)
    try:
        distinct.sort()
    except TypeError:
        pass  # labels of several types keep the order of first appearance
    position = {label: code for code, label in enumerate(distinct)}
    return np.fromiter((position[v] for v in values), dtype=np.int64, count=len(values))


def _is_missing(label: Hashable) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True  # pandas.NA refuses to be compared


def has_class(labels: Labels) -> NDArray[np.bool_]:
    """Which samples have a label at all: neither NaN nor None, nor an empty text."""
    found = _vector(labels, "labels").tolist()
    return np.array([not _is_missing(label) and label != "" for label in found])


def _missing_label(name: str, row: int) -> InputError:
    return InputError(
        f"{name} has a missing label (NaN or None) at row {row}; "
        "drop the samples without a label before scoring."
    )
