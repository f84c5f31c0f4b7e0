"""RBF features against the formula written out."""

import numpy as np

from manyview.baselines.parts.rbf_features import centred_features, feature_map


def test_equals_the_formula():
    rng = np.random.default_rng(0)
    X = rng.normal(50, 2, size=(60, 4))
    fmap = feature_map(X, 10, rng)
    anchors = fmap.kernel.anchors + X.mean(axis=0)
    gaps = np.linalg.norm(X[:, None] - anchors, axis=2)
    sigma = 2 * gaps.min(axis=1).mean()
    Phi = np.exp(-(gaps**2) / (2 * sigma**2))
    expected = Phi - Phi.mean(axis=0)
    np.testing.assert_allclose(centred_features(X, fmap), expected, atol=1e-7)


def test_anchors_are_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    anchors = feature_map(X, 5, rng).kernel.anchors + X.mean(axis=0)
    gaps = np.linalg.norm(X[:, None] - anchors, axis=2)
    np.testing.assert_allclose(gaps.min(axis=0), 0, atol=1e-12)
