"""AnnData, MuData, pandas and polars: in, and Series of their rows back."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import AnchorSpectral, Views
from manyview.datasets import make_views
from manyview.errors import DataWarning, InputError
from manyview.sc import cluster
from manyview.views.containers import is_container

anndata = pytest.importorskip("anndata")
mudata = pytest.importorskip("mudata")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture(scope="module")
def data():
    return make_views(120, (6, 8, 5), 3, random_state=2)


@pytest.fixture
def cells(data):
    """Two modalities; the second lacks the first ten cells and is in another order."""
    names = [f"cell{i}" for i in range(120)]
    rna = anndata.AnnData(sp.csr_matrix(np.maximum(data.arrays[0], 0)))
    rna.obs_names, rna.var_names = names, [f"gene{j}" for j in range(6)]
    rna.layers["raw"] = data.arrays[0]
    rna.obsm["X_pca"] = data.arrays[2]
    rows = np.arange(10, 120)[::-1]
    prot = anndata.AnnData(data.arrays[1][rows])
    prot.obs_names = [names[i] for i in rows]
    return mudata.MuData({"rna": rna, "prot": prot})


def test_every_modality_is_a_view_with_its_rows_in_place(cells, data):
    views = Views.of(cells)
    assert views.names == ("rna", "prot")
    assert sp.issparse(views.arrays[0])
    assert views.feature_names[0] == tuple(f"gene{j}" for j in range(6))
    order = [int(str(name).removeprefix("cell")) for name in views.row_names]
    assert np.array_equal(views.present[:, 1], np.array(order) >= 10)
    there = views.present[:, 1]
    assert np.array_equal(
        views.arrays[1][there], data.arrays[1][np.array(order)[there]]
    )


def test_layers_and_embeddings_by_name(cells, data):
    views = Views.of(cells, ["rna/layers/raw", "rna/obsm/X_pca"])
    assert views.n_features == (6, 5) and views.present is None
    assert views.feature_names[1] is None
    one = Views.of(cells.mod["rna"], ["X", "obsm/X_pca"])
    assert one.names == ("X", "obsm/X_pca")
    assert Views.of(cells.mod["rna"]).n_views == 1


@pytest.mark.parametrize("wrong", ["dna", "rna/layers/no", "rna/obsm/no", "rna/else"])
def test_wrong_names_get_a_sentence(cells, wrong):
    with pytest.raises(InputError, match="There is no"):
        Views.of(cells, wrong)


def test_estimators_take_containers_directly(cells):
    model = AnchorSpectral(3, random_state=0).fit(cells)
    assert model.view_names_ == ("rna", "prot")
    assert np.array_equal(model.predict(cells), model.labels_)
    assert Views.of(cells.mod["prot"]).n_views == 1


def test_other_things_are_no_containers():
    table = pd.DataFrame({"a": [1.0]})
    assert not is_container(table) and not is_container([table])


def test_shared_features_are_refused():
    rows = anndata.AnnData(np.eye(3))
    with pytest.raises(InputError, match="axis=1"):
        Views.of(mudata.MuData({"a": rows, "b": rows.copy()}, axis=1))


@pytest.fixture
def measured(data):
    """Genes in X, proteins beside them in obsm, as a matrix and as a table."""
    cells = anndata.AnnData(data.arrays[0].copy())
    cells.obs_names = [f"cell{i}" for i in range(120)]
    cells.obsm["X_pca"] = data.arrays[2]
    cells.obsm["protein"] = data.arrays[1]
    names = [f"p{j}" for j in range(8)]
    table = pd.DataFrame(data.arrays[1], index=cells.obs_names, columns=names)
    cells.obsm["antibodies"] = table
    return cells


def test_what_was_taken_and_what_else_there_is_is_said(measured):
    with pytest.warns(DataWarning) as told:
        views = Views.of(measured)
    (words,) = [str(w.message) for w in told if w.category is DataWarning]
    assert views.names == ("X",)
    assert "X was taken; it also holds obsm/protein, obsm/antibodies." in words
    assert "Views.of(data, ['X', 'obsm/protein'])" in words and "--view" in words
    with pytest.warns(DataWarning, match="rna/obsm/protein"):
        Views.of(mudata.MuData({"rna": measured}))


def test_nothing_is_said_where_parts_are_named_or_computed(measured, cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        both = Views.of(measured, ["X", "obsm/antibodies"])
        Views.of(cells.mod["rna"])
    assert both.feature_names[1] == tuple(f"p{j}" for j in range(8))
    np.testing.assert_array_equal(both.arrays[1], measured.obsm["protein"])


def test_results_of_ours_are_no_measurement(measured):
    del measured.obsm["protein"], measured.obsm["antibodies"]
    cluster(measured, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        cluster(measured, 3)


def test_tables_of_cells_are_matched_by_their_names(measured, data):
    order = np.random.default_rng(0).permutation(120)
    prot = anndata.AnnData(data.arrays[1])
    prot.obs_names = measured.obs_names
    rna = anndata.AnnData(measured.X, obs=measured.obs, var=measured.var)
    with pytest.warns(DataWarning, match="'prot' stand in another order"):
        views = Views({"rna": rna, "prot": prot[order]})
    np.testing.assert_array_equal(views.arrays[1], data.arrays[1])
    assert views.feature_names[0] == tuple(rna.var_names)
    with pytest.raises(InputError, match=r"90 of 120 names"):
        Views({"rna": rna, "prot": prot[order[:90]]})
    assert len(Views({"rna": rna, "prot": prot[:90]}, join="inner")) == 90


def test_the_rows_that_all_modalities_have(cells):
    whole, inner = Views.of(cells), Views.of(cells, join="inner")
    assert inner.present is None and len(inner) == 110
    kept = whole.present.all(axis=1)
    assert list(inner.row_names) == list(whole.row_names[kept])
    np.testing.assert_array_equal(inner.arrays[1], whole.arrays[1][kept])
    apart = mudata.MuData(
        {"a": cells.mod["rna"][:5].copy(), "b": cells.mod["prot"][:5].copy()}
    )
    with pytest.raises(InputError, match="None of the 10 rows is in all"):
        Views.of(apart, join="inner")


def test_repeated_names_stand_as_they_are_or_are_refused(data):
    cells = anndata.AnnData(data.arrays[0])
    cells.obs_names = ["same"] * 120
    assert len(Views.of(cells)) == 120
    whole = SimpleNamespace(
        mod={"rna": cells}, obs=None, obsm={}, obs_names=pd.Index(["same", "other"])
    )
    with pytest.raises(InputError, match="obs_names_make_unique"):
        Views.of(whole)
