"""
How many clusters?
==================

Three criteria that see no label: the gap in the graph's spectrum, the stability
between two halves of the rows, and the silhouette. They may also answer that there is
no clear number.
"""

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
# White noise has no clusters, and the answer says so:

rng = np.random.default_rng(0)
noise = [rng.normal(size=(600, 10)), rng.normal(size=(600, 15))]
print(choose_n_clusters(noise, range(2, 13), random_state=0).sentence)
