"""KNNLeiden: separate groups, unequal sizes, pieces, and published data."""

import numpy as np
import pytest

from manyview.baselines import KNNLeiden
from manyview.baselines.knn_leiden import memory_need
from manyview.baselines.parts import in_memory
from manyview.errors import InputError, ManyviewError, ResourceError
from manyview.metrics import accuracy, ari
from manyview.views.views import Views


@pytest.mark.parametrize("n_neighbors", [10, (5, 10, 20)])
def test_finds_separate_groups(three_views, n_neighbors):
    views, labels = three_views
    model = KNNLeiden(4, n_neighbors=n_neighbors, random_state=0)
    assert ari(labels, model.fit_predict(views)) > 0.99


def test_neither_rows_nor_views_know_their_place(three_views):
    views = three_views[0]
    order = np.random.default_rng(0).permutation(300)
    labels = KNNLeiden(7, random_state=3).fit_predict(views)
    mixed = KNNLeiden(7, random_state=3).fit_predict([x[order] for x in views[::-1]])
    np.testing.assert_array_equal(labels[order], mixed)


def test_a_repeated_view_changes_nothing(three_views):
    views = three_views[0]
    once = KNNLeiden(4, random_state=0).fit_predict(views[:1])
    twice = KNNLeiden(4, random_state=0).fit_predict([views[0], views[0]])
    assert ari(once, twice) == 1.0


def test_small_groups_beside_large_ones_are_found():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [300, 60, 25])
    views = [6.0 * rng.normal(size=(3, d))[labels] for d in (4, 6)]
    views = [x + rng.normal(size=x.shape) for x in views]
    assert ari(labels, KNNLeiden(3, random_state=0).fit_predict(views)) > 0.97


def test_more_pieces_than_clusters_join_their_nearest():
    # Twelve groups far apart, in three places: four near each of (0, 40, 80).
    centres = np.add.outer([0.0, 40.0, 80.0], [0.0, 4.0, 8.0, 12.0]).ravel()
    rng = np.random.default_rng(0)
    x = np.repeat(centres, 15)[:, None] + 0.1 * rng.normal(size=(180, 1))
    labels = KNNLeiden(3, random_state=0).fit_predict([x, x + 1])
    assert ari(np.repeat([0, 1, 2], 60), labels) == 1.0


def test_a_row_that_repeats_is_no_cluster(three_views):
    views, labels = three_views
    many = [np.concatenate([x, np.repeat(x[:1], 80, axis=0)]) for x in views]
    found = KNNLeiden(4, random_state=0).fit_predict(many)
    assert ari(labels, found[:300]) > 0.99 and set(found[300:]) == {found[0]}


@pytest.mark.parametrize("bad", [0, (), (5, 0), "10", 2.5, None, [[1]]])
def test_unusable_numbers_of_neighbours_are_named(bad, three_views):
    with pytest.raises(ManyviewError, match="n_neighbors"):
        KNNLeiden(4, n_neighbors=bad).fit(three_views[0])


def test_an_unknown_scaling_is_named(three_views):
    with pytest.raises(InputError, match="scaling"):
        KNNLeiden(4, scaling="rows").fit(three_views[0])


def test_too_many_rows_are_refused_before_any_work(three_views, monkeypatch):
    views = three_views[0]
    need = memory_need(Views(views), (10,))
    monkeypatch.setattr(in_memory, "physical_memory", lambda: need - 1)
    with pytest.raises(ResourceError, match=r"KNNLeiden needs .* 300 rows"):
        KNNLeiden(4).fit(views)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "least"),
    [("3Sources", 0.87), ("MSRC-v5", 0.83), ("ORL", 0.84), ("BDGP", 0.6)],
)
def test_real_data(load_npz, name, least):
    views, labels = load_npz(name)
    n_clusters = len(np.unique(labels))
    assert (
        accuracy(labels, KNNLeiden(n_clusters, random_state=0).fit_predict(views))
        > least
    )
