"""Clouds have the spread of the sample, in all views at once, and nothing else."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from manyview.datasets import make_views
from manyview.stages.no_clusters import SHAPES, Cloud
from manyview.views.views import Views


def joint(views):
    return np.cov(np.hstack(views.arrays).T)


@pytest.mark.parametrize("shape", SHAPES)
def test_clouds_have_the_covariance_of_all_views_together(shape):
    rng = np.random.default_rng(0)
    hidden = rng.exponential(size=(400, 2))
    arrays = [hidden @ rng.normal(size=(2, d)) for d in (3, 4)]
    cloud = Cloud(Views(arrays), None, 2)
    drawn = np.mean([joint(cloud.rows(shape, seed)) for seed in range(30)], axis=0)
    expected = joint(Views(arrays))
    assert np.abs(drawn - expected).max() < 0.1 * np.abs(expected).max()


def test_clouds_have_one_hump():
    """Far clusters have a flat kurtosis along their difference; a cloud has none."""
    views = make_views(400, (4, 4), 2, random_state=0)
    cloud = Cloud(views, None, 2)

    def kurtosis(x):
        x = x @ np.linalg.svd(x - x.mean(axis=0))[2][0]
        z = (x - x.mean()) / x.std()
        return np.mean(z**4) - 3.0

    assert kurtosis(np.asarray(views.arrays[0])) < -1.4
    assert kurtosis(cloud.rows("normal", 0).arrays[0]) > -0.6
    assert -1.3 < kurtosis(cloud.rows("uniform", 0).arrays[0]) < -0.6


def test_wide_views_are_turned_not_changed():
    rng = np.random.default_rng(0)
    wide = rng.poisson(0.2, size=(30, 200)).astype(float)
    expected = np.sort(pdist(wide))
    for given in (wide, csr_array(wide)):
        cloud = Cloud(Views([given]), None, 2)
        rows = np.sqrt(30) * cloud.centred[0]
        assert rows.shape == (30, 30)
        assert np.sort(pdist(rows)) == pytest.approx(expected, abs=1e-6)


def test_gaps_and_lengths_of_the_sample_are_kept():
    full = make_views(60, (5, 4), 2, random_state=0)
    present = np.ones((60, 2), dtype=bool)
    present[::3, 1] = False
    cloud = Cloud(Views(full.arrays, present=present), "cosine", 2).rows("normal", 3)
    assert cloud.present.sum() == present.sum()
    assert np.linalg.norm(cloud.arrays[0], axis=1) == pytest.approx(np.ones(60))
