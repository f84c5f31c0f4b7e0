import numpy as np
import pytest
import scipy.sparse as sp

from manyview.arrays.ops import unit_rows
from manyview.baselines import FastMICE
from manyview.baselines.fastmice import (
    draw_plan,
    memberships,
    neighbour_graph,
    pool_centres,
    transfer_cut,
)
from manyview.errors import InputError
from manyview.metrics import ari, clustering_scores


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_finds_separate_groups(three_views, metric):
    views, labels = three_views
    model = FastMICE(4, n_anchors=60, metric=metric, random_state=0)
    assert ari(labels, model.fit_predict(views)) > 0.9


def test_row_order_does_not_matter(three_views):
    views = three_views[0]
    order = np.random.default_rng(0).permutation(300)
    model = FastMICE(6, n_members=5, n_anchors=60, random_state=3)
    labels = model.fit_predict(views)
    mixed = model.fit_predict([v[order] for v in views])
    np.testing.assert_array_equal(labels[order], mixed)


def test_standardised_labels_do_not_see_the_scale_of_a_feature(three_views):
    views = three_views[0]
    scaled = [v * 2.0 ** np.arange(v.shape[1]) for v in views]
    model = FastMICE(4, n_members=4, n_anchors=40, scaling="standard", random_state=0)
    assert ari(model.fit_predict(views), model.fit_predict(scaled)) > 0.999


def test_plan_stays_within_the_stated_ranges():
    plans = [draw_plan([10, 3, 1], 5, np.random.default_rng(s)) for s in range(200)]
    assert {n_clusters for n_clusters, _ in plans} == set(range(5, 11))
    assert {len(features) for _, features in plans} == {1, 2, 3}
    for v, columns in (item for _, features in plans for item in features.items()):
        least, most = {0: (2, 8), 1: (1, 3), 2: (1, 1)}[v]
        assert least <= len(set(columns)) == len(columns) <= most


def test_neighbour_weights_are_the_stated_gaussian():
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(40, 3)), rng.normal(size=(8, 3))
    d = np.sqrt(((X[:, None] - A) ** 2).sum(axis=2))
    kept = d <= np.sort(d, axis=1)[:, 2:3]
    w = np.where(kept, np.exp(-(d**2) / (2 * d[kept].mean() ** 2)), 0)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    np.testing.assert_allclose(neighbour_graph(X, A, 3, "euclidean").toarray(), w)


def test_cosine_weights_are_cosines():
    X = np.array([[1.0, 0.0], [0.6, 0.8]])
    B = neighbour_graph(X, np.array([[1.0, 0], [0, 1]]), 2, "cosine").toarray()
    np.testing.assert_allclose(B, X, atol=1e-9)


def test_a_row_far_from_all_anchors_keeps_its_weights():
    X = np.vstack([np.zeros((50, 1)), [[1e4]]])
    B = neighbour_graph(X, np.array([[0.0], [0.1]]), 2, "euclidean")
    np.testing.assert_allclose(np.linalg.norm(B.toarray(), axis=1), 1)


def test_anchors_outnumber_distinct_rows_without_a_warning(recwarn):
    centres = pool_centres(np.ones((9, 2)), 4, np.random.default_rng(0))
    np.testing.assert_array_equal(centres, 1)
    assert not recwarn


def test_memberships_are_one_hot_per_member_without_empty_columns():
    B = memberships([np.array([0, 2, 2]), np.array([1, 0, 1])]).toarray()
    np.testing.assert_array_equal(B, [[1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])


def test_unknown_metric_is_named(three_views):
    with pytest.raises(InputError, match="metric='l1' is unknown"):
        FastMICE(4, metric="l1").fit(three_views[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scaling", "accuracy", "nmi"),
    [
        (None, (0.1853, 0.2012), (0.1415, 0.1535)),
        ("standard", (0.2173, 0.2309), (0.1663, 0.1742)),
    ],
)
def test_ccv_scores(load_npz, scaling, accuracy, nmi):
    views, labels = load_npz("CCV")
    found = FastMICE(20, scaling=scaling, random_state=0).fit_predict(views)
    scores = clustering_scores(labels, found)
    for name, (low, high) in {"ACC": accuracy, "NMI": nmi}.items():
        assert low - 0.02 < scores[name] < high + 0.02


def test_transfer_cut_equals_the_normalised_cut_of_the_whole_bipartite_graph():
    B = np.random.default_rng(0).uniform(size=(25, 6)) ** 3
    whole = np.block([[np.zeros((25, 25)), B], [B.T, np.zeros((6, 6))]])
    degrees = whole.sum(axis=1)
    values, vectors = np.linalg.eigh(whole / np.sqrt(np.outer(degrees, degrees)))
    # The large problem's vectors differ from ours by the singular values alone.
    F = (vectors / np.sqrt(degrees)[:, None])[:25, ::-1][:, :4] * values[::-1][:4]
    F = unit_rows(F)
    ours = transfer_cut(sp.csr_array(B), 4)
    np.testing.assert_allclose(ours @ ours.T, F @ F.T, atol=1e-10)


def test_components_embed_at_right_angles_and_empty_rows_at_zero():
    B = np.zeros((7, 4))
    B[:3, :2], B[3:6, 2:] = 1.0, 2.0
    F = transfer_cut(sp.csr_array(B), 2)
    np.testing.assert_allclose(F[:3] @ F[3:6].T, 0, atol=1e-12)
    np.testing.assert_allclose(F[:3] @ F[:3].T, 1)
    np.testing.assert_array_equal(F[6], 0)


def test_transfer_cut_gives_no_more_vectors_than_columns():
    assert transfer_cut(sp.csr_array(np.ones((5, 2))), 9).shape == (5, 2)


def test_anchors_are_capped_at_the_rows_before_views_share_them(monkeypatch):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(40, 3)) for _ in range(3)]
    asked = []

    def watched(X, n_anchors, rng):
        asked.append(n_anchors)
        return pool_centres(X, n_anchors, rng)

    monkeypatch.setattr("manyview.baselines.fastmice.pool_centres", watched)
    FastMICE(3, n_members=12, random_state=0).fit(views)
    # One view of 40 anchors, two of 20 or three of 14; never 40 each.
    assert set(asked) == {40, 20, 14}
