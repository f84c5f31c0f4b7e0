"""Clusters told apart by linear discriminants of every view, in one round more."""

import distributed
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score as ari

from manyview import S2MVTC, load_model
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.growing.refitting import rename_clusters
from manyview.kmeans.passes import nearest
from manyview.stages import refining, telling_apart
from manyview.stages.anchors import Features, Kernel
from manyview.stages.rounds import round_step
from manyview.stages.scaling import Scaling
from manyview.stages.telling_apart import SHRINKAGE, discriminants, tell_apart
from manyview.stages.whole_rows import see_views
from manyview.views.views import Block


def test_discriminants_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    own = rng.integers(0, 3, 3000)
    spread = np.array([[3.0, 2.8, 0.0], [2.8, 3.0, 0.0], [0.0, 0.0, 0.1]])
    means = rng.normal(size=(3, 3))
    points = rng.multivariate_normal(np.zeros(3), spread, 3000) + means[own]
    scores = discriminants(points, own, means)
    labels, _ = nearest(points, scores)
    model = LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage=SHRINKAGE, priors=np.full(3, 1 / 3)
    )
    assert (model.fit(points, own).predict(points) == labels).mean() > 0.999


def test_a_cluster_without_points_keeps_its_centre_and_copies_are_no_trouble():
    points, own = np.ones((50, 2)), np.zeros(50, dtype=int)
    scores = discriminants(points, own, np.array([[0.0, 0.0], [5.0, 5.0]]))
    labels, _ = nearest(np.array([[1.0, 1.0], [4.9, 5.1]]), scores)
    assert labels.tolist() == [0, 1]


def planted(n_rows=1200, n_views=2, seed=0):
    """Rows of three clusters of unequal size in linear features, and their graphs."""
    rng = np.random.default_rng(seed)
    own = np.repeat([0, 1, 2], [n_rows - n_rows // 4, n_rows // 6, n_rows // 12])
    own = own[rng.permutation(n_rows)]
    views, graphs = [], []
    for _ in range(n_views):
        centres = 3.0 * rng.normal(size=(3, 6))
        views.append(centres[own] + rng.normal(size=(n_rows, 6)))
        chance = np.where(own[:, None] == own, 0.05, 0.01)
        W = np.triu(rng.uniform(size=chance.shape) < chance, 1)
        graphs.append(sp.csr_array((W + W.T) * 1.0))
    block = Block(0, tuple(views), np.ones((n_rows, n_views), dtype=bool))
    kernels = tuple(Kernel("linear", np.eye(6), 0.0) for _ in views)
    means = tuple(np.zeros(6) for _ in views)
    plain = (Scaling("none"),) * n_views, kernels, means
    return block, Features(*plain, reduces=(None,) * n_views), graphs, own


def scored(block, found):
    """Labels of the block by the round that was found."""
    B_bar = np.zeros((len(block), 6))
    return round_step(block, {"B_bar": B_bar}, found).state["B_bar"].argmax(axis=1)


def told(block, features, graphs, labels):
    """A round of three clusters, of rows as they are seen."""
    views = see_views(block, np.arange(len(labels)), features, 3)
    return tell_apart(features, graphs, views, labels, 3)


def spoilt(own, share, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(
        rng.uniform(size=len(own)) < share, rng.integers(0, 3, len(own)), own
    )


def test_rounds_find_the_planted_clusters_from_a_part_of_them():
    block, features, graphs, own = planted()
    wrong = spoilt(own, 0.5)
    found = told(block, features, graphs, wrong)
    assert ari(own, wrong) < 0.4 and ari(own, scored(block, found)) > 0.98


def test_scores_are_sums_of_the_views_log_likelihoods(monkeypatch):
    """One round, against scikit-learn's discriminants of every view."""
    monkeypatch.setattr(telling_apart, "MOST_ROUNDS", 1)
    block, features, graphs, own = planted()
    wrong = spoilt(own, 0.3)
    found = told(block, features, graphs, wrong)
    total = np.log(np.bincount(wrong) / len(wrong))
    for x in block.views:
        how = {"solver": "lsqr", "shrinkage": SHRINKAGE, "priors": np.full(3, 1 / 3)}
        # Its shrinkage is of standardised columns: one scale for all leaves it alone.
        model = LinearDiscriminantAnalysis(**how).fit(x, wrong)
        total = total + model.decision_function(x)
    assert (scored(block, found) == total.argmax(axis=1)).mean() > 0.99


def test_reduced_features_say_the_same():
    block, features, graphs, own = planted()
    wrong = spoilt(own, 0.5)
    plain = told(block, features, graphs, wrong)
    reduces, means = [], []
    for x in block.views:
        s, E = np.linalg.eigh(np.cov(x.T) * len(x))
        reduces.append(E / s**0.5)
        means.append(x.mean(axis=0))
    other = features._replace(reduces=tuple(reduces), means=tuple(means))
    reduced = told(block, other, graphs, wrong)
    np.testing.assert_array_equal(scored(block, plain), scored(block, reduced))


def test_a_row_without_a_view_is_scored_by_the_others():
    block, features, graphs, own = planted(n_views=3)
    present = np.ones((len(own), 3), dtype=bool)
    present[::2, 0] = False
    views = (np.where(present[:, :1], block.views[0], 1e3), *block.views[1:])
    holes = Block(0, views, present)
    found = told(holes, features, graphs, spoilt(own, 0.5))
    assert ari(own, scored(holes, found)) > 0.98


def test_what_cannot_be_told_better_is_left(monkeypatch):
    block, features, graphs, own = planted()
    assert told(block, features, graphs, own) is None
    of_one = features._replace(kernels=features.kernels[:1])
    one = Block(0, block.views[:1], block.present[:, :1])
    wrong = spoilt(own, 0.5)
    assert told(one, of_one, graphs[:1], wrong) is None
    assert told(block, features, graphs, wrong[:5]) is None
    # Nor by less than chance would: of few rows that is much.
    assert told(block, features, graphs, wrong) is not None
    monkeypatch.setattr(telling_apart, "LEAST_GAIN", 1e9)
    assert told(block, features, graphs, wrong) is None


SMALL = {"exact_rows": 500}
MADE = {
    "n_samples": 1500,
    "n_features": (8, 10, 12),
    "n_clusters": 5,
    "imbalance": 8.0,
    "view_quality": [0.5, 0.6, 0.4],
    "random_state": 2,
}


@pytest.fixture(scope="module")
def unequal():
    """Clusters of unequal sizes that the discriminants mend, and their fit."""
    views = make_views(**MADE)
    with lowered(**SMALL):
        return views, S2MVTC(5, random_state=0).fit(views)


def test_unequal_clusters_gain(unequal, monkeypatch):
    views, model = unequal
    assert len(model._passes.rounds) == 2 and len(model.objective_) == 1
    monkeypatch.setattr(refining, "tell_apart", lambda *given: None)
    with lowered(**SMALL):
        plain = S2MVTC(5, random_state=0).fit(views)
    gain = ari(views.labels, model.labels_) - ari(views.labels, plain.labels_)
    assert gain > 0.05


def test_predict_gives_the_labels_back_and_files_keep_the_round(unequal, tmp_path):
    views, model = unequal
    assert model.embedding_.shape == (1500, 5)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.embedding_.argmax(axis=1), model.labels_)
    np.testing.assert_array_equal(
        model.predict_proba(views).argmax(axis=1), model.labels_
    )
    means = [model.embedding_[model.labels_ == j].mean(axis=0) for j in range(5)]
    np.testing.assert_allclose(model._passes.centres.points, means, atol=1e-5)
    model.save(tmp_path / "model.zip")
    again = load_model(tmp_path / "model.zip")
    np.testing.assert_array_equal(again.predict(views), model.labels_)
    with lowered(**SMALL):
        other = S2MVTC(5, random_state=0).fit(views)
    ids = np.array([4, 0, 5, 2, 1])
    rename_clusters(other, ids, 6)
    np.testing.assert_array_equal(other.predict(views), ids[model.labels_])


def test_the_order_of_rows_and_views_plays_no_part(unequal):
    views, model = unequal
    order = np.random.default_rng(0).permutation(len(views))
    turned = [views.arrays[v][order] for v in (2, 0, 1)]
    with lowered(**SMALL):
        other = S2MVTC(5, random_state=0).fit(turned)
    np.testing.assert_array_equal(other.labels_, model.labels_[order])


def test_the_same_clusters_from_disk_within_a_limit(unequal, tmp_path):
    _, model = unequal
    there = make_views(**MADE, out=tmp_path / "data")
    with lowered(**SMALL, block_rows=128, state_room=0):
        other = S2MVTC(5, random_state=0, memory_limit="2GB").fit(there)
        np.testing.assert_array_equal(other.predict(there), other.labels_)
    assert len(other._passes.rounds) == 2
    assert ari(other.labels_, model.labels_) > 0.999


def test_a_stopped_fit_resumes_to_the_same_clusters(unequal, tmp_path):
    views, model = unequal
    for _ in range(2):
        with lowered(**SMALL):
            other = S2MVTC(5, random_state=0, checkpoint=tmp_path / "kept").fit(views)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_array_equal(other.predict(views), model.labels_)


@pytest.mark.slow
def test_the_same_clusters_on_dask_and_on_a_device(unequal):
    views, model = unequal
    with lowered(**SMALL):
        on_device = S2MVTC(5, random_state=0, device="cpu").fit(views)
        with distributed.Client(processes=False, n_workers=1, dashboard_address=":0"):
            on_dask = S2MVTC(5, random_state=0, engine="dask").fit(views)
    for other in (on_device, on_dask):
        assert len(other._passes.rounds) == 2
        assert ari(np.asarray(other.labels_), model.labels_) > 0.99
