"""Graphs of rows on a device are those of the host, and say the same of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from manyview.stages.block_model import (
    gains_of_views,
    information,
    moved_by_views,
    on_host,
    ties_to_clusters,
)
from manyview.stages.communities import weighed
from manyview.stages.device_graph import DeviceGraph, in_one
from manyview.stages.neighbour_graph import (
    graphs_of_views,
    kinds_of_rows,
    neighbours_of_views,
)
from manyview.stages.refining import moved

torch = pytest.importorskip("torch", reason="torch is not installed")

SIZES = (3, 8)
WEIGHTS = np.array([0.7, 0.3, 0.5])


def views_of(n_rows=160, seed=0):
    """Three views of four groups far apart: copies in one, another that some lack."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_rows) % 4
    views = [9 * rng.normal(size=(4, d))[own] for d in (3, 5, 4)]
    views = [x + rng.normal(size=x.shape) for x in views]
    views[2][10:30:4] = views[2][10]
    views[2][40:48:4] = views[2][40]
    present = np.ones((n_rows, 3), dtype=bool)
    present[rng.choice(n_rows, 50, replace=False), 1] = False
    return views, present, own


def graphs_of(views, present):
    """The graphs of views, their weighed sum, and what these are of."""
    kinds = kinds_of_rows(views, present)
    near = neighbours_of_views(views, kinds, max(SIZES))
    graphs = graphs_of_views(near, len(present), SIZES)
    place = np.arange(len(present))
    return weighed((graphs, place, views, present), WEIGHTS)


@pytest.fixture(scope="module")
def both():
    views, present, own = views_of()
    there = graphs_of([torch.as_tensor(x) for x in views], present)
    return graphs_of(views, present), there, own


def test_graphs_of_a_device_are_those_of_the_host(both):
    here, there, _ = both
    assert isinstance(there.of_views, DeviceGraph) and there.of_views.n_views == 3
    for one, other in zip(here.of_views, on_host(there.of_views), strict=True):
        np.testing.assert_allclose(other.toarray(), one.toarray(), atol=1e-9)
    (whole,) = on_host(there.graph)
    np.testing.assert_allclose(whole.toarray(), here.graph.toarray(), atol=1e-9)


def test_pieces_are_tied_together_on_a_device_as_well(both):
    here, there, _ = both
    assert there.graph.pieces()[0] == connected_components(here.graph)[0] == 1
    n_pieces, piece = connected_components(here.of_views[0])
    found = in_view(there).pieces()
    assert found[0] == n_pieces > 1
    np.testing.assert_array_equal(found[1], piece)


def in_view(rows):
    """The first view's graph alone, on the device."""
    graph = on_host(rows.of_views)[0]
    parts = (graph.indptr, graph.indices, graph.data)
    indptr, indices, data = map(torch.as_tensor, parts)
    return DeviceGraph(indptr.long(), indices.long(), data)


def test_clusters_are_told_and_moved_alike(both):
    here, there, own = both
    rng = np.random.default_rng(3)
    wrong = np.where(rng.uniform(size=len(own)) < 0.3, rng.integers(0, 4, 160), own)
    given = torch.as_tensor(wrong)
    near = ties_to_clusters(here.of_views, wrong, 4)
    np.testing.assert_allclose(
        ties_to_clusters(there.of_views, given, 4), near, atol=1e-9
    )
    assert information(there.of_views, given, 4) == pytest.approx(
        information(here.of_views, wrong, 4)
    )
    np.testing.assert_allclose(
        gains_of_views(there.of_views, given, 4),
        gains_of_views(here.of_views, wrong, 4),
        atol=1e-9,
    )
    found = moved_by_views(here.of_views, wrong, 4)
    assert (found != wrong).any()
    np.testing.assert_array_equal(moved_by_views(there.of_views, given, 4), found)
    found = moved(here.graph, wrong, 4)
    assert (found != wrong).any()
    np.testing.assert_array_equal(moved(there.graph, given, 4), found)
    np.testing.assert_array_equal(given, wrong)


def test_parts_side_by_side_keep_their_ties(both):
    here, there, _ = both
    found = on_host(in_one([there.of_views] * 2))
    for one, other in zip(here.of_views, found, strict=True):
        expected = sp.block_diag([one, one]).toarray()
        np.testing.assert_allclose(other.toarray(), expected, atol=1e-9)
