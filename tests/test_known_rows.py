"""What is known of some rows: kept, of use to the others, and the same in any place."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score as ari

import manyview
from manyview import S2MVTC
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import DataWarning, InputError
from manyview.metrics import accuracy
from manyview.report.subject import of_model

K = 4


@pytest.fixture(scope="module")
def views():
    """Clusters that a plain fit finds in part only."""
    return make_views(400, (6, 5), K, random_state=3, view_quality=0.35)


@pytest.fixture(scope="module")
def plain(views):
    return model_of().fit(views)


@pytest.fixture(params=["few rows", "many rows"])
def road(request):
    """Beyond 150 rows labels score drawn rows in the embedding."""
    with lowered(exact_rows=150 if request.param == "many rows" else 8192):
        yield request.param


def model_of(**more):
    return S2MVTC(K, random_state=0, n_init=5, n_graph_anchors=120, **more)


def partial(views, share=0.15, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(views))[: int(share * len(views))]
    labels = np.full(len(views), -1)
    labels[rows] = views.labels[rows]
    return labels


def pairs_of(views, n_pairs=12, seed=0):
    pairs = np.random.default_rng(seed).choice(len(views), (n_pairs, 2), replace=False)
    same = views.labels[pairs[:, 0]] == views.labels[pairs[:, 1]]
    return pairs[same], pairs[~same]


def test_labels_that_are_known_are_kept_and_help_the_others(views, plain, road):
    told = partial(views)
    model = model_of().fit(views, partial_labels=told)
    known = told >= 0
    np.testing.assert_array_equal(model.labels_[known], told[known])
    rest = ~known
    gain = accuracy(views.labels[rest], model.labels_[rest])
    gain -= accuracy(views.labels[rest], plain.labels_[rest])
    assert gain > 0.03
    # Numbers are those of the labels, so that no matching is needed.
    assert (model.labels_[rest] == views.labels[rest]).mean() > 0.6


def test_labels_follow_the_names_of_rows(views, tmp_path):
    tables = [pd.DataFrame(x) for x in views.arrays]
    told = pd.Series(partial(views))
    with pytest.warns(DataWarning, match="partial_labels stands in another order"):
        model = model_of().fit(tables, partial_labels=told[::-1])
    known = told.to_numpy() >= 0
    np.testing.assert_array_equal(model.labels_[known], told[known])
    with pytest.warns(DataWarning, match="labels stands in another order"):
        subject = of_model(model, tables, told[::-1])
    np.testing.assert_array_equal(subject.known, told)
    before = pd.Series(np.arange(len(views)))
    with pytest.warns(DataWarning, match="former stands in another order"):
        model.refit(tables, former=before[::-1])
    assert {change.kind for change in model.changes_.events} == {"kept"}


def test_labels_of_which_a_tenth_is_wrong_cost_the_others_nothing(views, plain, road):
    told = partial(views)
    known = np.flatnonzero(told >= 0)
    told[known[::10]] = (told[known[::10]] + 1) % K
    labels = model_of().fit(views, partial_labels=told).labels_
    np.testing.assert_array_equal(labels[known], told[known])
    rest = told < 0
    ours = accuracy(views.labels[rest], labels[rest])
    assert ours > accuracy(views.labels[rest], plain.labels_[rest])


def test_links_between_any_rows_leave_the_others_as_they_were(views, plain):
    must, cannot = pairs_of(views)
    labels = model_of().fit(views, must_link=must, cannot_link=cannot).labels_
    rest = np.setdiff1d(np.arange(len(views)), np.concatenate([must, cannot]))
    ours = accuracy(views.labels[rest], labels[rest])
    assert ours > accuracy(views.labels[rest], plain.labels_[rest]) - 0.02


def test_a_link_that_tells_nothing_new_leaves_the_clusters_of_a_plain_fit():
    """Partitions that links and labels start from are moved as those of a plain fit."""
    views = make_views(400, (6, 5), K, random_state=3, view_quality=0.5)
    plain = model_of().fit(views).labels_
    pair = np.flatnonzero(plain == plain[0])[:2]
    linked = model_of().fit(views, must_link=[pair]).labels_
    assert ari(plain, linked) == 1.0  # .987 without the last moves


def test_links_are_kept(views, road):
    must, cannot = pairs_of(views, 40)
    model = model_of().fit(views, must_link=must, cannot_link=cannot)
    labels = model.labels_
    assert len(must) > 3 and (labels[must[:, 0]] == labels[must[:, 1]]).all()
    assert len(cannot) > 9 and (labels[cannot[:, 0]] != labels[cannot[:, 1]]).all()
    assert len(np.unique(labels)) == K


def test_a_wrong_label_is_kept_and_named(road):
    clear = make_views(400, (6, 5), K, random_state=0)
    told = partial(clear)
    wrong = np.flatnonzero(told >= 0)[5]
    told[wrong] = (told[wrong] + 1) % K
    model = model_of().fit(clear, partial_labels=told)
    assert model.labels_[wrong] == told[wrong]
    assert model.conflicts_.tolist() == [wrong]
    rest = told < 0
    assert accuracy(clear.labels[rest], model.labels_[rest]) > 0.95


def test_nothing_told_changes_nothing(views, plain):
    nothing = np.full(len(views), -1)
    model = model_of().fit(views, must_link=[], cannot_link=[], partial_labels=nothing)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert len(model.conflicts_) == len(plain.conflicts_) == 0


def test_another_order_of_rows_is_the_same(views, road):
    order = np.random.default_rng(1).permutation(len(views))
    place = np.argsort(order)
    told, (must, cannot) = partial(views), pairs_of(views)
    told[must.ravel()] = -1
    told[cannot.ravel()] = -1
    one = model_of()
    one.fit(views, must_link=must, cannot_link=cannot, partial_labels=told)
    two = model_of().fit(
        views[order],
        must_link=place[must][::-1],
        cannot_link=place[cannot][:, ::-1],
        partial_labels=told[order],
    )
    np.testing.assert_array_equal(two.labels_, one.labels_[order])
    assert set(order[two.conflicts_]) == set(one.conflicts_)


def test_new_rows_follow_the_labels(views, road):
    half = views[np.arange(200)]
    model = model_of().fit(half, partial_labels=partial(half))
    new = views[np.arange(200, 400)]
    plain = model_of().fit(half)
    ours = accuracy(new.labels, model.predict(new))
    assert ours > accuracy(new.labels, plain.predict(new)) - 0.02
    again = model.predict(half)
    assert (again == model.labels_).mean() > 0.9  # but for known rows in conflict


def test_other_places_give_the_same(views, elsewhere, road):
    told = partial(views)
    here = model_of().fit(views, partial_labels=told)
    arrays, more = elsewhere
    model = model_of(**more).fit(arrays, partial_labels=told)
    assert ari(np.asarray(model.labels_), here.labels_) >= 0.97
    assert (np.asarray(model.labels_)[told >= 0] == told[told >= 0]).all()


def test_a_stopped_fit_goes_on_and_other_labels_are_refused(views, tmp_path, road):
    told = partial(views)
    folder = tmp_path / "kept"
    one = model_of(checkpoint=folder).fit(views, partial_labels=told)
    again = model_of(checkpoint=folder).fit(views, partial_labels=told)
    np.testing.assert_array_equal(one.labels_, again.labels_)
    np.testing.assert_array_equal(one.conflicts_, again.conflicts_)
    with pytest.raises(manyview.ManyviewError, match="links_and_labels"):
        model_of(checkpoint=folder).fit(views, partial_labels=partial(views, seed=1))


def test_contradictions_are_named_before_any_work(views):
    with pytest.raises(InputError, match="keeps rows 3 and 5 apart"):
        model_of().fit(views, must_link=[[3, 5]], cannot_link=[[3, 5]])


def test_the_constructor_has_no_new_parameter():
    names = inspect.signature(S2MVTC).parameters
    assert not {"must_link", "cannot_link", "partial_labels"} & set(names)
