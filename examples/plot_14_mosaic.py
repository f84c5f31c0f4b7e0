"""
Mosaics
=======

Digits seen through six views, but every row has only two of them, views that stand
beside each other: no row has all views, and rows at the two ends of the chain share
none. The overlaps carry the clusters from one end to the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import S2MVTC, Views
from manyview.datasets import load_digits_views
from manyview.metrics import accuracy

digits = load_digits_views()
rng = np.random.default_rng(0)
link = rng.integers(5, size=len(digits))
rows = np.arange(len(digits))
present = np.zeros((len(digits), 6), dtype=bool)
present[rows, link] = present[rows, link + 1] = True
print(f"{present.all(axis=1).sum()} rows have all views")

# %%
# All rows at once, labels that mean the same everywhere:

model = S2MVTC(10, random_state=0).fit(Views(digits.arrays, present=present))
print(f"on all rows: ACC {accuracy(digits.labels, model.labels_):.2f}")

# %%
# The rows of every link by themselves have no common labels, and fewer rows:

names, together, apart = [], [], []
for j in range(5):
    own = np.flatnonzero(link == j)
    alone = S2MVTC(10, random_state=0).fit([x[own] for x in digits.arrays[j : j + 2]])
    names.append(f"{digits.names[j]}, {digits.names[j + 1]}")
    together.append(accuracy(digits.labels[own], model.labels_[own]))
    apart.append(accuracy(digits.labels[own], alone.labels_))

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
places = np.arange(5)
axis.barh(places - 0.2, together, 0.38, color="#0072B2", label="one mosaic")
axis.barh(places + 0.2, apart, 0.38, color="#E69F00", hatch="//", label="by itself")
axis.set_yticks(places, names)
axis.invert_yaxis()
axis.set(xlabel="accuracy", title="1,797 digits, two of six views each, seed 0")
axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(1.0, 0.0))
axis.spines[["top", "right"]].set_visible(False)
plt.show()
