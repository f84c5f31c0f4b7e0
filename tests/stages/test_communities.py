"""Communities of few rows: what is found, repeated rows, views, sizes of graphs."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import S2MVTC
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.engine.local import open_engine
from manyview.engine.threads import in_the_background
from manyview.kmeans.nodes import Nodes
from manyview.kmeans.passes import Centres
from manyview.metrics import ari
from manyview.stages import communities
from manyview.stages.anchors import fit_features, plain_features, sum_grams
from manyview.stages.cluster_sizes import Sizes
from manyview.stages.communities import (
    LEAST_SIZE,
    MOST_TIES,
    Sought,
    against_chance,
    distinct,
    graphs_in_parts,
    neighbourhoods,
    places_in_parts,
    sized_as_seen,
    view_graphs,
    weighed,
    weighed_in_parts,
)
from manyview.stages.held_out import see_all
from manyview.stages.neighbour_graph import kinds_of_rows
from manyview.stages.sampling import choose_scalings, draw
from manyview.views.views import Views


def rings(n_rows=400, seed=0):
    """A ring around a ball, which no two centres tell apart, and a view of noise."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_rows) % 2
    angle, length = rng.uniform(0, 2 * np.pi, n_rows), 5.0 * own
    x = np.column_stack([length * np.cos(angle), length * np.sin(angle)])
    return x + 0.4 * rng.normal(size=x.shape), rng.normal(size=(n_rows, 3)), own


def drawn_rows(views):
    engine = open_engine(Views(views), np.dtype(float))
    found = draw(engine, engine.n_samples, 0)
    scalings = choose_scalings(found, None, 2)
    return found, scalings, engine


def find_communities(drawn, scalings, engine, view_weights, *how):
    """As a fit goes about it, in the background or when asked."""
    n_clusters, seed, others = how
    anchors = tuple(drawn.view(v)[:100] for v in range(len(scalings)))
    rows = (engine, drawn, scalings, anchors)
    plain = plain_features(*rows, kernel="rbf", lam=None, n_rounds=1)
    features, ridges = fit_features(plain, sum_grams(engine, plain), None, 1e-3)
    seen = see_all(engine, drawn, features, ridges)
    found = []
    for allowed in (True, False):
        with in_the_background(allowed) as background:
            sought = Sought(background, drawn, scalings, n_clusters)
            sought.hear(seen, seed)
            sought.weigh(view_weights)
            found.append(sought.communities(others, None))
    np.testing.assert_array_equal(*found)
    return found[0]


def test_shapes_that_no_centres_tell_apart():
    x, noise, own = rings()
    found, scalings, engine = drawn_rows([x, noise])
    weights = np.array([0.9, 0.1])[list(engine.view_order)]
    halves = np.arange(len(own)) % 2
    labels = find_communities(found, scalings, engine, weights, 2, 0, [halves])
    assert ari(own[found.caller_rows], labels) == 1.0


def test_views_weigh_as_told():
    x, noise, _ = rings()
    found, scalings, _ = drawn_rows([x, noise])
    one = row_graph(found, scalings, np.ones(2), 2)
    rows = row_graph(found, scalings, np.array([0.9, 0.2]), 2)
    expected = 0.9 * one.of_views[0] + 0.2 * one.of_views[1]
    for part, plain, weight in zip(
        rows.of_views, one.of_views, (0.9, 0.2), strict=True
    ):
        np.testing.assert_allclose(part.toarray(), weight * plain.toarray())
    np.testing.assert_allclose(rows.graph.toarray(), expected.toarray())


def row_graph(drawn, scalings, view_weights, n_clusters):
    """The graphs of all views as one."""
    return weighed(view_graphs(drawn, scalings, n_clusters), view_weights)


def test_parts_of_the_rows_have_graphs_of_their_own():
    x, noise, _ = rings()
    x[5], noise[5] = x[4], noise[4]
    found, scalings, _ = drawn_rows([x, noise])
    weights = np.array([0.9, 0.2])
    sought = graphs_in_parts(found, 200, scalings, 2)
    (place, parts), (sums, of_views) = (
        places_in_parts(sought),
        weighed_in_parts(sought, weights),
    )
    assert len(parts) == 2 and parts[1].stop == of_views[0].shape[0]
    halves = (slice(0, 200), slice(200, 400))
    for graph, own, drawn in zip(sums, parts, halves, strict=True):
        some = found._replace(block=found.block.part(drawn))
        alone = row_graph(some, scalings, weights, 2)
        assert (graph != alone.graph).nnz == 0
        for whole, one in zip(of_views, alone.of_views, strict=True):
            assert (whole[own][:, own] != one).nnz == 0
            assert whole[own].sum() == pytest.approx(one.sum())  # none to the other
        np.testing.assert_array_equal(place[drawn] - own.start, alone.place)


def test_a_view_without_weight_has_no_say():
    x, noise, own = rings()
    found, scalings, engine = drawn_rows([x, noise])
    weights = np.array([0.0, 1.0])[list(engine.view_order)]
    halves = np.arange(len(own)) % 2
    labels = find_communities(found, scalings, engine, weights, 2, 0, [halves])
    assert ari(own[found.caller_rows], labels) < 0.1


def test_other_clusters_stand_where_they_tell_more_of_neighbours(monkeypatch):
    rng = np.random.default_rng(0)
    own = np.arange(400) % 4
    middles = np.array([[0.0, 0], [6, 0], [9, 9], [-9, 9]])[own]
    rows = drawn_rows([middles + rng.normal(size=(400, 2)) for _ in "ab"])
    found = rows[0]
    mine = own[found.caller_rows]
    wrong = np.where(mine == 1, 0, mine)  # 0 and 1 are one, half of 2 is another
    wrong[np.flatnonzero(mine == 2)[::2]] = 1
    monkeypatch.setattr(communities, "leiden_with_k", lambda *_: wrong)
    how = (*rows, np.ones(2), 4, 0)
    assert ari(mine, find_communities(*how, [mine])) == 1.0
    assert ari(mine, find_communities(*how, [wrong])) < 0.9
    assert ari(mine, find_communities(*how, [wrong, mine, wrong])) == 1.0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_that_repeat_up_to_rounding_are_one(kind):
    rng = np.random.default_rng(0)
    x = rng.poisson(2.0, size=(50, 6)).astype(float)
    x = np.concatenate([x, x[:20], x[:5] * (1 + 1e-13)])
    found, scalings, _ = drawn_rows([kind(x)])
    rows = row_graph(found, scalings, np.ones(1), 2)
    assert len(rows.present) == len(np.unique(x[:50], axis=0)) == rows.graph.shape[0]
    own = np.round(x)[found.caller_rows]
    first = np.unique(rows.place, return_index=True)[1]
    assert (np.diff(first) > 0).all()
    np.testing.assert_array_equal(own[first][rows.place], own)


def test_rows_that_are_one_in_a_single_view_are_two():
    x, noise, _ = rings(40)
    x[1], noise[3] = x[0], noise[2]
    found, scalings, _ = drawn_rows([x, noise])
    assert len(row_graph(found, scalings, np.ones(2), 2).present) == 40


def test_rows_without_a_view_are_others_than_rows_with_it():
    kinds = kinds_of_rows(
        [np.zeros((4, 1)), np.ones((4, 2))],
        np.array([[True, True], [True, False], [True, True], [False, True]]),
    )
    assert kinds.tolist() == [[0, 0], [0, -1], [0, 0], [-1, 0]]
    new, place = distinct(kinds)
    assert new.tolist() == [0, 1, 3] and place.tolist() == [0, 1, 0, 2]


def test_neighbourhoods_are_no_larger_than_clusters_and_few():
    assert neighbourhoods(400, 4) == (5, 10, 20, 40)
    assert neighbourhoods(400, 16) == (5, 10, 20)
    assert neighbourhoods(40, 40) == (5, LEAST_SIZE)
    for n_rows in (2_000, 3_000, 5_000):
        assert n_rows * sum(neighbourhoods(n_rows, 10)) <= MOST_TIES
    assert neighbourhoods(8_000, 10) == (10,)


def test_whole_views_tell_apart_what_neighbours_mix(monkeypatch):
    """Clusters that overlap in many dimensions, where neighbours are of any of them."""
    views = make_views(
        n_samples=1000,
        n_features=[20, 30, 40],
        n_clusters=6,
        view_quality=[0.5, 0.5, 0.4],
        random_state=0,
    )
    said = ari(views.labels, S2MVTC(6, random_state=0).fit(views).labels_)
    silent = SimpleNamespace(scores=None)
    monkeypatch.setattr(communities, "held_out", lambda *_: silent)
    unsaid = ari(views.labels, S2MVTC(6, random_state=0).fit(views).labels_)
    assert said > unsaid + 0.03


def test_neighbours_outweigh_fits_where_sizes_are_stated(monkeypatch):
    """The fits are to labels of other sizes, the rows' neighbours are what they are."""
    labels = np.array([0, 0, 0, 1])
    near, fits = np.zeros((4, 2)), np.zeros((4, 2))
    near[:3, 0], fits[:3, 0] = [4.0, 3.0, 1.5], [4.0, 1.0, 3.0]
    rows = SimpleNamespace(of_views=[], place=np.arange(4))
    said = SimpleNamespace(scores=lambda _: fits)
    monkeypatch.setattr(communities, "held_out", lambda *_: said)
    monkeypatch.setattr(communities, "gains_of_views", lambda *_: near)
    found = sized_as_seen(rows, [], labels, 2, Sizes(2, 2))
    np.testing.assert_array_equal(found, [0, 0, 1, 1])


def test_few_rows_are_cut_by_modularity_and_many_by_k_means():
    """The road that `exact_rows` decides, and the same labels for new rows on both."""
    x, noise, own = rings(600)
    views = [x, 0.1 * noise[:, :1] + x[:, :1] ** 2 + x[:, 1:] ** 2]
    few = S2MVTC(2, random_state=0).fit(views)
    assert ari(own, few.labels_) == 1.0
    with lowered(exact_rows=599):
        many = S2MVTC(2, random_state=0).fit(views)
    assert isinstance(few._passes.nodes, Nodes)
    assert isinstance(many._passes.nodes, Centres)
    for model in (few, many):
        np.testing.assert_array_equal(model.predict(views), model.labels_)
    new, _, new_own = rings(300, seed=1)
    new_views = [new, new[:, :1] ** 2 + new[:, 1:] ** 2]
    assert ari(new_own, few.predict(new_views)) > 0.95


def test_ties_by_chance_weigh_the_same_whatever_views_rows_share():
    present = np.array([[1, 1], [1, 1], [1, 1], [0, 1], [0, 1]], dtype=bool)
    parts = [np.outer(there, there).astype(float) for there in present.T]
    parts = [np.triu(part, 1) + np.triu(part, 1).T for part in parts]
    parts = [sp.csr_array(part) for part in (parts[0], 3 * parts[1])]
    graph = sp.csr_array(sum(parts))
    assert np.ptp(graph.data) > 0
    found = against_chance(graph, parts, present).toarray()
    assert found[~np.eye(5, dtype=bool)] == pytest.approx(1.0)


def test_clusters_are_not_the_rows_that_lack_the_same_views():
    """Ties in the first view would make its rows a cluster of their own."""
    rng = np.random.default_rng(0)
    n_rows, kinds = 600, rng.integers(3, size=600)
    present = np.ones((n_rows, 3), dtype=bool)
    part = rng.integers(2, size=n_rows)
    present[part == 0, 2] = present[part == 1, 0] = False
    views = [rng.normal(size=(3, 12))[kinds] * 0.5 for _ in range(3)]
    views = Views([x + rng.normal(size=x.shape) for x in views], present=present)
    found = S2MVTC(3, random_state=0).fit(views).labels_
    assert ari(part, found) < 0.02
    assert ari(kinds, found) > 0.5
