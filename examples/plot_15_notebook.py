"""
A model in one line
===================

What a fitted model shows of itself in a notebook: its clusters, the influence of the
views and a small map as a page, and the rows in the plane as a figure.
"""

from manyview import S2MVTC
from manyview.datasets import load_digits_views

digits = load_digits_views()
model = S2MVTC(10, random_state=0).fit(digits)
model

# %%
# The figure, with the known classes beside the clusters:

figure = model.plot(digits.labels)
figure
