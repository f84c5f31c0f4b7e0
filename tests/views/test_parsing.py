"""Files that change under the views mapped from them."""

import os

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from manyview import AnchorSpectral, Views
from manyview.baselines import OPMC
from manyview.datasets import convert, load
from manyview.engine.contract import lowered
from manyview.errors import FileError
from manyview.running import progress


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).normal(size=(500, 40)))
    return path


def shorten(path):
    os.truncate(path, path.stat().st_size // 2)


def rewrite(path):
    with path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(b"\x00" * 8)
    os.utime(path, ns=(1, 1))  # whatever the clock's steps are


def fit_while(change, path, model, views, at=3):
    """Fit, and change the file when the nth pass begins."""
    seen = []

    def listener(title, done, total):
        if done == 0:
            seen.append(title)
            if len(seen) == at:
                change(path)

    with progress.listen(listener):
        return model.fit(views)


@pytest.mark.usefixtures("rows_stay_on_disk")
@pytest.mark.parametrize("limit", [None, "1GB"], ids=["mapped", "read"])
@pytest.mark.parametrize("change", [shorten, rewrite])
def test_a_file_changed_under_a_fit_is_a_sentence(file, change, limit):
    model = AnchorSpectral(3, random_state=0, memory_limit=limit)
    with lowered(block_rows=100):
        with pytest.raises(FileError, match=r"x\.npy was changed.*Start again"):
            fit_while(change, file, model, load(file))


@pytest.mark.parametrize("change", [shorten, rewrite])
def test_a_change_between_loading_and_fitting_is_seen(file, change):
    views = load(file)
    change(file)
    for model in (OPMC(3), AnchorSpectral(3), AnchorSpectral(3, memory_limit="1GB")):
        with pytest.raises(FileError, match="was changed"):
            model.fit(views)
    with pytest.raises(FileError, match="was changed"):
        views[:10].block(slice(0, 10))


@pytest.mark.parametrize("limit", [None, "1GB"])
@pytest.mark.parametrize("change", [shorten, rewrite])
def test_few_rows_are_read_once_and_what_becomes_of_their_file_does_no_harm(
    file, change, limit
):
    model = AnchorSpectral(3, random_state=0, memory_limit=limit)
    wanted = model.fit(load(file)).labels_.copy()
    found = fit_while(change, file, model, load(file), at=1)
    np.testing.assert_array_equal(found.labels_, wanted)


@pytest.mark.usefixtures("rows_stay_on_disk")
def test_a_file_removed_or_replaced_under_a_fit_does_no_harm(file, tmp_path):
    model = AnchorSpectral(3, random_state=0)
    wanted = model.fit(load(file)).labels_.copy()
    other = tmp_path / "other.npy"
    np.save(other, np.zeros((2, 40)))
    fit_while(other.replace, file, model, load(file))
    np.testing.assert_array_equal(model.labels_, wanted)
    np.save(file, np.asarray(np.random.default_rng(0).normal(size=(500, 40))))
    fit_while(lambda path: path.unlink(), file, model, load(file))
    np.testing.assert_array_equal(model.labels_, wanted)


def test_parts_of_a_sparse_view_are_watched(tmp_path):
    rng = np.random.default_rng(0)
    x = sp.coo_array(rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.2))
    folder = convert(Views([x]), tmp_path / "d")
    views = load(folder)
    rewrite(folder / "view0.indices.npy")
    with pytest.raises(FileError, match=r"view0\.indices\.npy was changed"):
        views.block(slice(0, 10))


def test_an_hdf5_file_that_is_cut_is_a_sentence(tmp_path):
    """The library itself would give zeros for the rows that are gone."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.ones((5000, 30)), chunks=(100, 30))
    with h5py.File(path, "r") as file:
        views = Views([file["x"]])
        views.block(slice(0, 10))
        os.truncate(path, 10_000)
        with pytest.raises(FileError, match=r"x\.h5 was changed"):
            views.block(slice(4000, 5000))


def test_rows_that_a_library_cannot_read_are_a_sentence():
    class Broken:
        shape, dtype, chunks = (12, 2), np.dtype(float), None

        def __getitem__(self, rows):
            raise OSError("read failed")

    with pytest.raises(
        FileError, match=r"could not be read: read failed\. .*good copy"
    ):
        Views([Broken()]).block(slice(0, 3))
