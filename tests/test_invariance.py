"""The order rule: the default does not know where a row or a view stands."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral

METHODS = [S2MVTC, AnchorSpectral]


def same(a, b):
    return adjusted_rand_score(a, b) >= 0.999


@pytest.fixture(scope="module")
def overlapping():
    """Three views of five overlapping clusters: not a trivial partition."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 5, 700)
    return [
        2.0 * rng.normal(size=(5, d))[labels] + rng.normal(size=(700, d))
        for d in (4, 7, 12)
    ]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_permuting_rows_permutes_labels(method, dtype, overlapping):
    views = [v.astype(dtype) for v in overlapping]
    p = np.random.default_rng(0).permutation(700)
    whole = method(5, random_state=3).fit(views).labels_
    shuffled = method(5, random_state=3).fit([v[p] for v in views]).labels_
    assert same(whole[p], shuffled)


def test_permuting_rows_with_given_anchors(overlapping):
    anchors = [v[:60] for v in overlapping]
    p = np.random.default_rng(1).permutation(700)
    whole = S2MVTC(5, anchors=anchors, random_state=0).fit(overlapping).labels_
    shuffled = S2MVTC(5, anchors=anchors, random_state=0).fit(
        [v[p] for v in overlapping]
    )
    assert same(whole[p], shuffled.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_permuting_and_renaming_views_changes_nothing(method, overlapping):
    first = method(5, random_state=0).fit(overlapping).labels_
    named = {"c": overlapping[2], "a": overlapping[0], "b": overlapping[1]}
    assert same(first, method(5, random_state=0).fit(named).labels_)


@pytest.mark.parametrize("method", METHODS)
def test_scaling_one_view_changes_nothing(method, overlapping):
    first = method(5, random_state=0).fit(overlapping).labels_
    scaled = [overlapping[0] * 1e3, *overlapping[1:]]
    assert same(first, method(5, random_state=0).fit(scaled).labels_)


@pytest.mark.parametrize("method", METHODS)
def test_block_size_changes_nothing(method, overlapping):
    first = method(5, random_state=0, block_rows=64).fit(overlapping).labels_
    second = method(5, random_state=0, block_rows=333).fit(overlapping).labels_
    assert same(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["CCV", "Handwritten"])
def test_real_data_in_any_order(name, load_npz):
    views, labels = load_npz(name)
    n_clusters = len(np.unique(labels))
    whole = S2MVTC(n_clusters, random_state=0).fit(views).labels_
    # Several orders: one may agree by luck.
    for seed in range(3):
        p = np.random.default_rng([seed, 2]).permutation(len(labels))
        shuffled = S2MVTC(n_clusters, random_state=0).fit([v[p] for v in views])
        assert same(whole[p], shuffled.labels_)
