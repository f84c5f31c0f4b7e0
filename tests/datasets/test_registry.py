from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.io

from manyview.datasets import convert, find_anchors, like, load, registry
from manyview.errors import FileError, ResourceError
from manyview.experiments import paper_tables
from manyview.files.npy_file import file_checksum

PAPER = ["CCV", "Caltech102", "NUS-WIDE-OBJ", "AwA", "Cifar-10", "YoutubeFace_sel"]


def test_the_papers_six_are_known():
    six = [e for e in registry.known() if e.paper]
    assert [e.name for e in six] == PAPER
    assert [e.classes for e in six] == [20, 102, 31, 50, 10, 31]
    assert six[-1].rows == 101_499 and six[-1].features == (64, 512, 64, 647, 838)
    assert all(e.source and e.preparation for e in registry.known())


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("ccv", "CCV"), ("NUSWIDEOBJ", "NUS-WIDE-OBJ"), ("YtVideo", "YoutubeFace_sel")],
)
def test_names_are_forgiving(spelling, name):
    assert registry.find(spelling).name == name
    assert registry.find("nothing like it") is None


def test_similar_names_are_told_apart():
    assert registry.find("Cifar-10").name != registry.find("Cifar-10-deep").name


@pytest.mark.parametrize("name", PAPER)
def test_a_missing_set_says_what_and_where(tmp_path, monkeypatch, name):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    with pytest.raises(FileError, match=rf"{name}\.mat.*rows.*S2MVTC repository") as e:
        load(name)
    assert str(tmp_path) in str(e.value)
    monkeypatch.delenv("MANYVIEW_DATA")
    with pytest.raises(FileError, match="set MANYVIEW_DATA to it"):
        load(name)


def test_a_set_is_found_by_any_ending_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    monkeypatch.setattr(registry, "is_trusted", lambda path: True)
    rng = np.random.default_rng(0)
    views = {f"view{v}": rng.normal(size=(40, d)) for v, d in enumerate((120, 21))}
    (tmp_path / "formats").mkdir()
    path = tmp_path / "formats" / "Nutrimouse.npz"
    np.savez(path, **views, labels=np.arange(40) % 5)
    assert load("nutrimouse").origin == "nutrimouse"
    np.savez(path, **views, labels=np.arange(40) % 4)
    with pytest.raises(FileError, match=r"4 classes; expected are .* 5 classes"):
        load("nutrimouse")
    assert len(load(path)) == 40
    # Without its labels, or with others, there are no classes to compare.
    assert load("nutrimouse", labels=False).labels is None
    assert load("nutrimouse", labels=np.arange(40)).n_views == 2
    np.savez(path, view0=views["view0"], labels=np.arange(40) % 5)
    with pytest.raises(FileError, match=r"expected are .* 120, 21 features"):
        load("nutrimouse", labels=False)


@pytest.fixture
def awa(tmp_path, monkeypatch):
    """Writes a small AwA.npz of these features; one of five views has its checksum."""
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    entries = [replace(e, rows=50) for e in registry.named("AwA")]
    monkeypatch.setattr(registry, "known", lambda: entries)

    def write(features, **stored):
        path = tmp_path / "AwA.npz"
        views = {f"view{v}": np.ones((50, d)) for v, d in enumerate(features)}
        np.savez(path, **views | stored, labels=np.arange(50))
        if len(features) == 5:
            entries[1] = replace(entries[1], sha256={path.name: file_checksum(path)})
        return path

    return write


def test_two_forms_of_a_set_are_told_apart_by_checksum(awa):
    path = awa([2688, 2000, 252, 2000, 2000, 2000])
    whole, part = registry.known()
    assert registry.search(whole) == path and registry.search(part) is None
    assert load("AwA").origin == "AwA" and whole.paper
    awa([252, 2000, 2000, 2000, 2000])
    whole, part = registry.known()
    assert registry.search(part) == path and registry.search(whole) is None
    assert load("AwA").origin == "AwA-5view" and not part.paper
    assert like("AwA", n_samples=60).n_views == 6


def test_counts_are_restored_by_name_and_only_once(awa, tmp_path):
    stored = np.tile(np.arange(200, dtype=np.uint8), (50, 10))
    path = awa([252, 2000, 2000, 2000, 2000], view2=stored)
    counts = (stored / 2.0) ** 2
    data = load("AwA")
    np.testing.assert_array_equal(data.arrays[2], counts)
    assert data.arrays[0].dtype == data.arrays[1].dtype == np.float64
    np.testing.assert_array_equal(load(path).arrays[2], stored)
    np.testing.assert_array_equal(load("AwA", views="view2").arrays[0], counts)
    with pytest.raises(ResourceError, match="AwA-5view would need"):
        load("AwA", memory_limit="2.7MB")
    convert(data, tmp_path / "AwA-5view")
    np.testing.assert_array_equal(load("AwA-5view").arrays[2], counts)


@pytest.fixture(scope="module")
def awa_as_filed():
    """The five views that MANYVIEW_DATA holds, read once."""
    return cache(lambda: load("AwA"))


@pytest.mark.data
def test_every_set_of_the_folder_is_as_known(data_folder, monkeypatch, awa_as_filed):
    monkeypatch.setenv("MANYVIEW_DATA", str(data_folder))
    found = [e for e in registry.known() if registry.search(e)]
    assert len(found) >= 28
    for entry in found:
        views = awa_as_filed() if entry.name == "AwA-5view" else load(entry.name)
        assert len(views) == entry.rows
        assert registry.is_trusted(registry.search(entry))


@pytest.mark.data
def test_the_five_views_of_awa_are_counts_and_not_the_papers(
    data_folder, monkeypatch, awa_as_filed
):
    monkeypatch.setenv("MANYVIEW_DATA", str(data_folder))
    data = awa_as_filed()
    assert data.origin == "AwA-5view" and data.n_features == (252, *[2000] * 4)
    # Every picture has 5,000 points of RGSIFT; storing their roots costs 2 %.
    np.testing.assert_allclose(data.arrays[2].sum(axis=1).mean(), 5000, rtol=0.02)
    assert ("AwA-5view", "S2MVTC as published") not in paper_tables.results()


@pytest.mark.data
def test_anchors_lie_beside_the_data(data_folder, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(data_folder))
    for name in ("CCV", data_folder / "CCV.npz", data_folder / "formats" / "CCV.mat"):
        anchors, path = find_anchors(name)
        assert path.name == "CCV_anchor.mat"
        assert [a.shape for a in anchors] == [(1000, 20)] * 3
    assert find_anchors("BDGP") is None


def test_anchors_beside_a_file_are_found(tmp_path):
    anchors = [np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)]
    views = np.empty((1, 2), dtype=object)
    views[0, :] = anchors
    (tmp_path / "toy.mat").write_bytes(b"")
    assert find_anchors(tmp_path / "toy.mat") is None
    (tmp_path / "formats").mkdir()
    for folder in (tmp_path / "formats", tmp_path):
        scipy.io.savemat(folder / "toy_anchor.mat", {"anchor": views})
        found, path = find_anchors(tmp_path / "toy.mat")
        assert path == folder / "toy_anchor.mat"
        for array, wanted in zip(found, anchors, strict=True):
            np.testing.assert_array_equal(array, wanted)


def test_anchors_of_a_known_set_are_looked_for_in_its_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    assert find_anchors("CCV") is None
