"""Clusters of many rows carried on by fits of whole views, in one round more."""

import numpy as np
import pytest

from manyview import S2MVTC
from manyview.datasets import make_views
from manyview.engine.contract import lowered
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
