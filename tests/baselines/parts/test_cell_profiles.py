"""The preparation of single cells, and overlaps of neighbourhoods, written out."""

import numpy as np
import pytest

from manyview.baselines.parts.cell_profiles import (
    LEAST_SHARED,
    MOST_PROTEINS,
    are_counts,
    cell_profile,
    centred_log_ratio,
    components,
    log_normalised,
    pruned,
    shared_neighbours,
)


def counts(n_features, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(1.5, size=(40, n_features)).astype(float)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.array([[0.0, 3.0]]), True),
        (np.array([[0.0, 3.5]]), False),
        (np.array([[-1.0, 3.0]]), False),
        (np.zeros((2, 2)), False),
    ],
)
def test_what_counts_as_counts(X, expected):
    assert are_counts(X) is expected


def test_every_cell_gets_the_same_library():
    X = counts(30)
    X[3] *= 100
    np.testing.assert_allclose(np.expm1(log_normalised(X)).sum(axis=1), 10_000)


def test_an_empty_cell_stays_empty():
    X = counts(30)
    X[3] = 0
    assert not log_normalised(X)[3].any()


def test_the_log_ratio_is_seurats():
    X = counts(10)
    for i, row in enumerate(X):
        centre = np.exp(np.log1p(row[row > 0]).sum() / len(row))
        np.testing.assert_allclose(centred_log_ratio(X)[i], np.log1p(row / centre))


def test_components_keep_the_distances_they_can():
    X = np.random.default_rng(0).normal(size=(20, 3)) @ np.ones((3, 9))
    P = components(X, 5, 0)
    assert P.shape == (20, 5)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(P @ P.T, centred @ centred.T, atol=1e-9)


def test_each_kind_is_prepared_its_own_way():
    rna, proteins = counts(MOST_PROTEINS + 1), counts(MOST_PROTEINS)
    assert cell_profile(rna, 7, 0).shape == (40, 7)
    assert cell_profile(proteins, 7, 0).shape == proteins.shape
    ready = np.random.default_rng(0).normal(size=(40, 6))
    np.testing.assert_allclose(cell_profile(3 * ready + 1, 7, 0).std(axis=0, ddof=1), 1)
    assert cell_profile(np.hstack([ready, ready]), 7, 0).shape == (40, 7)


def test_overlaps_are_jaccards():
    rng = np.random.default_rng(0)
    ids = np.array(
        [rng.choice(np.delete(np.arange(15), i), 4, False) for i in range(15)]
    )
    J = shared_neighbours(ids).toarray()
    own = [{i, *row} for i, row in enumerate(ids)]
    for i in range(15):
        for j in range(15):
            wanted = len(own[i] & own[j]) / len(own[i] | own[j]) if i != j else 0
            assert J[i, j] == pytest.approx(wanted)
    kept = pruned(shared_neighbours(ids)).toarray()
    np.testing.assert_array_equal(kept, np.where(J < LEAST_SHARED, 0, J))
