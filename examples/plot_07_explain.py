"""
Explaining clusters
===================

Which views made the clusters, which features set them apart, and which rows are
typical or doubtful. The third view here is noise, and the explanation has to find
that out.
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import S2MVTC, Views, plot
from manyview.datasets import make_views
from manyview.explain import explain

made = make_views(500, (4, 4, 4), 3, view_quality=[1.0, 0.6, 0.0], random_state=2)
views = Views(
    dict(zip(("blood", "scan", "survey"), made.arrays, strict=True)),
    feature_names=[
        [f"{view} {i}" for i in range(4)] for view in ("blood", "scan", "survey")
    ],
    row_names=[f"patient {i}" for i in range(500)],
)
model = S2MVTC(3, n_anchors=150, n_graph_anchors=900, random_state=0).fit(views)
found = explain(model, views, n_features=2, n_rows=2)
found

# %%
# Influence of the views, overall and on each cluster:

names = ["all rows", *(f"cluster {j}" for j in range(3))]
shares = np.vstack([found.view_influence, found.cluster_influence])
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
left = np.zeros(len(names))
for v, view in enumerate(found.view_names):
    axis.barh(
        names,
        shares[:, v],
        left=left,
        label=view,
        color=plot.COLOURS[v],
        hatch=("", "//", "..")[v],
        edgecolor="white",
    )
    left += shares[:, v]
axis.invert_yaxis()
axis.set(
    xlabel="share in the consensus", title="Influence of the views (generated, seed 2)"
)
axis.spines[["top", "right"]].set_visible(False)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
