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


def slow_contradiction(views, present, k=strangeness.NEIGHBOURS):
    """Of every row in every view, row by row; all rows are drawn."""
    n, n_views = present.shape
    d = [np.linalg.norm(x[:, None] - x[None], axis=2) for x in views]
    near = {}
    for v in range(n_views):
        for i in np.flatnonzero(present[:, v]):
            others = [j for j in np.flatnonzero(present[:, v]) if j != i]
            near[v, i] = sorted(others, key=lambda j: d[v][i, j])[:k]

    def apart(v, u, i):
        """Mean distance, in view v, to the neighbours in view u."""
        known = [j for j in near.get((u, i), ()) if present[j, v]]
        return np.mean([d[v][i, j] for j in known]) if known else np.nan

    found = np.full((n, n_views), np.nan)
    for v in range(n_views):
        there = np.flatnonzero(present[:, v])
        floor = np.mean([np.mean([d[v][i, j] for j in near[v, i]]) for i in there])
        floor *= strangeness.SAME_PLACE
        for i in there:
            ratios = []
            for u in set(range(n_views)) - {v}:
                if (u, i) not in near:
                    continue
                known = [j for j in near[u, i] if present[j, v]]
                theirs = np.mean([apart(v, u, j) for j in known]) if known else np.nan
                ratios.append(np.log((apart(v, u, i) + floor) / (theirs + floor)))
            ratios = [r for r in ratios if not np.isnan(r)]
            found[i, v] = np.mean(ratios) if ratios else 0.0
    return found


@pytest.mark.parametrize("lacking", [0.0, 0.3])
def test_contradictions_are_what_a_slow_count_finds(lacking):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 90)
    views = [2.0 * labels[:, None] + rng.normal(size=(90, d)) for d in (4, 3, 5)]
    present = rng.random((90, 3)) >= lacking
    present[:, 0] |= ~present.any(axis=1)
    with lowered(block_rows=32):
        engine = open_engine(Views(views, present=present), np.dtype(np.float64))
        engine.put(LABELS, labels)
        found = strangeness.measure_strangeness(engine, None, 3)[:, 3]
    expected = slow_contradiction(views, present)
    for v in range(3):
        own = expected[present[:, v], v]
        middle, edge = np.quantile(own, [0.5, 0.9])
        own = (own - middle) / ((edge - middle) / strangeness.ORDINARY_DEVIATIONS) - 1
        assert found[present[:, v], v] == pytest.approx(np.maximum(own, 0), abs=1e-6)
        assert np.isnan(found[~present[:, v], v]).all()


def test_one_view_has_nothing_to_contradict():
    x = np.random.default_rng(0).normal(size=(60, 3))
    engine = open_engine(Views([x]), np.dtype(np.float64))
    engine.put(LABELS, np.zeros(60, dtype=int))
    assert (strangeness.measure_strangeness(engine, None, 1)[:, 3] == 0).all()
