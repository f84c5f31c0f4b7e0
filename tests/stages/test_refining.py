"""Clusters of many rows, refined along exact neighbours of some."""

import distributed
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score as ari

from manyview import S2MVTC, load_model
from manyview.datasets import load_digits_views, make_views
from manyview.engine.contract import lowered
from manyview.engine.threads import in_the_background
from manyview.errors import DegenerateWarning
from manyview.growing.refitting import rename_clusters
from manyview.kmeans.passes import Centres
from manyview.stages import refining
from manyview.stages.communities import graphs_in_parts, places_in_parts
from manyview.stages.refining import (
    MOST_PRODUCTS,
    REFINED_ROWS,
    Ties,
    affordable_rows,
    count_ties,
    moved,
    row_entries,
)
from manyview.views.views import Block


def planted(n_rows=400, n_clusters=4, inside=0.3, between=0.02, seed=0):
    """A random graph of clusters of one size, and the clusters."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_rows) % n_clusters
    chance = np.where(own[:, None] == own, inside, between)
    W = np.triu(rng.uniform(size=chance.shape) < chance, 1)
    order = rng.permutation(n_rows)
    return sp.csr_array((W + W.T)[order][:, order] * 1.0), own[order]


def counted(graph, own):
    member = np.eye(own.max() + 1)[own]
    return count_ties(member.T @ (graph @ member))


def modularity(graph, labels, resolution):
    W, d = graph.toarray(), np.asarray(graph.sum(axis=1))
    same = labels[:, None] == labels
    return ((W - resolution * np.outer(d, d) / d.sum()) * same).sum() / d.sum()


def test_moves_find_the_planted_clusters_from_a_part_of_them():
    graph, own = planted()
    rng = np.random.default_rng(1)
    wrong = np.where(rng.uniform(size=len(own)) < 0.4, rng.integers(0, 4, 400), own)
    found = moved(graph, wrong, 4)
    assert ari(own, wrong) < 0.5 and ari(own, found) > 0.99
    resolution = counted(graph, own).resolution
    assert modularity(graph, found, resolution) > modularity(graph, wrong, resolution)
    np.testing.assert_array_equal(moved(graph, found, 4), found)


def test_the_resolution_is_that_of_a_planted_partition():
    """Newman's formula, on weights whose expectation is known."""
    graph, own = planted(1200, 4, 0.2, 0.02)
    ties = counted(graph, own)
    mean = (0.2 + 3 * 0.02) / 4
    assert ties.inside == pytest.approx(0.2 / mean, rel=0.03)
    assert ties.between == pytest.approx(0.02 / mean, rel=0.05)
    assert Ties(np.e, 1.0).resolution == pytest.approx(np.e - 1.0)


@pytest.mark.parametrize("between", [0.0, 0.3])
def test_nothing_moves_where_ties_say_all_or_nothing(between):
    graph, own = planted(inside=0.3 if between == 0 else 0.1, between=between)
    np.testing.assert_array_equal(moved(graph, own, 4), own)


def test_wide_views_are_looked_at_in_fewer_rows():
    assert affordable_rows(REFINED_ROWS, 100.0) == REFINED_ROWS
    assert affordable_rows(REFINED_ROWS, 32_768.0) == REFINED_ROWS // 2
    assert affordable_rows(10**6, 5e4) ** 2 * 5e4 <= MOST_PRODUCTS
    views = (np.ones((10, 7)), sp.csr_array(np.eye(10, 1000)))
    assert row_entries(Block(0, views, np.ones((10, 2), bool))) == 8.0


@pytest.fixture(scope="module")
def many():
    """Clusters that overlap, on the road of many rows, and the fit of them."""
    views = make_views(900, (6, 5), 4, noise=2.0, random_state=0)
    with lowered(exact_rows=300):
        return views, S2MVTC(4, random_state=0).fit(views)


def test_many_rows_follow_scores_that_predict_gives_back(many, tmp_path):
    views, model = many
    assert isinstance(model._passes.nodes, Centres)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    means = [model.embedding_[model.labels_ == j].mean(axis=0) for j in range(4)]
    np.testing.assert_allclose(model._passes.centres.points, means, atol=1e-5)
    model.save(tmp_path / "model.zip")
    again = load_model(tmp_path / "model.zip")
    np.testing.assert_array_equal(again.predict(views), model.labels_)


def test_other_numbers_of_clusters_reach_the_scores(many):
    views, model = many
    with lowered(exact_rows=300):
        other = S2MVTC(4, random_state=0).fit(views)
    ids = np.array([4, 0, 5, 2])
    rename_clusters(other, ids, 6)
    np.testing.assert_array_equal(other.predict(views), ids[model.labels_])


def test_the_order_of_rows_plays_no_part(many):
    views, model = many
    order = np.random.default_rng(0).permutation(len(views))
    with lowered(exact_rows=300):
        other = S2MVTC(4, random_state=0).fit(views[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])


@pytest.fixture
def parted(monkeypatch):
    """Two parts of 200 rows, and where each was."""
    seen = []

    def spied(*given):
        found = graphs_in_parts(*given)
        parts = places_in_parts(found)[1]
        seen.append([(part.start, part.stop) for part in parts])
        return found

    monkeypatch.setattr(refining, "REFINED_ROWS", 200)
    monkeypatch.setattr(refining, "graphs_in_parts", spied)
    return seen


@pytest.mark.parametrize(("exact_rows", "n_parts"), [(390, 1), (450, 2), (800, 2)])
def test_neighbours_are_sought_in_two_parts_at_most(parted, exact_rows, n_parts):
    views = make_views(1200, (6, 5), 4, noise=2.0, random_state=0)
    with lowered(exact_rows=exact_rows):
        model = S2MVTC(4, random_state=0).fit(views)
        assert parted == [[(0, 200), (200, 400)][:n_parts]]
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        order = np.random.default_rng(0).permutation(len(views))
        other = S2MVTC(4, random_state=0).fit(views[order])
        np.testing.assert_array_equal(other.labels_, model.labels_[order])
        sized = S2MVTC(4, random_state=0).fit(views, cluster_sizes="equal")
        assert np.bincount(sized.labels_).tolist() == [300] * 4


@pytest.mark.parametrize("known", [{}, {"cluster_sizes": "equal"}])
def test_rows_on_a_device_get_the_same_clusters(parted, known):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    views = make_views(1200, (6, 5), 4, noise=2.0, random_state=0)
    there = [torch.as_tensor(np.array(x)) for x in views.arrays]
    with lowered(exact_rows=450):
        here = S2MVTC(4, random_state=0).fit(views, **known)
        model = S2MVTC(4, random_state=0).fit(there, **known)
        np.testing.assert_array_equal(model.predict(there), here.predict(views))
    np.testing.assert_array_equal(model.labels_, here.labels_)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_view_that_tells_no_rows_apart_says_nothing(kind):
    """Along no direction: discriminants of it divided by none."""
    make = np.asarray if kind == "numpy" else pytest.importorskip("torch").as_tensor
    views = make_views(1200, (6, 5), 4, noise=2.0, random_state=0)
    views = [make(np.array(x)) for x in (*views.arrays, np.ones((1200, 3)))]
    with lowered(exact_rows=450), pytest.warns(DegenerateWarning, match="no say"):
        model = S2MVTC(4, random_state=0).fit(views)
    with lowered(exact_rows=450):
        alone = S2MVTC(4, random_state=0).fit(views[:2])
    assert ari(np.asarray(model.labels_), np.asarray(alone.labels_)) > 0.9


def test_rows_are_looked_at_beside_the_fit_or_when_they_are_asked_for(monkeypatch):
    views = make_views(1200, (6, 5), 4, noise=2.0, random_state=0)
    asked = []

    def never(allowed):
        asked.append(allowed)
        return in_the_background(False)

    with lowered(exact_rows=450):
        beside = S2MVTC(4, random_state=0).fit(views)
        monkeypatch.setattr("manyview.base.in_the_background", never)
        later = S2MVTC(4, random_state=0).fit(views)
        S2MVTC(4, random_state=0, memory_limit="2GB").fit(views)
    assert asked == [True, False]
    np.testing.assert_array_equal(beside.labels_, later.labels_)


def test_a_resumed_fit_looks_at_as_many_rows(parted, tmp_path, monkeypatch):
    """Of sparse rows these follow from entries, which drawn rows tell of."""
    views = make_views(1200, (6, 5), 4, noise=2.0, random_state=0)
    views = [sp.csr_array(np.where(abs(x) > 1.0, x, 0.0)) for x in views.arrays]
    monkeypatch.setattr(refining, "MOST_PRODUCTS", 130.0**2 * 5)
    with lowered(exact_rows=500):
        model = S2MVTC(4, random_state=0, checkpoint=tmp_path).fit(views)
        again = S2MVTC(4, random_state=0, checkpoint=tmp_path).fit(views)
    assert parted[0] == parted[1] and parted[0][0][1] < 200
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_rows_too_few_for_the_clusters_are_left_to_k_means():
    views = make_views(900, (6, 5), 4, random_state=0)
    with lowered(exact_rows=79):
        model = S2MVTC(4, random_state=0).fit(views)
    assert model._passes.nodes is None


@pytest.mark.slow
def test_the_same_clusters_on_dask_and_on_a_device(many):
    views, model = many
    with lowered(exact_rows=300):
        on_device = S2MVTC(4, random_state=0, device="cpu").fit(views)
        with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):
            on_dask = S2MVTC(4, random_state=0, engine="dask").fit(views)
    for other in (on_device, on_dask):
        assert isinstance(other._passes.nodes, Centres)
        assert ari(np.asarray(other.labels_), model.labels_) > 0.99


def test_what_is_known_of_some_rows_still_holds(many):
    views, model = many
    known = np.where(np.arange(len(views)) % 20 == 0, views.labels, -1)
    apart = np.array([[1, np.flatnonzero(model.labels_ == model.labels_[1])[1]]])
    with lowered(exact_rows=300):
        told = S2MVTC(4, random_state=0).fit(views, partial_labels=known)
        split = S2MVTC(4, random_state=0).fit(views, cannot_link=apart)
    assert (told.labels_ == known)[known >= 0].all()
    assert split.labels_[apart[0, 0]] != split.labels_[apart[0, 1]]
    assert (split.labels_ != model.labels_).sum() <= 2


@pytest.mark.slow
def test_digits_gain():
    """On which nothing was chosen."""
    views = load_digits_views()
    found = []
    for exact_rows in (0, 600):
        with lowered(exact_rows=exact_rows):
            model = S2MVTC(10, random_state=0).fit(views)
        found.append(ari(views.labels, model.labels_))
    assert found[1] > found[0] + 0.01
