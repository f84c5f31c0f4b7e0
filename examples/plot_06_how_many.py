"""
How many clusters?
==================

Three criteria that see no label: the gap in the graph's spectrum, the stability
between two halves of the rows, and the silhouette. Compared with clouds without
clusters, they may also answer that there are none.
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import choose_n_clusters
from manyview.datasets import make_views

views = make_views(600, (10, 15), 6, random_state=0)
choice = choose_n_clusters(views, range(2, 13), random_state=0)
choice

# %%
figure = choice.figure()
figure.axes[0].set_title("600 generated rows, two views, seed 0", fontsize=10)
figure

# %%
# A long cloud has no clusters. Its halves agree on where to cut it all the same; what
# tells is that clouds without clusters score as well:

rng = np.random.default_rng(1)
stick = 10.0 * rng.uniform(size=(600, 1))
turns = [rng.normal(size=(1, d)) for d in (10, 15)]
cloud = [stick @ t + 0.5 * rng.normal(size=(600, t.shape[1])) for t in turns]
none = choose_n_clusters(cloud, range(2, 13), random_state=0)
print(none.sentence)
print(f"deviations beyond chance: {none.beyond_chance:.1f}")
print(f"of the clusters above: {choice.beyond_chance:.1f}")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
for axis, found, title in zip(axes, (choice, none), ("clusters", "cloud"), strict=True):
    for name, style in (("gap", "o-"), ("stability", "s--"), ("silhouette", "^:")):
        axis.plot(found.candidates, getattr(found, name), style, label=name)
    axis.set(xlabel="number of clusters", title=f"{title}: {found.certainty}")
axes[0].legend(frameon=False)
plt.show()
