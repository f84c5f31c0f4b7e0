"""
Rows in pieces
==============

Rows arrive day by day. `partial_fit` adds them to a model, and few rows end in the
clusters of one fit of everything, whatever the order of the days. Many rows stand where
they are, and a test says when new ones no longer fit.
"""

import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, Views
from manyview.datasets import load_digits_views, make_views
from manyview.errors import ManyviewWarning

views = load_digits_views()
rows = np.random.default_rng(0).permutation(len(views))[:1000]
*days, last = np.array_split(rows, 4)
model = S2MVTC(10, random_state=0)
for day in days:
    model.partial_fit(views[day])
    print(f"{len(model.labels_)} rows")

# %%
# What the last day has changed: clusters that live on keep their numbers, and
# ``relabelled`` names the old rows that have another one now.

model.partial_fit(views[last])
print(model.changes_.relabelled[:10])
figure = model.changes_.figure()
figure

# %%
# One fit of all rows finds the same clusters:

whole = S2MVTC(10, random_state=0).fit(views[rows])
print(adjusted_rand_score(whole.labels_, model.labels_))

# %%
# Up to 8,192 rows the model keeps them, and so does its file; ``forget_rows`` lets them
# go. Beyond, anchors, graph and labels stand, and new rows go through the same passes:

many = make_views(12_000, (10, 8), 6, random_state=0)
model = S2MVTC(6, random_state=0).partial_fit(many[:9000])
before = model.labels_
model.partial_fit(many[9000:11_000])
print(model.n_rows_kept_, (model.labels_[:9000] == before).all())
print(model.changes_.sentence)

# %%
# An instrument that has changed is noticed, at a rate of false alarms that holds over
# all pieces together:

worn = [np.array(a[11_000:]) for a in many.arrays]
worn[1] = 1.3 * worn[1]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ManyviewWarning)  # the same sentence
    model.partial_fit(Views(worn, names=many.names))
print(model.changes_.refit_due)
