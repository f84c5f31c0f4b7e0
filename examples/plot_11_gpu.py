"""
A GPU
=====

``device="cuda"`` keeps rows on the GPU where they fit and streams them where they do
not. Without a GPU this example computes with torch on the processor, and without
torch with NumPy; the labels are the same.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from manyview import S2MVTC, plot
from manyview.datasets import make_views
from manyview.metrics import ari

views = make_views(2000, (20, 30), 5, view_quality=0.7, random_state=0)
settings = {"n_anchors": 200, "n_graph_anchors": 800, "random_state": 0}
numpy_model = S2MVTC(5, **settings).fit(views)

# %%
# Torch tensors are worked on where they lie; ``device=`` moves other arrays.

if find_spec("torch") is None:
    print("torch is not installed (pip install torch): NumPy it is.")
    model = numpy_model
else:
    import torch

    if torch.cuda.is_available():
        model = S2MVTC(5, device="cuda", **settings).fit(views)
    else:
        print("No GPU here: torch on the processor.")
        model = S2MVTC(5, **settings).fit([torch.from_numpy(x) for x in views.arrays])

labels = np.asarray(
    model.labels_.cpu() if hasattr(model.labels_, "cpu") else model.labels_
)
print(f"agreement with NumPy: {ari(numpy_model.labels_, labels):.3f}")

# %%

order = np.argsort(numpy_model.labels_, kind="stable")
figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
both = np.stack([numpy_model.labels_[order], labels[order]])
axis.imshow(both, aspect="auto", cmap=ListedColormap(plot.COLOURS[:5]))
axis.set_yticks([0, 1], ["NumPy", "torch"])
axis.set(xlabel="rows, by cluster", title="Clusters found by both (generated, seed 0)")
plt.show()
