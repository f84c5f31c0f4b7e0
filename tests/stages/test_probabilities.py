"""Probabilities of clusters: calibrated by the views, led by the row's own cluster."""

import numpy as np
import pytest
from scipy.special import softmax

from manyview.errors import ResourceError
from manyview.kmeans.nodes import Nodes
from manyview.kmeans.passes import Centres, euclidean
from manyview.stages import probabilities as module
from manyview.stages.probabilities import (
    all_probabilities,
    as_sparse,
    certainty,
    likeliest,
    probabilities,
    soft_scores,
)
from manyview.stages.sampling import Asked, vote


@pytest.fixture
def centres():
    return euclidean(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]))


@pytest.fixture
def rows():
    return 0.5 + np.random.default_rng(0).normal(size=(300, 2))


def nearest(rows, centres):
    return np.argmin(centres.offsets - 2.0 * rows @ centres.points.T, axis=1)


def views_that_agree(labels, share, rng):
    """Ten neighbours of every row; in that share of the rows all of its own cluster."""
    near = np.empty((len(labels), 10), dtype=int)
    for i, own in enumerate(labels):
        there = own if rng.random() < share else (own + rng.integers(1, 3)) % 3
        near[i] = rng.choice(np.flatnonzero(labels == there), 10)
    return near


def asked(rows, labels, near, weights=None):
    """What views with these neighbours say of the rows."""
    votes = np.stack([vote(n, labels, 3) for n in near], axis=1)
    return Asked(
        rows, labels, votes, np.ones(len(near)) if weights is None else weights
    )


def pooled(found, own):
    """The slow way: the least of the others ahead joins until none is ahead."""
    found = found.copy()
    ahead = [own]
    for j in np.argsort(-found):
        if j != own and found[j] > found[ahead].mean():
            ahead.append(j)
    found[ahead] = found[ahead].mean()
    return found


def test_scores_that_agree_with_labels_stay_as_they_are(rows, centres):
    labels = nearest(rows, centres)
    found = probabilities(rows, labels, centres)
    expected = softmax(2.0 * rows @ centres.points.T - centres.offsets, axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_clusters_ahead_of_a_rows_own_share_with_it(rows):
    scores = euclidean(np.random.default_rng(1).normal(size=(6, 2)))
    labels = np.random.default_rng(2).integers(0, 6, size=len(rows))
    found = probabilities(rows, labels, scores)
    plain = softmax(2.0 * rows @ scores.points.T - scores.offsets, axis=1)
    expected = [pooled(p, own) for p, own in zip(plain, labels, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.argmax(axis=1), labels)


def test_clusters_that_are_level_leave_the_row_where_it_is():
    scores = euclidean(np.array([[1.0], [1.0], [1.0]]))
    found = probabilities(np.zeros((3, 1)), np.arange(3), scores)
    np.testing.assert_array_equal(found.argmax(axis=1), [0, 1, 2])
    np.testing.assert_allclose(found, 1 / 3, atol=1e-8)


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_as_sure_as_the_views_agree(share):
    """Where scores say nothing of which rows are in doubt, all are as sure as most."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, size=1500)
    corners = euclidean(np.eye(3))
    at = corners.points[labels]  # all rows of a cluster at one place
    near = views_that_agree(labels, share, rng)
    soft = soft_scores(asked(at, labels, [near]), corners)
    assert certainty(at, labels, soft).mean() == pytest.approx(share, abs=0.03)


def test_a_view_counts_by_its_weight_and_rows_without_it_do_not():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 3, size=600)
    centres = euclidean(np.eye(3))
    at = centres.points[labels]
    good, bad = (views_that_agree(labels, share, rng) for share in (0.95, 0.4))
    sure = {}
    for weight in (0.1, 1.0, 10.0):
        soft = soft_scores(
            asked(at, labels, [good, bad], np.array([1.0, weight])), centres
        )
        sure[weight] = certainty(at, labels, soft).mean()
    assert sure[0.1] > sure[1.0] + 0.1 > sure[10.0] + 0.2
    soft = soft_scores(asked(at, labels, [good, np.full_like(bad, -1)]), centres)
    assert certainty(at, labels, soft).mean() == pytest.approx(0.95, abs=0.03)


def test_the_unit_of_the_embedding_is_no_matter(rows, centres):
    labels = nearest(rows, centres)
    near = [views_that_agree(labels, 0.8, np.random.default_rng(5))]
    found = []
    for unit in (1e-4, 1.0, 1e5):
        scores = euclidean(unit * centres.points)
        soft = soft_scores(asked(unit * rows, labels, near), scores)
        found.append(probabilities(unit * rows, labels, soft))
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)
    np.testing.assert_allclose(found[2], found[1], atol=1e-4)


def test_nodes_are_told_apart_by_their_spread():
    """Clusters that are long one way: distance to a centre would be no measure."""
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, size=400)
    at = rng.normal(size=(400, 2)) * [20.0, 0.5] + np.stack([0 * labels, 3 * labels], 1)
    means = np.stack([at[labels == j].mean(axis=0) for j in (0, 1)])
    near = np.stack([rng.choice(np.flatnonzero(labels == j), 10) for j in labels])
    how = (asked(at, labels, [near]), euclidean(means))
    assert (probabilities(at, labels, soft_scores(*how)).max(axis=1) > 0.9).mean() < 0.9
    soft = soft_scores(*how, Nodes(at.astype(np.float32), labels))
    assert (certainty(at, labels, soft) > 0.9).mean() > 0.97


def test_a_number_without_a_cluster_has_no_probability(rows, centres):
    scores = Centres(centres.points, np.array([0.0, np.inf, 4.0]))
    labels = nearest(rows, scores)
    near = np.stack([np.flatnonzero(labels == j)[:10] for j in labels])
    soft = soft_scores(asked(rows, labels, [near]), scores)
    found = probabilities(rows, labels, soft)
    assert (found[:, 1] == 0).all() and np.isfinite(found).all()


def test_one_cluster_is_certain(rows):
    labels = np.zeros(len(rows), dtype=int)
    near = np.tile(np.arange(10), (len(rows), 1))
    soft = soft_scores(asked(rows, labels, [near]), euclidean(np.zeros((1, 2))))
    np.testing.assert_array_equal(certainty(rows, labels, soft), 1.0)


@pytest.mark.parametrize("top", [1, 2, 3])
def test_the_likeliest_are_the_largest(rows, centres, top):
    labels = np.random.default_rng(7).integers(0, 3, size=len(rows))
    dense = probabilities(rows, labels, centres)
    found = likeliest(rows, labels, centres, top)
    np.testing.assert_array_equal(found[:, 0], labels)
    np.testing.assert_array_equal(found[:, top:], -np.sort(-dense, axis=1)[:, :top])
    sparse = as_sparse(found, 3)
    assert sparse.nnz == top * len(rows) and sparse.has_sorted_indices
    kept = sparse.toarray()
    np.testing.assert_array_equal(kept[kept > 0], dense[kept > 0])


def test_rows_are_taken_in_parts(rows, centres, monkeypatch):
    labels = nearest(rows, centres)
    whole = probabilities(rows, labels, centres)
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", 21)
    np.testing.assert_allclose(all_probabilities(rows, labels, centres), whole)
    np.testing.assert_allclose(certainty(rows, labels, centres), whole.max(axis=1))


def test_what_does_not_fit_is_refused(rows, centres, monkeypatch):
    monkeypatch.setattr(module, "physical_memory", lambda: 1000)
    with pytest.raises(ResourceError, match=r"300 rows take 7\.2 kB.*top=3"):
        all_probabilities(rows, nearest(rows, centres), centres)
