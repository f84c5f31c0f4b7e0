"""What people do wrong, as a table: each mistake gets one sentence of ours.

A row has what was done, the kind of error and words the message must have. Every
message says what was wrong, what was seen and what to do, without an error or a
warning of a library underneath. `tests/cli/test_wrong_commands.py` is the same for
the command line.
"""

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from manyview import (
    S2MVTC,
    SequenceS2MVTC,
    Views,
    audit_order,
    choose_n_clusters,
    load_model,
    metrics,
    plot,
    sc,
)
from manyview.baselines import LMTC, ConcatKMeans
from manyview.datasets import convert, load, make_views
from manyview.errors import (
    DegenerateWarning,
    DeviceError,
    FileError,
    InputError,
    InputTypeError,
    ManyviewError,
    ManyviewWarning,
    NotFittedError,
    RowError,
    UnsupportedError,
)
from manyview.explain import explain
from manyview.methods import find_method
from tests.test_messages import ADVICE

RNG = np.random.default_rng(0)
GROUP = np.repeat([0.0, 5.0, 10.0], 20)[:, None]
A = GROUP + RNG.normal(size=(60, 4))
B = GROUP + RNG.normal(size=(60, 3))
V = [A, B]
AT_5 = np.arange(240).reshape(60, 4) == 5  # row 1, column 1
HOLE = np.where(AT_5, np.nan, A)
NO_ROW_4 = np.where(np.arange(60)[:, None] == 4, np.nan, A)
SAME_NAMES = pd.DataFrame(A, columns=list("xxyz"))


def small(n_clusters: Any = 3, **params: Any) -> S2MVTC:
    few = {"n_anchors": 20, "n_graph_anchors": 60, "n_init": 2, "random_state": 0}
    return S2MVTC(n_clusters, **few | params)


def fit(views: Any, n_clusters: Any = 3, **params: Any) -> S2MVTC:
    return small(n_clusters, **params).fit(views)


@cache
def fitted() -> S2MVTC:
    return fit(V)


def along(order: Any = None, **params: Any) -> SequenceS2MVTC:
    return SequenceS2MVTC(3, **params).fit(V, order=order)


def in_cells() -> Any:
    """Views as a MATLAB cell, or a ragged list made an array, holds them."""
    cells = np.empty(2, dtype=object)
    cells[:] = V
    return cells


def mixed_objects() -> Any:
    return np.where(AT_5, "x", A.astype(object))


def frame(**more: Any) -> pd.DataFrame:
    return pd.DataFrame(A, columns=list("wxyz")).assign(**more)


def two_levels() -> pd.DataFrame:
    return pd.DataFrame(A, columns=pd.MultiIndex.from_product([["u", "v"], ["x", "y"]]))


def categories() -> pd.Categorical:
    return pd.Categorical(["a", "b"] * 30)


def flat() -> plot.Map:
    return plot.flatten(A, method="pca")


# What was done, how, the kind of error, and words of the message.
CONTAINERS = [
    ("an empty list", lambda: fit([]), InputError, "No views", "empty"),
    ("an empty dict", lambda: fit({}), InputError, "No views", "empty"),
    ("None", lambda: fit(None), InputTypeError, "No views", "None"),
    ("a generator", lambda: fit(x for x in V), InputTypeError, "list(views)"),
    ("a map", lambda: fit(map(np.asarray, V)), InputTypeError, "map", "only once"),
    ("a zip", lambda: fit(zip(A, B, strict=True)), InputTypeError, "zip", "list"),
    ("a set", lambda: fit({1, 2}), InputTypeError, "set", "no order"),
    ("a stack", lambda: fit(np.stack([A, A])), InputError, "(2, 60, 4)", "list(x)"),
    ("pictures", lambda: fit(np.zeros((9, 8, 8, 3))), InputError, "x.reshape(len(x)"),
    ("one column", lambda: fit(A[:, 0]), InputError, "(60,)", "x.reshape(-1, 1)"),
    ("one row", lambda: fit([A[0], B[0]]), InputError, "x.reshape(1, -1)"),
    ("a number", lambda: fit(3.0), InputError, "its shape is ()", "array"),
    ("None in a list", lambda: fit([A, None]), InputTypeError, "'view1' is None"),
    ("None in a dict", lambda: fit({"t": None}), InputTypeError, "'t'", "leave it out"),
    ("X and y", lambda: fit((A, GROUP.ravel())), InputError, "Views(..., labels=...)"),
    ("two arguments", lambda: small().fit(A, B), InputError, "fit([first, second])"),
    ("Views in a list", lambda: fit([Views(V)]), InputTypeError, "list(x.arrays)"),
    ("path and array", lambda: fit(["a.npy", B]), InputTypeError, "'a.npy'", "load"),
    ("dict of paths", lambda: fit({"x": "a.npy"}), InputTypeError, "dict", "list"),
    ("a missing file", lambda: fit("gone.npy"), FileError, "There is no file", "gone"),
    ("a data set", lambda: fit("CCV"), FileError, "CCV", "manyview.datasets.load"),
    ("texts", lambda: fit(["one", "two"] * 30), FileError, "TfidfVectorizer"),
    ("texts as a view", lambda: fit([["one"] * 60, B]), InputTypeError, "not numeric"),
]

ARRAYS = [
    ("text", lambda: fit([A.astype(str), B]), InputTypeError, "'view0'", "<U32"),
    ("bytes", lambda: fit([A.astype("S9"), B]), InputTypeError, "|S9", "encode"),
    ("objects", lambda: fit([mixed_objects(), B]), InputTypeError, "dtype is object"),
    ("holes in objects", lambda: fit([np.where(AT_5, None, A), B]), InputError, "NaN"),
    ("dates", lambda: fit([AT_5.astype("M8[s]"), B]), InputTypeError, "as order="),
    ("durations", lambda: fit([AT_5.astype("m8[s]")]), InputTypeError, "as numbers"),
    ("complex", lambda: fit([A + 1j, B]), InputError, "Complex", "real and imaginary"),
    ("fields", lambda: fit([np.zeros(60, [("x", "f8")])]), InputTypeError, "columns"),
    (
        "ragged rows",
        lambda: fit([[[1, 2], [3]], B]),
        InputTypeError,
        "differ in length",
    ),
    ("a ragged table", lambda: fit([[1, 2], [3]]), InputTypeError, "differ in length"),
    (
        "masked",
        lambda: fit([np.ma.masked_invalid(HOLE)]),
        InputError,
        "row 1, column 1",
    ),
    ("fewer rows", lambda: fit([A, B[:-1]]), InputError, "view0 has 60, view1 has 59"),
    ("a turned view", lambda: fit([A, B.T]), InputError, "turn view1 with .T"),
    ("all turned", lambda: fit([A.T, B.T]), InputError, "turn view0, view1 with .T"),
    ("no rows", lambda: fit([A[:0], B[:0]]), InputError, "is empty", "(0, 4)"),
    ("no columns", lambda: fit([A[:, :0], B]), InputError, "is empty", "(60, 0)"),
    (
        "NaN",
        lambda: fit([HOLE, B]),
        InputError,
        "NaN in row 1, column 1",
        "--fill mean",
    ),
    ("NaN alone", lambda: fit(HOLE), InputError, "NaN in row 1, column 1", "filled()"),
    ("inf", lambda: fit([np.where(AT_5, np.inf, A)]), InputError, "infinity in row 1"),
    ("inf alone", lambda: fit(np.where(AT_5, np.inf, A)), InputError, "infinity in"),
    (
        "beyond float32",
        lambda: fit([np.where(AT_5, 1e39, A)], dtype="float32"),
        InputError,
        "too large for float32",
        "row 1, column 1",
    ),
    ("a view of NaN", lambda: fit([A * np.nan, B]), InputError, "missing in all rows"),
    ("rows of NaN", lambda: fit([NO_ROW_4, B * NO_ROW_4[:, :3]]), InputError, "Row 4"),
    ("sparse NaN", lambda: fit([sp.csr_array(HOLE)]), InputError, "row 1, column 1"),
    ("sparse column", lambda: fit([sp.coo_array(A[:, 0]), B]), InputError, "2-D"),
    ("huge values", lambda: fit([A * 1e200, B]), InputError, "near 1"),
    (
        "a missing view",
        lambda: ConcatKMeans(3).fit([NO_ROW_4, B]),
        InputError,
        "NaN",
        "Use S2MVTC",
    ),
]

TABLES = [
    ("text column", lambda: fit([frame(c="x"), B]), InputTypeError, "columns: c"),
    ("category", lambda: fit([frame(c=categories()), B]), InputTypeError, "columns: c"),
    ("date column", lambda: fit([frame(c=pd.Timestamp("2020"))]), InputTypeError, "c"),
    ("same names", lambda: fit([SAME_NAMES, B]), InputError, "'x' 2 times", "own name"),
    ("missing value", lambda: fit([pd.DataFrame(HOLE), B]), InputError, "row 1"),
    (
        "NA",
        lambda: fit([frame(c=pd.array([1, None] * 30, "Int64"))]),
        InputError,
        "NaN",
    ),
    ("an empty frame", lambda: fit([pd.DataFrame(), B]), InputError, "is empty"),
    ("a series", lambda: fit([pd.Series(A[:, 0]), B]), InputError, "x.reshape(-1, 1)"),
    ("LazyFrame", lambda: fit([pl.LazyFrame(A), B]), InputTypeError, "Collect it"),
    ("one LazyFrame", lambda: fit(pl.LazyFrame(A)), InputTypeError, "Collect it"),
    (
        "null",
        lambda: fit([pl.DataFrame({"x": [1.0, None] * 30})] * 2),
        InputError,
        "Row",
    ),
    (
        "polars text",
        lambda: fit([pl.DataFrame({"x": ["a"] * 60})]),
        InputTypeError,
        "x",
    ),
    (
        "polars lists",
        lambda: fit([pl.DataFrame({"x": [[1.0]] * 60})]),
        InputTypeError,
        "non-numeric columns: x",
    ),
]

PARAMETERS = [
    ("no clusters", lambda: fit(V, 0), InputError, "n_clusters", "at least 1", "got 0"),
    ("-1 clusters", lambda: fit(V, -1), InputError, "n_clusters", "got -1"),
    ("2.5 clusters", lambda: fit(V, 2.5), InputTypeError, "whole number", "2.5"),
    ("'3' clusters", lambda: fit(V, "3"), InputTypeError, "whole number", "'3' (str)"),
    ("None clusters", lambda: fit(V, None), InputTypeError, "NoneType", "'auto'"),
    ("True clusters", lambda: fit(V, True), InputTypeError, "n_clusters", "bool"),
    ("[3] clusters", lambda: fit(V, [3]), InputTypeError, "n_clusters", "list"),
    ("Auto", lambda: fit(V, "Auto"), InputTypeError, "n_clusters", "'Auto'"),
    ("too many", lambda: fit(V, 61), InputError, "n_clusters=61", "60 rows", "fewer"),
    ("few rows", lambda: fit([A[:5]], 8), InputError, "8 is more than the 5 rows"),
    (
        "n_cluster",
        lambda: S2MVTC(n_cluster=3),
        InputTypeError,
        "Did you mean n_clusters",
    ),
    (
        "n_anchor",
        lambda: S2MVTC(3, n_anchor=9),
        InputTypeError,
        "'n_anchor'",
        "n_anchors",
    ),
    ("by position", lambda: S2MVTC(3, 100), InputTypeError, "by name", "got 2 values"),
    ("set_params", lambda: small().set_params(k=3), InputError, "no parameter 'k'"),
    ("n_low", lambda: S2MVTC(3, n_low=9), InputTypeError, "no parameter 'n_low'"),
    ("n_anchors=0", lambda: fit(V, n_anchors=0), InputError, "n_anchors", "at least 1"),
    ("n_neighbors=0", lambda: fit(V, n_neighbors=0), InputError, "n_neighbors"),
    ("max_iter=0", lambda: fit(V, max_iter=0), InputError, "max_iter", "got 0"),
    ("n_init=1.5", lambda: fit(V, n_init=1.5), InputTypeError, "n_init", "1.5"),
    ("lam=-1", lambda: fit(V, lam=-1), InputError, "lam", "at least 0", "got -1"),
    ("beta='x'", lambda: fit(V, beta="x"), InputTypeError, "beta", "number", "'x'"),
    (
        "a seed of text",
        lambda: fit(V, random_state="a"),
        InputError,
        "random_state='a'",
    ),
    ("a seed of -1", lambda: fit(V, random_state=-1), InputError, "non-negative"),
    ("float16", lambda: fit(V, dtype="float16"), InputError, "'float32'", "'float64'"),
    ("minmax", lambda: fit(V, scaling="minmax"), InputError, "'minmax'", "'standard'"),
    ("a scaling per view", lambda: fit(V, scaling=["auto"] * 2), InputError, "scaling"),
    ("spark", lambda: fit(V, engine="spark"), InputTypeError, "'spark'", "'dask'"),
    ("a dask without client", lambda: fit(V, engine="dask"), DeviceError, "client"),
    ("memory of text", lambda: fit(V, memory_limit="lots"), InputError, "'2GB'"),
    ("memory below 0", lambda: fit(V, memory_limit=-5), InputError, "positive"),
    ("memory of 1 KB", lambda: fit(V, memory_limit="1KB"), InputError, "too little"),
    (
        "all anchors",
        lambda: fit(V, n_anchors=None, anchors="all"),
        InputError,
        "kmeans",
    ),
    (
        "one anchor array",
        lambda: fit(V, n_anchors=None, anchors=[A[:5]]),
        InputError,
        "[4] features",
        "[4, 3]",
    ),
    ("checkpoint=3", lambda: fit(V, checkpoint=3), InputTypeError, "no path", "folder"),
    ("rows to trace", lambda: small().fit(V, trace=[99]), InputError, "0 … 59", "99"),
]

ORDERS = [
    (
        "a short order",
        lambda: along(np.arange(9)),
        InputError,
        "one entry per row (60)",
    ),
    (
        "an order of text",
        lambda: along(list("ab" * 30), min_duration=3),
        InputTypeError,
        "no numbers or dates",
        "Give the time",
    ),
    (
        "NaN in the order",
        lambda: along(np.where(AT_5[:, 1], np.nan, 1.0)),
        InputError,
        "order holds NaN",
        "every row",
    ),
    ("a duration in words", lambda: along(min_duration="long"), InputError, "'2s'"),
    ("a duration below 0", lambda: along(min_duration=-3), InputError, "at least 0"),
    (
        "no unit",
        lambda: along(np.arange(60).astype("M8[s]"), min_duration=3),
        InputError,
        "no unit",
        "'3s'",
    ),
    ("two cut-offs", lambda: along(n_low=3, min_duration=3), InputError, "one of them"),
    ("too many frequencies", lambda: along(n_low=99), InputError, "n_low <= 31"),
    ("poly", lambda: along(kernel="poly"), InputError, "kernel", "'rbf', 'linear'"),
    ("graph='yes'", lambda: along(graph="yes"), InputTypeError, "True or False"),
    ("a set of no paper", lambda: S2MVTC.as_published("MNIST"), InputError, "CCV"),
]

MODELS = [
    (
        "predict too early",
        lambda: small().predict(V),
        NotFittedError,
        "Call 'fit' first",
    ),
    ("transform too early", lambda: small().transform(V), NotFittedError, "not fitted"),
    ("labels_ too early", lambda: small().labels_, NotFittedError, "has no labels_"),
    ("certainty_ too early", lambda: small().certainty_, NotFittedError, "not fitted"),
    ("save too early", lambda: small().save("x"), NotFittedError, "not fitted"),
    ("report too early", lambda: small().report("x", V), NotFittedError, "not fitted"),
    ("no predict", lambda: LMTC(3).predict(V), UnsupportedError, "LMTC", "new rows"),
    ("fewer views", lambda: fitted().predict([A]), InputError, "[4, 3]", "got [4]"),
    ("views as rows", lambda: fitted().predict([A]), InputError, "Views([...])"),
    ("one array", lambda: fitted().predict(A), InputError, "[4, 3]", "got [4]"),
    ("swapped views", lambda: fitted().predict([B, A]), InputError, "[3, 4]", "order"),
    ("fewer columns", lambda: fitted().predict([A[:, :3], B]), InputError, "[3, 3]"),
    ("NaN in new rows", lambda: fitted().predict([HOLE, B]), InputError, "row 1"),
    ("no new rows", lambda: fitted().predict([A[:0], B[:0]]), InputError, "empty"),
    ("save to None", lambda: fitted().save(None), InputTypeError, "a path", "NoneType"),
    ("save nowhere", lambda: fitted().save("no/where"), FileError, "not written"),
    ("save to a folder", lambda: fitted().save("."), FileError, "a folder or"),
    ("load nothing", lambda: load_model("gone.manyview"), FileError, "gone", "save"),
    ("load None", lambda: load_model(None), InputTypeError, "must be a path"),
    ("load a folder", lambda: load_model("."), FileError, "written by save"),
    ("unknown method", lambda: find_method("kmeans"), InputError, "ConcatKMeans"),
]

VIEWS = [
    ("one name of two", lambda: Views(V, names=["x"]), InputError, "2 views", "['x']"),
    ("a name twice", lambda: Views(V, names=["x", "x"]), InputError, "different names"),
    ("names as text", lambda: Views(V, names="ab"), InputError, "'ab'", "a list"),
    ("few labels", lambda: Views(V, labels=[1]), InputError, "labels", "(1,)"),
    ("labels as text", lambda: Views(V, labels="y"), InputError, "one entry per row"),
    ("ragged labels", lambda: Views(V, labels=[[1], [1, 2]]), InputTypeError, "length"),
    ("few row names", lambda: Views(V, row_names=["a"]), InputError, "row_names"),
    (
        "few features",
        lambda: Views(V, feature_names=[["a"], ["b"]]),
        InputError,
        "[4, 3]",
    ),
    ("feature_names=3", lambda: Views(V, feature_names=3), InputError, "list of lists"),
    ("mask of one", lambda: Views(V, present=[True]), InputError, "(60, 2)", "(1,)"),
    ("ragged mask", lambda: Views(V, present=[[1], [1, 0]]), InputError, "(60, 2)"),
    ("row 100", lambda: Views(V)[100], RowError, "60 rows", "100"),
    ("row 'a'", lambda: Views(V)["a"], RowError, "'a'", "views.view(name)"),
    ("row 1.5", lambda: Views(V)[1.5], RowError, "whole numbers", "1.5"),
    ("a short mask", lambda: Views(V)[[True]], RowError, "60 entries"),
    ("no such view", lambda: Views(V).view("image"), InputError, "'image'", "view0"),
    ("view 7", lambda: Views(V).view(7), InputError, "7", "view0, view1"),
    ("the median", lambda: Views(V).filled("median"), InputError, "'median'", "mean"),
    ("like others", lambda: Views(V).filled(like=Views([A])), InputError, "[4, 3]"),
]

QUESTIONS = [
    (
        "8 to choose from",
        lambda: choose_n_clusters(V, 8),
        InputTypeError,
        "range(2, 11)",
    ),
    ("'2-8'", lambda: choose_n_clusters(V, "2-8"), InputTypeError, "list or a range"),
    ("nothing to choose", lambda: choose_n_clusters(V, []), InputError, "no number"),
    ("1 cluster", lambda: choose_n_clusters(V, [1]), InputError, "at least 2", "got 1"),
    ("2.5 to choose", lambda: choose_n_clusters(V, [2.5]), InputTypeError, "2.5"),
    ("99 to choose", lambda: choose_n_clusters(V, [99]), InputError, "60 rows", "30"),
    ("few rows to choose", lambda: choose_n_clusters([A[:3]]), InputError, "4 rows"),
    (
        "choose scaled",
        lambda: choose_n_clusters(V, [2], scaling="x"),
        InputError,
        "'x'",
    ),
    (
        "audit auto",
        lambda: audit_order(V, "auto"),
        InputTypeError,
        "n_clusters",
        "'auto'",
    ),
    (
        "audit a class",
        lambda: audit_order(V, 3, estimator=S2MVTC),
        InputTypeError,
        "method of this package",
        "SequenceS2MVTC()",
    ),
    (
        "audit others",
        lambda: audit_order(V, 3, estimator=KMeans()),
        InputTypeError,
        "KMeans()",
        "all_methods",
    ),
    ("audit a row", lambda: audit_order([A[:1]], 1), InputError, "One row", "two rows"),
    ("audit labels", lambda: audit_order(V, 3, [1]), InputError, "per row (60)"),
    (
        "explain others",
        lambda: explain(fitted(), [A[:9], B[:9]]),
        InputError,
        "60 rows",
    ),
    ("explain too early", lambda: explain(small(), V), NotFittedError, "not fitted"),
    ("explain swapped", lambda: explain(V, fitted()), InputTypeError, "model first"),
    ("report others", lambda: fitted().report("x.html", [A]), InputError, "[4, 3]"),
    (
        "scores of 2 and 3",
        lambda: metrics.ari([0, 1], [0, 1, 2]),
        InputError,
        "2 entries",
    ),
    (
        "scores in 2-D",
        lambda: metrics.nmi(np.eye(3), [0, 1, 2]),
        InputError,
        "np.ravel",
    ),
    ("no scores", lambda: metrics.clustering_scores([], []), InputError, "empty"),
    ("scores of NaN", lambda: metrics.purity([0, np.nan], [0, 1]), InputError, "row 1"),
    ("arrays as cells", lambda: sc.cluster(A, 3), InputTypeError, "ndarray", "fit"),
    ("flat embedding", lambda: plot.flatten(A[:, 0]), InputError, "2-D", "embedding_"),
    ("umap", lambda: plot.flatten(A, method="umap"), InputError, "'tsne', 'pca'"),
    (
        "draw no map",
        lambda: plot.draw_embedding(A, {"a": [0]}, title=""),
        InputTypeError,
        "plot.flatten",
        "ndarray",
    ),
    (
        "draw few groups",
        lambda: plot.draw_embedding(flat(), {"a": [0]}, title=""),
        InputError,
        "'a'",
        "at least 60",
    ),
]

FILES = [
    ("load None", lambda: load(None), InputTypeError, "NoneType", "path"),
    ("load arrays", lambda: load(V), InputTypeError, "must be a path", "ndarray"),
    ("load an array", lambda: load(A), InputTypeError, "ndarray", "fit or Views"),
    ("load nothing", lambda: load([]), FileError, "No file", "at least one"),
    ("load a slip", lambda: load("CCW"), FileError, "Did you mean CCV?"),
    ("load a missing file", lambda: load("gone.npz"), FileError, "no file gone.npz in"),
    ("load from nowhere", lambda: load("no/x.npz"), FileError, "does not exist"),
    ("convert arrays", lambda: convert(V, "out"), InputTypeError, "must be a path"),
    ("few rows to make", lambda: make_views(3, (2, 2), 5), InputError, "3 rows"),
    ("one number of features", lambda: make_views(30, 5, 3), InputError, "(20, 30)"),
]

MISTAKES = [
    *CONTAINERS, *ARRAYS, *TABLES, *PARAMETERS, *ORDERS, *MODELS, *VIEWS, *QUESTIONS,
    *FILES,
]  # fmt: skip


def test_there_are_more_than_a_hundred():
    assert len(MISTAKES) > 150


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m[0])
def test_a_mistake_gets_a_sentence(mistake, tmp_path, monkeypatch):
    _, call, kind, *words = mistake
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ManyviewError) as told:
            call()
    text = str(told.value)
    assert type(told.value) is kind, text
    assert [word for word in words if word not in text] == [], text
    assert ADVICE.search(text) and text.endswith(".") and "\n" not in text, text
    assert len(text) < 500, text
    assert [w for w in caught if not issubclass(w.category, ManyviewWarning)] == []


# What is unusual but clear: no error, and no warning of a library.
UNUSUAL = [
    ("numbers as objects", lambda: [A.astype(object), B]),
    ("an object array of views", in_cells),
    ("masked without a gap", lambda: [np.ma.array(A), B]),
    ("a masked row", lambda: [np.ma.masked_invalid(NO_ROW_4), B]),
    ("a sparse row of NaN", lambda: [sp.csr_array(NO_ROW_4), B]),
    ("coordinates", lambda: [sp.coo_array(A), B]),
    ("whole numbers", lambda: [(A * 1e3).astype("i8") * 10**15, B]),
    ("bytes", lambda: [np.abs(A).astype("u1"), B]),
    ("booleans", lambda: [A > 5, B > 5]),
    ("half precision", lambda: [A.astype("f2"), B]),
    ("long doubles", lambda: [A.astype(np.longdouble), B]),
    ("lists", lambda: [A.tolist(), B.tolist()]),
    ("numbered views", lambda: {0: A, 1: B}),
    ("the values of a dict", lambda: {"a": A, "b": B}.values()),
    ("nullable numbers", lambda: [frame(c=pd.array([1, 3] * 30, "Int64")), B]),
    ("columns of two levels", lambda: [two_levels(), B]),
    ("an arrow table", lambda: [pyarrow.table({"x": A[:, 0], "y": A[:, 1]}), B]),
    ("nearly constant", lambda: [1.0 + 1e-9 * A, B]),
    ("3,000 columns", lambda: [np.tile(A, 750), B]),
]


@pytest.mark.parametrize("make", [m for _, m in UNUSUAL], ids=[n for n, _ in UNUSUAL])
def test_what_is_clear_is_taken(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = fit(make()).labels_
    assert np.unique(labels).size == 3


# What can be done but says little, in our words alone.
DOUBTFUL = [
    ("a constant view", lambda: [A, np.ones((60, 2))], "'view1': it has no say"),
    ("nothing but constants", lambda: [np.ones((60, 2))] * 2, "no view tells rows"),
    (
        "two different rows",
        lambda: [np.repeat(np.eye(2), 30, axis=0)] * 2,
        "2 of the 3",
    ),
    ("zeros", lambda: [A, sp.csr_array((60, 9))], "'view1': it has no say"),
]


@pytest.mark.parametrize("doubtful", DOUBTFUL, ids=lambda d: d[0])
def test_what_says_little_is_told(doubtful):
    _, make, words = doubtful
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(make())
    assert {w.category for w in caught} == {DegenerateWarning}
    assert words in " ".join(str(w.message) for w in caught)
