"""Rows that are followed keep the caller's numbers and views."""

import numpy as np
import pytest

from manyview.engine.local import LocalEngine
from manyview.errors import InputError
from manyview.stages.tracing import caller_trace, trace_rows
from manyview.views.views import Views


@pytest.fixture
def engine():
    rng = np.random.default_rng(0)
    views = Views([rng.normal(size=(30, 2)), rng.normal(size=(30, 3))])
    return LocalEngine(views, np.float64, view_order=(1, 0))


def test_traced_rows_are_the_engines_sorted(engine):
    wanted = [20, 3, 11]
    rows = trace_rows(engine, wanted)
    assert (np.diff(rows) > 0).all()
    assert sorted(engine.caller_rows(rows)) == sorted(wanted)


def test_traces_go_back_to_the_callers_rows_and_views(engine):
    wanted = [3, 11, 20]
    rows = trace_rows(engine, wanted)
    # What the engine traces of its rows: the caller's number of each.
    numbers = engine.caller_rows(rows)[:, None]
    traced = [{"B0": numbers + 0.1, "B1": numbers + 0.2, "B_bar": numbers}]
    (found,) = caller_trace(traced, engine, wanted)
    assert found["B_bar"].ravel().tolist() == wanted
    np.testing.assert_allclose(found["B1"].ravel(), np.array(wanted) + 0.1)
    np.testing.assert_allclose(found["B0"].ravel(), np.array(wanted) + 0.2)


def test_rows_that_are_not_there_are_a_sentence(engine):
    with pytest.raises(InputError, match="Row numbers must lie in 0 … 29"):
        trace_rows(engine, [3, 30])
