"""`partial_fit`: pieces in any order give the fit of all; many rows stand."""

import copy
import json
import warnings
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score as ari

import manyview
from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import (
    DriftWarning,
    InputError,
    InputTypeError,
    OutsideWarning,
    ResourceError,
    UnsupportedError,
)
from manyview.growing.adding import ROWS_PER_LOOK
from manyview.growing.drifting import RATE


@pytest.fixture(scope="module")
def views():
    return make_views(360, (6, 5), 4, random_state=0, view_quality=0.7)


@pytest.fixture
def few():
    """Beyond 150 rows a model stands."""
    with lowered(exact_rows=150):
        yield 150


def model_of(kind=S2MVTC, **more):
    return kind(4, random_state=0, n_init=5, n_graph_anchors=120, **more)


def fed(views, pieces, model=None):
    model = model_of() if model is None else model
    for rows in pieces:
        model.partial_fit(views[rows])
    return model


def pieces_of(seed):
    return np.array_split(np.random.default_rng(seed).permutation(360), 4)


@pytest.mark.parametrize("kind", [S2MVTC, AnchorSpectral])
def test_pieces_in_any_order_are_the_fit_of_all(views, kind):
    whole = model_of(kind).fit(views)
    for seed in (0, 1):
        pieces = pieces_of(seed)
        model = fed(views, pieces, model_of(kind))
        rows = np.concatenate(pieces)
        assert ari(model.labels_, whole.labels_[rows]) == 1.0
        np.testing.assert_array_equal(model.embedding_, whole.embedding_[rows])
        assert (model.predict(views[rows]) == model.labels_).all()
        assert model.n_rows_kept_ == 360


def test_pieces_sorted_by_class_are_the_fit_of_all_too(views):
    whole = model_of().fit(views)
    pieces = np.array_split(np.argsort(views.labels, kind="stable"), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", manyview.errors.DegenerateWarning)
        model = fed(views, pieces)
    assert ari(model.labels_, whole.labels_[np.concatenate(pieces)]) == 1.0


def test_old_rows_change_only_where_it_is_said(views):
    model = fed(views, [np.argsort(views.labels, kind="stable")[:200]])
    before = model.labels_
    model.partial_fit(views[np.argsort(views.labels, kind="stable")[200:]])
    changed = np.flatnonzero(model.labels_[:200] != before)
    assert 0 < changed.size < 200
    np.testing.assert_array_equal(model.changes_.relabelled, changed)
    assert model.changes_.changed_rows == changed.size
    assert not model.changes_.refit_due


def test_the_rows_given_may_be_changed_afterwards(views):
    whole = model_of().fit(views)
    model = model_of()
    for rows in (slice(0, 180), slice(180, 360)):
        given = [np.array(a[rows]) for a in views.arrays]
        model.partial_fit(given)
        for array in given:
            array[:] = 0.0
    assert ari(model.labels_, whole.labels_) == 1.0


def test_many_rows_stand_where_they_are(views, few):
    model = fed(views, pieces_of(0)[:2])  # 180 rows
    assert model.n_rows_kept_ == 0
    passes, labels = model._passes, model.labels_
    fitted = model_of().fit(views[np.concatenate(pieces_of(0)[:2])])
    assert ari(fitted.labels_, labels) == 1.0
    piece = views[pieces_of(0)[2]]
    expected = model.predict(piece), model.transform(piece)
    model.partial_fit(piece)
    assert model._passes is passes
    np.testing.assert_array_equal(model.labels_[:180], labels)
    np.testing.assert_array_equal(model.labels_[180:], expected[0])
    np.testing.assert_array_equal(model.embedding_[180:], expected[1])
    assert model.embedding_.dtype == expected[1].dtype
    assert len(model.certainty_) == 270
    assert model.changes_.changed_rows == len(model.changes_.relabelled) == 0
    assert model.changes_.overlap[-1].sum() == 90
    assert {e.kind for e in model.changes_.events} == {"kept"}


def test_many_rows_of_a_fit_are_added_to(views, few):
    model = model_of().fit(views[:200])
    model.partial_fit(views[200:])
    assert ari(model.labels_, model_of().fit(views).labels_) > 0.95


def test_rows_that_no_longer_fit_ask_for_a_refit(few):
    views = make_views(1000, (6, 5), 4, random_state=0)
    model = fed(views, [slice(0, 400), slice(400, 700)])
    assert not model.changes_.refit_due
    worn = [np.array(a[700:]) for a in views.arrays]
    worn[1] = worn[1] * 1.6
    due = pytest.warns(DriftWarning, match=r"'generated1' no longer.*model\.refit")
    with due, pytest.warns(OutsideWarning):
        model.partial_fit(Views(worn, names=views.names))
    assert model.changes_.refit_due in model.changes_.sentence
    assert len(model.labels_) == 1000
    rows = [
        np.concatenate([a[:700], b]) for a, b in zip(views.arrays, worn, strict=True)
    ]
    model.refit(Views(rows, names=views.names))
    assert not model.changes_.refit_due


def test_a_look_takes_its_part_of_the_rate(few, monkeypatch):
    """Pieces of few rows are looked at together; all rates add up to the one stated."""
    rates = []

    def seen(model, new, rate):
        rates.append((len(new.labels), rate))
        return manyview.growing.drifting.drift_of(model, new, rate)

    monkeypatch.setattr(manyview.growing.adding, "drift_of", seen)
    views = make_views(1300, (6, 5), 4, random_state=0)
    model = fed(views, [slice(0, 400), slice(400, 500)])
    assert rates == []
    fed(views, [slice(500, 600), slice(600, 900), slice(900, 1000)], model)
    assert rates == [(ROWS_PER_LOOK, RATE / 2), (300, RATE / 6)]
    assert np.isclose(sum(1 / (i * (i + 1)) for i in range(1, 10**5)), 1.0, atol=1e-4)


def test_another_fit_forgets_what_was_added(views):
    model = fed(views, pieces_of(0)[:2]).fit(views)
    assert model.n_rows_kept_ == 0 and not hasattr(model, "changes_")
    with pytest.raises(InputError, match=r"keeps none of its 360 rows.*refit"):
        model.partial_fit(views[:10])


def test_what_cannot_be_added_is_said_and_changes_nothing(views):
    model = fed(views, [slice(0, 200)])
    before = copy.copy(vars(model))
    with pytest.raises(InputError, match="features"):
        model.partial_fit([a[:10, :-1] for a in views.arrays])
    with pytest.raises(InputError, match="features"):
        model.partial_fit(list(views.arrays[:1]))
    with pytest.raises(InputError, match="was fitted on the views"):
        model.partial_fit({"other": views.arrays[0], "generated1": views.arrays[1]})
    with pytest.raises(InputError, match="is empty"):
        model.partial_fit([a[:0] for a in views.arrays])
    gap = [np.array(a[:5]) for a in views.arrays]
    gap[0][3, 1] = np.nan
    with pytest.raises(InputError, match=r"[Rr]ow 3\b"):
        model.partial_fit(gap)
    lost = [np.full_like(a, np.nan) for a in gap]
    with pytest.raises(InputError, match="Row 0 has no view at all"):
        model.partial_fit(lost)
    with pytest.raises(InputError, match="second argument"):
        model.partial_fit(views[:5], np.zeros((5, 3)))
    with pytest.raises(InputError, match="no checkpoint"):
        model_of(checkpoint="somewhere").partial_fit(views)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_methods_that_cannot_say_so(views):
    for model in (SequenceS2MVTC(3), manyview.baselines.FastMICE(3)):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(UnsupportedError, match=f"{type(model).__name__} cannot"):
            model.partial_fit(views)
        with pytest.raises(InputTypeError, match=f"got {type(model).__name__}"):
            manyview.growing.partial_fit(model, views)


def test_models_are_saved_with_the_rows_they_keep(views, tmp_path):
    model = fed(views, pieces_of(0)[:3])
    path = model.save(tmp_path / "m.manyview")
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("model.json"))["rows kept"] == 270
    again, large = manyview.load_model(path), path.stat().st_size
    assert again.n_rows_kept_ == 270
    last = views[pieces_of(0)[3]]
    again.partial_fit(last)
    model.forget_rows().save(path, overwrite=True)
    assert path.stat().st_size < large - sum(a[:270].nbytes for a in views.arrays) / 2
    with pytest.raises(InputError, match="keeps none of its 270 rows"):
        manyview.load_model(path).partial_fit(last)
    whole = model_of().fit(views)
    assert ari(again.labels_, whole.labels_[np.concatenate(pieces_of(0))]) == 1.0


def test_models_that_stand_are_saved_with_what_waits(views, few, tmp_path):
    model = fed(views, pieces_of(0)[:3])
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    np.testing.assert_array_equal(
        again._growth.waiting.distances, model._growth.waiting.distances
    )
    last = views[pieces_of(0)[3]]
    for one in (again, model):
        one.partial_fit(last)
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_views_that_rows_lack(views, few):
    present = np.ones((360, 2), dtype=bool)
    present[::3, 0] = False
    lacking = Views(list(views.arrays), names=views.names, present=present)
    with lowered(exact_rows=400):
        whole = model_of().fit(lacking)
        for pieces in ([slice(0, 180), slice(180, 360)], pieces_of(0)):
            model = fed(lacking, pieces)
            rows = np.concatenate([np.arange(360)[p] for p in pieces])
            assert ari(model.labels_, whole.labels_[rows]) == 1.0
        # A mask in one of the pieces alone.
        mixed = fed(views, [slice(0, 180)]).partial_fit(lacking[180:])
        assert not mixed._growth.present[180:].all() and len(mixed.labels_) == 360
    assert len(fed(lacking, pieces_of(0)).labels_) == 360


def test_sparse_tables_and_prepared_views(views):
    pandas = pytest.importorskip("pandas", reason="no pandas")
    sparse = [sp.csr_array(np.maximum(np.asarray(a), 0)) for a in views.arrays]
    whole = model_of().fit(sparse)
    model = model_of().partial_fit([a[:200] for a in sparse])
    model.partial_fit([a[200:] for a in sparse])
    assert ari(model.labels_, whole.labels_) == 1.0
    table = pandas.DataFrame(np.hstack(views.arrays)).rename(columns="c{}".format)
    table["kind"] = np.where(views.labels < 2, "a", "b")
    prepared = manyview.ViewTransformer().fit_transform(table[:200])
    model = model_of().partial_fit(prepared).partial_fit(table[200:])
    assert len(model.predict(table)) == 360  # prepared as the first piece was
    one = table.drop(columns="kind")
    model = model_of().partial_fit(one[:200]).partial_fit(one[200:])
    assert list(model.feature_names_in_) == list(one.columns)
    with pytest.raises(InputError, match="feature names"):
        model.partial_fit(one.rename(columns={"c1": "d1"}))


def test_from_disk_within_a_limit(views, few, tmp_path):
    here = fed(views, [slice(0, 100), slice(100, 200), slice(200, 360)])
    there = model_of(memory_limit="800MB")
    for number, rows in enumerate((slice(0, 100), slice(100, 200), slice(200, 360))):
        paths = []
        for name, array in zip(views.names, views.arrays, strict=True):
            (tmp_path / str(number)).mkdir(exist_ok=True)
            paths.append(tmp_path / str(number) / f"{name}.npy")
            np.save(paths[-1], array[rows])
        there.partial_fit(paths)
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_rows_that_a_limit_has_no_room_for(views, monkeypatch):
    monkeypatch.setattr(manyview.growing.adding, "ROOM_SHARE", 1e-5)  # 5 kB
    model = model_of(memory_limit="500MB").partial_fit(views[:100])
    with pytest.raises(ResourceError, match=r"take 8\.8 kB.*room for 5 kB"):
        model.partial_fit(views[100:200])
    assert len(model.labels_) == 100
    with pytest.raises(ResourceError, match="memory_limit"):
        model_of(memory_limit="500MB").partial_fit(views)


def test_tensors_keep_their_kind(views, few):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = [torch.asarray(np.asarray(a)) for a in views.arrays]
    model = model_of(AnchorSpectral)
    for rows in (slice(0, 100), slice(100, 200), slice(200, 360)):
        model.partial_fit([t[rows] for t in tensors])
        assert isinstance(model.labels_, torch.Tensor)
    assert isinstance(model.embedding_, torch.Tensor)
    assert len(model.labels_) == len(model.embedding_) == 360


def test_on_a_device_as_here(views, few):
    pytest.importorskip("torch", reason="torch is not installed")
    cuts = (slice(0, 100), slice(100, 200), slice(200, 360))
    there, here = fed(views, cuts, model_of(device="cpu")), fed(views, cuts)
    assert (there.labels_ == here.labels_).mean() > 0.98
    assert len(there.embedding_) == 360


def test_on_dask_as_here(views, few):
    distributed = pytest.importorskip("distributed", reason="no dask")
    da = pytest.importorskip("dask.array", reason="no dask")
    cuts = (slice(0, 100), slice(100, 200), slice(200, 360))
    with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):
        far = [da.from_array(np.asarray(a), chunks=(50, -1)) for a in views.arrays]
        model = model_of(AnchorSpectral, engine="dask")
        for rows in cuts:
            model.partial_fit([a[rows] for a in far])
        labels = np.asarray(model.labels_)
    plain = model_of(AnchorSpectral)
    for rows in cuts:
        plain.partial_fit([a[rows] for a in views.arrays])
    assert (labels == plain.labels_).mean() > 0.98
