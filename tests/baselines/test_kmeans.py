"""k-means on the concatenation and on the best-separated view."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from manyview.baselines import BestViewKMeans, ConcatKMeans
from manyview.baselines.parts.standardise import z_feature
from manyview.errors import InputError
from manyview.metrics import ari, clustering_scores
from manyview.running import progress


def test_concatenation_is_scikit_learns_kmeans_on_standardised_features(three_views):
    views, _ = three_views
    model = ConcatKMeans(4, random_state=0).fit(views)
    Z = np.concatenate([z_feature(v) for v in views], axis=1)
    reference = KMeans(4, n_init=10, random_state=0).fit(Z)
    assert ari(reference.labels_, model.labels_) == 1
    np.testing.assert_allclose(model.inertia_, reference.inertia_)


def test_scale_of_a_view_does_not_matter(three_views):
    views, _ = three_views
    model = ConcatKMeans(7, random_state=0)
    labels = model.fit_predict(views)
    np.testing.assert_array_equal(
        model.fit_predict([1024 * views[0], *views[1:]]), labels
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_centres_stand_in_the_order_of_the_views(three_views, order):
    views = [three_views[0][v] for v in order]
    model = ConcatKMeans(4, random_state=0).fit(views)
    Z = np.concatenate([z_feature(v) for v in views], axis=1)
    for j in range(4):
        mean = Z[model.labels_ == j].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[j], mean, atol=1e-6)
    np.testing.assert_array_equal(
        model.predict([v[:9] for v in views]), model.labels_[:9]
    )


def test_best_view_is_the_separated_one(three_views):
    views, labels = three_views
    noise = np.random.default_rng(0).normal(size=(300, 4))
    model = BestViewKMeans(4, random_state=0).fit([noise, views[1], noise**2])
    assert model.best_view_ == 1
    assert model.view_scores_.shape == (3,)
    assert ari(labels, model.labels_) > 0.9


def test_view_without_two_clusters_scores_lowest(three_views, recwarn):
    views, _ = three_views
    model = BestViewKMeans(4, random_state=0).fit([np.ones((300, 1)), views[0]])
    assert not recwarn.list
    assert model.view_scores_[0] == -1
    assert model.best_view_ == 1


@pytest.mark.data
def test_level_on_ccv(load_npz):
    views, labels = load_npz("CCV")
    found = (ConcatKMeans(20, random_state=s).fit_predict(views) for s in range(5))
    scores = [clustering_scores(labels, f) for f in found]
    assert np.mean([s["ACC"] for s in scores]) == pytest.approx(0.1957, abs=0.02)
    assert np.mean([s["NMI"] for s in scores]) == pytest.approx(0.1719, abs=0.02)


def test_missing_views_are_refused_after_one_look(three_views):
    views, _ = three_views
    views[1][7] = np.nan
    titles = []
    with (
        progress.listen(lambda title, done, total: titles.append(title)),
        pytest.raises(InputError, match="ConcatKMeans needs every view"),
    ):
        ConcatKMeans(4, random_state=0).fit(views)
    assert set(titles) == {"Surveying the views"}
