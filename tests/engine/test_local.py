"""The local engine: blocks, sums in order, faults inside a step."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from manyview.engine.contract import Result, touches
from manyview.engine.local import LocalEngine, open_engine
from manyview.errors import ManyviewError
from manyview.running import progress
from manyview.views.views import Views

pytestmark = pytest.mark.unchecked


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return Views([rng.normal(size=(50, 3)), rng.normal(size=(50, 2))])


def sum_step(block, state, small):
    return Result(
        state={"double": 2 * block.views[0]},
        stats={"sum": block.views[0].sum(axis=0), "rows": np.array(len(block))},
        note=(block.start, len(block), small),
    )


@pytest.mark.parametrize("block_rows", [1, 7, 50, 99, None])
def test_run_covers_every_row_once(views, block_rows):
    engine = LocalEngine(views, np.float64, block_rows=block_rows)
    assert engine.n_samples == 50
    total, notes = engine.run(sum_step, "small", title="Sums")
    first = views.arrays[engine.view_order[0]]
    np.testing.assert_allclose(total["sum"], first.sum(axis=0))
    assert total["rows"] == 50
    starts = [start for start, _, _ in notes]
    assert starts == sorted(starts) and sum(n for _, n, _ in notes) == 50
    assert {small for _, _, small in notes} == {"small"}
    np.testing.assert_array_equal(engine.read("double"), 2 * first)


class Counted(np.ndarray):
    """Rows that count how often some of them are taken."""

    taken = 0

    def __getitem__(self, rows):
        type(self).taken += 1
        return np.asarray(self)[rows]


def test_a_view_is_taken_only_when_a_step_asks_for_it():
    """Once it is known that all rows have all views."""
    arrays = [np.random.default_rng(v).normal(size=(50, 3)) for v in range(2)]
    engine = LocalEngine(Views(arrays), np.float64, block_rows=25)
    engine.run(sum_step, title="Sums")
    for number, single in enumerate(engine._single):
        own = engine.views.arrays[number].view(Counted)
        single.arrays, engine.views.arrays = (own,), (own, own)
    for step, taken in ((size_step, 0), (sum_step, 2), (twice_step, 2)):
        Counted.taken = 0
        engine.run(step, title="Sums")
        assert Counted.taken == taken


def twice_step(block, state, small):
    assert len(block.views) == 2 and block.complete
    np.testing.assert_array_equal(block.views[1], block.views[1])
    return Result(note=block.start)


@pytest.mark.parametrize("present", [None, [[1, 1]] * 30 + [[1, 0]] * 20])
def test_every_pass_sees_the_same_rows(views, present):
    given = Views(views.arrays, present=present)
    engine = LocalEngine(given, np.float64, block_rows=10)

    def rows_step(block, state, small):
        return Result(note=(list(block.views), block.present, block.start))

    (_, first), (_, second) = (engine.run(rows_step, title="Rows") for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a[1], b[1])
        assert a[2] == b[2]
        for x, y in zip(a[0], b[0], strict=True):
            np.testing.assert_array_equal(x, y)


def test_sums_are_float64_and_do_not_alias_a_block(views):
    kept = []

    def step(block, state, small):
        part = np.ones(2, dtype=np.float32)
        kept.append(part)
        return Result(stats={"sum": part})

    total, _ = LocalEngine(views, np.float32, block_rows=10).run(step, title="Sums")
    assert total["sum"].dtype == np.float64
    np.testing.assert_array_equal(total["sum"], [5, 5])
    assert all((part == 1).all() for part in kept)


def test_state_is_put_read_and_dropped(views):
    engine = LocalEngine(views, np.float64, block_rows=8)
    engine.put("x", np.arange(50))
    np.testing.assert_array_equal(engine.read("x"), np.arange(50))
    engine.drop("x")
    engine.drop("x")
    with pytest.raises(KeyError):
        engine.read("x")


def test_take_gives_rows_in_the_order_asked_for(views):
    rows = np.array([40, 2, 40])
    engine = LocalEngine(views, np.float32)
    block = engine.take(engine.engine_rows(rows))
    v = engine.view_order.index(1)
    np.testing.assert_array_equal(block.views[v], views.arrays[1][rows])


def test_rows_and_views_are_visited_in_the_order_of_their_content(views):
    engine = LocalEngine(views, np.float64, block_rows=8)
    rows, turned = np.random.default_rng(1).permutation(50), [1, 0]
    shuffled = Views([views.arrays[v][rows] for v in turned])
    other = LocalEngine(shuffled, np.float64, block_rows=8)
    for v in range(2):
        assert turned[other.view_order[v]] == engine.view_order[v]
        every = np.arange(50)
        mine, its = engine.take(every).views[v], other.take(every).views[v]
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(
        engine.caller_rows(every), rows[other.caller_rows(every)]
    )
    assert (engine.caller_rows(every) != every).any()
    np.testing.assert_array_equal(engine.engine_rows(engine.caller_rows(every)), every)


def test_views_keep_the_order_of_an_earlier_fit(views):
    for order in ([0, 1], [1, 0]):
        engine = LocalEngine(views, np.float64, view_order=order)
        assert engine.view_order == tuple(order)
        assert [x.shape[1] for x in engine.take([0]).views] == [
            [3, 2][v] for v in order
        ]


def test_pass_without_views_gets_rows_only(views):
    def step(block, state, small):
        return Result(note=(len(block.views), len(block), block.present.shape))

    engine = LocalEngine(views, np.float64, block_rows=20)
    _, notes = engine.run(step, title="Rows", views=False)
    assert notes == [(0, 20, (20, 2)), (0, 20, (20, 2)), (0, 10, (10, 2))]


def test_mask_reaches_the_blocks(views):
    present = np.ones((50, 2), dtype=bool)
    present[13, 1] = False
    engine = open_engine(Views(list(views.arrays), present=present), np.float64)

    def step(block, state, small):
        return Result(note=block.present)

    found = np.concatenate(engine.run(step, title="Mask")[1])
    rows, columns = engine.engine_rows(np.arange(50)), np.argsort(engine.view_order)
    np.testing.assert_array_equal(found[rows][:, columns], present)


def blas_threads():
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("threads", [1, 2])
def test_fault_inside_a_step_comes_out_and_leaves_nothing_behind(
    views, fault, threads, monkeypatch
):
    monkeypatch.setattr("manyview.engine.local.CORES", threads)
    engine = LocalEngine(views, np.float64, block_rows=5)
    engine.put("x", np.zeros(50))
    before = blas_threads()

    def step(block, state, small):
        if block.start == 20:
            raise fault("inside")
        return Result(state={"x": np.ones(len(block))})

    with pytest.raises(fault, match="inside"):
        engine.run(step, title="Fault")
    assert blas_threads() == before
    with pytest.raises(KeyError):
        engine.read("x")
    total, _ = engine.run(sum_step, title="Sums")
    assert total["rows"] == 50


def test_progress_is_told_of_every_block(views):
    heard = []
    with progress.listen(lambda *step: heard.append(step)):
        LocalEngine(views, np.float64, block_rows=20).run(sum_step, title="Summing")
    assert heard == [("Summing", done, 3) for done in range(4)]


SCRIPT = """
import hashlib, numpy as np
from manyview import S2MVTC, Views
from manyview.engine.contract import Result, lowered
from manyview.engine.local import open_engine

def step(block, state, small):
    x = block.views[0]
    return Result(stats={"gram": x.T @ x, "sum": np.exp(x).sum(axis=0)})

rng = np.random.default_rng(0)
views = [rng.normal(size=(600, 40)), rng.normal(size=(600, 8))]
with lowered(block_rows=64):
    total, _ = open_engine(Views(views), np.float64).run(step, title="Sums")
    labels = S2MVTC(5, n_anchors=100, random_state=0).fit(views).labels_
for name in ("gram", "sum"):
    print(hashlib.sha256(total[name].tobytes()).hexdigest())
print(labels)
"""


def output_with_threads(threads):
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    limits["OMP_WAIT_POLICY"] = "passive"  # a busy machine must not spin for minutes
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    done = subprocess.run(
        command, env=os.environ | limits, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_number_of_threads_changes_no_bit_of_a_sum_and_no_label():
    assert output_with_threads("1") == output_with_threads("2")


@touches()
def size_step(block, state, shared):
    return Result(note=len(block))


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [
        (500, [500]),
        (1001, [512, 489]),
        (3001, [1501, 1500]),
        (5000, [1250, 1250, 1250, 1250]),
        (10_000, [1667, 1667, 1667, 1667, 1667, 1665]),
    ],
)
def test_rows_are_cut_into_as_many_blocks_for_each_of_two_cores(n_rows, expected):
    engine = LocalEngine(Views([np.ones((n_rows, 1))]), np.float64)
    _, lengths = engine.run(size_step, title="Sizes")
    assert lengths == expected


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("device", 1.5),
        ("device", ["cpu"]),
        ("engine", 3),
        ("engine", np.zeros(2)),
    ],
)
def test_a_place_that_is_none_is_a_sentence(views, option, value):
    with pytest.raises(ManyviewError, match=option):
        open_engine(views, np.float64, **{option: value})


@pytest.mark.parametrize("value", [0, 2.5])
def test_blocks_that_are_none_are_a_sentence(views, value):
    with pytest.raises(ManyviewError, match="block_rows"):
        LocalEngine(views, np.float64, block_rows=value)
