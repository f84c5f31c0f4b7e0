import json

import numpy as np
import pytest

from manyview.datasets import (
    describe,
    label_order,
    registry,
    summary,
    summary_lines,
)
from manyview.views.views import Views


def test_orders_are_told_apart():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 40)
    assert label_order(labels) == label_order(labels[::-1]) == "label-sorted"
    assert label_order(rng.permutation(labels)) == "random"
    assert label_order(np.tile(np.repeat(np.arange(5), 10), 4)) == "label-grouped"


def test_facts_of_a_data_set(parts):
    a, b, y = parts
    present = np.ones((12, 2), bool)
    present[:3, 1] = False
    views = Views({"image": a, "text": b}, labels=np.sort(y), present=present)
    facts = summary(views)
    assert facts["rows"] == 12 and facts["classes"] == 3
    assert facts["class_sizes"] == (4, 4) and facts["label_changes"] == 2
    assert facts["order"] == "label-sorted"
    assert facts["views"][1] == {
        "name": "text",
        "features": 5,
        "dtype": "float64",
        "sparse": False,
        "missing_rows": 3,
    }
    json.dumps(facts)
    text = "\n".join(summary_lines(views))
    assert "12 rows, 2 views" in text and "missing for 3 rows" in text
    assert "3 classes of 4 to 4 rows, label-sorted (2 label changes)" in text


def test_no_labels_is_said(parts):
    assert summary_lines(Views([parts[0]]))[-1] == "  no labels"


def test_known_sets_without_files(monkeypatch):
    monkeypatch.delenv("MANYVIEW_DATA", raising=False)
    rows = describe()
    assert len(rows) == 34 and not any(r["found"] for r in rows)


def test_a_wrong_file_is_a_problem_not_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    (tmp_path / "ORL.npz").write_bytes(b"PK")
    (row,) = [r for r in describe() if r["found"]]
    assert row["name"] == "ORL" and "could not be read" in row["problem"]


@pytest.mark.data
def test_orders_of_real_sets(data_folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(data_folder))
    wanted = ("CCV", "Handwritten", "GesturePhase", "Wikipedia")
    entries = [e for e in registry.known() if e.name in wanted]
    monkeypatch.setattr(registry, "known", lambda: entries)
    rows = {r["name"]: r for r in describe() if r["found"]}
    assert all(r["problem"] is None for r in rows.values())
    seen = {n: (rows[n]["order"], rows[n]["label_changes"]) for n in rows}
    assert seen["CCV"] == ("label-grouped", 717)
    assert seen["Handwritten"] == ("label-sorted", 9)
    assert seen["GesturePhase"] == ("time", 389)
    assert seen["Wikipedia"] == ("random", 2545)
