"""The benchmarks of probabilities, sizes and many rows run, and score exactly."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest


def test_the_calibration_error_is_the_mean_gap(script):
    stated = np.array([0.95, 0.95, 0.95, 0.95, 0.55, 0.55, 1.0])
    right = np.array([1, 1, 1, 0, 1, 0, 1], dtype=bool)
    found = script("reliability_of_proba").binned(stated, right)
    assert found.counts[9] == 5 and found.counts[5] == 2
    high = abs((4 * 0.95 + 1) / 5 - 0.8)
    assert found.error == pytest.approx((5 * high + 2 * 0.05) / 7)


def test_clusters_stand_for_the_classes_they_share_most_with(script):
    classes = np.array([0, 0, 1, 1, 2, 2])
    labels = np.array([2, 2, 0, 1, 1, 1])
    found = script("reliability_of_proba").matched(classes, labels)
    assert found.tolist() == [0, 0, 1, 2, 2, 2]


@pytest.mark.slow
def test_the_quick_runs_write_their_pages(run, tmp_path):
    page, picture = tmp_path / "page.md", tmp_path / "picture.png"
    run("reliability_of_proba", "--quick", "--out", page, "--figure", picture)
    assert "| small | 600 | 4 |" in page.read_text() and picture.stat().st_size > 9999
    run("stated_sizes", "--quick", "--out", page)
    (line,) = [x for x in page.read_text().splitlines() if x.startswith("| small")]
    plain, equal, _ = (float(cell) for cell in line.split("|")[6:9])
    assert equal > plain - 0.02


@pytest.mark.slow
def test_discriminants_of_views_are_measured_on_the_road_of_many_rows(run, tmp_path):
    page = tmp_path / "page.md"
    run("many_rows", "--quick", "--seeds", "1", "--out", page)
    assert "| generated, 1 : 40 | 1500 |" in page.read_text()


@pytest.mark.slow
def test_steps_of_few_rows_are_left_out_one_by_one(run, script, tmp_path, monkeypatch):
    monkeypatch.setattr(script("few_rows"), "ProcessPoolExecutor", ThreadPoolExecutor)
    page = tmp_path / "page.md"
    run("few_rows", "--quick", "--seeds", "1", "--out", page)
    first, *_ = [x for x in page.read_text().splitlines() if x.startswith("| small")]
    scores = [float(cell) for cell in first.split("|")[2:-1]]
    assert len(scores) == 5 and scores[0] > scores[4]
