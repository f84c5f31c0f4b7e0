"""`refit`: the same names tomorrow, and what has become of the clusters."""

import copy

import numpy as np
import pytest

import manyview
from manyview import S2MVTC, AnchorSpectral
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import InputError, InputTypeError


@pytest.fixture(scope="module")
def views():
    return make_views(720, (8, 6), 6, random_state=0)


def model_of(views, k, **more):
    return S2MVTC(k, random_state=0, n_init=5, **more).fit(views)


def kinds(model):
    return {e.kind: len(model.changes_.of(e.kind)) for e in model.changes_.events}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_grown_data_keeps_the_numbers(views, seed):
    rows = np.random.default_rng(seed).permutation(720)
    model = model_of(views[rows[:480]], 6)
    before = model.labels_
    model.set_params(random_state=seed)  # another run numbers its clusters otherwise
    assert model.refit(views[rows]) is model
    assert (model.labels_[:480] == before).mean() > 0.98
    assert kinds(model) == {"kept": 6}
    assert (model.predict(views[rows]) == model.labels_).all()
    fresh = S2MVTC(6, random_state=seed, n_init=5).fit(views[rows])
    np.testing.assert_array_equal(fresh.embedding_, model.embedding_)


def test_a_new_cluster_gets_a_new_number(views):
    model = model_of(views[views.labels != 5], 5)
    before = model.labels_
    model.refit(views, n_clusters=6)
    assert kinds(model) == {"kept": 5, "born": 1}
    (event,) = model.changes_.of("born")
    new = model.labels_ == event.after[0]
    assert (new == (views.labels == 5)).mean() > 0.99
    old = views.labels != 5
    assert (model.labels_[old] == before).mean() > 0.98
    assert model.n_clusters == model.n_clusters_ == 6


def test_the_number_of_a_dead_cluster_is_never_used_again(views):
    model = model_of(views, 6)
    first = model.labels_
    model.refit(views[first != 2], n_clusters=5)
    assert kinds(model) == {"kept": 5, "died": 1}
    assert model.changes_.of("died")[0].before == (2,)
    assert np.unique(model.labels_).tolist() == [0, 1, 3, 4, 5]
    assert 2 not in model.place(views[first != 2]).labels
    assert model.cluster_influence_.shape == (6, 2)
    assert np.isfinite(model.certainty_).all()
    model.refit(views, n_clusters=6)
    assert np.unique(model.labels_).tolist() == [0, 1, 3, 4, 5, 6]
    assert kinds(model) == {"kept": 5, "born": 1}


def test_the_highest_number_is_not_used_again_either(views):
    model = model_of(views, 6)
    first = model.labels_
    model.refit(views[first != 5], n_clusters=5)
    model.refit(views, n_clusters=6)
    assert np.unique(model.labels_).tolist() == [0, 1, 2, 3, 4, 6]


def test_split_and_merged_are_each_others_reverse(views):
    model = model_of(views, 3)
    model.refit(views, n_clusters=6)
    parts = sorted(e.after for e in model.changes_.of("split"))
    assert sum(len(p) - 1 for p in parts) == 3
    model.refit(views, n_clusters=3)
    assert sorted(e.before for e in model.changes_.of("merged")) == parts


def test_what_has_moved_is_told_by_view(views):
    """Rows of one cluster are spread in one view; who they are is known."""
    model = model_of(views, 6)
    labels = model.labels_
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1.5, size=views.arrays[1].shape)
    changed = [views.arrays[0], views.arrays[1] + (labels == 3)[:, None] * noise]
    model.refit(manyview.Views(changed, names=views.names), former=np.arange(720))
    (event,) = model.changes_.of("moved")
    assert event.after == (3,) and event.views == (views.names[1],)


def test_rows_that_look_different_are_followed_by_their_numbers(views):
    """All features turned round: the former model would place every row wrongly."""
    model = model_of(views, 6)
    before = model.labels_
    mixed = np.random.default_rng(0).permutation(720)
    turned = [-3.0 * np.asarray(a)[mixed] for a in views.arrays]
    model.refit(manyview.Views(turned, names=views.names), former=mixed)
    assert (model.labels_ == before[mixed]).mean() > 0.98
    assert model.changes_.changed_rows <= 14


def test_the_order_of_the_rows_does_not_matter(views):
    mixed = np.random.default_rng(0).permutation(720)
    one, two = (model_of(views[:500], 5) for _ in range(2))
    one.refit(views, n_clusters=6)
    two.refit(views[mixed], n_clusters=6)
    np.testing.assert_array_equal(one.labels_[mixed], two.labels_)
    assert one.changes_.events == two.changes_.events


def test_a_refit_that_fails_changes_nothing(views):
    model = model_of(views, 6)
    before = copy.deepcopy(vars(model))
    with pytest.raises(InputError, match="n_clusters"):
        model.refit(views[:4])
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.labels_, before["labels_"])


def test_what_cannot_be_done_is_said_before_any_work(views):
    model = model_of(views, 6)
    with pytest.raises(InputError, match="features"):
        model.refit([a[:, :-1] for a in views.arrays])
    with pytest.raises(InputError, match="one entry per row"):
        model.refit(views, former=[1, 2])
    with pytest.raises(InputError, match=r"0 to 719, or -1"):
        model.refit(views, former=np.arange(1, 721))
    with pytest.raises(InputError, match="names row 0 twice"):
        model.refit(views, former=np.zeros(720, dtype=int))
    with pytest.raises(InputError, match="names no row of it"):
        model.refit(views, former=np.full(720, -1))
    with pytest.raises(InputTypeError, match="got FastMICE"):
        manyview.growing.refit(manyview.baselines.FastMICE(3).fit(views), views)


def test_changes_are_saved_with_the_model(views, tmp_path):
    model = model_of(views[:600], 5).refit(views, n_clusters=6)
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert again.changes_.events == model.changes_.events
    np.testing.assert_array_equal(again.changes_.overlap, model.changes_.overlap)
    again.refit(views)
    assert kinds(again) == {"kept": 6}


def test_from_disk_as_in_memory(views, tmp_path):
    paths = []
    for name, array in zip(views.names, views.arrays, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        paths.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    there, here = (AnchorSpectral(5, random_state=0).fit(views[:500]) for _ in range(2))
    with lowered(block_rows=100, state_room=0):
        there.set_params(memory_limit="600MB")
        there.refit(manyview.Views(paths, names=views.names), n_clusters=6)
    here.refit(views, n_clusters=6)
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.changes_.events == here.changes_.events


def test_tensors_keep_their_kind(views):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = [torch.asarray(np.asarray(a)) for a in views.arrays]
    model = AnchorSpectral(5, random_state=0).fit([t[:500] for t in tensors])
    model.refit(tensors, n_clusters=6)
    plain = (
        AnchorSpectral(5, random_state=0)
        .fit(views[:500])
        .refit(list(views.arrays), n_clusters=6)
    )
    assert isinstance(model.labels_, torch.Tensor)
    assert (model.labels_.numpy() == plain.labels_).mean() > 0.98


def test_on_dask_as_here(views):
    distributed = pytest.importorskip("distributed", reason="no dask")
    da = pytest.importorskip("dask.array", reason="no dask")
    with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):
        far = [da.from_array(np.asarray(a), chunks=(240, -1)) for a in views.arrays]
        model = AnchorSpectral(5, random_state=0, engine="dask")
        model.fit([a[:480] for a in far]).refit(far, n_clusters=6)
        labels = np.asarray(model.labels_)
    plain = AnchorSpectral(5, random_state=0).fit(list(views[:480].arrays))
    plain.refit(list(views.arrays), n_clusters=6)
    assert (labels == plain.labels_).mean() > 0.98
    assert [e.kind for e in model.changes_.events] == [
        e.kind for e in plain.changes_.events
    ]
