"""AnnData, MuData, pandas and polars: in, and Series of their rows back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from manyview import AnchorSpectral, Views
from manyview.datasets import make_views
from manyview.errors import InputError
from manyview.views.containers import is_container, series

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


def test_series_keep_the_index_of_their_rows(cells):
    table = pd.DataFrame(np.eye(3), index=list("xyz"))
    for source in (table, [table, np.eye(3)], {"a": table}, Views([table])):
        found = series([2, 0, 1], source)
        assert found.to_dict() == {"x": 2, "y": 0, "z": 1} and found.name == "cluster"
    assert series([1, 2], [np.eye(2)]).index.tolist() == [0, 1]
    polars = series(np.array([1, 0]), [pl.DataFrame({"a": [1.0, 2.0]})])
    assert isinstance(polars, pl.Series) and polars.to_list() == [1, 0]
    assert series(np.zeros(120), cells).index.tolist() == list(cells.obs_names)
