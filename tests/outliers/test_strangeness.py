"""The deviations of every row against a slow reference."""

import numpy as np
import pytest

from manyview.engine.contract import lowered
from manyview.engine.local import open_engine
from manyview.kmeans.passes import LABELS
from manyview.outliers import strangeness
from manyview.views.views import Views


def slow(x, labels, rows, k=strangeness.NEIGHBOURS):
    """Log ratios and shares of one standardised view, row by row."""
    near = {}
    for i in range(len(x)):
        apart = [(np.linalg.norm(x[i] - x[j]), j) for j in rows if j != i]
        near[i] = sorted(apart)[:k]
    mean = {i: np.mean([d for d, _ in found]) for i, found in near.items()}
    floor = strangeness.SAME_PLACE * np.mean([mean[j] for j in rows])
    far = []
    for i, found in near.items():
        theirs = np.mean([mean[j] for _, j in found])
        far.append(np.log((mean[i] + floor) / (theirs + floor)))
    unlike = [np.mean([labels[j] != labels[i] for _, j in near[i]]) for i in near]
    return np.array(far), np.array(unlike)


@pytest.mark.parametrize("most", [1000, 60])
def test_strangeness_is_what_a_slow_count_finds(most, monkeypatch):
    monkeypatch.setattr(strangeness, "DRAWN_ROWS", most)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 150)
    x = 3.0 * labels[:, None] + rng.normal(size=(150, 4))
    with lowered(block_rows=64):
        engine = open_engine(Views([x]), np.dtype(np.float64))
        engine.put(LABELS, labels)
        drawn = strangeness.draw(engine, min(most, 150), 0).caller_rows
        found = strangeness.measure_strangeness(engine, None, 3)
    far, unlike = slow(x, labels, list(drawn))
    middle, edge = np.quantile(far[drawn], [0.5, 0.9])
    expected = (far - middle) / ((edge - middle) / strangeness.ORDINARY_DEVIATIONS) - 1
    assert found[:, 0, 0] == pytest.approx(np.maximum(expected, 0.0), abs=1e-6)
    doubt = max(unlike[drawn].std(), 0.05)
    expected = (unlike - unlike[drawn].mean()) / doubt
    assert found[:, 1, 0] == pytest.approx(np.maximum(expected, 0.0), abs=1e-9)


@pytest.mark.parametrize("kind", ["root", "unit", "cosine"])
def test_sizes_count_where_rows_are_compared_by_angle(kind):
    rng = np.random.default_rng(1)
    x = rng.poisson(2.0, size=(150, 30)).astype(float) + np.eye(150, 30)
    x[0] *= 40.0
    x[1] /= 40.0
    x[2] = 4.0
    engine = open_engine(Views([x]), np.dtype(np.float64))
    engine.put(LABELS, rng.integers(0, 3, 150))
    found = strangeness.measure_strangeness(engine, kind, 3)[:, 2, 0]
    rows = np.sqrt(x) if kind == "root" else x
    rows = rows - rows.mean(axis=0) if kind == "cosine" else rows
    length = np.linalg.norm(rows, axis=1)
    spread = np.abs(rows).sum(axis=1) / length
    expected = np.zeros(150)
    for values, sides in (
        (length, (1, -1)),
        (spread, () if kind == "cosine" else (1,)),
    ):
        logs = np.log(values)
        away, beyond = logs - np.median(logs), np.zeros(150)
        for side in sides:
            one = np.quantile(side * away, 0.9) / strangeness.ORDINARY_DEVIATIONS
            beyond = np.maximum(beyond, side * away / one - 1.0)
        expected += beyond**2
    assert found == pytest.approx(np.sqrt(expected), abs=1e-6)
    assert found[:2].min() > 3.0
    assert (found[2] > 2.0) == (kind != "cosine")
