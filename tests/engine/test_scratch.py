"""State on disk and rows read from mapped files."""

import os

import numpy as np
import pytest

from manyview.engine.scratch import Budget
from manyview.engine.scratch import FileRows, Scratch, Store, unmapped
from manyview.errors import ResourceError
from manyview.views.views import Views

SLICES = [slice(0, 4), slice(4, 8), slice(8, 10)]


def full_budget():
    budget = Budget(10**9, 10, 0)
    budget.fixed = 10**9
    return budget


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)


def test_spilled_field_comes_back(values):
    store = Store(SLICES, full_budget())
    store.put("x", values)
    for number, rows in enumerate(SLICES):
        state = store.block(number)
        assert "x" in state and list(state) == ["x"] and len(state) == 1
        assert state["x"] is state["x"]
        np.testing.assert_array_equal(state["x"], values[rows])
    found = store.read("x")
    assert isinstance(found, np.memmap)
    store.drop("x")
    assert "x" not in store.block(0)
    np.testing.assert_array_equal(found, values)


def test_field_is_replaced_on_disk(values):
    store = Store(SLICES, full_budget())
    store.put("x", values)
    store.update(1, {"x": -values[4:8]})
    expected = np.concatenate([values[:4], -values[4:8], values[8:]])
    np.testing.assert_array_equal(store.read("x"), expected)


def test_small_field_stays_and_large_one_goes(values):
    budget = full_budget()
    budget.fixed -= 100
    store = Store(SLICES, budget)
    store.put("small", np.arange(10, dtype=np.int8))
    store.put("large", values)
    assert not isinstance(store.read("small"), np.memmap)
    assert isinstance(store.read("large"), np.memmap)
    assert budget.used == 10
    store.drop("small")
    assert budget.used == 0


def test_emptied_field_gives_its_room_back(values):
    budget = Budget(10**9, 10, 0)
    budget.fixed = 0
    store = Store(SLICES, budget)
    store.put("x", values)
    assert budget.used == values.nbytes
    for number in range(3):
        store.update(number, {"x": values[SLICES[number], :0]})
    assert budget.used == 0


def test_scratch_files_have_no_name(values, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = Store(SLICES, full_budget())
    store.put("x", values)
    assert not list(tmp_path.iterdir())


def test_full_disk_is_a_sentence(values, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(ResourceError, match="scratch folder"):
        Scratch(10, values).write(0, values)


@pytest.mark.parametrize("part", [slice(None), slice(3, 9)])
def test_mapped_rows_are_read_without_mapping(tmp_path, values, part):
    np.save(tmp_path / "x.npy", values)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")[part]
    rows = FileRows(mapped)
    assert rows.shape == mapped.shape
    np.testing.assert_array_equal(rows[1:4], values[part][1:4])
    np.testing.assert_array_equal(rows[np.array([5, 0, 5])], values[part][[5, 0, 5]])


def test_only_mapped_rows_in_order_are_replaced(tmp_path, values):
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", np.asfortranarray(values))
    given = Views(
        [
            np.load(tmp_path / "x.npy", mmap_mode="r"),
            np.load(tmp_path / "y.npy", mmap_mode="r"),
            values,
        ]
    )
    kinds = [type(a) for a in unmapped(given).arrays]
    assert kinds == [FileRows, np.memmap, np.ndarray]
    block = unmapped(given).block(slice(2, 7), np.float64)
    for x in block.views:
        np.testing.assert_allclose(x, values[2:7])


def test_file_that_ends_early_is_a_sentence(tmp_path, values):
    np.save(tmp_path / "x.npy", values)
    rows = FileRows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    os.truncate(tmp_path / "x.npy", 150)
    with pytest.raises(ResourceError, match="ended early"):
        rows[:]
