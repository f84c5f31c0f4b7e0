"""The checking engine sees what it is there to see, and all fits run on it."""

import dataclasses
import pickle
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import S2MVTC
from manyview.engine.contract import Result, touches
from manyview.engine.local import LocalEngine
from manyview.views.views import Views
from tests import checking
from tests.checking import CheckingEngine

NAMES = ("x", "Phi")


class Small(NamedTuple):
    """A matrix, and one further down."""

    matrix: np.ndarray
    inner: tuple


@pytest.fixture
def engine():
    made = CheckingEngine(LocalEngine(Views([np.eye(6)]), np.float64, block_rows=2))
    made.put("x", np.zeros(6))
    made.put("y", np.zeros(6))
    return made


def run(engine, body, small=None, *, reads=NAMES, writes=NAMES, **more):
    step = touches(reads=reads, writes=writes)(lambda b, s, m: body(b, s, m))
    return engine.run(step, small, title="Pass", **more)


def test_a_step_within_the_contract_passes(engine):
    small = Small(np.ones(2), (np.ones(1), "word"))

    def body(block, state, small):
        assert "Phi0" not in state and state.get("Phi3") is None
        assert list(state) == ["x"] and len(state) == 1
        assert small.inner[1] == "word"
        fresh = state["x"] + small.matrix[0]
        return Result({"Phi0": fresh}, {"sum": fresh.sum()}, 5, {"Phi0": "x"})

    total, notes = run(engine, body, small)
    assert total["sum"] == 6 and notes == [5, 5, 5]
    assert engine.fields == {"Phi0", "y"}
    np.testing.assert_array_equal(engine.read("Phi0"), np.ones(6))
    with pytest.raises(AssertionError, match="there is none"):
        engine.read("x")


def test_a_step_that_declares_nothing_is_refused(engine):
    with pytest.raises(AssertionError, match="does not declare"):
        engine.run(lambda b, s, m: Result(), title="Pass")


@pytest.mark.parametrize(
    "asks",
    [
        lambda state: state["y"],
        lambda state: "y" in state,
        lambda state: state.get("y"),
        lambda state: "absent" in state,
        lambda state: state.get("Phix"),
    ],
)
def test_a_field_that_is_not_declared_is_refused(engine, asks):
    with pytest.raises(AssertionError, match="asks for"):
        run(engine, lambda b, s, m: Result(note=asks(s)))


def write_into(array):
    array[...] = 1


@pytest.mark.parametrize(
    "spoils",
    [
        lambda b, s, m: write_into(s["x"]),
        lambda b, s, m: write_into(s.get("x")),
        lambda b, s, m: write_into(b.views[0]),
        lambda b, s, m: write_into(b.present),
        lambda b, s, m: write_into(m.matrix),
        lambda b, s, m: write_into(m.inner[0]),
        lambda b, s, m: write_into(m.inner[1]["deep"][0].data),
    ],
)
def test_nothing_that_was_given_can_be_written_into(engine, spoils):
    deep = {"deep": [sp.csr_array(np.eye(2))]}
    small = Small(np.zeros(2), (np.zeros(2), deep))

    def body(block, state, small):
        spoils(block, state, small)
        return Result()

    with pytest.raises(ValueError, match="read-only"):
        run(engine, body, small)


def test_sparse_views_are_read_only():
    views = Views([sp.csr_array(np.eye(6))])
    engine = CheckingEngine(LocalEngine(views, np.float64))
    with pytest.raises(ValueError, match="read-only"):
        run(engine, lambda b, s, m: write_into(b.views[0].data))


@pytest.mark.parametrize("place", ["views", "state", "small"])
def test_writing_into_a_tensor_is_noticed(place):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from manyview.engine.device import DeviceEngine

    inner = DeviceEngine(Views([np.eye(6)]), np.float64, torch.device("cpu"))
    engine = CheckingEngine(inner)
    engine.put("x", np.zeros(6))

    def body(block, state, small):
        given = {"views": block.views[0], "state": state["x"], "small": small.inner[0]}
        given[place] += 1
        return Result()

    with pytest.raises(AssertionError, match="writes into a tensor"):
        run(engine, body, Small(np.ones(2), (np.ones(3),)))


def result_of(**parts):
    return lambda b, s, m: Result(
        {n: np.zeros(len(b)) for n in parts["state"]}, replaces=parts["replaces"]
    )


@pytest.mark.parametrize(
    ("state", "replaces", "match"),
    [
        (["z"], {}, "makes z"),
        (["Phi0"], {"Phi0": "Phi1"}, "there is none"),
        (["Phi0"], {"Phi1": "x"}, "by nothing"),
        (["Phi0", "x"], {"Phi0": "x"}, "makes and replaces"),
        (["Phi0", "Phi1"], {"Phi0": "x", "Phi1": "x"}, "twice"),
    ],
)
def test_results_beyond_the_declaration_are_refused(engine, state, replaces, match):
    with pytest.raises(AssertionError, match=match):
        run(engine, result_of(state=state, replaces=replaces))


@pytest.mark.parametrize(
    "odd",
    [
        lambda: Result({"x": np.zeros((2, 1))}),
        lambda: Result({"x": np.zeros(2, np.float32)}),
        lambda: Result({"x": np.zeros(2)}, replaces={"x": "y"}),
    ],
)
def test_blocks_that_give_back_different_things_are_refused(engine, odd):
    def body(block, state, small):
        return odd() if block.start == 2 else Result({"x": np.zeros(2)})

    with pytest.raises(AssertionError, match="different fields"):
        run(engine, body)


class Leaking(LocalEngine):
    """Shows a block what another one of the same pass has made."""

    def _results(self, step, small, views):
        made = {}

        def leaky(block, state, small):
            result = step(block, {**state, **made}, small)
            made.update(result.state)
            return result

        return super()._results(leaky, small, views)


def test_an_engine_that_shows_fields_too_early_is_noticed():
    engine = CheckingEngine(Leaking(Views([np.eye(6)]), np.float64, block_rows=2))
    with pytest.raises(AssertionError, match="existed when the pass began"):
        run(engine, lambda b, s, m: Result({"x": np.zeros(2)}))


@touches(reads=["x"])
def plain_step(block, state, small):
    return Result()


def test_a_checked_step_travels(engine):
    step = checking.CheckedStep(plain_step, frozenset("x"))
    twin = pickle.loads(pickle.dumps(step))
    block = engine.take(np.arange(2))
    seen = twin(block, {"x": np.zeros(2)}, None).note
    assert dataclasses.astuple(seen) == (None, frozenset(), frozenset())


def test_every_fit_and_prediction_runs_on_it(three_views, monkeypatch):
    checked = []
    monkeypatch.setattr(
        checking.CheckedStep, "check", lambda self, result: checked.append(self.name)
    )
    model = S2MVTC(4, random_state=0).fit(three_views[0])
    assert {"round_step", "known_step"} <= set(checked)
    checked.clear()
    model.predict(three_views[0])
    assert {"round_step", "vote_step"} <= set(checked)


@pytest.mark.unchecked
def test_a_marked_test_runs_without_it(three_views, monkeypatch):
    monkeypatch.setattr(checking.CheckedStep, "__init__", None)
    S2MVTC(4, random_state=0).fit(three_views[0])
