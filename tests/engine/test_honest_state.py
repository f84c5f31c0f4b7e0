"""State that cannot lie: any history of passes, on any engine, against plain arrays."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyview.arrays.ops import namespace, to_host
from manyview.engine.contract import Result, touches
from manyview.engine.local import LocalEngine
from manyview.engine.partition import Sealed, field_rows
from manyview.views.views import Views
from tests.checking import CheckingEngine

NAMES = ("a", "b", "c")
ENGINES = ("memory", "as they stand", "limited", "spilled", "device", "partitions")


def rows_of(n_rows):
    return np.random.default_rng(n_rows).normal(size=(n_rows, 2))


def local_engine(n_rows, block_rows, *, limit=None, room=0, in_order=True):
    views = Views([rows_of(n_rows)])
    engine = LocalEngine(views, np.float64, block_rows=block_rows, memory_limit=limit)
    if limit is not None:
        engine._budget.fixed = engine._budget.limit - room
    if not in_order:
        engine._order = None
    return engine


def device_engine(n_rows, block_rows):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from manyview.engine.device import DeviceEngine

    views, cpu = Views([rows_of(n_rows)]), torch.device("cpu")
    return DeviceEngine(views, np.float64, cpu, block_rows=block_rows)


class Done:
    """A future whose task has been run."""

    def __init__(self, key, value):
        self.key, self.value = key, value

    def result(self):
        return self.value


class OneProcess:
    """A client whose workers are this process: tasks run when they are sent."""

    status = "running"

    def nthreads(self):
        return {"first": 2, "second": 1}

    def scheduler_info(self, n_workers):
        return {"workers": {w: {"memory_limit": None} for w in self.nthreads()}}

    def get(self, graph, keys, **where):
        found = {}

        def value_of(task):
            if isinstance(task, Done):
                return task.value
            if isinstance(task, str) and task in graph:
                if task not in found:
                    found[task] = value_of(graph[task])
                return found[task]
            if isinstance(task, tuple) and task and callable(task[0]):
                return task[0](*map(value_of, task[1:]))
            return [value_of(t) for t in task] if isinstance(task, list) else task

        return [Done(key, value_of(key)) for key in keys]


def partitioned_engine(n_rows, block_rows):
    pytest.importorskip("distributed", reason="Dask is not installed")
    from manyview.engine.dask import DaskEngine

    class Partitions(DaskEngine):
        def read(self, name):
            states = self._kept[self._owners[name]]
            parts = [field_rows(s.result(), Sealed(name)) for s in states]
            found = np.concatenate(parts)
            return found[self.engine_rows(np.arange(len(found)))]

    views = Views([rows_of(n_rows)])
    return Partitions(views, np.float64, OneProcess(), block_rows=block_rows)


def make_engine(kind, n_rows, block_rows, room=0):
    """An engine of one view of two features."""
    if kind == "device":
        return device_engine(n_rows, block_rows)
    if kind == "partitions":
        return partitioned_engine(n_rows, block_rows)
    limit = "1GB" if kind in ("limited", "spilled") else None
    room = 10**6 if kind == "limited" else room
    in_order = kind != "as they stand"
    return local_engine(n_rows, block_rows, limit=limit, room=room, in_order=in_order)


def made_of(x, width, scale):
    """A field of this width, of the rows of a view or of another field."""
    xp = namespace(x)
    own = xp.sum(x, axis=1)[:, None]
    return scale * own + xp.concat(
        [k * xp.ones_like(own) for k in range(width)], axis=1
    )


@touches(reads=NAMES, writes=NAMES)
def any_step(block, state, small):
    """One kind of pass; the note is what the block sees."""
    kind, name, other, width = small
    x = block.views[0]
    seen = sorted(state)
    if kind == "make":
        return Result({name: made_of(x, width, 2.0)}, note=seen)
    if kind == "rewrite":
        return Result({name: state[name] * 2 + 1}, note=seen)
    if kind == "replace":
        fresh = made_of(state[other], width, 0.5)
        return Result({name: fresh}, note=seen, replaces={name: other})
    if kind == "ask":
        found = state.get(other)
        return Result(
            {name: made_of(x if found is None else found, width, 3.0)}, note=seen
        )
    if kind == "fail" and block.start + len(block) > other:
        raise ValueError("inside")
    if kind == "ragged" and block.start == 0:
        return Result({}, note=seen)
    return Result({name: made_of(x, width, -1.0)}, note=seen)


def expected(model, x, small):
    """The same pass on plain arrays of all rows."""
    kind, name, other, width = small
    if kind == "make":
        return {**model, name: made_of(x, width, 2.0)}
    if kind == "rewrite":
        return {**model, name: model[name] * 2 + 1}
    if kind == "replace":
        rest = {n: values for n, values in model.items() if n != other}
        return {**rest, name: made_of(model[other], width, 0.5)}
    return {**model, name: made_of(model.get(other, x), width, 3.0)}


def passes(kind):
    """Passes of one kind, on two different fields."""
    pairs = st.permutations(NAMES).map(lambda names: names[:2])
    return st.tuples(st.just(kind), pairs, st.integers(1, 3)).map(
        lambda p: (p[0], *p[1], p[2])
    )


HISTORIES = st.lists(
    st.one_of(
        *map(passes, ("make", "make", "rewrite", "replace", "ask", "put", "drop")),
        *map(passes, ("read", "fail", "ragged")),
    ),
    max_size=14,
)


def walk(engine, n_rows, history):
    """Take every step of a history; all that was read must stay what it was."""
    x, model = rows_of(n_rows), {}
    snapshots = []
    for small in history:
        kind, name, other, width = small
        if kind == "put":
            model[name] = made_of(x, width, 7.0)
            engine.put(name, model[name])
        elif kind == "drop":
            engine.drop(name)
            model.pop(name, None)
        elif kind == "read" and name in model:
            snapshots.append((engine.read(name), model[name]))
        elif kind == "fail":
            spoil(engine, model, (kind, name, n_rows // 2, width), ValueError)
        elif kind == "ragged" and len(engine.run(any_note, title="Count")[1]) > 1:
            spoil(engine, model, small, AssertionError)
        elif kind in ("make", "ask") or (kind, name in model) == ("rewrite", True):
            model = run_pass(engine, model, x, small)
        elif kind == "replace" and other in model:
            model = run_pass(engine, model, x, small)
    for name in model:
        snapshots.append((engine.read(name), model[name]))
    for found, wanted in snapshots:
        np.testing.assert_allclose(to_host(found), wanted, rtol=1e-12)


@touches()
def any_note(block, state, small):
    return Result()


def run_pass(engine, model, x, small):
    _, notes = engine.run(any_step, small, title="Pass")
    assert all(note == sorted(model) for note in notes)
    return expected(model, x, small)


def spoil(engine, model, small, error):
    """A pass that ends in an error leaves its field as it was, or none at all."""
    _, name, _, _ = small
    with pytest.raises(error):
        engine.run(any_step, small, title="Fault")
    found = None
    with contextlib.suppress(KeyError, AssertionError):
        found = to_host(engine.read(name))
    if found is not None:
        np.testing.assert_allclose(found, model[name], rtol=1e-12)
    engine.drop(name)
    model.pop(name, None)


@pytest.mark.parametrize("kind", ENGINES)
@settings(max_examples=40)
@given(
    n_rows=st.integers(2, 40),
    block_rows=st.integers(1, 41),
    threads=st.integers(1, 3),
    room=st.sampled_from([0, 200, 700]),
    history=HISTORIES,
)
def test_state_is_that_of_plain_arrays(
    kind, n_rows, block_rows, threads, room, history
):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("manyview.engine.local.CORES", threads)
        engine = make_engine(kind, n_rows, block_rows, room)
        walk(CheckingEngine(engine), n_rows, history)


@touches(reads=["x"], writes=["x"])
def asking_step(block, state, small):
    """Makes a field, and says whether it was there before."""
    there = "x" in state, state.get("x") is not None, "x" in list(state)
    return Result({"x": block.views[0] + small}, note=there)


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("threads", [1, 2])
def test_no_block_sees_what_another_has_just_made(kind, threads, monkeypatch):
    monkeypatch.setattr("manyview.engine.local.CORES", threads)
    engine = make_engine(kind, 40, 5)
    _, notes = engine.run(asking_step, 1.0, title="First")
    assert len(notes) >= 8 and set(notes) == {(False, False, False)}
    _, notes = engine.run(asking_step, 2.0, title="Second")
    assert set(notes) == {(True, True, True)}
    np.testing.assert_allclose(to_host(engine.read("x")), rows_of(40) + 2.0)
    assert kind != "spilled" or engine._state._files


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_make_different_fields_are_an_error(kind, threads, monkeypatch):
    monkeypatch.setattr("manyview.engine.local.CORES", threads)
    engine = make_engine(kind, 40, 5)
    with pytest.raises(AssertionError, match="different fields"):
        engine.run(any_step, ("ragged", "a", "b", 1), title="Ragged")


def odd_one_out(block, state, small):
    here = small <= block.start < small + 7
    return Result({"odd" if here else "a": block.views[0]})


@pytest.mark.parametrize(("block_rows", "odd"), [(5, 5), (20, 0)])
def test_partitions_differ_inside_or_among_themselves(block_rows, odd):
    """Partitions of several blocks, or of one each."""
    engine = make_engine("partitions", 40, block_rows)
    with pytest.raises(AssertionError, match="different fields"):
        engine.run(odd_one_out, odd, title="Odd")


def test_a_failed_pass_leaves_no_field_half_rewritten(monkeypatch):
    monkeypatch.setattr("manyview.engine.local.CORES", 1)
    engine = make_engine("spilled", 40, 5)
    engine.put("a", np.zeros((40, 2)))
    assert engine._state._files
    with pytest.raises(ValueError, match="inside"):
        engine.run(any_step, ("fail", "a", 20, 2), title="Fault")
    with pytest.raises(KeyError):
        engine.read("a")
