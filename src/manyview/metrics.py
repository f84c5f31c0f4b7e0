"""Seven scores of a partition against known classes, from one contingency table.

The table counts samples by (class, cluster) and is sparse, so nothing grows with the
square of the number of samples or with classes times clusters. Accuracy, purity,
precision and recall treat classes and clusters differently; NMI, the pair F-score and
ARI are symmetric.

>>> from manyview.metrics import clustering_scores
>>> scores = clustering_scores(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
>>> {name: round(score, 3) for name, score in scores.items()}
... # doctest: +NORMALIZE_WHITESPACE
{'ACC': 0.75, 'NMI': 0.8, 'Purity': 1.0, 'F-score': 0.667,
 'Precision': 1.0, 'Recall': 0.5, 'ARI': 0.571}
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

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
    >>> clustering_scores([0, 0, 1, 1], ["b", "b", "a", "a"])["ACC"]
    1.0
    """
    table = contingency(labels_true, labels_pred)
    return {name: score(table) for name, score in _SCORES.items()}


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
    codes_true = _codes(labels_true, "labels_true")
    codes_pred = _codes(labels_pred, "labels_pred")
    if len(codes_true) != len(codes_pred):
        raise InputError(
            f"labels_true has {len(codes_true)} entries and labels_pred has "
            f"{len(codes_pred)}; give one label per sample in both."
        )
    table = _count_pairs(codes_true, codes_pred)
    if table is None:
        table = contingency_matrix(codes_true, codes_pred, sparse=True, dtype=np.int64)
    return csr_array(table)


def _count_pairs(rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any] | None:
    """The table by one count, without sorting; None unless labels are small integers.

    Examples
    --------
    >>> _count_pairs(np.array([7, 7, 9]), np.array([1, 0, 0]))
    array([[1, 1],
           [1, 0]])
    """
    if rows.dtype.kind not in "iu" or columns.dtype.kind not in "iu":
        return None
    height, width = (int(c.max()) - int(c.min()) + 1 for c in (rows, columns))
    if height * width > MOST_CELLS:
        return None
    first, second = (c.astype(np.int64) - int(c.min()) for c in (rows, columns))
    table = np.bincount(first * width + second, minlength=height * width)
    table = table.reshape(height, width)
    return table[table.any(axis=1)][:, table.any(axis=0)]


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
    return _pair_f_score(contingency(labels_true, labels_pred))


def pair_precision(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of the pairs within a cluster that share a class (1 if there is no pair).

    Examples
    --------
    >>> pair_precision([0, 0, 1, 1], [0, 0, 1, 2])
    1.0
    """
    return _pair_precision(contingency(labels_true, labels_pred))


def pair_recall(labels_true: Labels, labels_pred: Labels) -> float:
    """Share of the pairs within a class that share a cluster (1 if there is no pair).

    Examples
    --------
    >>> pair_recall([0, 0, 1, 1], [0, 0, 1, 2])
    0.5
    """
    return _pair_recall(contingency(labels_true, labels_pred))


def ari(labels_true: Labels, labels_pred: Labels) -> float:
    """Adjusted Rand index of Hubert and Arabie: 0 by chance, 1 for equal partitions.

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return _ari(contingency(labels_true, labels_pred))


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
    both_entropies = float(entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)))
    if both_entropies == 0.0:
        return 1.0
    information = float(mutual_info_score(None, None, contingency=table))
    return min(1.0, 2.0 * information / both_entropies)


def _purity(table: csr_array) -> float:
    return float(table.max(axis=0).sum() / table.sum())


class _Pairs(NamedTuple):
    """Unordered pairs of samples; Python integers, as their products pass 2**63."""

    total: int
    same_class: int
    same_cluster: int
    same_both: int


def _pairs(table: csr_array) -> _Pairs:
    n_samples = int(table.sum())
    return _Pairs(
        total=n_samples * (n_samples - 1) // 2,
        same_class=_pairs_within(table.sum(axis=1)),
        same_cluster=_pairs_within(table.sum(axis=0)),
        same_both=_pairs_within(table.data),
    )


def _pairs_within(counts: NDArray[np.int64]) -> int:
    return int((counts * (counts - 1)).sum()) // 2


def _pair_f_score(table: csr_array) -> float:
    pairs = _pairs(table)
    return _share(2 * pairs.same_both, pairs.same_class + pairs.same_cluster)


def _pair_precision(table: csr_array) -> float:
    pairs = _pairs(table)
    return _share(pairs.same_both, pairs.same_cluster)


def _pair_recall(table: csr_array) -> float:
    pairs = _pairs(table)
    return _share(pairs.same_both, pairs.same_class)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _ari(table: csr_array) -> float:
    """(both - expected) / (mean - expected), multiplied by 2 * total to stay exact."""
    pairs = _pairs(table)
    expected = 2 * pairs.same_class * pairs.same_cluster
    mean = pairs.total * (pairs.same_class + pairs.same_cluster)
    return _share(2 * pairs.total * pairs.same_both - expected, mean - expected)


_SCORES: dict[str, Callable[[csr_array], float]] = {
    "ACC": _accuracy,
    "NMI": _nmi,
    "Purity": _purity,
    "F-score": _pair_f_score,
    "Precision": _pair_precision,
    "Recall": _pair_recall,
    "ARI": _ari,
}


def _codes(labels: Labels, name: str) -> NDArray[Any]:
    """Turn labels into a 1-D array that NumPy can sort without mixing labels up."""
    vector = _vector(labels, name)
    if vector.dtype.kind in "OUSTV":
        return _object_codes(vector, name)
    # NaN and NaT are the only values that differ from themselves.
    if vector.dtype.kind in "fcmM" and np.any(vector != vector):
        raise _missing_label(name, int(np.argmax(vector != vector)))
    return vector


def _vector(labels: Labels, name: str) -> NDArray[Any]:
    # NumPy would turn [1, "1"] into two equal strings and tuples into columns.
    if isinstance(labels, (list, tuple)) and _must_stay_objects(labels):
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


def _must_stay_objects(labels: list[Any] | tuple[Any, ...]) -> bool:
    numbers = (bool, int, float, np.number, np.bool_)
    return not all(issubclass(kind, numbers) for kind in set(map(type, labels)))


def _object_codes(vector: NDArray[Any], name: str) -> NDArray[np.int64]:
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


def _missing_label(name: str, row: int) -> InputError:
    return InputError(
        f"{name} has a missing label (NaN or None) at row {row}; "
        "drop the samples without a label before scoring."
    )
