import numpy as np
import pytest
from scipy.optimize import minimize

from manyview.baselines import SFMC
from manyview.baselines.parts import in_memory
from manyview.baselines.parts.bipartite import anchor_graph, component_graph
from manyview.baselines.sfmc import (
    alternate_sampling,
    distance_to_fusion,
    divide_by_maximum,
    fuse_graphs,
    mix,
    row_scores,
    simplex_quadratic,
)
from manyview.errors import DegenerateWarning, InputError, ResourceError
from manyview.metrics import ari, clustering_scores

giant = pytest.mark.filterwarnings("ignore::manyview.errors.DegenerateWarning")


def graphs_of(views, n_anchors=30):
    arrays = [divide_by_maximum(v) for v in views]
    rows = alternate_sampling(row_scores(arrays), n_anchors)
    return [anchor_graph(a, a[rows], 5) for a in arrays]


def test_finds_separate_groups(three_views):
    views, labels = three_views
    assert ari(labels, SFMC(4, n_anchors=60).fit_predict(views)) > 0.9


@pytest.mark.parametrize("exact", [False, True])
def test_labels_are_the_components_of_the_graph(three_views, exact):
    model = SFMC(4, n_anchors=30, exact=exact).fit(three_views[0])
    assert model.n_components_ == 4
    anchors_of = [set(model.graph_[model.labels_ == j].indices) for j in range(4)]
    assert sum(map(len, anchors_of)) == len(set.union(*anchors_of))
    if exact:
        np.testing.assert_allclose(model.graph_.sum(axis=1), 1)


def test_row_order_and_seed_do_not_matter(three_views):
    views = three_views[0]
    order = np.random.default_rng(0).permutation(300)
    plain = SFMC(4, n_anchors=40, random_state=0).fit(views)
    mixed = SFMC(4, n_anchors=40, random_state=1).fit([v[order] for v in views])
    assert ari(plain.labels_[order], mixed.labels_) == 1
    assert set(order[mixed.anchor_rows_]) == set(plain.anchor_rows_)


def test_anchor_sampling_takes_the_row_least_like_those_taken():
    s = np.array([0.0, 0.5, 0.9, 1.0])
    # 1.0 is taken; s (1 - s) = 0, .25, .09, 0: next .5, and then 0.9.
    np.testing.assert_array_equal(alternate_sampling(s, 2), [1, 3])
    np.testing.assert_array_equal(alternate_sampling(s, 3), [1, 2, 3])


def test_anchor_sampling_never_repeats_a_row():
    assert len(set(alternate_sampling(np.ones(20), 20))) == 20


@pytest.mark.parametrize("seed", range(5))
def test_weights_solve_their_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 6))
    A, h = root @ root.T, 3 * rng.normal(size=4)
    found = simplex_quadratic(A, h, np.full(4, 0.25))
    solved = minimize(
        lambda a: a @ A @ a - a @ h,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        tol=1e-12,
    )
    np.testing.assert_allclose(found, solved.x, atol=1e-5)
    assert found @ A @ found - found @ h <= solved.fun + 1e-12


def test_weights_never_raise_the_distance_to_the_joint_graph(three_views):
    graphs = graphs_of(three_views[0])
    A = np.array([[b.multiply(c).sum() for c in graphs] for b in graphs])
    a = np.full(3, 1 / 3)
    for _ in range(4):
        P = component_graph(mix(graphs, a), 4).P
        h = np.array([2 * b.multiply(P).sum() for b in graphs])
        new = simplex_quadratic(A, h, a)
        before, after = (distance_to_fusion(graphs, w, P) for w in (a, new))
        assert after <= before + 1e-12
        a = new
    final = fuse_graphs(graphs, 4, 4, exact=False)[0]
    np.testing.assert_allclose(final, a)


@giant
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 12])
def test_labels_stay_in_range_on_data_without_clusters(n_clusters):
    X = np.random.default_rng(0).normal(size=(12, 1))
    labels = SFMC(n_clusters).fit_predict([X, X**2])
    assert set(labels) == set(range(n_clusters))


def test_equal_rows_share_one_cluster_and_a_warning_says_so():
    with pytest.warns(DegenerateWarning, match="20 of 20"):
        labels = SFMC(3).fit_predict([np.ones((20, 2))])
    assert not labels.any()


def test_share_and_count_of_anchors(three_views):
    views = three_views[0]
    assert len(SFMC(4, n_anchors=0.2).fit(views).anchor_rows_) == 60
    assert len(SFMC(4).fit(views).anchor_rows_) == 12
    with pytest.raises(InputError, match="301 is more than the 300 rows"):
        SFMC(4, n_anchors=301).fit(views)
    with pytest.raises(InputError, match="n_anchors must be at least 4"):
        SFMC(4, n_anchors=3).fit(views)


def test_refuses_what_does_not_fit(three_views, monkeypatch):
    monkeypatch.setattr(in_memory, "physical_memory", lambda: 10**6)
    with pytest.raises(
        ResourceError, match=r"SFMC needs about .* this machine has 1 MB"
    ):
        SFMC(4, n_anchors=250).fit(three_views[0])


@pytest.mark.slow
def test_ccv_scores(load_npz):
    views, labels = load_npz("CCV")
    scores = clustering_scores(labels, SFMC(20, n_anchors=67).fit_predict(views))
    assert scores["ACC"] == pytest.approx(0.1426, abs=0.02)
    assert scores["NMI"] == pytest.approx(0.0850, abs=0.02)


def test_rounding_decides_the_anchors(three_views):
    def anchors(perturbation, seed):
        model = SFMC(4, n_anchors=150, perturbation=perturbation, random_state=seed)
        return model.fit(three_views[0]).anchor_rows_

    np.testing.assert_array_equal(anchors(0.0, 0), anchors(0.0, 1))
    np.testing.assert_array_equal(anchors(1e-15, 0), anchors(1e-15, 0))
    shared = np.intersect1d(anchors(1e-15, 0), anchors(1e-15, 1))
    assert len(shared) < 150


def test_only_the_method_itself_is_deterministic():
    def deterministic(**setting):
        return SFMC(**setting).__sklearn_tags__().multiview.deterministic

    assert deterministic() and not deterministic(perturbation=1e-15)
