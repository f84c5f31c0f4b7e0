"""Lloyd steps as products, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from manyview.arrays.ops import like, to_host
from manyview.kmeans.lloyd import lloyd


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(300, 4)) + 3.0 * rng.integers(0, 3, (300, 1))


def test_every_search_ends_where_scikit_learn_ends(xp, rows):
    starts = rows[np.random.default_rng(1).permutation(300)[:15].reshape(3, 5)]
    model = xp.asarray(rows)
    found = lloyd(model, like(starts, model), 300)
    for s, start in enumerate(starts):
        run = KMeans(5, init=start, n_init=1, tol=0.0).fit(rows)
        np.testing.assert_array_equal(to_host(found.labels)[s], run.labels_)
        np.testing.assert_allclose(to_host(found.centres)[s], run.cluster_centers_)
        np.testing.assert_allclose(to_host(found.inertia)[s], run.inertia_)


def test_no_more_steps_than_asked_for(rows):
    start = rows[None, :5]
    once = lloyd(rows, start, 1)
    nearest = ((rows[:, None] - start) ** 2).sum(axis=2).argmin(axis=1)
    means = [rows[nearest == j].mean(axis=0) for j in range(5)]
    np.testing.assert_allclose(once.centres[0], means)
    np.testing.assert_array_equal(lloyd(rows, start, 0).labels[0], nearest)


def test_an_empty_cluster_keeps_its_centre(rows):
    start = np.concatenate([rows[:2], np.full((1, 4), 1e6)])[None]
    found = lloyd(rows, start, 20)
    np.testing.assert_array_equal(found.centres[0, 2], start[0, 2])
    assert not (found.labels == 2).any()
