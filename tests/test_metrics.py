"""Scores against pair counting, full matching and scikit-learn."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, issparse
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from manyview import metrics
from manyview.errors import InputError
from manyview.metrics import clustering_scores, contingency

FUNCTIONS = {
    "ACC": metrics.accuracy,
    "NMI": metrics.nmi,
    "Purity": metrics.purity,
    "F-score": metrics.pair_f_score,
    "Precision": metrics.pair_precision,
    "Recall": metrics.pair_recall,
    "ARI": metrics.ari,
}
SYMMETRIC = ["ACC", "NMI", "F-score", "ARI"]

labelings = st.integers(1, 7).flatmap(
    lambda top: st.lists(
        st.tuples(st.integers(0, top), st.integers(-top, 2)), min_size=1, max_size=40
    )
)


def slow_scores(true, pred):
    """Everything from its definition: loops over samples, pairs and label sets."""
    n_samples = len(true)
    classes, clusters = sorted(set(true)), sorted(set(pred))
    table = np.array(
        [
            [
                sum(t == a and p == b for t, p in zip(true, pred, strict=True))
                for b in clusters
            ]
            for a in classes
        ]
    )
    rows, columns = linear_sum_assignment(table, maximize=True)
    pairs = list(itertools.combinations(range(n_samples), 2))
    same_class = [true[i] == true[j] for i, j in pairs]
    same_cluster = [pred[i] == pred[j] for i, j in pairs]
    both = sum(a and b for a, b in zip(same_class, same_cluster, strict=True))
    precision = both / sum(same_cluster) if any(same_cluster) else 1.0
    recall = both / sum(same_class) if any(same_class) else 1.0
    total = precision + recall
    return {
        "ACC": table[rows, columns].sum() / n_samples,
        "NMI": normalized_mutual_info_score(true, pred, average_method="arithmetic"),
        "Purity": table.max(axis=0).sum() / n_samples,
        "F-score": 2 * precision * recall / total if total else 0.0,
        "Precision": precision,
        "Recall": recall,
        "ARI": adjusted_rand_score(true, pred),
    }


@given(labelings)
@example([(0, 0)])
@example([(0, 0), (0, 0)])
@example([(0, 0), (0, 1)])
@example([(0, 0), (1, 0)])
@example([(0, 0), (1, 1)])
def test_every_score_equals_its_definition(pairs):
    true, pred = zip(*pairs, strict=True)
    assert clustering_scores(true, pred) == pytest.approx(
        slow_scores(true, pred), abs=1e-10
    )


@given(labelings)
def test_functions_agree_with_the_dictionary(pairs):
    true, pred = zip(*pairs, strict=True)
    separately = {name: score(true, pred) for name, score in FUNCTIONS.items()}
    assert separately == clustering_scores(true, pred)


@given(labelings)
def test_symmetric_scores_do_not_care_which_side_is_true(pairs):
    true, pred = zip(*pairs, strict=True)
    forth, back = clustering_scores(true, pred), clustering_scores(pred, true)
    for name in SYMMETRIC:
        assert forth[name] == pytest.approx(back[name], abs=1e-12)
    assert forth["Precision"] == back["Recall"]


def test_purity_precision_and_recall_do_care():
    true, pred = [0, 0, 1, 1, 1, 2], [0, 0, 0, 0, 0, 1]
    forth, back = clustering_scores(true, pred), clustering_scores(pred, true)
    for name in ("Purity", "Precision", "Recall"):
        assert forth[name] != back[name]


@given(labelings, st.randoms(use_true_random=False))
def test_names_and_row_order_do_not_matter(pairs, random):
    true, pred = zip(*pairs, strict=True)
    names = random.sample(range(1000), len(set(pred)))
    renaming = dict(zip(sorted(set(pred)), map(str, names), strict=True))
    shuffled = random.sample(pairs, len(pairs))
    renamed = [renaming[p] for _, p in shuffled]
    assert clustering_scores([t for t, _ in shuffled], renamed) == pytest.approx(
        clustering_scores(true, pred), abs=1e-12
    )


@pytest.mark.parametrize("shape", [(3, 40), (40, 3), (25, 25), (1, 9), (9, 1)])
def test_matching_equals_the_dense_assignment_on_larger_tables(shape):
    rng = np.random.default_rng(0)
    for noise in np.linspace(0, 1, 20):
        true = rng.integers(shape[0], size=400)
        drawn = rng.integers(shape[1], size=400)
        pred = np.where(rng.random(400) < noise, drawn, true % shape[1])
        table = contingency(true, pred).toarray()
        rows, columns = linear_sum_assignment(table, maximize=True)
        assert metrics.accuracy(true, pred) == table[rows, columns].sum() / 400


@pytest.mark.parametrize(
    ("true", "pred", "ones"),
    [
        ([5], ["a"], set(FUNCTIONS)),
        ([1, 1, 1], [0, 0, 0], set(FUNCTIONS)),
        ([1, 2, 3], "c b a".split(), set(FUNCTIONS)),
        ([1, 1, 1], [0, 1, 2], {"Purity", "Precision"}),
        ([0, 1, 2], [1, 1, 1], {"Recall"}),
    ],
)
def test_degenerate_partitions(true, pred, ones):
    scores = clustering_scores(true, pred)
    assert {name for name, score in scores.items() if score == 1.0} == ones
    assert all(np.isfinite(score) for score in scores.values())


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "c"],
        ("b", "a", "b", "c"),
        np.array(["b", "a", "b", "c"]),
        np.array([b"b", b"a", b"b", b"c"]),
        [1, "1", 1, (2, 3)],
        [(0, 1), (0, 2), (0, 1), (3,)],
        [True, False, True, "x"],
        [2.5, -1.0, 2.5, np.inf],
        np.array([7, 0, 7, 255], dtype=np.uint8),
        np.array(["2020", "2021", "2020", "2022"], dtype="datetime64[Y]"),
        pd.Series(["b", "a", "b", "c"], index=[9, 8, 7, 6]),
        pd.Categorical(["b", "a", "b", "c"]),
        pd.Series([4, 1, 4, 5], dtype="Int64"),
        pl.Series(["b", "a", "b", "c"]),
        [frozenset({1}), frozenset({2}), frozenset({1}), frozenset()],
        [2**80, 1, 2**80, 0],
    ],
    ids=lambda labels: f"{type(labels).__name__}-{next(iter(labels))!r}",
)
def test_any_hashable_labels(labels):
    expected = clustering_scores([0, 1, 0, 2], [0, 0, 1, 1])
    assert clustering_scores(labels, [0, 0, 1, 1]) == pytest.approx(expected)


def test_booleans():
    assert metrics.accuracy(np.array([True, False]), [False, True]) == 1.0


def test_number_one_and_string_one_are_two_labels():
    assert contingency([1, "1", 1], [0, 0, 0]).toarray().tolist() == [[2], [1]]


def test_contingency_is_sparse_sorted_and_integer():
    table = contingency(["b", "a", "b"], [10, 9, 9])
    assert issparse(table)
    assert isinstance(table, csr_array)
    assert table.dtype == np.int64
    np.testing.assert_array_equal(table.toarray(), [[1, 0], [1, 1]])


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-128, 127, -128, 0], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 2], dtype=np.uint64),
        np.array([2**64 - 1, 0, 2**64 - 1, 5], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1, -(2**63), 0]),
        np.array([-5, -2, -5, -3]),
    ],
)
def test_whole_numbers_keep_their_order_whatever_their_type(labels):
    wanted = np.zeros((3, 4), dtype=int)
    wanted[np.unique(labels, return_inverse=True)[1], range(4)] = 1
    assert contingency(labels, [0, 1, 2, 3]).toarray().tolist() == wanted.tolist()


def test_tables_too_large_for_a_dense_count_hold_the_same_numbers(monkeypatch):
    true, pred = np.arange(60) % 7, np.arange(60) % 5
    dense = contingency(true, pred)
    monkeypatch.setattr(metrics, "MOST_CELLS", 34)
    sparse = contingency(true, pred)
    assert sparse.dtype == dense.dtype and isinstance(sparse, csr_array)
    assert (sparse != dense).nnz == 0


@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([0, 1], [0, 1, 2], "labels_true has 2 entries and labels_pred has 3"),
        ([], [], "labels_true is empty"),
        ([0, 1], [], "labels_pred is empty"),
        ([0.0, np.nan], [0, 1], "labels_true has a missing label .* at row 1"),
        ([0, 1], ["a", None], "labels_pred has a missing label .* at row 1"),
        (["a", float("nan")], [0, 1], "labels_true has a missing label .* at row 1"),
        (pd.Series([1, pd.NA], dtype="Int64"), [0, 1], "missing label .* at row 1"),
        (np.array(["NaT"], dtype="datetime64[D]"), [0], "missing label .* at row 0"),
        (["a", "b", pd.NA], [0, 1, 2], "at row 2; drop the samples without a label"),
        (np.zeros((2, 1)), [0, 1], r"shape is \(2, 1\)"),
        ([0, 1], np.zeros((1, 2), dtype=int), r"labels_pred .* shape is \(1, 2\)"),
        ([[0], [1]], [0, 1], "labels_true .* unhashable type: 'list'"),
        (3, [0], r"shape is \(\)"),
        ("ab", [0, 1], r"shape is \(\)"),
    ],
)
def test_bad_labels_are_named(true, pred, message):
    with pytest.raises(InputError, match=message):
        clustering_scores(true, pred)


def test_a_class_is_there_or_not():
    mixed = ["a", None, "", np.nan, pd.NA, 0, ("b", 1)]
    told = [True, False, False, False, False, True, True]
    assert metrics.has_class(mixed).tolist() == told
    assert metrics.has_class(np.array([0.5, np.nan, -1.0])).tolist() == [1, 0, 1]
    assert metrics.has_class(np.array(["x", ""])).tolist() == [1, 0]
    assert metrics.has_class([0, -1, 3]).all()


def test_products_of_pair_counts_pass_the_range_of_integers_unharmed():
    # 200,000 rows have 2e10 pairs; ARI multiplies two such counts, and 2**63 is 9e18.
    halves = np.repeat([0, 1], 100_000)
    crossed = np.tile([0, 1], 100_000)
    assert set(clustering_scores(halves, 1 - halves).values()) == {1.0}
    scores = clustering_scores(halves, crossed)
    assert scores["ARI"] == pytest.approx(0.0, abs=2e-5)
    assert scores["F-score"] == pytest.approx(0.5, abs=1e-5)
    assert scores["NMI"] == pytest.approx(0.0, abs=1e-12)


def test_pair_counts_of_a_thousand_million_rows_do_not_overflow():
    half = 500_000_000
    table = csr_array(np.array([[half, 0], [0, half]], dtype=np.int64))
    assert set(metrics._pair_scores(table).values()) == {1.0}
    assert metrics._accuracy(table) == metrics._purity(table) == 1.0
    assert metrics._nmi(table) == 1.0
    crossed = csr_array(np.full((2, 2), half // 2, dtype=np.int64))
    scores = metrics._pair_scores(crossed)
    assert scores.pop("ARI") == pytest.approx(0.0, abs=1e-8)
    assert list(scores.values()) == pytest.approx([0.5] * 3, abs=1e-8)
    assert metrics._nmi(crossed) == pytest.approx(0.0, abs=1e-12)


def test_pairs_are_whole_numbers_beyond_what_floats_hold():
    n = 10**9 + 1
    pairs = metrics._pairs(np.array([n]))
    assert pairs == n * (n - 1) // 2 and type(pairs) is int


@pytest.mark.slow
def test_as_many_clusters_as_samples_need_no_dense_table():
    names = np.arange(50_000)
    assert set(clustering_scores(names, names[::-1]).values()) == {1.0}


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [20, 5000])
def test_a_million_labels_need_little_memory(n_clusters):
    rng = np.random.default_rng(0)
    true = rng.integers(n_clusters, size=1_000_000)
    moved = rng.random(1_000_000) < 0.3
    pred = np.where(moved, rng.integers(n_clusters, size=1_000_000), true)
    tracemalloc.start()
    try:
        scores = clustering_scores(true, pred)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6
    assert scores["ACC"] == pytest.approx(0.7 + 0.3 / n_clusters, abs=5e-3)
