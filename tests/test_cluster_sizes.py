"""Fits with stated sizes: exact everywhere, in any order of the rows."""

import inspect

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score as ari

import manyview
from manyview import S2MVTC, AnchorSpectral
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import InputError
from manyview.metrics import accuracy

K = 4
STATED = [{"cluster_sizes": "equal"}, {"min_cluster_size": 95}]


@pytest.fixture(scope="module")
def views():
    return make_views(402, (6, 5), K, random_state=3, view_quality=0.35)


@pytest.fixture(params=["few rows", "many rows"])
def road(request):
    """Beyond 150 rows prices of drawn rows serve all."""
    with lowered(exact_rows=150 if request.param == "many rows" else 8192):
        yield request.param


@pytest.fixture(params=[S2MVTC, AnchorSpectral], ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def model_of(kind, **more):
    return kind(K, random_state=0, n_init=5, n_graph_anchors=120, **more)


def sizes_of(model):
    return sorted(np.bincount(np.asarray(model.labels_), minlength=K))


@pytest.mark.parametrize("stated", STATED, ids=str)
def test_sizes_are_exact_and_new_rows_meet_the_same_rule(kind, views, road, stated):
    plain = model_of(kind).fit(views)
    model = model_of(kind).fit(views, **stated)
    found = sizes_of(model)
    if "cluster_sizes" in stated:
        assert found == [100, 100, 101, 101] != sizes_of(plain)
    else:
        assert found[0] >= 95 > sizes_of(plain)[0]
    scores = [accuracy(views.labels, m.labels_) for m in (plain, model)]
    assert scores[1] > scores[0] - 0.05, "the classes are of equal sizes"
    # All but the few that moved one by one.
    assert (model.predict(views) == model.labels_).mean() > 0.95
    assert (model.labels_proba_.argmax(axis=1) == model.labels_).all()


@pytest.mark.parametrize("stated", STATED, ids=str)
def test_another_order_of_rows_is_the_same(kind, views, road, stated):
    order = np.random.default_rng(1).permutation(len(views))
    one, two = (model_of(kind).fit(x, **stated) for x in (views, views[order]))
    np.testing.assert_array_equal(two.labels_, one.labels_[order])


def test_sizes_that_are_so_already_change_nothing(kind, views, road):
    plain = model_of(kind).fit(views)
    same = model_of(kind).fit(views, min_cluster_size=sizes_of(plain)[0])
    if road == "few rows" or kind is AnchorSpectral:
        np.testing.assert_array_equal(same.labels_, plain.labels_)
    assert ari(same.labels_, plain.labels_) > 0.9


def test_other_places_give_the_same(views, elsewhere, road):
    here = model_of(S2MVTC).fit(views, cluster_sizes="equal")
    arrays, more = elsewhere
    model = model_of(S2MVTC, **more).fit(arrays, cluster_sizes="equal")
    assert sizes_of(model) == [100, 100, 101, 101]
    assert ari(np.asarray(model.labels_), here.labels_) >= 0.97


def test_a_stopped_fit_goes_on_and_other_sizes_are_refused(kind, views, tmp_path, road):
    folder = tmp_path / "kept"
    one, again = (
        model_of(kind, checkpoint=folder).fit(views, cluster_sizes="equal")
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.labels_, again.labels_)
    with pytest.raises(manyview.ManyviewError, match="sizes"):
        model_of(kind, checkpoint=folder).fit(views, min_cluster_size=95)


def test_a_saved_model_keeps_its_prices(kind, views, road, tmp_path):
    model = model_of(kind).fit(views, cluster_sizes="equal")
    again = manyview.load_model(model.save(tmp_path / "model.manyview"))
    np.testing.assert_array_equal(again.predict(views), model.predict(views))


def test_what_cannot_be_is_refused_before_any_work(kind, views):
    with pytest.raises(InputError, match="min_cluster_size=101 cannot be had"):
        model_of(kind, device="no such device").fit(views, min_cluster_size=101)


def test_the_constructor_has_no_new_parameter(kind):
    names = inspect.signature(kind).parameters
    assert not {"cluster_sizes", "min_cluster_size"} & set(names)
