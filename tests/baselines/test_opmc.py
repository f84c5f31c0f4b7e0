"""OPMC: the literal factor updates as oracle, and its figures on CCV."""

import numpy as np
import pytest

from manyview.baselines import OPMC
from manyview.baselines.opmc import assign, descend
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.standardise import z_feature
from manyview.metrics import clustering_scores


def literal_iteration(Xs, labels, Cs):
    """W, C and Y as the paper writes them, with its objective (equal weights)."""
    n_clusters = len(Cs[0])
    Y = np.eye(n_clusters)[labels]
    Ws = [polar(C.T @ Y.T @ X) for C, X in zip(Cs, Xs, strict=True)]
    sizes = np.diag(1 / Y.sum(axis=0))
    Cs = [sizes @ Y.T @ X @ W.T for X, W in zip(Xs, Ws, strict=True)]
    centres = [C @ W for C, W in zip(Cs, Ws, strict=True)]
    gaps = sum(
        ((X[:, None] - M[None]) ** 2).sum(axis=2)
        for X, M in zip(Xs, centres, strict=True)
    )
    labels = gaps.argmin(axis=1)
    loss = gaps[np.arange(len(labels)), labels].sum() / len(Xs) ** 2
    return labels, Cs, np.concatenate(centres, axis=1), loss


@pytest.mark.parametrize("shapes", [(9, 7, 6), (2, 8)])
def test_every_iteration_equals_the_literal_method(shapes):
    # (2, 8): a view with fewer features than clusters.
    rng = np.random.default_rng(0)
    Xs = [z_feature(rng.normal(size=(150, d)) ** 3) for d in shapes]
    rows, n_features = np.concatenate(Xs, axis=1), np.array(shapes)
    labels = start = rng.integers(5, size=150)
    Cs = [rng.normal(size=(5, 5)) for _ in shapes]
    for n_iter in range(1, 9):
        labels, Cs, centres, loss = literal_iteration(Xs, labels, Cs)
        run = descend(rows, n_features, start, OPMC(5, max_iter=n_iter, tol=-1.0))
        np.testing.assert_array_equal(run.labels, labels)
        np.testing.assert_allclose(run.centres, centres, atol=1e-10)
        np.testing.assert_allclose(run.losses[-1], loss, rtol=1e-10)


@pytest.mark.parametrize("weights", ["equal", "loss"])
def test_loss_never_grows(weights):
    rng = np.random.default_rng(1)
    Xs = [rng.normal(size=(200, d)) ** 3 for d in (3, 8, 5)]
    for seed in range(5):
        model = OPMC(12, weights=weights, tol=0.0, n_init=1, random_state=seed).fit(Xs)
        losses = np.array(model.objective_)
        assert len(losses) > 3
        assert (np.diff(losses) <= 1e-12 * losses[0]).all()


def test_loss_weights_minimise_the_weighted_sum(three_views):
    model = OPMC(4, weights="loss", random_state=0).fit(three_views[0])
    a = model.view_weights_
    np.testing.assert_allclose(a.sum(), 1)
    assert (a > 0).all()
    # The minimiser of Σ a²ℓ on Σ a = 1 has aℓ equal for all views, Σ a²ℓ = aℓ.
    moments = [z_feature(v) for v in three_views[0]]
    edges = np.cumsum([v.shape[1] for v in moments])[:-1]
    parts = np.split(model.cluster_centers_, edges, axis=1)
    pairs = zip(moments, parts, strict=True)
    losses = [((X - C[model.labels_]) ** 2).sum() for X, C in pairs]
    np.testing.assert_allclose(a * losses, model.objective_[-1], rtol=1e-9)


def test_empty_clusters_are_filled():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3))
    start = np.zeros(60, dtype=int)
    run = descend(rows, np.array([3]), start, OPMC(6, max_iter=50, tol=0.0))
    assert len(np.unique(run.labels)) == 6
    assert (np.diff(run.losses) <= 1e-12).all()


def test_smallest_loss_of_all_starts_wins(three_views):
    views = three_views[0]
    one = OPMC(9, n_init=1, random_state=0).fit(views).objective_[-1]
    assert OPMC(9, n_init=20, random_state=0).fit(views).objective_[-1] <= one


def test_assignment_is_the_nearest_centre_in_the_weighted_metric():
    rng = np.random.default_rng(3)
    rows, centres = rng.normal(size=(50, 4)), rng.normal(size=(6, 4))
    w = np.array([1.0, 0.1, 2.0, 0.5])
    gaps = (w * (rows[:, None] - centres) ** 2).sum(axis=2)
    found = assign(rows, centres, w)
    np.testing.assert_array_equal(found.labels, gaps.argmin(axis=1))
    expected = np.array([rows[found.labels == j].sum(axis=0) for j in range(6)])
    np.testing.assert_allclose(found.sums, expected, atol=1e-12)


@pytest.mark.data
def test_level_on_ccv(load_npz):
    views, labels = load_npz("CCV")
    found = (OPMC(20, random_state=s).fit_predict(views) for s in range(5))
    scores = [clustering_scores(labels, f) for f in found]
    assert np.mean([s["ACC"] for s in scores]) == pytest.approx(0.1953, abs=0.02)
    assert np.mean([s["NMI"] for s in scores]) == pytest.approx(0.1734, abs=0.02)


def test_an_emptied_cluster_moves_to_the_origin_in_the_authors_program():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3)) + 5
    start = rng.integers(4, size=60)  # clusters 4 and 5 have no rows
    model = OPMC(6, protocol="authors", max_iter=2, tol=0.0)
    run = descend(rows, np.array([3]), start, model)
    np.testing.assert_array_equal(run.centres[4:], 0)
    assert set(run.labels) <= set(range(4))
    # Centred rows are drawn to the origin.
    away = rows - rows.mean(axis=0)
    assert {4, 5} & set(descend(away, np.array([3]), start, model).labels)
