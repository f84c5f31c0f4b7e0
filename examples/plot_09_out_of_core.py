"""
Rows beyond memory
==================

Views are written to disk block by block, and read the same way during the fit. The
fit keeps to a memory limit: what does not fit is computed again or spilled. The data
here is small, so that the example is quick; the code is the same for a terabyte.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

from manyview import AnchorSpectral
from manyview.datasets import load, make_views
from manyview.metrics import ari

folder = Path(mkdtemp()) / "large"
make_views(20_000, (16, 32), 6, view_quality=0.6, random_state=0, out=folder)
views = load(folder.with_suffix(".manyview-data"))
print(views, type(views.arrays[0]).__name__)

# %%
# The same labels from disk, with a limit, as from memory:

settings = {"n_graph_anchors": 600, "random_state": 0}
limited = AnchorSpectral(6, memory_limit="2GB", **settings).fit(views)
memory = AnchorSpectral(6, **settings).fit([np.asarray(x) for x in views.arrays])
print(f"agreement {ari(limited.labels_, memory.labels_):.3f}")
print(f"with the known classes {ari(views.labels, limited.labels_):.3f}")

# %%
# How sure it is, over all rows:

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.hist(limited.certainty_, bins=60, color="#0072B2")
axis.set(
    xlabel="certainty of a row",
    ylabel="rows",
    title="20,000 rows clustered from disk (generated, seed 0)",
)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
