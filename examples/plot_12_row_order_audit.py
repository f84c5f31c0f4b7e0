"""
Auditing the row order
======================

A file sorted by class rewards a method that smooths along its rows. The audit runs it
as given, shuffled, on white noise and on the bare row index, and says what to
believe.
"""

import numpy as np

from manyview import S2MVTC, SequenceS2MVTC, audit_order
from manyview.datasets import make_views

views = make_views(500, (10, 15), 6, view_quality=0.3, random_state=0)
sorted_by_class = views[np.argsort(views.labels, kind="stable")]

# %%
# Smoothing along the rows, in the published form:

published = SequenceS2MVTC.as_published("Cifar-10").set_params(n_anchors=150)
audit = audit_order(sorted_by_class, 6, estimator=published)
audit

# %%
figure = audit.figure()
figure

# %%
# The default, on the same sorted file:

free = audit_order(
    sorted_by_class, 6, estimator=S2MVTC(n_anchors=150, n_graph_anchors=600)
)
free
