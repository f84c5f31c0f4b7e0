"""New rows: every row by itself, training rows as in the fit, named outputs."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import set_config
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views
from manyview.datasets import load, make_views
from manyview.engine.contract import lowered
from manyview.engine.scratch import Scratch
from manyview.errors import (
    InputError,
    NotFittedError,
    OrderWarning,
    OutsideWarning,
)
from manyview.methods import all_methods
from manyview.metrics import clustering_scores
from manyview.selection import neighbour_score

# Along an order new rows are placed without it, which has tests of its own below.
PREDICTING = [
    m for m in all_methods() if m.tags.predicts and not m.tags.order_dependent
]
EMBEDDING = [
    S2MVTC(3, random_state=0),
    SequenceS2MVTC(3, random_state=0, smoothing_weight=0.0, kernel="linear"),
    SequenceS2MVTC(3, random_state=0, smoothing_weight=0.0, graph=True),
    AnchorSpectral(3, random_state=0),
]


@pytest.fixture(scope="module")
def data():
    return make_views(160, (6, 8, 5), 3, random_state=3)


@pytest.mark.parametrize("method", PREDICTING, ids=lambda m: m.name)
def test_training_rows_and_single_rows(method, data):
    model = method.estimator(n_clusters=3, random_state=0).fit(data[:100])
    assert np.array_equal(model.predict(data[:100]), model.labels_)
    batch = model.predict(data[100:])
    single = [model.predict(data[i : i + 1])[0] for i in range(100, 160, 7)]
    assert np.array_equal(batch[::7], single)
    assert batch.dtype == np.intp
    assert adjusted_rand_score(data.labels[100:], batch) > 0.9


@pytest.mark.usefixtures("rows_stay_on_disk")
@pytest.mark.parametrize("kind", [S2MVTC, SequenceS2MVTC, AnchorSpectral])
def test_a_limit_holds_for_new_rows_as_well(kind, data, tmp_path, monkeypatch):
    views = []
    for v, x in enumerate(data.arrays):
        np.save(tmp_path / f"{v}.npy", x)
        views.append(np.load(tmp_path / f"{v}.npy", mmap_mode="r"))
    model = kind(3, random_state=0, memory_limit="2GB").fit(views)
    wanted, spilled = model.labels_.copy(), []

    def scratch(n_rows, values):
        spilled.append(values.nbytes)
        return Scratch(n_rows, values)

    monkeypatch.setattr("manyview.engine.local.Scratch", scratch)
    with lowered(state_room=0), warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        found = model.predict(views)
    assert spilled
    assert type(found) is np.ndarray and found.base is None
    if kind is not SequenceS2MVTC:  # new rows have no place in its order
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("n_anchors", [1, 3, 5])
@pytest.mark.parametrize("kind", [S2MVTC, AnchorSpectral])
def test_training_rows_keep_their_cluster_with_hardly_any_anchors(kind, n_anchors):
    data = make_views(120, (6, 5, 4), 3, random_state=0)
    model = kind(3, n_graph_anchors=n_anchors, random_state=0).fit(data)
    assert adjusted_rand_score(data.labels, model.labels_) > 0.5
    np.testing.assert_array_equal(model.predict(data), model.labels_)


@pytest.mark.parametrize("estimator", EMBEDDING, ids=repr)
def test_embeddings_of_training_rows_and_single_rows(estimator, data):
    model = clone(estimator).fit(data[:100])
    scale = np.abs(model.embedding_).max()
    again = model.transform(data[:100])
    assert np.abs(again - model.embedding_).max() < 1e-5 * scale
    batch = model.transform(data[100:])
    single = np.concatenate([model.transform(data[i : i + 1]) for i in range(100, 160)])
    assert np.abs(batch - single).max() < 1e-5 * scale
    assert np.array_equal(clone(estimator).fit_transform(data[:100]), model.embedding_)


def test_order_of_new_rows_does_not_matter(data):
    model = S2MVTC(3, random_state=0).fit(data[:100])
    back = np.argsort(np.random.default_rng(0).permutation(60))
    new = data[100:]
    assert np.array_equal(model.predict(new[back]), model.predict(new)[back])


@pytest.mark.parametrize("graph", [False, True])
def test_a_sequence_is_left_out_of_predict_and_said_so_once(data, graph):
    ordered = data[np.argsort(data.labels, kind="stable")]
    model = SequenceS2MVTC(3, random_state=0, graph=graph, n_low=6)
    with pytest.warns(OrderWarning):
        model.fit(ordered)
    with pytest.warns(OrderWarning, match=r"left out.*Use S2MVTC") as told:
        first = model.predict(ordered[::2])
        second = model.predict(ordered[::2])
    assert np.array_equal(first, second)
    assert sum("left out" in str(w.message) for w in told) == 1


def test_missing_views_of_new_rows(data):
    model = S2MVTC(3, random_state=0).fit(data[:100])
    new = data[100:]
    present = np.ones((60, 3), dtype=bool)
    present[::2, 0] = present[1::2, 2] = False
    hidden = Views(list(new.arrays), present=present)
    found = model.predict(hidden)
    assert adjusted_rand_score(model.predict(new), found) > 0.9
    assert found[3] == model.predict(hidden[3:4])[0]


def test_names_of_the_outputs(data):
    model = AnchorSpectral(3, random_state=0).fit(data)
    names = model.get_feature_names_out()
    assert names[0] == "anchorspectral0" and len(names) == model.embedding_.shape[1]


def test_pandas_output_keeps_the_index(data):
    index = [f"row {i}" for i in range(len(data))]
    tables = [pd.DataFrame(x, index=index) for x in data.arrays]
    model = AnchorSpectral(3, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(tables)
    assert out.index.tolist() == index
    assert out.columns.tolist() == model.get_feature_names_out().tolist()
    assert model.transform(tables[0:3]).index.tolist() == index
    bare = clone(model).fit_transform(list(data.arrays))
    assert bare.index.tolist() == list(range(len(data)))


def test_global_configuration_and_polars(data):
    set_config(transform_output="polars")
    try:
        out = AnchorSpectral(3, random_state=0).fit_transform(list(data.arrays))
    finally:
        set_config(transform_output="default")
    assert isinstance(out, pl.DataFrame) and out.shape[0] == len(data)


def test_pipeline_and_grid_search(data):
    steps = Pipeline([("cluster", AnchorSpectral(3, random_state=0))])
    assert np.array_equal(steps.fit_predict(data), steps["cluster"].labels_)
    grid = {"cluster__n_neighbors": [3, 6]}
    search = GridSearchCV(steps, grid, scoring=neighbour_score, cv=3).fit(data)
    assert search.best_score_ > 0.5
    assert search.predict(data[:5]).shape == (5,)


def test_score_needs_no_labels_and_no_scorer(data):
    model = AnchorSpectral(3, random_state=0).fit(data)
    found = model.score(data)
    assert found == neighbour_score(model, data) > 0.5
    assert model.score(data, np.arange(len(data))) == found  # classes are not looked at
    search = GridSearchCV(AnchorSpectral(3, random_state=0), {"n_neighbors": [3]}, cv=2)
    assert search.fit(data).best_score_ > 0.5
    with pytest.raises(NotFittedError):
        AnchorSpectral(3).score(data)


WRAP = r"takes the views of a plain list for rows: wrap them in manyview\.Views"


def test_a_bare_list_in_a_cross_validation_gets_a_sentence(data):
    bare = list(data.arrays)
    options = {"scoring": neighbour_score, "cv": 3, "error_score": "raise"}
    with pytest.raises(InputError, match=WRAP):
        GridSearchCV(AnchorSpectral(3), {}, **options).fit(bare)
    with pytest.raises(InputError, match=WRAP):
        cross_val_score(AnchorSpectral(3), bare, **options)
    del options["error_score"]
    with pytest.warns(UserWarning, match=WRAP):
        assert np.isnan(cross_val_score(AnchorSpectral(3), bare, **options)).all()
    scores = cross_val_score(AnchorSpectral(3), data, scoring=neighbour_score, cv=2)
    assert scores.shape == (2,) and np.isfinite(scores).all()


@pytest.mark.parametrize("work", ["predict", "transform"])
def test_a_model_of_some_views_of_a_list_names_the_remedy(data, work):
    model = AnchorSpectral(3, random_state=0).fit(list(data.arrays[:2]))
    with pytest.raises(InputError, match=WRAP):
        getattr(model, work)(list(data.arrays[2:]))
    with pytest.raises(InputError, match="same views in the same order") as told:
        getattr(model, work)(Views(data.arrays[2:]))
    assert "manyview.Views" not in str(told.value)


def test_other_views_than_in_the_fit_get_a_sentence(data):
    model = AnchorSpectral(3, random_state=0).fit(data)
    with pytest.raises(InputError, match="features"):
        model.predict(list(data.arrays[:2]))


def test_certainty_is_lower_where_clusters_meet():
    rng = np.random.default_rng(0)
    side = np.repeat([-2.0, 2.0], 150)[:, None]
    views = [np.hstack([side, 0 * side]) + rng.normal(size=(300, 2)) for _ in range(2)]
    model = AnchorSpectral(2, random_state=0).fit(views)
    sure = model.certainty_
    assert sure.shape == (300,) and sure.min() >= 0 and sure.max() <= 1
    middle = np.abs(views[0][:, 0] + views[1][:, 0]) < 2.0
    assert (1 - sure[middle]).mean() > 5 * (1 - sure[~middle]).mean()


class Recorder:
    """A callback that notes the tasks, and stops at one of them."""

    def __init__(self, stop=""):
        self.stop, self.tasks, self.ends = stop, [], []

    def setup(self, estimator, context):
        self.ends.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)
        return context.task_name == self.stop

    def teardown(self, estimator, context):
        self.ends.append("teardown")


def test_callbacks_hear_every_pass_and_can_stop_the_rounds(data):
    pytest.importorskip("sklearn.callback")
    quiet, hasty = Recorder(), Recorder(stop="Round 2")
    model = S2MVTC(3, random_state=0, max_iter=4)
    whole = clone(model).set_callbacks(quiet).fit(data)
    short = clone(model).set_callbacks(hasty).fit(data)
    assert whole.n_iter_ == 4 and short.n_iter_ == 2
    assert quiet.tasks[-1] == "fit" and "Round 4" in quiet.tasks
    assert "Round 3" not in hasty.tasks
    assert quiet.ends == hasty.ends == ["setup", "teardown"]
    assert np.array_equal(short.predict(data), short.labels_)
    assert np.array_equal(whole.labels_, clone(model).fit(data).labels_)


@pytest.mark.data
@pytest.mark.slow
def test_half_of_handwritten_serves_the_other_half(data_dir):
    views = load(data_dir / "Handwritten.npz")
    model = S2MVTC(10, random_state=0)
    whole = clustering_scores(views.labels, clone(model).fit(views).labels_)["ACC"]
    found = []
    for seed in range(2):
        rows = np.random.default_rng(seed).permutation(len(views))
        half, rest = np.sort(rows[:1000]), np.sort(rows[1000:])
        placed = clone(model).fit(views[half]).predict(views[rest])
        found.append(clustering_scores(views.labels[rest], placed)["ACC"])
    assert np.mean(found) > whole - 0.03


@pytest.mark.parametrize("model", EMBEDDING, ids=lambda m: type(m).__name__)
def test_new_rows_have_the_certainty_of_the_fit(model, data):
    fitted = clone(model).fit(data)
    placed = fitted.place(data)
    assert np.array_equal(placed.labels, fitted.labels_)
    np.testing.assert_allclose(placed.certainty, fitted.certainty_, atol=1e-6)
    assert placed.outside.shape == (160, 3) and not placed.outside.any()


@pytest.mark.parametrize("model", EMBEDDING, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("exact_rows", [8192, 100])
def test_probabilities_are_those_of_the_fit_and_name_its_labels(
    model, data, exact_rows
):
    with lowered(exact_rows=exact_rows):
        fitted = clone(model).fit(data)
    likely = fitted.labels_proba_
    assert likely.shape == (160, 3) and (likely >= 0).all()
    np.testing.assert_allclose(likely.sum(axis=1), 1.0)
    assert np.array_equal(likely.argmax(axis=1), fitted.labels_)
    np.testing.assert_array_equal(fitted.certainty_, likely.max(axis=1))
    np.testing.assert_allclose(fitted.predict_proba(data), likely, atol=1e-5)
    np.testing.assert_allclose(fitted.predict_proba(data[7:8])[0], likely[7], atol=1e-5)


def test_the_likeliest_clusters_come_as_sparse_rows(data):
    model = AnchorSpectral(3, random_state=0).fit(data[:120])
    for found, dense in [
        (model.labels_proba(2), model.labels_proba_),
        (model.predict_proba(data[120:], top=2), model.predict_proba(data[120:])),
    ]:
        assert sp.issparse(found) and found.shape == dense.shape
        assert (np.diff(found.indptr) == 2).all()
        least = np.sort(dense, axis=1)[:, :1]
        np.testing.assert_allclose(found.toarray(), np.where(dense > least, dense, 0))
    assert model.labels_proba(9).nnz == 3 * 120, "there are no more clusters"


def test_another_order_of_rows_has_the_same_probabilities(data):
    order = np.random.default_rng(3).permutation(160)
    one, two = (S2MVTC(3, random_state=0).fit(x) for x in (data, data[order]))
    np.testing.assert_allclose(two.labels_proba_, one.labels_proba_[order], atol=1e-6)


def test_views_that_contradict_each_other_make_less_certain():
    clear = make_views(400, (6, 6), 3, random_state=0)
    noise = np.random.default_rng(0).normal(size=(400, 6))
    both = S2MVTC(3, random_state=0).fit(clear)
    one = S2MVTC(3, random_state=0).fit([clear.arrays[0], noise])
    assert both.certainty_.mean() > one.certainty_.mean() + 0.1


@pytest.mark.parametrize("model", EMBEDDING, ids=lambda m: type(m).__name__)
def test_rows_far_from_everything_are_said(model, data):
    fitted = clone(model).fit(data[:120])
    new = [np.asarray(x[120:]).copy() for x in data.arrays]
    new[1][:7] += 1e3
    with pytest.warns(OutsideWarning, match=r"7 of 40 .*\(7 in view 'view1'\)") as told:
        labels = fitted.predict(new)
    assert told[0].filename == __file__
    with pytest.warns(OutsideWarning, match="7 of 40"):
        fitted.transform(new)
    with pytest.warns(OutsideWarning, match="7 of 40"):
        placed = fitted.place(new)
    assert np.array_equal(placed.labels, labels)
    assert np.flatnonzero(placed.outside[:, 1]).tolist() == list(range(7))
    assert not placed.outside[:, [0, 2]].any()
    assert placed.certainty[:7].max() < 0.05 < placed.certainty[7:].max()
    with pytest.warns(OutsideWarning, match="7 of 40"):
        likely = fitted.predict_proba(new)
    assert np.array_equal(likely.argmax(axis=1), labels)


def test_rows_like_those_of_the_fit_are_not_outside():
    data = make_views(600, (6, 8), 3, random_state=5)
    model = S2MVTC(3, random_state=0).fit(data[:300])
    assert model.place(data[300:]).outside.mean() < 0.02


def test_placed_rows_of_dask_are_lazy(data):
    da = pytest.importorskip("dask.array")
    model = AnchorSpectral(3, random_state=0).fit(data)
    chunks = [da.from_array(np.asarray(x), chunks=(50, -1)) for x in data.arrays]
    placed = model.place(chunks)
    likely = model.predict_proba(chunks)
    assert hasattr(placed.certainty, "dask") and hasattr(likely, "dask")
    np.testing.assert_allclose(np.asarray(likely), model.predict_proba(data), atol=1e-6)
    one = model.predict_proba(chunks, top=1)
    assert np.array_equal(one.indices, model.labels_)
    here = model.place(data)
    for lazy, found in zip(placed, here, strict=True):
        np.testing.assert_allclose(np.asarray(lazy), found, atol=1e-6)
