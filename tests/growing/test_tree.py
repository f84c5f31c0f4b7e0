"""`hierarchy`: nested cuts, the fit's own among them, and what is behind a split."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_monotonic, is_valid_linkage

import manyview
from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views, hierarchy
from manyview.baselines import FastMICE
from manyview.engine.contract import lowered
from manyview.errors import InputError, InputTypeError
from manyview.metrics import ari


@pytest.fixture(scope="module")
def nested():
    """Nine groups in three families; the second view sees the families alone."""
    rng = np.random.default_rng(0)
    group = rng.permutation(np.arange(540) % 9)
    family = group // 3
    families = np.array([[0, 0, 0], [30, 0, 0], [0, 30, 0]])
    members = np.array([[0, 0, 0], [0, 0, 6], [0, 0, 12]])
    first = families[family] + members[group % 3] + rng.normal(0, 0.7, (540, 3))
    second = 8.0 * np.eye(3)[family] + rng.normal(0, 0.7, (540, 3))
    names = [["x", "y", "z"], ["a", "b", "c"]]
    return Views({"both": first, "coarse": second}, feature_names=names), group


@pytest.fixture(scope="module")
def fine(nested):
    return S2MVTC(9, random_state=0).fit(nested[0])


@pytest.fixture(scope="module")
def tree(fine, nested):
    return hierarchy(fine, nested[0])


def test_the_labels_of_the_fit_are_a_cut(tree, fine):
    np.testing.assert_array_equal(tree.cut(9), fine.labels_)
    assert tree.n_clusters == 9 and tree.n_leaves <= 36
    inner, outer = tree.linkage[tree.n_leaves - 10, 2], tree.linkage[-8, 2]
    assert inner < outer
    between = (inner + outer) / 2
    np.testing.assert_array_equal(tree.cut(distance=between), fine.labels_)


def test_coarse_cuts_are_the_families_and_fine_ones_the_groups(nested, tree):
    views, group = nested
    assert ari(group // 3, tree.cut(3)) > 0.98
    coarse = AnchorSpectral(6, random_state=0).fit(views)
    assert ari(group, hierarchy(coarse, views).cut(9)) > 0.9


def test_every_level_is_nested_in_the_one_above(tree):
    for k in range(2, tree.n_leaves + 1):
        above, below = tree.cut(k - 1), tree.cut(k)
        assert len(np.unique(below)) == k
        assert len(set(zip(above.tolist(), below.tolist(), strict=True))) == k
    assert (tree.cut(1) == 0).all()
    assert (tree.cut(distance=1) == 0).all()
    np.testing.assert_array_equal(tree.cut(tree.n_leaves), tree.leaves)


def test_scipy_takes_the_linkage(tree):
    assert is_valid_linkage(tree.linkage) and is_monotonic(tree.linkage)


def test_views_and_features_behind_the_splits(tree):
    """Families by x, y and the second view; members by z, which that does not see."""
    coarsest, second = tree.splits[:2]
    assert min(coarsest.views.min(), second.views.min()) > 0.3
    for split in (coarsest, second):
        assert len(split.effects) == 3
        assert (split.effects[0].view, split.effects[0].feature) != ("both", "z")
    for split in tree.splits[2:8]:
        assert split.views[0] > 0.9
        best = split.effects[0]
        assert (best.view, best.feature) == ("both", "z") and abs(best.size) > 3
        assert np.sign(best.size) == np.sign(best.inside - best.outside)
        np.testing.assert_allclose(split.views.sum(), 1)
    for split in tree.splits[8:]:
        assert split.clusters[0] == split.clusters[1] and len(split.clusters[0]) == 1


def test_rows_of_every_side_are_counted(tree):
    assert sum(tree.splits[0].rows) == 540
    labels = tree.cut(2)
    assert sorted(tree.splits[0].rows) == sorted(np.bincount(labels).tolist())


def test_the_order_of_rows_and_views_does_not_matter(nested, tree):
    views = nested[0]
    mixed = np.random.default_rng(1).permutation(540)
    other = Views({
        "coarse": views.arrays[1][mixed], "both": views.arrays[0][mixed],
    })  # fmt: skip
    again = hierarchy(S2MVTC(9, random_state=0).fit(other), other)
    for k in (3, 9, 20):
        assert ari(tree.cut(k)[mixed], again.cut(k)) == 1.0
    np.testing.assert_allclose(again.linkage[:, 2], tree.linkage[:, 2], atol=1e-9)
    np.testing.assert_allclose(again.splits[0].views[::-1], tree.splits[0].views)


def test_a_saved_model_gives_the_same_tree(fine, nested, tree, tmp_path):
    again = manyview.load_model(fine.save(tmp_path / "m.manyview"))
    found = hierarchy(again, nested[0])
    np.testing.assert_array_equal(found.leaves, tree.leaves)


def test_a_refitted_model_keeps_its_numbers(nested):
    views, _ = nested
    model = AnchorSpectral(9, random_state=0).fit(views)
    some = views[model.labels_ != 4]
    model.refit(some, n_clusters=8)
    found = hierarchy(model, some)
    np.testing.assert_array_equal(found.cut(8), model.labels_)


def test_rows_may_lack_views(nested):
    views, group = nested
    arrays = [np.array(a) for a in views.arrays]
    arrays[1][::5] = np.nan
    model = S2MVTC(9, random_state=0).fit(arrays)
    found = hierarchy(model, arrays)
    np.testing.assert_array_equal(found.cut(9), model.labels_)
    assert ari(group // 3, found.cut(3)) > 0.9


def test_from_disk_as_in_memory(nested, tmp_path):
    views = nested[0]
    np.save(tmp_path / "a.npy", views.arrays[0])
    there = [np.load(tmp_path / "a.npy", mmap_mode="r"), views.arrays[1]]
    model = AnchorSpectral(9, random_state=0).fit(list(views.arrays))
    here = hierarchy(model, list(views.arrays))
    with lowered(block_rows=100, state_room=0):
        model.set_params(memory_limit="600MB")
        far = hierarchy(model, there)
    np.testing.assert_array_equal(far.cut(12), here.cut(12))
    np.testing.assert_allclose(far.linkage, here.linkage, atol=1e-9)


def test_on_dask_as_here(nested):
    distributed = pytest.importorskip("distributed", reason="no dask")
    da = pytest.importorskip("dask.array", reason="no dask")
    arrays = [np.asarray(a) for a in nested[0].arrays]
    with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):
        far = [da.from_array(a, chunks=(270, -1)) for a in arrays]
        model = AnchorSpectral(9, random_state=0, engine="dask").fit(far)
        found = hierarchy(model, far)
        labels = np.asarray(model.labels_)
    np.testing.assert_array_equal(found.cut(9), labels)
    assert ari(nested[1] // 3, found.cut(3)) > 0.98


def test_tensors_as_arrays(nested):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = [torch.asarray(np.asarray(a)) for a in nested[0].arrays]
    model = AnchorSpectral(9, random_state=0, n_init=2).fit(tensors)
    found = hierarchy(model, tensors, n_leaves=12)
    np.testing.assert_array_equal(found.cut(9), model.labels_.numpy())


def test_what_cannot_be_asked_is_said(fine, tree, nested):
    views, _ = nested
    with pytest.raises(InputTypeError, match="got FastMICE"):
        hierarchy(FastMICE(3).fit(views), views)
    with pytest.raises(InputError, match="540 rows; 10 were given"):
        hierarchy(fine, views[:10])
    with pytest.raises(InputError, match="n_leaves must be at least 9"):
        hierarchy(fine, views, n_leaves=4)
    along = SequenceS2MVTC(3, random_state=0).fit(views)
    with pytest.raises(InputError, match="without a graph"):
        hierarchy(along, views)
    with pytest.raises(InputError, match="one of the two"):
        tree.cut()
    with pytest.raises(InputError, match="one of the two"):
        tree.cut(3, distance=0.2)
    with pytest.raises(InputError, match=f"n_leaves={tree.n_leaves + 1}"):
        tree.cut(tree.n_leaves + 1)
    with pytest.raises(InputError, match="distance"):
        tree.cut(distance=-1)


def test_one_cluster_is_a_tree_too(nested):
    views = nested[0]
    model = AnchorSpectral(1, random_state=0).fit(views)
    found = hierarchy(model, views)
    assert found.n_leaves == 4 and (found.cut(1) == 0).all()


def test_tables_and_pictures(tree):
    assert len(tree.table().rows) == tree.n_leaves - 1
    assert len(tree.table(5).rows) == 5
    assert "coarse" in str(tree) and "<table" in tree._repr_html_()
    pytest.importorskip("matplotlib", reason="no matplotlib")
    axis = tree.dendrogram().axes[0]
    assert len(axis.lines) == tree.n_leaves - 1
    assert [t.get_text() for t in axis.get_xticklabels()] == list("012345678")
    bars = tree.icicle(title="Mine").axes[0]
    assert "9 (fit)" in [t.get_text() for t in bars.get_yticklabels()]
    widths = [bar.get_width() for bar in bars.patches if bar.get_y() < 0.5]
    assert sum(widths) == 540 and len(widths) == 2
