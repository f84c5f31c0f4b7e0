import base64
from dataclasses import replace

import numpy as np
import pytest

from manyview.report import maps
from manyview.report import page_data as module
from manyview.report.maps import draw_maps
from manyview.report.page_data import (
    MISSING,
    chart_data,
    places,
    shades,
    whole_numbers,
)
from manyview.report.page_tables import _scores
from manyview.report.subject import of_model


@pytest.fixture(scope="module")
def subject(evil_model, evil_views):
    return of_model(evil_model, evil_views)


def test_the_table_of_classes_counts_every_row(subject) -> None:
    found = chart_data(subject, draw_maps(subject, "pca"))["contingency"]
    counts = np.array(found["counts"])
    for c, name in enumerate(found["classes"]):
        own = subject.labels[subject.known == name]
        np.testing.assert_array_equal(counts[c], np.bincount(own, minlength=3))


def test_rows_without_a_class_are_not_scored(subject) -> None:
    gaps = np.arange(len(subject.labels)) % 3 > 0
    known = np.where(gaps, "a", "").astype(object)
    scores = _scores(replace(subject, known=known))
    assert [row[1].text for row in scores.rows if row[0].text == "Purity"] == [
        "100.0 %"
    ]
    assert _scores(replace(subject, known=np.full(len(gaps), np.nan))) is None


def test_columns_belong_to_the_shown_rows(subject, monkeypatch) -> None:
    monkeypatch.setattr(maps, "choose_rows", lambda n, most: np.arange(0, n, 3))
    data = chart_data(subject, draw_maps(subject, "pca"))
    clusters = np.frombuffer(base64.b64decode(data["map"]["cluster"]), "<u2")
    np.testing.assert_array_equal(clusters, subject.labels[::3])
    assert data["map"]["names"] == subject.row_names[::3].tolist()
    assert sum(data["sizes"]) == data["rows"] == 150
    at = np.frombuffer(base64.b64decode(data["views"][0]["at"]), "<u4")
    assert at.max() < len(clusters)


def test_the_features_kept_are_those_that_tell(subject, monkeypatch) -> None:
    everything = chart_data(subject, draw_maps(subject, "pca"))["map"]["features"]
    assert len(everything) == 9
    monkeypatch.setattr(module, "MOST_FEATURES", 3)
    kept = chart_data(subject, draw_maps(subject, "pca"))["map"]["features"]
    # The groups stand on the first three axes of both views; the others are noise.
    names = [f["name"] for f in kept]
    assert len(names) == 3
    assert all(n in (*"wxy", *(f"{'<script>alert(1)</script>'}{i}" for i in range(3)))
               for n in names)  # fmt: skip


def test_many_classes_are_cut_to_the_largest(subject, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_CLASSES", 2)
    known = np.array(["a"] * 100 + ["b"] * 10 + ["c"] * 40)
    found = chart_data(replace(subject, known=known), draw_maps(subject, "pca"))
    assert found["contingency"]["classes"] == ["a", "c"]


def test_without_views_and_embedding_there_is_no_map(subject) -> None:
    bare = replace(subject, views=None, embedding=None)
    data = chart_data(bare, draw_maps(bare, "pca"))
    assert data["map"] is None and data["views"] == []


def test_classes_that_are_numbers_stay_in_their_order(subject) -> None:
    numbered = replace(subject, known=np.arange(150) % 12)
    assert numbered.classes[0] == [str(i) for i in range(12)]
    mixed = np.array([1, "a", None] * 50, dtype=object)
    assert replace(subject, known=mixed).classes[0] == ["1", "None", "a"]


def back(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def test_whole_numbers_come_back() -> None:
    values = np.array([0, 1, 65535])
    np.testing.assert_array_equal(back(whole_numbers(values, "<u2"), "<u2"), values)


def test_places_keep_the_shape_of_the_map() -> None:
    points = np.array([[0.0, 5.0], [10.0, 5.0], [5.0, 7.5]])
    coded = places(points)
    x, y = back(coded["x"], "<u2"), back(coded["y"], "<u2")
    np.testing.assert_array_equal(x, [0, 65535, 32768])
    np.testing.assert_array_equal(y, [0, 0, 16384])


def test_shades_span_the_percentiles() -> None:
    values = np.arange(101.0)
    column = shades(values)
    codes = back(column["codes"], "u1")
    assert (column["low"], column["high"]) == (1.0, 99.0)
    assert (codes[0], codes[1], codes[50], codes[99], codes[100]) == (
        0,
        0,
        127,
        254,
        254,
    )
    assert MISSING not in codes


def test_missing_values_have_a_code_of_their_own() -> None:
    values = np.array([1.0, np.nan, 3.0, 100.0])
    column = shades(values, np.array([True, True, True, False]))
    assert back(column["codes"], "u1").tolist() == [0, MISSING, 254, MISSING]
    assert column["high"] <= 3.0


@pytest.mark.parametrize("values", [np.full(5, 2.0), np.full(3, np.nan)])
def test_constant_and_empty_columns_stay_finite(values) -> None:
    column = shades(values)
    assert np.isfinite([column["low"], column["high"]]).all()


def test_a_rare_value_is_not_lost_between_percentiles() -> None:
    values = np.zeros(1000)
    values[3] = 7.0
    codes = back(shades(values)["codes"], "u1")
    assert codes[3] == 254 and codes.sum() == 254
