"""Clusters of many rows carried on by fits of whole views, in one round more."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import S2MVTC
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import DegenerateWarning
from manyview.kmeans.passes import nearest
from manyview.metrics import ari
from manyview.stages import refining, whole_rows

MADE = {
    "n_samples": 2400, "n_features": [20, 30, 40], "n_clusters": 6,
    "view_quality": [0.5, 0.5, 0.4], "random_state": 0,
}  # fmt: skip
SMALL = {"exact_rows": 1200, "sampled_rows": 2400}


@pytest.fixture(scope="module")
def overlapping():
    """Clusters that overlap in many dimensions, and their fit."""
    views = make_views(**MADE)
    with lowered(**SMALL):
        return views, S2MVTC(6, random_state=0).fit(views)


def test_clusters_that_neighbours_mix_gain(overlapping, monkeypatch):
    views, model = overlapping
    assert len(model._passes.rounds) == 2 and len(model.objective_) == 1
    monkeypatch.setattr(refining, "follow_whole_rows", lambda *given: None)
    with lowered(**SMALL):
        plain = S2MVTC(6, random_state=0).fit(views)
    gain = ari(views.labels, model.labels_) - ari(views.labels, plain.labels_)
    assert gain > 0.02


def test_predict_gives_the_labels_back_in_any_order(overlapping):
    views, model = overlapping
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.embedding_.argmax(axis=1), model.labels_)
    order = np.random.default_rng(0).permutation(len(views))
    with lowered(**SMALL):
        other = S2MVTC(6, random_state=0).fit(views[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])


def test_links_move_their_own_rows_alone(overlapping):
    views, model = overlapping
    with lowered(**SMALL):
        links = np.flatnonzero(model.labels_ == model.labels_[0])[None, :2]
        split = S2MVTC(6, random_state=0).fit(views, cannot_link=links)
    assert (split.labels_ != model.labels_).sum() == 1


def test_where_the_embedding_sees_what_the_labels_say_it_stands(
    overlapping, monkeypatch
):
    views, _ = overlapping
    monkeypatch.setattr(whole_rows, "_left_out", lambda points, labels: labels)
    with lowered(**SMALL):
        model = S2MVTC(6, random_state=0).fit(views)
    assert len(model._passes.rounds) == 1 and model.embedding_.shape[1] == 12


def test_left_out_discriminants_see_no_point_of_their_own():
    rng = np.random.default_rng(0)
    own = np.arange(60) % 3
    points = 6.0 * np.eye(3)[own] + rng.normal(size=(60, 3))
    assert (whole_rows._left_out(points, own) == own).mean() > 0.95
    noise, chance = rng.normal(size=(60, 40)), rng.integers(0, 3, 60)
    scores = whole_rows.discriminants(noise, chance, np.zeros((3, 40)))
    assert (nearest(noise, scores)[0] == chance).mean() > 0.8
    assert (whole_rows._left_out(noise, chance) == chance).mean() < 0.6


def test_a_lost_cluster_is_a_half_that_is_hardly_tied():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 60)
    points = 9.0 * np.eye(3)[group] + rng.normal(size=(180, 3))
    near = rng.random((180, 180)) < np.where(group[:, None] == group, 0.3, 0.01)
    graphs = [sp.csr_array(np.triu(near, 1) + np.triu(near, 1).T + 0.0)] * 2
    joined = np.where(group == 1, 0, group)
    seen = [whole_rows.Seen(points, points[:, 0] > -9, points, points)]
    scores = [np.array([[1.0, -9, 0], [1, -9, 0], [0, -9, 1]])]  # none to the second
    found = whole_rows._parted(graphs, seen, scores, joined, points)
    assert ari(group, found) > 0.9 and np.bincount(found).min() > 50
    # Halves of what belongs together are tied as by chance.
    scores = [np.column_stack([np.eye(3), [-9.0] * 3])]
    assert whole_rows._parted(graphs, seen, scores, group, points) is None


def test_no_cluster_is_lost_of_as_many_as_there_are(monkeypatch):
    rng = np.random.default_rng(0)
    share = np.arange(1.0, 31.0) ** -0.7
    group = rng.choice(30, size=9000, p=share / share.sum())
    views = []
    for width in (64, 48):
        centres = rng.normal(size=(30, 30))
        rows = centres[group] + 1.3 * rng.normal(size=(9000, 30))
        noise = 0.5 * rng.normal(size=(9000, width))
        rows = rows @ rng.normal(size=(30, width)) + noise + 2 * rng.normal(size=width)
        views.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    model = S2MVTC(30, random_state=0).fit(views)
    assert np.bincount(model.labels_, minlength=30).min() > 0
    assert ari(group, model.labels_) > 0.97
    monkeypatch.setattr(whole_rows, "_parted", lambda *given: None)
    with pytest.warns(DegenerateWarning, match="29 of the 30"):
        model.fit(views)
