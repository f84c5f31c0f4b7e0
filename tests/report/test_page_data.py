import base64
from dataclasses import replace

import numpy as np
import pytest

from manyview.report import maps
from manyview.report import page_data as module
from manyview.report.maps import draw_maps
from manyview.report.page_data import page_data
from manyview.report.subject import of_model


@pytest.fixture(scope="module")
def subject(evil_model, evil_views):
    return of_model(evil_model, evil_views)


def test_the_table_of_classes_counts_every_row(subject) -> None:
    found = page_data(subject, draw_maps(subject, "pca"))["contingency"]
    counts = np.array(found["counts"])
    for c, name in enumerate(found["classes"]):
        own = subject.labels[subject.known == name]
        np.testing.assert_array_equal(counts[c], np.bincount(own, minlength=3))


def test_columns_belong_to_the_shown_rows(subject, monkeypatch) -> None:
    monkeypatch.setattr(maps, "choose_rows", lambda n, most: np.arange(0, n, 3))
    data = page_data(subject, draw_maps(subject, "pca"))
    clusters = np.frombuffer(base64.b64decode(data["map"]["cluster"]), "<u2")
    np.testing.assert_array_equal(clusters, subject.labels[::3])
    assert data["map"]["names"] == subject.row_names[::3].tolist()
    assert sum(data["sizes"]) == data["rows"] == 150
    at = np.frombuffer(base64.b64decode(data["views"][0]["at"]), "<u4")
    assert at.max() < len(clusters)


def test_the_features_kept_are_those_that_tell(subject, monkeypatch) -> None:
    everything = page_data(subject, draw_maps(subject, "pca"))["map"]["features"]
    assert len(everything) == 9
    monkeypatch.setattr(module, "MOST_FEATURES", 3)
    kept = page_data(subject, draw_maps(subject, "pca"))["map"]["features"]
    # The groups stand on the first three axes of both views; the others are noise.
    names = [f["name"] for f in kept]
    assert len(names) == 3
    assert all(n in (*"wxy", *(f"{'<script>alert(1)</script>'}{i}" for i in range(3)))
               for n in names)  # fmt: skip


def test_many_classes_are_cut_to_the_largest(subject, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_CLASSES", 2)
    known = np.array(["a"] * 100 + ["b"] * 10 + ["c"] * 40)
    found = page_data(replace(subject, known=known), draw_maps(subject, "pca"))
    assert found["contingency"]["classes"] == ["a", "c"]


def test_without_views_and_embedding_there_is_no_map(subject) -> None:
    bare = replace(subject, views=None, embedding=None)
    data = page_data(bare, draw_maps(bare, "pca"))
    assert data["map"] is None and data["views"] == []


def test_classes_that_are_numbers_stay_in_their_order(subject) -> None:
    numbered = replace(subject, known=np.arange(150) % 12)
    assert numbered.classes[0] == [str(i) for i in range(12)]
    mixed = np.array([1, "a", None] * 50, dtype=object)
    assert replace(subject, known=mixed).classes[0] == ["1", "None", "a"]
