"""Rows that have only some views: chains join them, and gaps are told."""

import warnings

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral, Views
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.engine.local import open_engine
from manyview.errors import DegenerateWarning
from manyview.metrics import ari
from manyview.running import progress
from manyview.stages import overlaps
from manyview.stages.sampling import draw

N_ROWS = 400


@pytest.fixture(scope="module")
def full():
    return make_views(N_ROWS, (8, 12, 6, 10), 4, random_state=0)


def chain(n_rows, n_views, seed=0):
    """Every row has two views that stand beside each other; and which two."""
    link = np.random.default_rng(seed).integers(n_views - 1, size=n_rows)
    present = np.zeros((n_rows, n_views), dtype=bool)
    rows = np.arange(n_rows)
    present[rows, link] = present[rows, link + 1] = True
    return present, link


@pytest.mark.parametrize("method", [S2MVTC, AnchorSpectral])
def test_a_mosaic_is_clustered_though_no_row_has_all_views(full, method):
    present, link = chain(N_ROWS, 4)
    assert not present.all(axis=1).any()
    found = method(4, random_state=0).fit(Views(full.arrays, present=present)).labels_
    assert ari(full.labels, found) > 0.8
    # Rows that share no view at all are in the same clusters where they belong there.
    ends = np.isin(link, [0, 2])
    assert ari(full.labels[ends], found[ends]) > 0.8


def test_new_rows_of_a_mosaic_may_have_any_view(full):
    present, _ = chain(N_ROWS, 4)
    model = S2MVTC(4, random_state=0).fit(Views(full.arrays, present=present))
    alone = np.zeros((N_ROWS, 4), dtype=bool)
    alone[np.arange(N_ROWS), np.arange(N_ROWS) % 4] = True
    found = model.predict(Views(full.arrays, present=alone))
    assert ari(model.labels_, found) > 0.6


def test_views_that_no_row_joins_are_told(full):
    present = np.zeros((N_ROWS, 4), dtype=bool)
    present[:200, :2] = present[200:, 2:] = True
    views = Views(full.arrays, names=["a", "b", "c", "d"], present=present)
    words = "No row has both a view of a, b and one of c, d, for 4 clusters"
    with pytest.warns(DegenerateWarning, match=words):
        AnchorSpectral(4, random_state=0).fit(views)
    present[:3, 3] = True  # fewer than clusters
    views = Views(full.arrays, names=["a", "b", "c", "d"], present=present)
    with pytest.warns(DegenerateWarning, match="At most 3 rows have both a view of a"):
        AnchorSpectral(4, random_state=0).fit(views)
    present[:20, 3] = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AnchorSpectral(4, random_state=0).fit(Views(full.arrays, present=present))


def test_few_joining_rows_are_found_beyond_the_drawn_ones(full):
    present = np.zeros((N_ROWS, 4), dtype=bool)
    present[:200, :2] = present[200:, 2:] = True
    present[100:106, 2] = True
    engine = open_engine(Views(full.arrays, present=present), np.dtype(np.float32))
    drawn = draw(engine, 10, 0)
    assert (drawn.block.present[:, 1:3].sum(axis=1) < 2).all(), "none of them is drawn"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        overlaps.check_views_overlap(engine, drawn, list("abcd"), 6)
    with pytest.warns(DegenerateWarning, match="At most 6 rows"):
        overlaps.check_views_overlap(engine, drawn, list("abcd"), 7)


def test_whole_data_pay_nothing(full):
    titles = []
    with lowered(block_rows=128), progress.listen(lambda t, done, n: titles.append(t)):
        AnchorSpectral(4, random_state=0).fit(full)
        assert "Looking for rows that join views" not in titles
