"""`Views`: every door, row indexing, blocks, missing rows, every sentence."""

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from manyview.errors import InputError, InputTypeError
from manyview.views.views import Views

N = 12


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(N, 3)), rng.normal(size=(N, 2))]


def content(views, rows=None):
    """All views of the rows side by side, as float64."""
    block = views.block(slice(0, len(views)) if rows is None else rows, np.float64)
    return np.hstack([x.toarray() if sp.issparse(x) else x for x in block.views])


DOORS = {
    "list": list,
    "tuple": tuple,
    "dict": lambda a: {"first": a[0], "second": a[1]},
    "pandas": lambda a: [pd.DataFrame(x) for x in a],
    "polars": lambda a: [pl.DataFrame(x) for x in a],
    "csr": lambda a: [sp.csr_array(x) for x in a],
    "csc": lambda a: [sp.csc_matrix(x) for x in a],
    "coo": lambda a: [sp.coo_array(x) for x in a],
    "mixed": lambda a: [sp.csr_array(a[0]), pd.DataFrame(a[1])],
    "Fortran": lambda a: [np.asfortranarray(x) for x in a],
    "strided": lambda a: [np.repeat(x, 2, axis=0)[::2] for x in a],
    "nested lists": lambda a: [x.tolist() for x in a],
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_leads_to_the_same_views(arrays, door):
    views = Views(DOORS[door](arrays))
    assert len(views) == N and views.n_views == 2
    assert views.n_features == (3, 2) and views.shape == (N, 5)
    np.testing.assert_array_equal(content(views), np.hstack(arrays))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "rows",
    [
        slice(2, 7),
        slice(None, None, 3),
        slice(None, None, -1),
        np.array([5, 0, 5, 11]),
        [3, -1],
        np.arange(N) % 2 == 0,
        (np.arange(N) > 8).tolist(),
        range(4),
    ],
    ids=str,
)
def test_rows_of_every_door(arrays, door, rows):
    found = Views(DOORS[door](arrays))[rows]
    key = list(rows) if isinstance(rows, range) else rows
    np.testing.assert_array_equal(content(found), np.hstack(arrays)[key])


def test_one_row_and_the_last_row(arrays):
    views = Views(arrays)
    np.testing.assert_array_equal(content(views[4]), np.hstack(arrays)[4:5])
    np.testing.assert_array_equal(content(views[-1]), np.hstack(arrays)[-1:])
    np.testing.assert_array_equal(content(views[-3]), np.hstack(arrays)[-3:-2])


@pytest.mark.parametrize("row", [N, -N - 1, [0, N], [-N - 1]])
def test_rows_that_are_not_there_are_an_index_error(arrays, row):
    with pytest.raises(IndexError):
        Views(arrays)[row]


def test_rows_can_be_walked_through(arrays):
    assert [len(row) for row in Views(arrays)] == [1] * N


def test_mask_of_wrong_length_is_an_error(arrays):
    with pytest.raises(IndexError):
        Views(arrays)[np.ones(N + 1, dtype=bool)]


@given(st.data())
def test_indexing_twice_equals_indexing_once(data):
    n = data.draw(st.integers(1, 20))
    views = Views(
        [np.arange(n * 2).reshape(n, 2), np.arange(n)[:, None]],
        labels=np.arange(n),
        row_names=[f"r{i}" for i in range(n)],
        present=data.draw(
            st.lists(
                st.sampled_from([[True, True], [True, False]]), min_size=n, max_size=n
            )
        ),
    )
    ids = st.lists(st.integers(0, n - 1), min_size=1)
    first = np.array(data.draw(ids))
    second = np.array(data.draw(st.lists(st.integers(0, len(first) - 1), min_size=1)))
    twice, once = views[first][second], views[first[second]]
    np.testing.assert_array_equal(content(twice), content(once))
    np.testing.assert_array_equal(twice.labels, first[second])
    np.testing.assert_array_equal(twice.row_names, once.row_names)
    block = slice(0, len(once))
    np.testing.assert_array_equal(twice.block(block).present, once.block(block).present)


def test_train_test_split_keeps_rows_together(arrays):
    labels = np.arange(N)
    train, test, y_train, y_test = train_test_split(
        Views(arrays, labels=labels), labels, random_state=0
    )
    assert isinstance(train, Views) and len(train) + len(test) == N
    np.testing.assert_array_equal(content(train), np.hstack(arrays)[y_train])
    np.testing.assert_array_equal(test.labels, y_test)


class RowCounter(ClusterMixin, BaseEstimator):
    """Scores how many rows it was given; a stand-in for a real estimator."""

    def __init__(self, factor=1):
        self.factor = factor

    def fit(self, X, y=None):
        assert isinstance(X, Views)
        self.fitted_ = len(X)
        return self

    def score(self, X, y=None):
        assert X.n_views == 2
        return self.factor * len(X)


def test_cross_validation_and_grid_search_take_views(arrays):
    views = Views(arrays)
    assert cross_val_score(RowCounter(), views, cv=3).tolist() == [4, 4, 4]
    search = GridSearchCV(RowCounter(), {"factor": [1, 5]}, cv=3).fit(views)
    assert search.best_params_ == {"factor": 5}


def test_views_of_views_is_itself(arrays):
    views = Views(arrays)
    assert Views.of(views) is views
    assert Views.of(arrays).n_views == 2


def test_single_array_is_one_view(arrays):
    assert Views(arrays[0]).n_views == 1
    assert Views(arrays[0].tolist()).n_features == (3,)
    assert Views(pd.DataFrame(arrays[0])).n_features == (3,)
    assert Views(sp.csr_array(arrays[0])).n_features == (3,)


def test_names(arrays):
    assert Views(arrays).names == ("view0", "view1")
    assert Views({"a": arrays[0], 7: arrays[1]}).names == ("a", "7")
    assert Views(arrays, names=["x", "y"]).names == ("x", "y")
    assert "x: 3" in repr(Views(arrays, names=["x", "y"]))


def test_view_by_name_and_position(arrays):
    views = Views(arrays, names=["x", "y"])
    assert views.view("y") is arrays[1] and views.view(0) is arrays[0]
    with pytest.raises(InputError, match=r"no view named 'z'\. Name one of x, y"):
        views.view("z")


@pytest.mark.parametrize("names", [["x"], ["x", "x"], ["x", "y", "z"]])
def test_names_must_be_as_many_and_different(arrays, names):
    with pytest.raises(InputError, match="2 views need as many different names; got"):
        Views(arrays, names=names)


def test_data_frames_bring_names_of_columns_and_rows(arrays):
    index = [f"r{i}" for i in range(N)]
    first = pd.DataFrame(arrays[0], columns=list("abc"), index=index)
    views = Views([first, pl.DataFrame(arrays[1], schema=["d", "e"])])
    assert views.feature_names == (("a", "b", "c"), ("d", "e"))
    assert list(views.row_names) == index
    assert list(views[[3, 1]].row_names) == ["r3", "r1"]
    assert Views(arrays).feature_names == (None, None)
    named = Views(arrays, feature_names=[["p", "q", "r"], None])
    assert named.feature_names == (("p", "q", "r"), None)


def test_nothing_is_copied(arrays, tmp_path):
    views = Views(arrays)
    assert views.arrays[0] is arrays[0]
    for block in (views.block(slice(3, 8)), next(views.blocks(4))):
        assert all(
            np.shares_memory(x, a) for x, a in zip(block.views, arrays, strict=True)
        )
    assert np.shares_memory(views[2:5].arrays[0], arrays[0])
    path = tmp_path / "x.npy"
    np.save(path, arrays[0])
    mapped = np.load(path, mmap_mode="r")
    assert np.shares_memory(Views([mapped]).block(slice(2, 6)).views[0], mapped)
    csr = sp.csr_array(arrays[0])
    assert Views([csr]).arrays[0] is csr


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_map_and_hdf5_are_read_block_by_block(arrays, tmp_path, dtype):
    wanted = [x.astype(dtype) for x in arrays]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        sets = [file.create_dataset(f"v{i}", data=x) for i, x in enumerate(wanted)]
        views = Views(sets)
        assert views.arrays[0] is sets[0] and views.dtype == dtype
        np.testing.assert_array_equal(content(views), np.hstack(wanted))
        rows = np.array([7, 2, 7, 0])
        np.testing.assert_array_equal(content(views[rows]), np.hstack(wanted)[rows])
        np.testing.assert_array_equal(content(views, rows), np.hstack(wanted)[rows])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int8, np.float32),
        (np.int64, np.float32),
        (np.uint16, np.float32),
        (bool, np.float32),
        (np.dtype(">f4"), np.float32),
        (np.dtype(">f8"), np.float64),
    ],
)
def test_dtype_rules(given, expected):
    x = np.array([[1, 0], [0, 1]]).astype(given)
    views = Views([x, np.ones((2, 1), dtype=np.float32)])
    block = views.block(slice(0, 2))
    assert views.dtype == expected
    np.testing.assert_array_equal(block.views[0], [[1, 0], [0, 1]])


@pytest.mark.parametrize("n_rows", [1, 5, N, 100])
def test_blocks_cover_the_rows_once(arrays, n_rows):
    blocks = list(Views(arrays).blocks(n_rows))
    assert [b.start for b in blocks] == list(range(0, N, n_rows))
    assert sum(len(b) for b in blocks) == N
    np.testing.assert_array_equal(
        np.vstack([np.hstack(b.views) for b in blocks]), np.hstack(arrays)
    )
    assert all(b.present.all() and b.present.shape == (len(b), 2) for b in blocks)


def test_torch_tensors_stay_on_their_device(arrays):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    views = Views([torch.as_tensor(x) for x in arrays])
    block = views.block(slice(1, 4))
    assert isinstance(block.views[0], torch.Tensor)
    np.testing.assert_array_equal(block.views[0].numpy(), arrays[0][1:4])
    assert views.dtype == np.float64


def test_missing_rows_by_mask_and_by_nan_are_the_same(arrays):
    present = np.ones((N, 2), dtype=bool)
    present[[1, 5], 0] = present[3, 1] = False
    blank = [np.where(present[:, [v]], x, np.nan) for v, x in enumerate(arrays)]
    by_mask = Views(arrays, present=present).block(slice(0, N))
    by_nan = Views(blank).block(slice(0, N))
    for block in (by_mask, by_nan):
        np.testing.assert_array_equal(block.present, present)
        assert not block.views[0][[1, 5]].any() and not block.views[1][3].any()
        np.testing.assert_array_equal(
            block.views[0][present[:, 0]], arrays[0][present[:, 0]]
        )


def test_nan_under_a_mask_is_missing_not_an_error(arrays):
    present = np.ones((N, 2), dtype=bool)
    present[4, 0] = False
    arrays[0][4, 1] = np.nan
    block = Views(arrays, present=present).block(slice(0, N))
    assert not block.views[0][4].any()


def test_missing_rows_of_a_sparse_view(arrays):
    present = np.ones((N, 2), dtype=bool)
    arrays[0][2, 1] = np.nan
    present[2, 0] = False
    views = Views([sp.csr_array(arrays[0]), arrays[1]], present=present)
    block = views.block(slice(0, N))
    assert sp.issparse(block.views[0]) and not block.views[0].toarray()[2].any()
    assert not block.present[2, 0]


def test_inputs_are_never_written_to(arrays):
    present = np.ones((N, 2), dtype=bool)
    present[2, 0] = False
    before = [x.copy() for x in arrays]
    Views(arrays, present=present).block(slice(0, N))
    for x, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, old)


def test_full_mask_is_no_mask(arrays):
    assert Views(arrays, present=np.ones((N, 2))).present is None


@pytest.mark.parametrize(
    ("views", "kind", "sentence"),
    [
        (
            [np.ones((3, 2)), np.ones((4, 2))],
            InputError,
            "different numbers of rows: view0 has 3, view1 has 4.*same rows",
        ),
        (
            {"a": np.ones((3, 2)), "b": np.ones((0, 2))},
            InputError,
            r"View 'b' is empty: its shape is \(0, 2\).*leave",
        ),
        (
            {"a": np.ones((3, 0))},
            InputError,
            r"View 'a' is empty: its shape is \(3, 0\)",
        ),
        ({"a": np.ones(3)}, InputError, r"View 'a' must be 2-D.*\(3,\).*Reshape"),
        ({"a": np.ones((3, 2, 1))}, InputError, r"View 'a' must be 2-D"),
        (
            {"a": np.array([["x"], ["y"]])},
            InputTypeError,
            "View 'a' is not numeric: its dtype is <U1.*encode",
        ),
        ({"a": np.array([[[1]]], object)}, InputError, "'a' must be 2-D.*list\\(x\\)"),
        ({"a": np.array([["1"]], object)}, InputTypeError, "View 'a' is not numeric"),
        (
            {"a": np.ones((2, 2), dtype=complex)},
            InputError,
            "Complex data not supported: view 'a'",
        ),
        (
            {"a": np.zeros((2, 1), dtype="datetime64[s]")},
            InputTypeError,
            "View 'a' is not numeric",
        ),
        (
            {"a": pd.DataFrame({"x": [1.0], "city": ["Rome"]})},
            InputTypeError,
            "View 'a' has non-numeric columns: city.*encode",
        ),
        (
            {"a": pl.DataFrame({"city": ["Rome"]})},
            InputTypeError,
            "View 'a' has non-numeric columns: city",
        ),
        ({"a": [[1.0, 2.0], [3.0]]}, InputTypeError, "View 'a' is no table of numbers"),
        ({"a": "words"}, InputTypeError, "View 'a'"),
        ({"a": None}, InputTypeError, "View 'a'"),
        ({"a": object()}, InputTypeError, "View 'a'"),
        ({"a": 3}, (InputTypeError, InputError), "View 'a'"),
        ({}, InputError, "No views"),
        ([], InputError, "No views"),
    ],
)
def test_bad_views_get_a_sentence(views, kind, sentence):
    with pytest.raises(kind, match=sentence):
        Views(views)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_nan_and_infinity_name_the_view_and_the_row(arrays, value, make):
    arrays[1][7, 0] = value
    views = Views({"image": arrays[0], "text": make(arrays[1])})
    sentence = "View 'text' holds NaN or infinity"
    sentence += ": NaN in row 7" if np.isnan(value) else ": infinity in row 7"
    with pytest.raises(InputError, match=sentence):
        list(views.blocks(5))


def test_value_beyond_float32_is_reported_not_silent(arrays):
    arrays[0][2, 1] = 1e39
    with pytest.raises(
        InputError, match=r"View 'view0' .*too large for float32 in row 2"
    ):
        Views(arrays).block(slice(0, N), np.float32)


def test_overflowing_sum_of_finite_values_is_valid(recwarn):
    x = np.full((2, 3), 1e308)
    np.testing.assert_array_equal(Views([x]).block(slice(0, 2)).views[0], x)
    assert not recwarn.list


def test_row_without_any_view_is_a_sentence(arrays):
    arrays[0][9], arrays[1][9] = np.nan, np.nan
    with pytest.raises(InputError, match=r"Row 9 has no view at all.*Remove"):
        list(Views(arrays).blocks(4))


@pytest.mark.parametrize("shape", [(N,), (N, 3), (N - 1, 2)])
def test_mask_of_wrong_shape_is_a_sentence(arrays, shape):
    with pytest.raises(InputError, match=rf"mask.*shape \({N}, 2\)"):
        Views(arrays, present=np.ones(shape))


def test_labels_of_wrong_length_are_a_sentence(arrays):
    with pytest.raises(InputError, match=r"labels must have one entry per row \(12\)"):
        Views(arrays, labels=np.zeros(N + 1))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("row_names", ["only one"]),
        ("feature_names", [["a"], ["b"]]),
        ("feature_names", [["a", "b", "c"]]),
    ],
)
def test_names_of_wrong_length_are_a_sentence(arrays, option, value):
    with pytest.raises(InputError, match=option.replace("_", ".")):
        Views(arrays, **{option: value})


def test_arrays_of_any_library_turn_into_numpy():
    strict = pytest.importorskip("array_api_strict")
    x = np.random.default_rng(0).normal(size=(20, 3))
    found = Views([strict.asarray(x)]).arrays[0]
    np.testing.assert_array_equal(found, x)


def test_an_array_that_stays_where_it_is_is_a_sentence():
    class Elsewhere:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("implicit copies are not allowed.")

    said = r"view0.*Elsewhere, does not turn.*: implicit copies are not allowed\. Give"
    with pytest.raises(InputTypeError, match=said):
        Views([Elsewhere()])


def test_groups_and_empty_datasets_of_hdf5_are_sentences(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["empty"] = h5py.Empty("f4")
        with pytest.raises(InputTypeError, match="'view0' is itself a File of arrays"):
            Views([file])
        with pytest.raises(InputError, match="must be 2-D"):
            Views([file["empty"]])
