"""Pieces of rows are unpacked when they are asked for, and once."""

import threading
from collections import Counter

import h5py
import numpy as np
import psutil
import pytest

from manyview.engine import row_pieces
from manyview.engine.local import LocalEngine
from manyview.engine.row_pieces import RowPieces, piece_edges, unpacked_once
from manyview.engine.scratch import Scratch
from manyview.errors import ResourceError
from manyview.stages.scaling import measure
from manyview.views.views import Views

EDGES = [0, 7, 7, 20, 23]
VALUES = np.random.default_rng(0).normal(size=(23, 3)).astype(np.float32)


@pytest.fixture
def unpacked():
    """How often each piece was unpacked."""
    return Counter()


@pytest.fixture
def rows(unpacked):
    def unpack(number):
        unpacked[number] += 1
        part = VALUES[EDGES[number] : EDGES[number + 1]]
        piece = Scratch(len(part), part)
        piece.write(0, part)
        return piece

    return RowPieces(EDGES, VALUES, unpack)


@pytest.mark.parametrize("n_rows", [1, 4, 23])
def test_one_pass_unpacks_every_piece_once(rows, unpacked, n_rows):
    assert rows.shape == (23, 3) and rows.dtype == np.float32
    for start in range(0, 23, n_rows):
        part = slice(start, min(start + n_rows, 23))
        np.testing.assert_array_equal(rows[part], VALUES[part])
    assert unpacked == {0: 1, 2: 1, 3: 1}


def test_a_few_rows_unpack_only_their_pieces(rows, unpacked):
    some = np.array([21, 0, 22])
    np.testing.assert_array_equal(rows[some], VALUES[some])
    assert unpacked == {0: 1, 3: 1}
    np.testing.assert_array_equal(rows[1:20:6], VALUES[1:20:6])
    np.testing.assert_array_equal(np.asarray(rows), VALUES)
    assert rows[5:5].shape == (0, 3)


def test_threads_wait_for_a_piece_instead_of_unpacking_it_again(rows, unpacked):
    begin = threading.Barrier(8)

    def read():
        begin.wait()
        np.testing.assert_array_equal(rows[3:9], VALUES[3:9])

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unpacked == {0: 1, 2: 1}


@pytest.mark.parametrize("others", ["have filled it", "fill it meanwhile"])
def test_few_pieces_are_kept_where_the_disk_is_small(
    rows, unpacked, monkeypatch, others
):
    monkeypatch.setattr(row_pieces, "n_cores", lambda: 0)
    if others == "have filled it":
        monkeypatch.setattr(row_pieces, "DISK_SHARE", 0.0)
    else:
        monkeypatch.setattr(Scratch, "copy_to", no_room)
    for part in (slice(0, 23), slice(15, 23), slice(0, 7)):
        np.testing.assert_array_equal(rows[part], VALUES[part])
    assert unpacked == {0: 2, 2: 1, 3: 1}


def no_room(*args):
    raise ResourceError("The disk is full.")


def test_many_pieces_take_one_file():
    def unpack(number):
        piece = Scratch(1, VALUES)
        piece.write(0, VALUES[:1] + number)
        return piece

    before = psutil.Process().num_fds()
    rows = RowPieces(range(301), VALUES, unpack)
    expected = VALUES[0, 0] + np.arange(300, dtype=np.float32)
    np.testing.assert_allclose(rows[:][:, 0], expected)
    assert psutil.Process().num_fds() <= before + 2


@pytest.mark.parametrize(
    ("packed", "least", "edges"),
    [(10, 4, [0, 10, 20, 23]), (3, 8, [0, 9, 18, 23]), (50, 8, [0, 23])],
)
def test_pieces_are_whole_chunks(packed, least, edges):
    assert piece_edges(23, packed, least) == edges


class Counting:
    """A chunked array that counts the rows it is asked for."""

    def __init__(self, array):
        self.array, self.n_read = array, 0
        self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks

    def __getitem__(self, rows):
        found = self.array[rows]
        self.n_read += len(found)
        return found


def chunked(kind, folder, values):
    if kind == "hdf5":
        file = h5py.File(folder / "x.h5", "w")
        return file.create_dataset("X", data=values, chunks=(40, 2), compression="gzip")
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    path = str(folder / "x.zarr")
    made = zarr.create_array(path, shape=values.shape, dtype="f8", chunks=(40, 2))
    made[:] = values
    return made


@pytest.mark.usefixtures("rows_stay_on_disk")
@pytest.mark.parametrize("kind", ["hdf5", "zarr"])
def test_passes_over_chunks_unpack_each_once(kind, tmp_path):
    values = np.random.default_rng(1).normal(size=(150, 5))
    array = Counting(chunked(kind, tmp_path, values))
    engine = LocalEngine(Views([array]), np.float64, block_rows=16)
    for _ in range(2):
        (moments,) = measure(engine)
        np.testing.assert_allclose(moments.mean, values.mean(axis=0))
    assert array.n_read == 150
    np.testing.assert_array_equal(
        engine.take(np.array([149, 3])).views[0], values[[149, 3]]
    )


def test_what_lies_unpacked_stays_as_it_is(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        plain = file.create_dataset("X", data=VALUES)
        views = Views([plain, VALUES])
        assert unpacked_once(views, 16).arrays == views.arrays
