"""Old files in present words: names, and the one class that has become two."""

import pytest

from manyview.errors import FileError, ManyviewWarning
from manyview.files.migrations import VERSION, migrate

OLD = {
    "anchors": "kmeans", "assign": "kmeans", "beta": None, "block_rows": None,
    "consensus": True, "dtype": None, "kernel": "rbf", "lam": None, "max_iter": None,
    "min_duration": None, "n_anchors": 1000, "n_clusters": 3, "n_components": 64,
    "n_graph_anchors": 4096, "n_init": 20, "n_low": 16, "n_neighbors": 5,
    "periodic": False, "random_state": 0, "rank_tol": 1e-3, "row_norm": "unit",
    "scaling": "auto", "smoothing": "graph", "smoothing_growth": 1.0,
    "smoothing_weight": None, "start": "signs",
}  # fmt: skip
ALWAYS = {"n_clusters", "n_anchors", "anchors", "scaling", "lam", "n_init"}
ALWAYS |= {"random_state", "dtype"}
ALONG = {"kernel", "row_norm", "rank_tol", "assign", "periodic", "smoothing_growth"}
ALONG |= {"graph"}


def moved(kind, params, fitted=()):
    """Class and parameters of a file of version 1, in this version."""
    old = {"version": 1, "class": kind, "params": params, "fitted": dict(fitted)}
    new = migrate(old)
    assert new["version"] == VERSION
    return new["class"], new["params"]


@pytest.mark.parametrize(
    ("given", "kind", "names", "changed"),
    [
        ({}, "S2MVTC", {"n_graph_anchors", "n_neighbors"}, {}),
        (
            {"beta": 0.3, "max_iter": 2, "smoothing_weight": 0.2},
            "S2MVTC",
            {"n_graph_anchors", "n_neighbors", "beta", "max_iter", "smoothing_weight"},
            {"beta": 0.3, "max_iter": 2, "smoothing_weight": 0.2},
        ),
        (
            {"consensus": False},
            "S2MVTC",
            {"n_graph_anchors", "n_neighbors", "beta"},
            {"beta": 0.0},
        ),
        (
            {"smoothing": "sequence"},
            "SequenceS2MVTC",
            {*ALONG, "n_components", "start", "n_low"},
            {"graph": False, "n_low": 16},
        ),
        (
            {"smoothing": "sequence", "min_duration": 2.5},
            "SequenceS2MVTC",
            {*ALONG, "n_components", "start", "min_duration"},
            {"graph": False, "min_duration": 2.5},
        ),
        (
            {"smoothing": "graph+sequence"},
            "SequenceS2MVTC",
            {*ALONG, "n_graph_anchors", "n_neighbors", "n_low"},
            {"graph": True},
        ),
        (
            {"smoothing": None, "min_duration": 2.5, "smoothing_weight": 3.0},
            "SequenceS2MVTC",
            {*ALONG, "n_components", "start", "smoothing_weight"},
            {"graph": False, "smoothing_weight": 0.0},
        ),
    ],
)
def test_one_class_has_become_two(given, kind, names, changed):
    found, params = moved("S2MVTC", {**OLD, **given})
    assert found == kind
    assert set(params) == ALWAYS | names
    kept = {k: v for k, v in {**OLD, **given}.items() if k in params}
    assert params == {**kept, **changed}


def test_given_anchors_leave_their_number_out():
    _, params = moved("S2MVTC", {**OLD, "anchors": {"list": [{"array": 0}]}})
    assert "n_anchors" not in params and params["anchors"] == {"list": [{"array": 0}]}


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ({"_spectrum": 7}, {"spectrum": 7, "start": None, "rounds": {"tuple": []}}),
        (
            {
                "_passes": {
                    "record": ["Passes", {"spectrum": 1, "start": 2, "rounds": 3}]
                }
            },
            {"spectrum": 1, "start": 2, "rounds": 3},
        ),
    ],
)
def test_what_new_rows_go_through_is_one_record(own, wanted):
    fitted = {"n_views_": 2, "_dtype": {"dtype": "<f4"}, "_centres": 5, **own}
    old = {"version": 1, "class": "OPMC", "params": {}, "fitted": fitted}
    found = {"dtype": "float32", "view_order": {"tuple": [0, 1]}, "centres": 5}
    assert migrate(old)["fitted"] == {
        "n_views_": 2,
        "passes": {"record": ["passes", {**found, **wanted}]},
    }


def test_settings_without_a_place_are_named():
    lost = {"kernel": "linear", "assign": "correlation"}
    with pytest.warns(ManyviewWarning, match="kernel='linear', assign='correlation'"):
        moved("S2MVTC", {**OLD, **lost})


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("BMVC", {"lam": 1.0}, {"cluster_weight": 1.0}),
        ("SMERAMVC", {"lam": 1.0}, {"residual_weight": 1.0}),
        ("FMVACC", {"lam": 1.0}, {"feature_weight": 1.0}),
        ("FastMICE", {"standardise": False}, {"scaling": None}),
        ("FastMICE", {"standardise": True}, {"scaling": "standard"}),
        ("FSMSC", {"standardise": "sample"}, {"scaling": "sample"}),
        ("FSMSC", {"standardise": "feature"}, {"scaling": "standard"}),
        (
            "LMTC",
            {"standardise": "unit", "lam": 2.0},
            {"scaling": "unit", "tensor_weight": 2.0},
        ),
        ("OPMC", {"lam": 1.0}, {"lam": 1.0}),
        ("AnchorSpectral", {"block_rows": 5, "n_init": 2}, {"n_init": 2}),
    ],
)
def test_parameters_have_the_names_of_the_package(kind, old, new):
    assert moved(kind, old) == (kind, new)


def test_records_and_hidden_values_are_renamed():
    """A dictionary may hold any key, one that looks like a record too."""
    old = {
        "version": 1,
        "class": "X",
        "params": {"block_rows": None, "n_clusters": 3},
        "fitted": {
            "_scalings": {"tuple": [{"record": ["Scaling", {"gaps": True}]}]},
            "x_": {"record": ["Features", {"keep": True, "reuse": True}]},
            "note_": {"dict": {"record": {"list": [1, {"float": "nan"}]}}},
        },
    }
    assert migrate(old) == {
        "version": VERSION,
        "class": "X",
        "params": {"n_clusters": 3},
        "fitted": {
            "scalings": {"tuple": [{"record": ["scaling", {"missing": True}]}]},
            "x_": {"record": ["features", {"keep": True}]},
            "note_": {"dict": {"record": {"list": [1, {"float": "nan"}]}}},
        },
    }


@pytest.mark.parametrize(
    "fitted",
    [
        {"x_": {"record": ["Piece"]}},
        {"x_": {"record": [["Piece"], {}]}},
        {"x_": {"record": ["Piece", []]}},
        {"x_": {"dict": []}},
        {"x_": {}},
    ],
)
def test_broken_values_are_a_sentence(fitted):
    refused = r"^The model file is refused: it holds a broken value"
    with pytest.raises(FileError, match=refused):
        moved("OPMC", {}, fitted)
