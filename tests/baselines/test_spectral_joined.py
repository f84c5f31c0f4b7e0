"""SpectralJoined is scikit-learn's spectral clustering of the joined views."""

import warnings

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import kneighbors_graph

from manyview.baselines import SpectralJoined
from manyview.baselines.spectral_joined import tied_to_nearest
from manyview.metrics import ari


def test_the_graph_is_scikit_learns():
    X = np.random.default_rng(0).normal(size=(50, 4))
    ties = kneighbors_graph(X, 10, include_self=True)
    wanted = 0.5 * (ties + ties.T)
    np.testing.assert_allclose(tied_to_nearest(X, 10).toarray(), wanted.toarray())


def test_labels_are_scikit_learns(three_views):
    views, labels = three_views
    joined = np.hstack([(x - x.mean(axis=0)) / x.std(axis=0, ddof=1) for x in views])
    model = SpectralClustering(
        4, affinity="nearest_neighbors", n_neighbors=20, random_state=0
    )
    found = SpectralJoined(4, n_neighbors=20, random_state=0).fit_predict(views)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected")
        wanted = model.fit_predict(joined)
    assert ari(wanted, found) == 1.0
    assert ari(labels, found) > 0.95


def test_row_order_does_not_matter(three_views):
    views = three_views[0]
    order = np.random.default_rng(0).permutation(300)
    labels = SpectralJoined(7, random_state=3).fit_predict(views)
    mixed = SpectralJoined(7, random_state=3).fit_predict([x[order] for x in views])
    np.testing.assert_array_equal(labels[order], mixed)


def test_pieces_raise_no_warning():
    x = np.repeat([0.0, 50.0, 100.0], 30)[:, None] + np.arange(90)[:, None] / 90
    labels = SpectralJoined(3, random_state=0).fit_predict([x, -x])
    assert ari(np.repeat([0, 1, 2], 30), labels) == 1.0
