"""
The same names tomorrow
=======================

Data grows. A refit keeps the numbers of clusters that live on, says what was born,
split, merged or died, and a check of new rows says when a refit is due.
"""

import numpy as np

from manyview import S2MVTC, Views, drift
from manyview.datasets import load_digits_views

views = load_digits_views()
rows = np.random.default_rng(0).permutation(len(views))
is_known = views.labels[rows] != 7  # no seven has been seen so far
first, later = np.split(rows[is_known], [len(rows) // 2])
model = S2MVTC(9, random_state=0).fit(views[first])
before = model.labels_

# %%
# Later digits of the same kinds fit the model:

print(drift(model, views[later]).sentence)

# %%
# A camera that has slipped by a pixel changes the views that see pixels, and a digit
# that is new changes most of them:

slipped = [np.array(a[later]) for a in views.arrays]
slipped[0] = np.roll(slipped[0].reshape(-1, 8, 8), 1, axis=2).reshape(-1, 64)
print(drift(model, Views(slipped, names=views.names)).sentence)

sevens = drift(model, views[rows[~is_known]])
figure = sevens.figure()
figure

# %%
# So the model is fitted again, to all digits. The nine clusters keep their numbers, and
# the sevens get one that was never used:

everything = np.concatenate([first, later, rows[~is_known]])
model.refit(views[everything], n_clusters=10)
print((model.labels_[: len(first)] == before).mean().round(3))
model.changes_

# %%
figure = model.changes_.figure()
figure
