"""The local engine: blocks, sums in order, faults inside a step."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from manyview.engine.contract import Result, open_engine
from manyview.engine.local import LocalEngine
from manyview.errors import ManyviewError
from manyview.running import progress
from manyview.views.views import Views


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
    total, notes = engine.run(sum_step, "small")
    np.testing.assert_allclose(total["sum"], views.arrays[0].sum(axis=0))
    assert total["rows"] == 50
    starts = [start for start, _, _ in notes]
    assert starts == sorted(starts) and sum(n for _, n, _ in notes) == 50
    assert {small for _, _, small in notes} == {"small"}
    np.testing.assert_array_equal(engine.read("double"), 2 * views.arrays[0])


def test_sums_are_float64_and_do_not_alias_a_block(views):
    kept = []

    def step(block, state, small):
        part = np.ones(2, dtype=np.float32)
        kept.append(part)
        return Result(stats={"sum": part})

    total, _ = LocalEngine(views, np.float32, block_rows=10).run(step)
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
    block = LocalEngine(views, np.float32).take(rows)
    assert block.views[0].dtype == np.float32
    np.testing.assert_allclose(block.views[1], views.arrays[1][rows], rtol=1e-6)


def test_pass_without_views_gets_rows_only(views):
    def step(block, state, small):
        return Result(note=(len(block.views), len(block), block.present.shape))

    _, notes = LocalEngine(views, np.float64, block_rows=20).run(step, views=False)
    assert notes == [(0, 20, (20, 2)), (0, 20, (20, 2)), (0, 10, (10, 2))]


def test_mask_reaches_the_blocks(views):
    present = np.ones((50, 2), dtype=bool)
    present[13, 1] = False
    engine = open_engine(Views(list(views.arrays), present=present), np.float64)

    def step(block, state, small):
        return Result(note=block.present)

    np.testing.assert_array_equal(np.concatenate(engine.run(step)[1]), present)


def blas_threads():
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_fault_inside_a_step_comes_out_and_leaves_nothing_behind(
    views, fault, threads, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    engine = LocalEngine(views, np.float64, block_rows=5)
    engine.put("x", np.zeros(50))
    before = blas_threads()

    def step(block, state, small):
        if block.start == 20:
            raise fault("inside")
        return Result(state={"x": np.ones(len(block))})

    with pytest.raises(fault, match="inside"):
        engine.run(step)
    assert blas_threads() == before
    total, _ = engine.run(sum_step)
    assert total["rows"] == 50


def test_progress_is_told_of_every_block(views):
    heard = []
    with progress.listen(lambda *step: heard.append(step)):
        LocalEngine(views, np.float64, block_rows=20).run(sum_step, title="Summing")
    assert heard == [("Summing", done, 3) for done in range(4)]


SCRIPT = """
import hashlib, numpy as np
from manyview import S2MVTC, Views
from manyview.engine import Result, open_engine

def step(block, state, small):
    x = block.views[0]
    return Result(stats={"gram": x.T @ x, "sum": np.exp(x).sum(axis=0)})

rng = np.random.default_rng(0)
views = [rng.normal(size=(600, 40)), rng.normal(size=(600, 8))]
total, _ = open_engine(Views(views), np.float64, block_rows=64).run(step)
for name in ("gram", "sum"):
    print(hashlib.sha256(total[name].tobytes()).hexdigest())
print(S2MVTC(5, n_anchors=100, block_rows=64, random_state=0).fit(views).labels_)
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


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("block_rows", 0),
        ("block_rows", 2.5),
        ("device", 1.5),
        ("device", ["cpu"]),
        ("engine", 3),
        ("engine", np.zeros(2)),
    ],
)
def test_a_place_that_is_none_is_a_sentence(views, option, value):
    with pytest.raises(ManyviewError, match=option):
        open_engine(views, np.float64, **{option: value})
