"""Clusters written into AnnData and MuData objects, where scverse looks for them."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from manyview import AnchorSpectral
from manyview.datasets import make_views
from manyview.errors import InputError, InputTypeError
from manyview.sc import cluster

anndata = pytest.importorskip("anndata")
mudata = pytest.importorskip("mudata")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")


@pytest.fixture
def data():
    return make_views(120, (6, 8, 5), 3, random_state=2)


@pytest.fixture
def cells(data):
    """Two modalities, the first sparse and with an embedding; the other lacks cells."""
    names = [f"cell{i}" for i in range(120)]
    rna = anndata.AnnData(sp.csr_matrix(np.maximum(data.arrays[0], 0)))
    rna.obsm["X_pca"] = data.arrays[2]
    prot = anndata.AnnData(data.arrays[1][10:])
    rna.obs_names, prot.obs_names = names, names[10:]
    return mudata.MuData({"rna": rna, "prot": prot})


def test_results_are_written_back_and_survive_a_file(cells, data, tmp_path):
    parts = ["rna", "prot", "rna/obsm/X_pca"]
    assert cluster(cells, 3, views=parts) is None
    found = cells.obs["manyview"]
    truth = [data.labels[int(name.removeprefix("cell"))] for name in cells.obs_names]
    assert adjusted_rand_score(truth, found) > 0.8
    assert list(found.cat.categories) == ["0", "1", "2"]
    assert cells.obsm["X_manyview"].shape[0] == 120
    assert cells.obs["manyview_certainty"].between(0, 1).all()
    cells.write(tmp_path / "cells.h5mu")
    again = mudata.read(tmp_path / "cells.h5mu")
    assert list(again.uns["manyview"]["views"]) == parts
    assert again.uns["manyview"]["params"]["n_clusters"] == 3
    assert again.uns["manyview"]["view_influence"].sum() == pytest.approx(1.0)
    assert (again.obs["manyview"].astype(str) == found.astype(str)).all()


def test_a_copy_another_key_and_another_estimator(cells):
    model = AnchorSpectral(2, random_state=0)
    copy = cluster(cells, estimator=model, key_added="groups", copy=True)
    assert "groups" not in cells.obs and copy.obs["groups"].nunique() == 2
    assert copy.uns["groups"]["method"] == "AnchorSpectral"


def test_single_gaps_can_be_filled(cells):
    cells.mod["prot"].X[3, 1] = np.nan
    with pytest.raises(InputError, match="filled"):
        cluster(cells, 3)
    cluster(cells, 3, fill="mean")
    assert cells.obs["manyview"].notna().all()


def test_other_things_are_refused():
    with pytest.raises(InputTypeError, match="MuData or AnnData; got DataFrame"):
        cluster(pd.DataFrame({"a": [1.0]}))


PEAK = textwrap.dedent(
    """
    import resource
    import anndata, mudata, numpy as np, scipy.sparse as sp
    from manyview.sc import cluster
    from manyview import S2MVTC

    rng = np.random.default_rng(0)
    n, d, per_row = 6000, 40000, 60
    group = rng.integers(4, size=n)
    # Every group has markers of its own among the many features.
    columns = rng.integers(0, d, size=(n, per_row))
    columns[:, :30] = group[:, None] * 100 + rng.integers(0, 100, size=(n, 30))
    rows = np.repeat(np.arange(n), per_row)
    ones = np.ones(n * per_row, dtype=np.float32)
    rna = sp.csr_matrix((ones, (rows, columns.ravel())), shape=(n, d))
    prot = group[:, None] * 3.0 + rng.normal(size=(n, 10))
    both = {"rna": rna, "prot": prot.astype(np.float32)}
    cells = mudata.MuData({m: anndata.AnnData(x) for m, x in both.items()})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Anchors are dense: few of them, and what is left is the path of the rows.
    model = S2MVTC(4, n_anchors=50, n_graph_anchors=400, random_state=0)
    cluster(cells, estimator=model)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = cells.obs["manyview"].cat.codes
    rows = [np.bincount(group[found == c]) for c in range(4)]
    print((after - before) * 1024, n * d * 4, sum(r.max() for r in rows) / n)
    """
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no resource module there")
def test_a_sparse_modality_is_never_made_dense_whole():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEAK],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, dense, purity = map(float, run.stdout.split())
    assert grown < dense, f"{grown:.3g} bytes; dense the view takes {dense:.3g}"
    assert purity > 0.9


@pytest.fixture
def counted(data):
    """Raw counts of genes and proteins, genes with a layer and chosen features."""
    rng = np.random.default_rng(0)
    names = [f"cell{i}" for i in range(120)]
    raised = data.labels[:, None] == np.arange(60) % 6
    depth = rng.lognormal(0.0, 0.8, size=(120, 1))
    genes = rng.poisson(depth * (1.0 + 6.0 * raised)).astype(np.float32)
    genes[:, 40:] = rng.poisson(20.0, size=(120, 20))  # which tell nothing
    rna = anndata.AnnData(sp.csr_matrix(genes))
    rna.layers["noise"] = rng.poisson(5.0, size=genes.shape).astype(np.float32)
    rna.obsm["X_pca"] = data.arrays[2]
    rna.var["highly_variable"] = np.arange(60) < 40
    rna.var_names = [f"gene{j}" for j in range(60)]
    markers = data.labels[:, None] == np.arange(12) % 3
    prot = anndata.AnnData(rng.poisson(20 + 30 * markers).astype(np.float32))
    prot.var_names = [f"protein{j}" for j in range(12)]
    rna.obs_names = prot.obs_names = names
    return mudata.MuData({"rna": rna, "prot": prot})


def test_raw_counts_need_no_preparation(counted, data):
    cluster(counted, 3)
    assert adjusted_rand_score(data.labels, counted.obs["manyview"]) > 0.9
    deeper = counted.copy()
    factor = np.random.default_rng(1).integers(1, 5, size=(120, 1))
    deeper.mod["rna"].X = sp.csr_matrix(deeper.mod["rna"].X.multiply(factor))
    cluster(deeper, 3)
    same = adjusted_rand_score(counted.obs["manyview"], deeper.obs["manyview"])
    assert same > 0.95, "sequencing depth must not matter"


def test_highly_variable_features_are_kept_alone(counted):
    cluster(counted, 3)
    assert counted.uns["manyview"]["n_features"].tolist() == [40, 12]
    cluster(counted, 3, use_highly_variable=False, key_added="all")
    assert counted.uns["all"]["n_features"].tolist() == [60, 12]
    del counted.mod["rna"].var["highly_variable"]
    with pytest.raises(InputError, match="highly_variable_genes first"):
        cluster(counted, 3, use_highly_variable=True)
    counted.mod["rna"].var["highly_variable"] = False
    with pytest.raises(InputError, match="of 'rna' chooses none of 60 features"):
        cluster(counted, 3)
    with pytest.raises(InputTypeError, match="use_highly_variable"):
        cluster(counted, 3, use_highly_variable="yes")


def test_layers_and_representations_take_the_place_of_x(counted, data):
    cluster(counted, 3, use_rep={"rna": "X_pca"})
    assert list(counted.uns["manyview"]["views"]) == ["rna/obsm/X_pca", "prot"]
    assert counted.uns["manyview"]["n_features"].tolist() == [5, 12]
    rna = counted.mod["rna"].copy()
    cluster(rna, 3, layer="noise", key_added="layer")
    cluster(rna, 3, use_rep="X", key_added="own")
    assert list(rna.uns["layer"]["views"]) == ["layers/noise"]
    scores = [adjusted_rand_score(data.labels, rna.obs[k]) for k in ("layer", "own")]
    assert scores[0] < 0.2 < 0.9 < scores[1]


def test_the_graph_is_where_scanpy_looks(counted):
    cluster(counted, 3, key_added="mv")
    record = counted.uns["mv_neighbors"]
    distances = counted.obsp[record["distances_key"]]
    weights = counted.obsp[record["connectivities_key"]]
    assert (np.diff(distances.indptr) == record["params"]["n_neighbors"] - 1).all()
    assert abs(weights - weights.T).max() == 0 and 0 < weights.max() <= 1
    rows, columns = weights.nonzero()
    found = counted.obs["mv"].cat.codes.to_numpy()
    assert (found[rows] == found[columns]).mean() > 0.9
    # mu.tl.umap asks every modality for the representation and its columns.
    params = record["params"]
    assert params["use_rep"] == {"rna": "X_mv", "prot": "X_mv"}
    assert set(params["n_pcs"].values()) == {-1}
    assert counted["rna"].uns["mv_neighbors"]["params"]["use_rep"] == "X_mv"


def test_every_modality_has_the_clusters(cells):
    cluster(cells, 3, views=["rna/obsm/X_pca", "prot"])
    for table in cells.mod.values():
        expected = cells.obs["manyview"].loc[table.obs_names]
        assert (table.obs["manyview"].astype(str) == expected.astype(str)).all()
        n_cells = table.n_obs
        assert table.obsp["manyview_connectivities"].shape == (n_cells, n_cells)
        rows = cells.obs_names.get_indexer(table.obs_names)
        whole = cells.obsm["X_manyview"]
        assert np.array_equal(table.obsm["X_manyview"], whole[rows])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"use_rep": {"atac": "X_lsi"}}, "modality 'atac'; the modalities are rna"),
        ({"use_rep": "X_lsi"}, "no matrix for the view 'rna/obsm/X_lsi'"),
        ({"layer": {"rna": "raw"}}, "no matrix for the view 'rna/layers/raw'"),
        ({"layer": "raw", "views": ["rna"]}, "either views, or use_rep and layer"),
    ],
)
def test_parts_that_are_not_there_are_named(counted, given, words):
    with pytest.raises(InputError, match=words):
        cluster(counted, 3, **given)


def test_names_of_cells_may_repeat_where_nothing_is_matched(counted, cells):
    rna = counted["rna"].copy()
    cluster(rna, 3)
    expected = rna.obs["manyview"].tolist()
    rna.obs_names = ["same"] * 120
    cluster(rna, 3)
    assert rna.obs["manyview"].tolist() == expected
    cells.mod["prot"].obs_names = ["same"] * 110
    fits = AnchorSpectral(3)
    with pytest.raises(InputError, match="obs_names_make_unique"):
        cluster(cells, views=["rna"], estimator=fits)
    assert not hasattr(fits, "labels_")


def test_names_of_the_wrong_kind_are_refused(counted):
    with pytest.raises(InputTypeError, match="layer must be a name"):
        cluster(counted, 3, layer=["counts"])
    for name in ("", "a/b"):
        with pytest.raises(InputTypeError, match="key_added"):
            cluster(counted, 3, key_added=name)


@pytest.mark.slow
def test_scanpy_goes_on_from_there(counted, data, tmp_path, monkeypatch):
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed")
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="no matplotlib")
    monkeypatch.chdir(tmp_path)
    cluster(counted, 3)
    rna = counted["rna"]
    scanpy.tl.umap(rna, neighbors_key="manyview_neighbors")
    axis = scanpy.pl.umap(rna, color="manyview", show=False)
    assert axis.collections and rna.obsm["X_umap"].shape == (120, 2)
    pyplot.close("all")
    axis = scanpy.pl.embedding(rna, "X_manyview", color="manyview", show=False)
    assert len(axis.collections[0].get_offsets()) == 120
    pyplot.close("all")
    scanpy.tl.diffmap(rna, neighbors_key="manyview_neighbors")
    assert rna.obsm["X_diffmap"].shape[0] == 120
    scanpy.tl.leiden(
        rna, neighbors_key="manyview_neighbors", flavor="igraph", n_iterations=2
    )
    pure = adjusted_rand_score(rna.obs["manyview"], rna.obs["leiden"])
    assert pure > 0.3, "communities of the graph lie within the clusters"
    scanpy.tl.paga(rna, groups="leiden", neighbors_key="manyview_neighbors")
    assert rna.uns["paga"]["connectivities"].nnz > 0
    scanpy.pp.normalize_total(rna)
    scanpy.pp.log1p(rna)
    scanpy.tl.rank_genes_groups(rna, "manyview", method="wilcoxon")
    for group in rna.obs["manyview"].cat.categories:
        kind = np.bincount(data.labels[rna.obs["manyview"] == group]).argmax()
        best = rna.uns["rank_genes_groups"]["names"][group][:5]
        assert {int(name.removeprefix("gene")) % 6 for name in best} == {kind}


@pytest.mark.slow
def test_what_scanpy_prepared_is_honoured(counted, data):
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed")
    rna = counted["rna"]
    del rna.var["highly_variable"]
    rna.layers["counts"] = rna.X.copy()
    scanpy.pp.normalize_total(rna)
    scanpy.pp.log1p(rna)
    scanpy.pp.highly_variable_genes(rna, n_top_genes=30)
    scanpy.pp.pca(rna, n_comps=8)
    features = {
        "x": {},
        "layer": {"layer": {"rna": "counts"}},
        "rep": {"use_rep": {"rna": "X_pca"}},
    }
    for key, asked in features.items():
        cluster(counted, 3, key_added=key, **asked)
        assert adjusted_rand_score(data.labels, counted.obs[key]) > 0.9
    found = {key: counted.uns[key]["n_features"].tolist() for key in features}
    assert found == {"x": [30, 12], "layer": [30, 12], "rep": [8, 12]}


@pytest.mark.slow
def test_muon_goes_on_from_there(counted, tmp_path, monkeypatch):
    muon = pytest.importorskip("muon", reason="muon is not installed")
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="no matplotlib")
    monkeypatch.chdir(tmp_path)
    cluster(counted, 3)
    axis = muon.pl.embedding(counted, basis="X_manyview", color="manyview", show=False)
    assert axis.collections
    muon.tl.umap(counted, neighbors_key="manyview_neighbors")
    assert counted.obsm["X_umap"].shape == (120, 2)
    assert muon.pl.umap(counted, color="manyview", show=False).collections
    pyplot.close("all")
