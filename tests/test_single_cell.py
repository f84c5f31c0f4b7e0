"""Clusters written into AnnData and MuData objects."""

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
from manyview.single_cell import cluster_mudata

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
    assert cluster_mudata(cells, 3, views=parts) is None
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
    copy = cluster_mudata(cells, estimator=model, key_added="groups", copy=True)
    assert "groups" not in cells.obs and copy.obs["groups"].nunique() == 2
    assert copy.uns["groups"]["method"] == "AnchorSpectral"


def test_single_gaps_can_be_filled(cells):
    cells.mod["prot"].X[3, 1] = np.nan
    with pytest.raises(InputError, match="filled"):
        cluster_mudata(cells, 3)
    cluster_mudata(cells, 3, fill="mean")
    assert cells.obs["manyview"].notna().all()


def test_other_things_are_refused():
    with pytest.raises(InputTypeError, match="MuData or AnnData; got DataFrame"):
        cluster_mudata(pd.DataFrame({"a": [1.0]}))


PEAK = textwrap.dedent(
    """
    import resource
    import anndata, mudata, numpy as np, scipy.sparse as sp
    from manyview.single_cell import cluster_mudata
    from manyview import S2MVTC

    rng = np.random.default_rng(0)
    n, d, per_row = 6000, 20000, 60
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
    cluster_mudata(cells, estimator=model)
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
