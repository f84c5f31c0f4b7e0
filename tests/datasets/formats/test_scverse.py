import sys

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import load
from manyview.errors import DependencyError, FileError

anndata = pytest.importorskip("anndata")
mudata = pytest.importorskip("mudata")
pd = pytest.importorskip("pandas")

# Features of two modalities share their names on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:var_names are not unique:UserWarning")


def make_anndata(matrix, rows, **obs):
    columns = [f"f{i}" for i in range(matrix.shape[1])]
    return anndata.AnnData(
        matrix,
        obs=pd.DataFrame(obs, index=rows),
        var=pd.DataFrame(index=columns),
    )


@pytest.fixture
def h5ad(tmp_path, parts):
    a, b, _ = parts
    kinds = pd.Categorical(["T", "B", "NK"] * 4)
    data = make_anndata(sp.csr_matrix(a), [f"c{i}" for i in range(12)], cell_type=kinds)
    data.layers["counts"] = a * 2
    data.obsm["X_pca"] = b
    data.obs["batch"] = np.arange(12) % 2
    data.write_h5ad(tmp_path / "d.h5ad")
    return tmp_path / "d.h5ad"


def test_x_of_anndata_stays_sparse(h5ad, parts, read):
    raw = read(h5ad)
    assert raw.names == ["X"] and raw.views[0].format == "csr"
    np.testing.assert_array_equal(raw.views[0].toarray(), parts[0])
    assert raw.feature_names == [["f0", "f1", "f2"]]
    assert raw.row_names[0] == "c0"
    assert raw.labels.tolist() == ["T", "B", "NK"] * 4


def test_layers_and_embeddings_by_name(h5ad, parts, read):
    raw = read(h5ad, views=["layers/counts", "obsm/X_pca"], labels="batch")
    np.testing.assert_array_equal(raw.views[0], parts[0] * 2)
    np.testing.assert_array_equal(raw.views[1], parts[1])
    assert raw.feature_names == [["f0", "f1", "f2"], None]
    assert raw.labels.tolist() == [0, 1] * 6


def test_other_names_are_listed(h5ad, read):
    with pytest.raises(FileError, match=r"Found: X, layers/counts, obsm/X_pca.*--view"):
        read(h5ad, views=["layers/raw"])
    with pytest.raises(FileError, match=r"no column 'kind'.*cell_type, batch"):
        read(h5ad, labels="kind")


@pytest.fixture
def h5mu(tmp_path, parts):
    a, b, _ = parts
    rna = make_anndata(a[:10], [f"c{i}" for i in range(10)])
    protein = make_anndata(sp.csr_matrix(b[4:]), [f"c{i}" for i in range(4, 12)])
    with mudata.set_options(pull_on_update=False):
        data = mudata.MuData({"rna": rna, "protein": protein})
        data.obs["labels"] = np.arange(12) % 3
        data.write(tmp_path / "d.h5mu")
    return tmp_path / "d.h5mu"


def test_mudata_marks_what_is_missing(h5mu, parts, read):
    a, b, _ = parts
    raw = read(h5mu)
    order = [int(n[1:]) for n in raw.row_names]
    assert sorted(order) == list(range(12)) and raw.names == ["rna", "protein"]
    np.testing.assert_array_equal(raw.present[:, 0], np.array(order) < 10)
    np.testing.assert_array_equal(raw.present[:, 1], np.array(order) >= 4)
    np.testing.assert_array_equal(
        raw.views[0], np.where(raw.present[:, :1], a[order], 0)
    )
    np.testing.assert_array_equal(
        raw.views[1].toarray(), np.where(raw.present[:, 1:], b[order], 0)
    )
    assert raw.labels.tolist() == [i % 3 for i in range(12)]


def test_mudata_without_its_map_matches_names(h5mu, read):
    before = read(h5mu)
    with h5py.File(h5mu, "r+") as file:
        del file["obsmap"]
    after = read(h5mu)
    np.testing.assert_array_equal(after.present, before.present)
    np.testing.assert_array_equal(after.views[0], before.views[0])


def test_a_map_that_points_outside(h5mu, read):
    with h5py.File(h5mu, "r+") as file:
        file["obsmap/rna"][0] = 999
    with pytest.raises(FileError, match="map of rows of modality 'rna'"):
        read(h5mu)


def test_a_matrix_of_another_length(h5ad, read):
    with h5py.File(h5ad, "r+") as file:
        del file["layers/counts"]
        file["layers/counts"] = np.ones((5, 3))
    with pytest.raises(FileError, match="has 5 rows but its table of rows"):
        read(h5ad, views=["layers/counts"])


def test_categories_that_do_not_fit(h5ad, read):
    with h5py.File(h5ad, "r+") as file:
        file["obs/cell_type/codes"][0] = 77
    with pytest.raises(FileError, match=r"could not be read as hdf5.*damaged"):
        read(h5ad)


def test_missing_classes_are_empty_text(tmp_path, parts, read):
    data = make_anndata(
        parts[0],
        [f"c{i}" for i in range(12)],
        cell_type=pd.Categorical([None, *["T", "B"] * 5, "T"]),
        dose=pd.array([0, 1, 2, 3, 4, None, 6, 7, 8, 9, 10, 11], dtype="Int64"),
        level=pd.array(range(12), dtype="Int64"),
        word=[f"w{i}" for i in range(12)],
    )
    path = tmp_path / "d.h5ad"
    data.write_h5ad(path)
    assert read(path).labels.tolist()[:3] == ["", "T", "B"]
    assert read(path, labels="dose").labels.tolist()[4:7] == ["4", "", "6"]
    assert read(path, labels="level").labels.dtype == np.int64
    assert read(path, labels="word").labels[3] == "w3"
    assert read(path, labels=False).labels is None


def test_labels_of_a_modality(h5mu, read):
    with h5py.File(h5mu, "r+") as file:
        frame = anndata.io.read_elem(file["mod/rna/obs"])
        frame["batch"] = np.arange(10) % 2
        anndata.io.write_elem(file["mod/rna"], "obs", frame)
    with pytest.raises(FileError, match=r"no column 'batch'.*labels, rna/obs/batch"):
        read(h5mu, labels="batch")


def test_without_the_package(h5ad, read, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    with pytest.raises(DependencyError, match='pip install "anndata'):
        read(h5ad)


@pytest.mark.filterwarnings("ignore::anndata.OldFormatWarning")
def test_a_table_without_an_index(h5ad, read):
    with h5py.File(h5ad, "r+") as file:
        del file["obs"]
        file["obs"] = np.arange(12)
    with pytest.raises(FileError, match="has no index"):
        read(h5ad)


def test_full_modalities_are_not_copied(tmp_path, parts, read):
    a, b, _ = parts
    rows = [f"c{i}" for i in range(12)]
    with mudata.set_options(pull_on_update=False):
        data = mudata.MuData({"x": make_anndata(a, rows), "y": make_anndata(b, rows)})
        data.write(tmp_path / "d.h5mu")
    raw = read(tmp_path / "d.h5mu")
    assert raw.present is None and raw.labels is None
    np.testing.assert_array_equal(raw.views[1], b)


@pytest.fixture
def with_proteins(h5ad, parts):
    """Proteins beside the genes, as a matrix and as a table."""
    data = anndata.read_h5ad(h5ad)
    data.obsm["protein"] = parts[1]
    table = pd.DataFrame(parts[1], index=data.obs_names, columns=list("pqrst"))
    data.obsm["antibodies"] = table
    data.write_h5ad(h5ad)
    return h5ad


def test_what_else_was_measured_is_said(with_proteins, h5mu, read):
    (note,) = read(with_proteins).notes
    assert "X was taken" in note and "obsm/protein" in note and "--view" in note
    assert "obsm/antibodies" in note and "X_pca" not in note
    assert read(with_proteins, views=["X"]).notes == ()
    assert read(h5mu).notes == ()


def test_a_table_of_proteins_is_a_view(with_proteins, parts, read):
    raw = read(with_proteins, views=["X", "obsm/antibodies"])
    np.testing.assert_array_equal(raw.views[1], parts[1])
    assert raw.feature_names[1] == list("pqrst")


def test_a_table_of_text_is_no_view(h5ad, read):
    data = anndata.read_h5ad(h5ad)
    data.obsm["kinds"] = pd.DataFrame({"a": ["x"] * 12}, index=data.obs_names)
    data.write_h5ad(h5ad)
    with pytest.raises(FileError, match="obsm/kinds has columns that are not numeric"):
        read(h5ad, views=["obsm/kinds"])


def test_our_own_embedding_is_not_offered(h5ad, parts, read):
    data = anndata.read_h5ad(h5ad)
    data.obsm["X_mine"] = parts[1]
    data.uns["mine"] = {"method": "S2MVTC", "views": np.array(["X"])}
    data.write_h5ad(h5ad)
    assert read(h5ad).notes == ()


def test_rows_that_all_modalities_have(h5mu):
    whole, inner = load(h5mu), load(h5mu, join="inner")
    kept = whole.present.all(axis=1)
    assert inner.present is None and len(inner) == kept.sum() == 6
    assert list(inner.row_names) == list(whole.row_names[kept])
    np.testing.assert_array_equal(inner.arrays[0], whole.arrays[0][kept])
    assert inner.labels.tolist() == whole.labels[kept].tolist()
