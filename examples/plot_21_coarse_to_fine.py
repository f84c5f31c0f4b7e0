"""
From coarse to fine
===================

The clusters of a fit as one level of a tree: what they fall into, which of them belong
together, and the views and features behind every split.
"""

from manyview import S2MVTC, hierarchy
from manyview.datasets import load_digits_views

views = load_digits_views()
model = S2MVTC(10, random_state=0).fit(views)
tree = hierarchy(model, views)
tree.table(10)

# %%
# The dendrogram has the distances: a half is where two groups are tied as by chance,
# one where they are not tied at all.

figure = tree.dendrogram(title="Handwritten digits, ten clusters")
figure

# %%
# The icicle has a bar for every level, as wide as its clusters have rows:

figure = tree.icicle(title="Handwritten digits, coarse to fine")
figure

# %%
# Any level can be cut, by its number of clusters or by a distance. The labels of the
# fit are one of them:

print((tree.cut(10) == model.labels_).all())
print(len(set(tree.cut(4))), len(set(tree.cut(distance=0.5))))
