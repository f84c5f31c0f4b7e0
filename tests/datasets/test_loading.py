import shutil

import numpy as np
import pytest

from manyview.datasets import load, loading
from manyview.errors import DataWarning, FileError, InputError, InputTypeError

FORMATS = {
    "3Sources.mat": (169, (3560, 3631, 3068), 6),
    "BBC-4view.mat": (685, (4659, 4633, 4665, 4684), 5),
    "BBCSport-2view.mat": (544, (3183, 3203), 5),
    "BDGP_4view.mat": (2500, (1000, 500, 250, 79), 5),
    "CCV.mat": (6773, (20, 20, 20), 20),
    "CCV_anchor.mat": (1000, (20, 20, 20), None),
    "HW2sources.mat": (2000, (784, 256), 10),
    "Scene-15.mat": (4485, (20, 59, 40), 15),
    "Wikipedia.mat": (2866, (128, 10), 10),
    "cll.h5mu": (200, (310, 4248, 5000, 69), None),
}


@pytest.mark.data
@pytest.mark.parametrize("name", FORMATS)
def test_real_files_need_no_flags(data_folder, name):
    data = load(data_folder / "formats" / name)
    classes = None if data.labels is None else len(np.unique(data.labels))
    assert (len(data), data.n_features, classes) == FORMATS[name]


@pytest.mark.data
def test_missing_views_are_marked(data_folder):
    data = load(data_folder / "formats" / "cll.h5mu")
    assert (~data.present).sum(axis=0).tolist() == [16, 4, 64, 0]
    drugs = data.arrays[0]
    assert not drugs[~data.present[:, 0]].any()
    assert data.row_names.shape == (200,) and len(data.feature_names[0]) == 310


@pytest.mark.data
def test_sparse_views_stay_sparse(data_folder):
    data = load(data_folder / "formats" / "BBC-4view.mat")
    assert all(a.format == "csr" for a in data.arrays)


@pytest.mark.data
@pytest.mark.parametrize("name", ["HW2sources.mat", "BDGP_4view.mat", "cll.h5mu"])
def test_the_child_and_this_process_agree(data_folder, name, sandbox):
    from manyview.datasets.raw_data import Request

    here = load(data_folder / "formats" / name)
    there = sandbox.read(data_folder / "formats" / name, Request()).to_views()
    assert here.names == there.names
    for a, b in zip(here.arrays, there.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(here.labels, there.labels)
    np.testing.assert_array_equal(here.present, there.present)


def test_strangers_go_to_the_child_and_known_files_do_not(tmp_path, parts, monkeypatch):
    asked = []

    class Spy(loading.Sandbox):
        def read(self, path, request):
            asked.append(path.name)
            return super().read(path, request)

    monkeypatch.setattr(loading, "Sandbox", Spy)
    np.savez(tmp_path / "d.npz", X=parts[0])
    np.save(tmp_path / "d.npy", parts[0])
    load(tmp_path / "d.npz")
    load(tmp_path / "d.npy")
    assert asked == ["d.npz"]
    monkeypatch.setattr(loading.registry, "is_trusted", lambda path: True)
    load(tmp_path / "d.npz")
    assert asked == ["d.npz"]


def test_labels_may_be_given(tmp_path, parts, monkeypatch):
    monkeypatch.setattr(loading.registry, "is_trusted", lambda path: True)
    np.savez(tmp_path / "d.npz", X=parts[0], y=np.arange(12))
    data = load(tmp_path / "d.npz", labels=parts[2])
    assert data.labels.tolist() == parts[2].tolist()
    assert data.origin == "d.npz"
    with pytest.raises(InputError, match="one entry per row"):
        load(tmp_path / "d.npz", labels=[1, 2])


def write_tables(folder, *, y):
    (folder / "a.csv").write_text("id,x,y\n" + "".join(f"r{i},{i},{v}\n" for i, v in y))
    (folder / "b.csv").write_text("id,u\n" + "".join(f"r{i},{i * i}\n" for i, _ in y))
    return [folder / "a.csv", folder / "b.csv"]


def test_a_column_named_like_labels_stays_and_is_said_once(tmp_path):
    """Through the child process, where files of strangers are read."""
    files = write_tables(tmp_path, y=[(i, i + 0.5) for i in range(6)])
    with pytest.warns(
        DataWarning, match=r"a.csv has a column named y.*--labels y"
    ) as w:
        data = load(files)
    assert len(w) == 1 and data.labels is None
    assert data.feature_names == (("x", "y"), ("u",))
    assert load(files, labels=False).n_features == (2, 1)


def test_labels_in_one_of_several_files(tmp_path):
    files = write_tables(tmp_path, y=[(i, i % 2) for i in range(6)])
    data = load(files, labels="y")
    assert data.labels.tolist() == [0, 1] * 3 and data.n_features == (1, 1)
    with pytest.raises(FileError, match=r"No labels named 'kind'.*columns are x, y, u"):
        load(files, labels="kind")


def test_files_named_like_labels(tmp_path, parts):
    """Classes are labels; measurements are a view, whatever their file is called."""
    x, measured = parts[0], parts[0][:, :1] + 0.25
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", measured)
    files = [tmp_path / "x.npy", tmp_path / "y.npy"]
    for labels in (None, False):
        assert load(files, labels=labels).names == ("x", "y")
    np.save(tmp_path / "y.npy", np.arange(len(x)) % 3)
    assert load(files).labels.tolist() == [i % 3 for i in range(len(x))]
    alone = load(files, labels=False)
    assert alone.labels is None and alone.names == ("x",)


def test_bad_requests(tmp_path, parts):
    np.save(tmp_path / "d.npy", parts[0])
    with pytest.raises(FileError, match=r"neither an existing file nor a known") as e:
        load("no-such-thing")
    assert "CCV" not in str(e.value)
    with pytest.raises(FileError, match="Did you mean CCV"):
        load("CCW")
    with pytest.raises(FileError, match=r"no file dd\.npy in .*Did you mean d\.npy"):
        load(tmp_path / "dd.npy")
    with pytest.raises(FileError, match=r"the folder .*nowhere does not exist"):
        load(tmp_path / "nowhere" / "d.npy")
    with pytest.raises(FileError, match="There is no file"):
        load([tmp_path / "gone.npy"])
    with pytest.raises(FileError, match="known data set CCV is to be given by itself"):
        load([tmp_path / "d.npy", "CCV"])
    with pytest.raises(FileError, match="No file was given"):
        load([])
    with pytest.raises(InputTypeError, match="list of names"):
        load(tmp_path / "d.npy", views=[0])
    with pytest.raises(InputError, match="memory_limit"):
        load(tmp_path / "d.npy", memory_limit="lots")


def test_a_file_we_may_not_read(tmp_path, parts, monkeypatch):
    np.save(tmp_path / "d.npy", parts[0])

    def forbidden(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(loading, "detect_format", forbidden)
    with pytest.raises(FileError, match="Permission denied"):
        load(tmp_path / "d.npy")


@pytest.mark.data
def test_one_changed_byte_moves_a_known_file_to_the_child(data_folder, tmp_path):
    path = tmp_path / "CCV.mat"
    shutil.copy(data_folder / "formats" / "CCV.mat", path)
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[5] ^= 1  # in the header text: same data, other checksum
    path.write_bytes(content)
    assert loading.registry.is_trusted(data_folder / "formats" / "CCV.mat")
    assert not loading.registry.is_trusted(path)
    assert len(load(path)) == 6773
