"""
Single cells: counts of genes and of proteins
=============================================

CITE-seq measures thousands of sparse gene counts and a few dozen proteins of the same
cells. The data here is generated with that shape: five kinds of cells, each with a gene
program and marker proteins, both noisy. Sparse views stay sparse.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from manyview import S2MVTC, Views
from manyview.metrics import ari, contingency

rng = np.random.default_rng(0)
kinds = np.array(["B", "T helper", "T killer", "monocyte", "NK"])
kind = rng.integers(5, size=900)

depth = rng.lognormal(0.0, 0.4, size=(900, 1))
raised = kind[:, None] == (np.arange(1200) % 12)
genes = sp.csr_array(rng.poisson(depth * (0.05 + 0.18 * raised)))
markers = kind[:, None] == (np.arange(25) % 5)
proteins = rng.poisson(20 + 5 * markers * rng.gamma(2.0, 0.5, size=(900, 25)))

views = Views({"genes": genes, "proteins": proteins}, labels=kinds[kind])
print(views)
print(f"{1 - genes.nnz / np.prod(genes.shape):.0%} of the gene counts are zero")

# %%
# Counts are recognised as counts: each view alone, and both.

settings = {"n_anchors": 200, "n_graph_anchors": 1000, "random_state": 0}
for name in views.names:
    alone = S2MVTC(5, **settings).fit([views.view(name)])
    print(f"{name} alone: ARI {ari(views.labels, alone.labels_):.2f}")

model = S2MVTC(5, **settings).fit(views)
print(f"both: ARI {ari(views.labels, model.labels_):.2f}")

# %%
# Which kinds of cells fell into which cluster:

table = contingency(views.labels, model.labels_).toarray()
names = np.unique(views.labels)
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
axis.imshow(table, cmap="Blues")
for i, j in np.ndindex(table.shape):
    dark = table[i, j] > table.max() / 2
    axis.text(j, i, table[i, j], ha="center", va="center", color="w" if dark else "k")
axis.set_yticks(range(len(names)), names)
axis.set(xlabel="cluster", title="Cells by kind and cluster (generated, seed 0)")
plt.show()
