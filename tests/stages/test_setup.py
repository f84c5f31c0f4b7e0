"""The rows' state from small values alone: what checkpoints and new rows begin with."""

import numpy as np
import pytest

from manyview import S2MVTC, SequenceS2MVTC
from manyview.engine.contract import lowered
from manyview.engine.local import open_engine
from manyview.stages.setup import enter
from manyview.views.views import Views

SMALL = {"n_anchors": 40, "n_init": 2, "random_state": 0}


@pytest.mark.parametrize(
    "model",
    [
        S2MVTC(4, n_graph_anchors=80, **SMALL),
        SequenceS2MVTC(4, smoothing_weight=0.0, **SMALL),
        SequenceS2MVTC(4, graph=True, n_graph_anchors=80, **SMALL),
        SequenceS2MVTC(4, start="directions", smoothing_weight=0.0, **SMALL),
    ],
    ids=repr,
)
def test_entering_gives_every_row_the_state_it_had_before_the_rounds(
    three_views, model
):
    views = Views(three_views[0])
    passes = model.fit(views)._passes
    found = []
    for rows in (np.arange(300), np.random.default_rng(0).permutation(300)):
        shuffled = Views([x[rows] for x in views.arrays])
        with lowered(block_rows=70):
            engine = open_engine(shuffled, np.float64, view_order=passes.view_order)
            enter(engine, passes.spectrum, passes.start)
        assert ("F" in names_of(engine)) == (passes.spectrum is not None)
        found.append(engine.read("B_bar")[np.argsort(rows)])
    np.testing.assert_array_equal(*found)
    lengths = np.linalg.norm(found[0], axis=1)
    assert (lengths > 0).all()


def names_of(engine):
    try:
        engine.read("F")
    except (KeyError, AssertionError):
        return set()
    return {"F"}
