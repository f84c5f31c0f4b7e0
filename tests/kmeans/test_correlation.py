"""k-means by correlation against correlations themselves, and against plain loops."""

import numpy as np
import pytest

from manyview import SequenceS2MVTC
from manyview.arrays.ops import z_score
from manyview.engine.local import LocalEngine
from manyview.kmeans.correlation import (
    correlation,
    correlation_kmeans,
    first_labels_kmeans,
    keep_first_labels,
)
from manyview.kmeans.passes import nearest
from manyview.metrics import ari
from manyview.views.views import Views

empty = pytest.mark.filterwarnings("ignore::manyview.errors.DegenerateWarning")


def engine_with(rows, block_rows=None):
    views = Views([np.ones((len(rows), 1))])
    engine = LocalEngine(views, np.float64, block_rows=block_rows)
    engine.put("B_bar", rows)
    return engine


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(150) % 3)
    return 8.0 * rng.normal(size=(3, 6))[labels] + rng.normal(size=(150, 6)), labels


def test_correlation_takes_the_best_correlated_centre(blobs):
    rows = z_score(blobs[0])
    centres = correlation(blobs[0][:3], np.ones(3))
    expected = np.corrcoef(rows, blobs[0][:3])[:150, 150:].argmax(axis=1)
    np.testing.assert_array_equal(nearest(rows, centres)[0], expected)


def test_empty_cluster_is_never_chosen_by_correlation(blobs):
    centres = correlation(blobs[0][:3], np.array([1.0, 0.0, 2.0]))
    assert 1 not in nearest(z_score(blobs[0]), centres)[0]


def test_correlation_kmeans_separates_directions():
    rng = np.random.default_rng(3)
    truth = rng.permutation(np.arange(90) % 3)
    rows = z_score(rng.normal(size=(3, 8))[truth] + 0.05 * rng.normal(size=(90, 8)))
    starts = np.array([np.flatnonzero(truth == g)[0] for g in range(3)])
    _, labels, _, _ = correlation_kmeans(engine_with(rows, 20), starts)
    np.testing.assert_array_equal(labels, truth)


def test_steps_are_those_of_plain_means_and_correlations():
    rng = np.random.default_rng(4)
    rows, starts = z_score(rng.normal(size=(60, 5))), np.array([7, 40, 3, 21])
    means = rows[starts]
    for _ in range(4):
        labels = np.corrcoef(rows, means)[:60, 60:].argmax(axis=1)
        means = np.stack([rows[labels == j].mean(axis=0) for j in range(4)])
    labels = np.corrcoef(rows, means)[:60, 60:].argmax(axis=1)
    found = correlation_kmeans(engine_with(rows, 20), starts, max_iter=4)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres.points, z_score(means))
    assert found.n_iter == 4


def plain_loops(first, last, starts):
    """Labels by the raw first consensus, then ten steps by correlation."""
    labels = [int(np.argmax([b @ first[s] for s in starts])) for b in first]
    for _ in range(10):
        centres = []
        for j in range(len(starts)):
            mine = [b for b, g in zip(last, labels, strict=True) if g == j]
            total = np.sum(mine, axis=0) if mine else np.zeros(last.shape[1])
            away = total - total.mean()
            centres.append(away / away.std(ddof=1) if mine else np.ones(len(total)))
        labels = [int(np.argmax([b @ c for c in centres])) for b in last]
    return np.array(labels), centres


@pytest.fixture
def consensus():
    """A first consensus of long and short rows, and a last one of z-scored rows."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=(90, 6)) * rng.lognormal(sigma=1.5, size=(90, 1))
    return first, z_score(rng.normal(size=(90, 6)) + first / 9)


def test_steps_are_those_of_plain_loops(consensus):
    first, last = consensus
    starts = np.arange(12)
    engine = engine_with(first, 20)
    keep_first_labels(engine, starts)
    engine.put("B_bar", last)
    found = first_labels_kmeans(engine, 12)
    labels, centres = plain_loops(first, last, starts)
    np.testing.assert_array_equal(found.labels, labels)
    used = np.unique(labels)
    np.testing.assert_allclose(found.centres.points[used], np.array(centres)[used])
    assert found.n_iter == 10


def test_clusters_of_short_rows_stay_empty(consensus):
    first, last = consensus
    labels = np.argmax(first @ first[:12].T, axis=1)
    engine = engine_with(first, 20)
    keep_first_labels(engine, np.arange(12))
    engine.put("B_bar", last)
    used = set(first_labels_kmeans(engine, 12).labels)
    assert len(set(labels)) < 12 and used <= set(labels)


def published(**setting):
    model = SequenceS2MVTC.as_published("CCV")
    small = {"n_clusters": 4, "n_components": 8, "n_low": 5, "n_anchors": 40}
    return model.set_params(**small, random_state=0, **setting)


@empty
def test_a_fit_that_resumes_after_its_rounds_ends_in_the_same_clusters(
    three_views, tmp_path
):
    views = three_views[0]
    labels = published().fit_predict(views)
    for _ in range(2):  # the second time the rounds are read
        found = published(checkpoint=tmp_path / "kept").fit_predict(views)
        np.testing.assert_array_equal(found, labels)


@empty
def test_tensors_end_in_the_same_clusters(three_views):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    near = [torch.as_tensor(x) for x in three_views[0]]
    found = published().fit(near).labels_
    assert ari(published().fit_predict(three_views[0]), found.numpy()) >= 0.99
