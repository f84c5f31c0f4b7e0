"""
Missing views
=============

Not every patient has every test. Rows that lack a view are clustered by what they
have; compare with the usual way out, which is to keep complete rows only.
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import S2MVTC, Views
from manyview.datasets import make_views
from manyview.metrics import accuracy

full = make_views(600, (10, 15, 8), 5, view_quality=0.75, random_state=0)
rng = np.random.default_rng(0)
settings = {"n_anchors": 150, "n_graph_anchors": 900, "random_state": 0}
shares = (0.0, 0.2, 0.4, 0.6)

# %%
# A mask says which views a row has. Rows of NaN would do as well.

kept, complete = [], []
for share in shares:
    present = rng.random((600, 3)) >= share
    present[np.arange(600), rng.integers(3, size=600)] = True  # one view at least
    model = S2MVTC(5, **settings).fit(Views(full.arrays, present=present))
    kept.append(accuracy(full.labels, model.labels_))
    complete.append(present.all(axis=1).mean())
    print(
        f"{(~present).mean():.0%} missing: ACC {kept[-1]:.2f} on all rows; "
        f"{complete[-1]:.0%} of the rows are complete"
    )

# %%

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.plot(shares, kept, "o-", color="#0072B2", label="accuracy on all rows")
axis.plot(shares, complete, "s--", color="#D55E00", label="share of complete rows")
axis.set(
    xlabel="chance that a view is missing",
    ylim=(0, 1.05),
    title="Clusters in spite of gaps (generated, seed 0)",
)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
