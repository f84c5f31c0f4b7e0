"""Rank tests of new rows against those of the fit, by hand and by counting."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu

from manyview import S2MVTC
from manyview.growing.comparing import (
    Measured,
    compare,
    holm,
    largest_gap,
    measure,
    reference,
    share_tests,
    stratified_ranks,
)


def test_holm_is_the_textbook_example():
    p = np.array([[0.01, 0.04], [0.03, 0.005]])
    np.testing.assert_allclose(holm(p), [[0.03, 0.06], [0.06, 0.02]])
    assert holm(np.array([0.9, 0.8])).max() == 1.0


def test_one_stratum_is_wilcoxons_test():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 30).astype(float), rng.integers(2, 12, 40).astype(float)
    plain = mannwhitneyu(a, b, method="asymptotic", use_continuity=False)
    assert stratified_ranks([(a, b)]) == pytest.approx(plain.pvalue)


def test_strata_are_ranked_by_themselves():
    """Clusters of other levels and other shares, each as it was: no difference."""
    rng = np.random.default_rng(1)
    low, high = rng.normal(0, 1, 400), rng.normal(50, 1, 400)
    pairs = [(low[:300], low[300:]), (high[:50], high[50:])]
    assert stratified_ranks(pairs) > 0.05
    joined = (np.r_[low[:300], high[:50]], np.r_[low[300:], high[50:]])
    assert stratified_ranks([joined]) < 1e-6
    shifted = [(a, b + 0.5) for a, b in pairs]
    assert stratified_ranks(shifted) < 1e-3


def test_strata_without_rows_say_nothing():
    empty = np.empty(0)
    assert stratified_ranks([(empty, np.ones(3)), (np.ones(3), empty)]) == 1.0
    assert stratified_ranks([(np.ones(3), np.ones(4))]) == 1.0


def test_shares_are_counted_as_fishers_test_does():
    before, now = np.array([40, 30, 30]), np.array([5, 25, 10])
    for j, p in enumerate(share_tests(before, now)):
        own = [[before[j], now[j]], [100 - before[j], 40 - now[j]]]
        tails = [fisher_exact(own, side).pvalue for side in ("less", "greater")]
        assert p == pytest.approx(min(1.0, 2 * min(tails)))


def test_all_ways_to_tell_two_samples_apart():
    """Every split of eight distances: at most a share r has a p value up to r."""
    values = np.arange(1.0, 9.0) / 10
    found = []
    for chosen in combinations(range(8), 4):
        is_new = np.isin(np.arange(8), chosen)
        old = Measured(np.zeros(4, dtype=int), values[~is_new][:, None])
        new = Measured(np.zeros(4, dtype=int), values[is_new][:, None])
        found.append(compare(old, new, 1).cells[0, 0])
    for rate in (0.03, 0.1, 0.5):
        assert np.mean(np.array(found) <= rate + 1e-12) <= rate


def test_samples_far_apart_are_told_apart_without_a_warning():
    gap, p = largest_gap(np.arange(100.0), 200.0 + np.arange(100.0))
    assert gap == 1.0 and p < 1e-20


def test_zeros_say_nothing_and_rounding_is_no_difference():
    steps = np.tile([0.2, 0.4, 0.6], 20)
    old = Measured(np.zeros(60, dtype=int), steps[:, None])
    shaken = np.r_[steps * (1 + 1e-6), np.zeros(500)][:, None]
    found = compare(old, Measured(np.zeros(560, dtype=int), shaken), 2)
    assert found.gaps[0, 0] == 0 and found.cells[0, 0] == 1
    assert found.ratios[0, 0] == pytest.approx(1.0)
    assert np.isnan(found.ratios[1, 0]) and found.cells[1, 0] == 1


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_the_fit_keeps_what_it_measures_of_its_own_rows(three_views, order):
    views = [three_views[0][v] for v in order]
    model = S2MVTC(4, random_state=0).fit(views)
    kept, all_rows = reference(model), measure(model, model._views_to_predict(views))
    assert (kept.distances == 0).sum(axis=0).tolist() == [30, 30, 30]  # landmarks
    for v in range(3):
        np.testing.assert_allclose(
            np.sort(kept.distances[:, v]), np.sort(all_rows.distances[:, v]), atol=1e-5
        )
        for j in range(4):
            own = np.sort(all_rows.distances[all_rows.labels == j, v])
            same = np.sort(kept.distances[kept.labels == j, v])
            np.testing.assert_allclose(same, own, atol=1e-5)
