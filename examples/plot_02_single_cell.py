"""
Single cells: counts of genes and of proteins
=============================================

CITE-seq measures thousands of sparse gene counts and a few dozen proteins of the same
cells. The data here is generated with that shape: five kinds of cells, each with a gene
program and marker proteins, both noisy. Sparse views stay sparse.
"""

import anndata
import matplotlib.pyplot as plt
import mudata
import numpy as np
import scipy.sparse as sp

import manyview
from manyview.metrics import ari, contingency

rng = np.random.default_rng(0)
kinds = np.array(["B", "T helper", "T killer", "monocyte", "NK"])
kind = rng.integers(5, size=900)

depth = rng.lognormal(0.0, 0.4, size=(900, 1))
raised = kind[:, None] == (np.arange(1200) % 12)
genes = sp.csr_matrix(rng.poisson(depth * (0.05 + 0.18 * raised)).astype("float32"))
markers = kind[:, None] == (np.arange(25) % 5)
proteins = rng.poisson(20 + 5 * markers * rng.gamma(2.0, 0.5, size=(900, 25)))

cells = mudata.MuData(
    {
        "rna": anndata.AnnData(genes),
        "prot": anndata.AnnData(proteins.astype("float32")),
    }
)
for name, table in cells.mod.items():
    table.var_names = [f"{name}{j}" for j in range(table.n_vars)]
cells.update()
print(f"{1 - genes.nnz / np.prod(genes.shape):.0%} of the gene counts are zero")

# %%
# Raw counts are recognised as counts: each modality alone, and both.

manyview.sc.cluster(cells, 5, views="rna", key_added="rna_alone")
manyview.sc.cluster(cells, 5, views="prot", key_added="prot_alone")
manyview.sc.cluster(cells, 5, key_added="both")
for key in ("rna_alone", "prot_alone", "both"):
    print(f"{key}: ARI {ari(kinds[kind], cells.obs[key].cat.codes):.2f}")

# %%
# Clusters stand in ``obs``, the embedding in ``obsm``, its graph in ``obsp`` and the
# settings in ``uns``: scanpy and muon go on from there, for instance with
# ``sc.tl.rank_genes_groups(cells["rna"], "both")``.

print(cells)

# %%
# Which kinds of cells fell into which cluster, and the graph of the cells, ordered by
# their clusters:

found = cells.obs["both"].cat.codes.to_numpy()
table = contingency(kinds[kind], found).toarray()
names = np.unique(kinds)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].imshow(table, cmap="Blues")
for i, j in np.ndindex(table.shape):
    dark = table[i, j] > table.max() / 2
    colour = "w" if dark else "k"
    axes[0].text(j, i, table[i, j], ha="center", va="center", color=colour)
axes[0].set_yticks(range(len(names)), names)
axes[0].set(xlabel="cluster", title="Cells by kind and cluster")
order = np.argsort(found, kind="stable")
axes[1].spy(cells.obsp["both_connectivities"][order][:, order], markersize=0.3)
axes[1].set(title="Neighbours in the embedding", xlabel="cell, by cluster")
figure.suptitle("900 generated cells, two modalities, seed 0")
plt.show()
