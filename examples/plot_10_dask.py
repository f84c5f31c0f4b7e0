"""
A Dask cluster
==============

``engine="dask"`` (or a client) sends the passes to the workers; rows stay where they
are, and only small sums travel. Here the cluster is two threads of this process.
Without ``distributed`` the example says so and stops.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from manyview import AnchorSpectral
from manyview.datasets import make_views
from manyview.metrics import ari

views = make_views(3000, (12, 20), 5, view_quality=0.7, random_state=0)
settings = {"n_graph_anchors": 600, "random_state": 0}
local = AnchorSpectral(5, **settings).fit(views)

# %%
# The same estimator with a client. Dask arrays as views would do the same.

labels = None
if find_spec("distributed") is None:
    print("distributed is not installed: pip install 'dask[array]' distributed")
else:
    from distributed import Client

    with Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as client:
        model = AnchorSpectral(5, engine=client, **settings).fit(views)
        labels = np.asarray(model.labels_)
    print(f"agreement with this process: {ari(local.labels_, labels):.3f}")

# %%

figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
sizes = np.bincount(local.labels_)
axis.bar(np.arange(5) - 0.2, sizes, 0.38, label="this process", color="#0072B2")
if labels is not None:
    axis.bar(
        np.arange(5) + 0.2, np.bincount(labels), 0.38, label="Dask", color="#E69F00"
    )
axis.set(xlabel="cluster", ylabel="rows", title="Cluster sizes (generated, seed 0)")
figure.legend(loc="outside lower center", ncols=2, frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
