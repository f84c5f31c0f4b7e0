"""Scores of rows from clusters and labels, against scikit-learn and by what they do."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import manyview.stages.class_scores as module
from manyview.stages.class_scores import Told, class_scores, matched


def blobs(n=300, k=3, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    centres = 3.0 * rng.normal(size=(k, 5))
    return centres[y] + spread * rng.normal(size=(n, 5)), y


def one_hot(y, k):
    return np.eye(k)[y]


def test_many_labels_give_the_linear_discriminant(monkeypatch):
    X, y = blobs(900)
    rows = np.arange(600)
    monkeypatch.setattr(module, "ROWS_IN_MEAN", 1e-9)
    monkeypatch.setattr(module, "ROWS_IN_SPREAD", 1e-9)
    monkeypatch.setattr(module, "LEAST_SHRINKAGE", 0.0)
    monkeypatch.setattr(module, "FOUND_POWER", 0.0)
    monkeypatch.setattr(module, "ledoit_wolf_shrinkage", lambda *a, **k: 0.0)
    found = class_scores([X], Told(rows, y[rows]), one_hot(y, 3)).of_all
    lda = LinearDiscriminantAnalysis(solver="lsqr", priors=np.ones(3) / 3)
    theirs = lda.fit(X[rows], y[rows]).predict_proba(X)
    # Theirs divides by n, ours by n - k: labels agree, and chances nearly.
    np.testing.assert_allclose(found[600:], theirs[600:], atol=0.01)


def test_clusters_found_follow_the_labels_that_match_best():
    communities = np.array([0, 0, 0, 1, 1, 2, 2])
    told = Told(np.array([0, 1, 2, 3, 5]), np.array([2, 2, 1, 0, 1]))
    _, cluster, trust = matched(one_hot(communities, 3), told)
    assert cluster.tolist() == [2, 0, 1]
    assert trust[0] == trust[1] == 1.0 and trust[2] == pytest.approx((3 / 4) ** 2)


def test_a_community_of_two_classes_is_parted_by_labels():
    X, y = blobs(300, k=3)
    joined = np.where(y == 2, 1, y)  # a community of two classes, and one split in two
    communities = np.where((y == 0) & (np.arange(300) % 2 == 0), 2, joined)
    rows = np.concatenate([np.flatnonzero(y == c)[:6] for c in range(3)])
    scores, _ = class_scores([X], Told(rows, y[rows]), one_hot(communities, 3))
    assert (scores.argmax(axis=1) == y).mean() > 0.98
    assert (communities == y).mean() < 0.6


def test_a_wrong_label_is_seen_by_the_other_rows():
    X, y = blobs(300)
    rows = np.arange(30)
    told = y[rows].copy()
    told[4] = (told[4] + 1) % 3
    _, without = class_scores([X], Told(rows, told), one_hot(y, 3))
    assert np.flatnonzero(without.argmax(axis=1) != told).tolist() == [4]


def test_probabilities_sum_to_one_without_any_label():
    X, y = blobs(60)
    nobody = Told(np.empty(0, int), np.empty(0, int))
    scores, without = class_scores([X], nobody, one_hot(y, 3))
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert without.shape == (0, 3)


def test_what_labels_say_of_clusters_leaves_out_a_rows_own():
    found = one_hot(np.array([0, 0, 0, 1, 1]), 2)
    told = Told(np.array([0, 1, 3]), np.array([0, 0, 1]))
    of_all, of_told = module._by_found(found, told, matched(found, told))
    np.testing.assert_allclose(of_all[:3], [[1.0, 0.0]] * 3)  # all labels agree
    fewer = Told(told.at[1:], told.cluster[1:])
    alone = module._by_found(found, fewer, matched(found, fewer)).of_all[0]
    np.testing.assert_allclose(of_told[0], alone)


def test_clusters_found_decide_for_rows_that_features_do_not_part():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.repeat([0, 1], 100)
    rows = np.array([0, 100])
    scores, _ = class_scores([X], Told(rows, y[rows]), one_hot(y, 2))
    assert (scores.argmax(axis=1) == y).mean() > 0.8


def test_kinds_that_need_labels_count_for_nothing_without_any():
    X, y = blobs(60)
    nobody = Told(np.empty(0, int), np.empty(0, int))
    noise = np.random.default_rng(0).normal(size=(60, 4))
    alone = class_scores([X], nobody, one_hot(y, 3)).of_all
    both = class_scores([X], nobody, one_hot(y, 3), with_labels=[noise]).of_all
    np.testing.assert_array_equal(both, alone)
