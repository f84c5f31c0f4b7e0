"""State on disk and rows read from mapped files."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from manyview.engine import scratch
from manyview.engine.contract import Result
from manyview.engine.local import RowState
from manyview.engine.scratch import Budget, FileRows, Scratch, unmapped
from manyview.errors import ResourceError
from manyview.views.views import Views

SLICES = [slice(0, 4), slice(4, 8), slice(8, 10)]


def budget_with(room):
    """A budget that has this many bytes left for the state."""
    budget = Budget(10**9, 0)
    budget.fixed = 10**9 - room
    return budget


def fill(state, replaces=(), **fields):
    """One pass that makes these fields."""
    state.begin_pass()
    for number, rows in enumerate(SLICES):
        own = {name: values[rows] for name, values in fields.items()}
        state.accept(number, Result(state=own, replaces=dict(replaces)))
    state.end_pass()


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)


@pytest.fixture
def files(monkeypatch):
    """Every scratch file that is made."""
    made = []

    class Counted(Scratch):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr("manyview.engine.local.Scratch", Counted)
    return made


def test_spilled_field_comes_back(values):
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    for number, rows in enumerate(SLICES):
        own = state.of_block(number)
        assert "x" in own and list(own) == ["x"] and len(own) == 1
        assert own["x"] is own["x"]
        np.testing.assert_array_equal(own["x"], values[rows])
    found = state.read("x")
    assert isinstance(found, np.memmap)
    state.drop("x")
    assert "x" not in state.of_block(0)
    np.testing.assert_array_equal(found, values)


def test_field_is_rewritten_in_its_file(values, files):
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    fill(state, x=-values)
    np.testing.assert_array_equal(state.read("x"), -values)
    assert len(files) == 1


@pytest.mark.parametrize("width", [3, 2])
def test_field_takes_the_place_of_another(values, files, width):
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    fill(state, {"y": "x"}, y=2 * values[:, :width])
    assert list(state.of_block(1)) == ["y"]
    np.testing.assert_array_equal(state.read("y"), 2 * values[:, :width])
    assert len(files) == (1 if width == 3 else 2)


def test_two_fields_in_place_of_one_get_files_of_their_own(values):
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    fill(state, {"y": "x", "z": "x"}, y=values + 1, z=values + 2)
    np.testing.assert_array_equal(state.read("y"), values + 1)
    np.testing.assert_array_equal(state.read("z"), values + 2)


def test_what_was_read_does_not_change_with_the_field(values):
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    found = state.read("x")
    fill(state, x=-values)
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(state.read("x"), -values)


@pytest.mark.parametrize("room", [0, 10**6])
def test_what_a_pass_makes_shows_when_it_has_ended(values, room):
    state = RowState(SLICES, budget_with(room))
    fill(state, x=values)
    state.begin_pass()
    state.accept(0, Result(state={"y": values[:4]}))
    assert [list(state.of_block(n)) for n in range(3)] == [["x"]] * 3
    state.accept(1, Result(state={"y": values[4:8]}))
    state.accept(2, Result(state={"y": values[8:]}))
    state.end_pass()
    assert [sorted(state.of_block(n)) for n in range(3)] == [["x", "y"]] * 3


@pytest.mark.parametrize("room", [0, 10**6])
def test_blocks_that_make_different_fields_are_an_error(values, room):
    state = RowState(SLICES, budget_with(room))
    state.begin_pass()
    state.accept(0, Result(state={"x": values[:4]}))
    state.accept(1, Result(state={}))
    state.accept(2, Result(state={"x": values[8:]}))
    with pytest.raises(AssertionError, match="different fields"):
        state.end_pass()


def test_small_field_stays_and_large_one_goes(values):
    budget = budget_with(100)
    state = RowState(SLICES, budget)
    fill(state, small=np.arange(10, dtype=np.int8))
    fill(state, large=values)
    assert not isinstance(state.read("small"), np.memmap)
    assert isinstance(state.read("large"), np.memmap)
    assert budget.used == 10
    state.drop("small")
    assert budget.used == 0


def test_replaced_field_gives_its_room_back(values):
    budget = budget_with(values.nbytes)
    state = RowState(SLICES, budget)
    fill(state, x=values)
    assert budget.used == values.nbytes
    fill(state, {"y": "x"}, y=values[:, :2])
    assert budget.used == values[:, :2].nbytes
    assert not isinstance(state.read("y"), np.memmap)


def test_scratch_files_have_no_name(values, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def no_places(monkeypatch):
    """A system without reads and writes at a place, such as Windows."""
    for name in ("preadv", "pwrite", "posix_fadvise"):
        monkeypatch.delattr(os, name, raising=False)


@pytest.mark.usefixtures("no_places")
def test_systems_without_reads_at_a_place_take_turns(values, tmp_path):
    state = RowState(SLICES, budget_with(0))
    fill(state, x=values)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: state.of_block(n)["x"], [0, 1, 2] * 20))
    for number, own in enumerate(found):
        np.testing.assert_array_equal(own, values[SLICES[number % 3]])
    np.testing.assert_array_equal(state.read("x"), values)
    np.save(tmp_path / "x.npy", values)
    rows = FileRows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    np.testing.assert_array_equal(rows[2:9], values[2:9])
    np.testing.assert_array_equal(rows[np.array([7, 0])], values[[7, 0]])


def test_freed_memory_is_kept_where_nothing_takes_it_back(monkeypatch):
    monkeypatch.setattr(scratch, "_c_library", None)
    budget_with(0).give_back()


def test_rows_of_a_replaced_file_stay_those_that_were_mapped(values, tmp_path):
    for name in ("x", "other"):
        np.save(tmp_path / f"{name}.npy", values if name == "x" else -values)
    views = Views([np.load(tmp_path / "x.npy", mmap_mode="r")])
    (tmp_path / "other.npy").replace(tmp_path / "x.npy")
    block = unmapped(views).block(slice(0, 10), np.float32)
    np.testing.assert_array_equal(block.views[0], values)


def test_files_are_closed_with_their_owner(values, tmp_path):
    np.save(tmp_path / "x.npy", values)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for make in (lambda: Scratch(len(values), values), lambda: FileRows(mapped)):
        owner = make()
        file = owner._file
        assert not file.closed
        del owner
        gc.collect()
        assert file.closed


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


def test_only_mapped_rows_are_replaced(tmp_path, values):
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
    assert kinds == [FileRows, FileRows, np.ndarray]
    block = unmapped(given).block(slice(2, 7), np.float64)
    for x in block.views:
        np.testing.assert_allclose(x, values[2:7])


def test_rows_of_a_file_in_fortran_order(tmp_path, values):
    np.save(tmp_path / "x.npy", np.asfortranarray(values))
    rows = FileRows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    for some in (slice(2, 9), slice(0, 0), slice(None), [7, 0, 7], []):
        chosen = some if isinstance(some, slice) else np.array(some, dtype=int)
        np.testing.assert_array_equal(rows[chosen], values[chosen])
    assert rows[0:3].flags.c_contiguous


def test_file_that_ends_early_is_a_sentence(tmp_path, values):
    np.save(tmp_path / "x.npy", values)
    rows = FileRows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    os.truncate(tmp_path / "x.npy", 150)
    with pytest.raises(ResourceError, match="ended early"):
        rows[:]
