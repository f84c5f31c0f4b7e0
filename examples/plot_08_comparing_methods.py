"""
Comparing methods
=================

Every method of the package on the same shuffled rows with its default setting. One
generated data set says little about methods; the honest benchmark runs many. The loop
is what to take from here.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from manyview import all_methods
from manyview.datasets import make_views
from manyview.errors import ManyviewWarning
from manyview.metrics import clustering_scores

views = make_views(300, (10, 15, 20), 4, view_quality=[0.6, 0.5, 0.1], random_state=4)
found = {}
for method in (m for m in all_methods() if m.is_installed):
    scores = []
    for seed in range(2):
        model = method.estimator(n_clusters=4)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManyviewWarning)
            scores.append(clustering_scores(views.labels, model.fit_predict(views)))
    found[method.name] = {s: np.mean([x[s] for x in scores]) for s in ("ACC", "ARI")}

# %%
# Sorted by accuracy:

found = dict(sorted(found.items(), key=lambda item: -item[1]["ACC"]))
figure, axis = plt.subplots(figsize=(7, 5.2), layout="constrained")
places = np.arange(len(found))
for shift, name, colour in ((0.0, "ACC", "#0072B2"), (0.4, "ARI", "#E69F00")):
    values = [scores[name] for scores in found.values()]
    lengths = np.maximum(values, 0.0)  # at worst an ARI lies a little below 0
    bars = axis.barh(places + shift, lengths, 0.38, label=name, color=colour)
    axis.bar_label(bars, [f"{v:z.2f}" for v in values], padding=3, fontsize=8)
axis.set_yticks(places + 0.2, list(found))
axis.invert_yaxis()
axis.set(xlim=(0, 1.15), title="Three views of unequal worth (generated, two seeds)")
axis.legend(frameon=False, loc="lower right")
axis.spines[["top", "right"]].set_visible(False)
plt.show()
