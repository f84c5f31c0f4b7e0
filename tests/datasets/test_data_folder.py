import json

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import data_folder
from manyview.datasets.data_folder import META, open_data_folder, write_data_folder
from manyview.datasets.raw_data import RawData
from manyview.errors import FileError
from manyview.files import npy_file


@pytest.fixture
def raw(parts):
    a, b, y = parts
    present = np.ones((12, 3), bool)
    present[2, 1] = False
    return RawData(
        views=[a, np.asfortranarray(b.astype(np.float32)), sp.csr_array(a > 0.5)],
        names=["image", "tëxt", "words"],
        feature_names=[["p", "q", "r"], None, None],
        present=present,
        labels=y,
        row_names=[f"row {i}" for i in range(12)],
        origin="a test",
    )


@pytest.fixture
def folder(tmp_path, raw):
    write_data_folder(raw, tmp_path)
    return tmp_path


@pytest.mark.parametrize("private", [False, True])
def test_round_trip_is_exact(folder, raw, private):
    back = open_data_folder(folder, verify=True, private=private)
    for old, new in zip(raw.views[:2], back.views[:2], strict=True):
        np.testing.assert_array_equal(old, new)
        assert old.dtype == new.dtype and new.flags.c_contiguous
    assert (raw.views[2] != back.views[2]).nnz == 0
    assert back.views[2].dtype == raw.views[2].dtype
    np.testing.assert_array_equal(back.present, raw.present)
    np.testing.assert_array_equal(back.labels, raw.labels)
    for field in ("names", "feature_names", "row_names", "origin"):
        assert getattr(back, field) == getattr(raw, field)


def test_text_labels_and_little_else(tmp_path):
    words = np.array(["cat", "dog"], dtype=object)
    write_data_folder(RawData([np.eye(2)], ["x"], labels=words), tmp_path)
    back = open_data_folder(tmp_path)
    assert back.labels.tolist() == ["cat", "dog"]
    assert back.present is back.row_names is back.feature_names is None


def test_views_are_mapped_read_only(folder):
    view = open_data_folder(folder).views[0]
    assert isinstance(view, np.memmap) and not view.flags.writeable


@pytest.mark.parametrize(
    "name", ["view0.npy", "view2.indices.npy", "labels.npy", "row_names.json"]
)
def test_one_changed_byte_is_noticed(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[-3] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(FileError, match=rf"{name}.*checksum.*convert the data again"):
        open_data_folder(folder)


def test_large_folders_are_verified_only_on_demand(folder, monkeypatch):
    monkeypatch.setattr(data_folder, "AUTO_VERIFY", 0)
    content = bytearray((folder / "view0.npy").read_bytes())
    content[-3] ^= 1
    (folder / "view0.npy").write_bytes(content)
    assert open_data_folder(folder).views[0].shape == (12, 3)
    with pytest.raises(FileError, match="checksum"):
        open_data_folder(folder, verify=True)


def test_a_file_cut_short_or_missing(folder):
    path = folder / "view0.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(FileError, match=r"view0\.npy is damaged"):
        open_data_folder(folder, verify=False)
    path.unlink()
    with pytest.raises(FileError, match="missing or no plain file"):
        open_data_folder(folder)


def test_links_are_not_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.npy"
    (folder / "view0.npy").rename(outside)
    (folder / "view0.npy").symlink_to(outside)
    with pytest.raises(FileError, match="no plain file"):
        open_data_folder(folder)


def rewrite(folder, change):
    """A meta.json made by hand, with a right checksum."""
    meta = json.loads((folder / META).read_text())
    change(meta)
    meta["checksum"] = data_folder._meta_checksum(meta)
    (folder / META).write_text(json.dumps(meta))


def test_meta_must_match_its_own_checksum(folder):
    text = (folder / META).read_text()
    (folder / META).write_text(text.replace("image", "imago"))
    with pytest.raises(FileError, match="does not match its own checksum"):
        open_data_folder(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["views"][0].update(shape=[12]),
        lambda m: m["views"][0].update(shape=[-1, 3]),
        lambda m: m["views"][0].update(dtype="O"),
        lambda m: m["views"][0].update(name=5),
        lambda m: m["views"][0].update(feature_names=["one"]),
        lambda m: m["files"].update({"../evil.npy": None}),
        lambda m: m.pop("views"),
        lambda m: m.update(views=7),
        lambda m: m.update(origin=7),
    ],
)
def test_descriptions_made_by_hand_are_checked(folder, change):
    rewrite(folder, change)
    with pytest.raises(FileError, match="damaged"):
        open_data_folder(folder)


def test_shapes_and_types_must_match_the_arrays(folder):
    rewrite(folder, lambda m: m["views"][0].update(shape=[3, 12], feature_names=None))
    with pytest.raises(FileError, match="does not have the shape and type"):
        open_data_folder(folder)


def test_wild_sparse_indices_are_refused(folder):
    indices = np.load(folder / "view2.indices.npy")
    indices[0] = 10**6
    np.save(folder / "view2.indices.npy", indices)
    with pytest.raises(FileError, match="inconsistent"):
        open_data_folder(folder, verify=False)


def test_other_versions_and_other_folders(folder):
    rewrite(folder, lambda m: m.update(version=99))
    with pytest.raises(FileError, match="layout version 99"):
        open_data_folder(folder)
    (folder / META).write_text("[]")
    with pytest.raises(FileError, match="no manyview data folder"):
        open_data_folder(folder)
    (folder / META).write_text("{")
    with pytest.raises(FileError, match="no valid JSON"):
        open_data_folder(folder)


def test_no_block_is_larger_than_its_share(tmp_path, monkeypatch):
    """A lazy view is asked for a few rows at a time."""
    monkeypatch.setattr(npy_file, "BLOCK_BYTES", 10 * 8 * 5)
    asked = []

    class Lazy:
        shape, dtype = (95, 5), np.dtype(float)

        def __getitem__(self, rows):
            asked.append(rows.stop - rows.start)
            return np.full((rows.stop - rows.start, 5), float(rows.start))

    write_data_folder(RawData([Lazy()], ["x"]), tmp_path)
    assert asked == [10] * 9 + [5]
    assert open_data_folder(tmp_path).views[0][94, 0] == 90


def test_labels_and_names_of_another_kind(folder):
    labels = np.load(folder / "labels.npy")
    np.save(folder / "labels.npy", labels.astype("c16"))
    with pytest.raises(FileError, match=r"labels\.npy holds complex128"):
        open_data_folder(folder, verify=False)
    np.save(folder / "labels.npy", labels)
    (folder / "row_names.json").write_text("[1, 2]")
    with pytest.raises(FileError, match="no list of names"):
        open_data_folder(folder, verify=False)
    np.save(folder / "view2.data.npy", np.ones((2, 2)))
    with pytest.raises(FileError, match=r"view2\.data\.npy does not have the shape"):
        open_data_folder(folder, verify=False)


def test_a_meta_of_absurd_size(folder, monkeypatch):
    monkeypatch.setattr(data_folder, "MAX_META", 10)
    with pytest.raises(FileError, match="larger than any real one"):
        open_data_folder(folder)
