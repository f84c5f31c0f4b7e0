"""Effect sizes against a plain calculation, also of numbers far from zero."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.stages import effect_sizes as module
from manyview.stages.effect_sizes import effect_sizes
from manyview.views.views import Views


def plain(x, labels, j):
    """(mean inside − mean outside) / pooled deviation, one cluster at a time."""
    inside, outside = x[labels == j], x[labels != j]
    spread = sum(((p - p.mean(axis=0)) ** 2).sum(axis=0) for p in (inside, outside))
    pooled = np.sqrt(spread / (len(x) - 2))
    return (inside.mean(axis=0) - outside.mean(axis=0)) / pooled


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 40)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 150)
    return rng.normal(size=(150, 4)) + labels[:, None] * [0.0, 1.0, 0.3, 2.0], labels


@pytest.mark.parametrize("shift", [0.0, 1.7e9, -1e12])
def test_a_large_mean_hides_no_effect(table, shift):
    x, labels = table[0] + shift, table[1]
    found, (inside, outside) = effect_sizes(Views([x]), labels, 3)
    for j in range(3):
        np.testing.assert_allclose(found[j], plain(x - x[0], labels, j), rtol=1e-7)
        means = x[labels == j].mean(axis=0), x[labels != j].mean(axis=0)
        np.testing.assert_allclose(inside[j], means[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(outside[j], means[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.7e9])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_constant_feature_sets_nothing_apart(table, value, kind):
    x = table[0].astype(kind)
    x[:, 1] = value
    x[::2, 1] = np.nextafter(x[::2, 1], kind(2 * value))
    found, _ = effect_sizes(Views([x]), table[1], 3)
    assert not found[:, 1].any() and found[:, 0].all()


def test_sparse_and_missing_rows_as_dense_and_present_ones(table):
    x, labels = table
    wanted, _ = effect_sizes(Views([x]), labels, 3)
    found, _ = effect_sizes(Views([sp.csr_array(x)]), labels, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    there = np.arange(150) % 3 > 0
    present = np.column_stack([there, np.ones(150, dtype=bool)])
    given = Views([x + 1e6, x], present=present)
    found, _ = effect_sizes(given, labels, 3)
    wanted, _ = effect_sizes(Views([x[there] + 1e6]), labels[there], 3)
    np.testing.assert_allclose(found[:, :4], wanted, rtol=1e-6)
