"""
Clusters of stated sizes
========================

Sometimes the sizes are known: as many samples of each kind were taken, or no group of
fewer than so many is of use. `fit` takes `cluster_sizes="equal"` and
`min_cluster_size`, and keeps to them exactly.
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import S2MVTC
from manyview.datasets import make_views
from manyview.metrics import accuracy

# Six classes of 100 rows, which the views tell apart in part only.
views = make_views(600, (10, 8), 6, view_quality=0.4, random_state=1)
asked = {
    "any sizes": {},
    'cluster_sizes="equal"': {"cluster_sizes": "equal"},
    "min_cluster_size=80": {"min_cluster_size": 80},
}

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for axis, (title, stated) in zip(axes, asked.items(), strict=True):
    model = S2MVTC(6, random_state=0).fit(views, **stated)
    sizes = np.sort(np.bincount(model.labels_))
    score = accuracy(views.labels, model.labels_)
    axis.bar(range(6), sizes, color="#0072B2")
    axis.set(title=f"{title}\nACC {score:.2f}", xlabel="cluster", xticks=[])
    axis.spines[["top", "right"]].set_visible(False)
    print(f"{title}: sizes {sizes.tolist()}, ACC {score:.3f}")
axes[0].set(ylabel="rows")
figure
