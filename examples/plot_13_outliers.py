"""
Outliers
========

Digits whose scans are broken in one view, and digits that were filed with the wrong
features: which rows fit nowhere, in which view, and how many would be set aside by
mistake?
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import S2MVTC
from manyview.datasets import load_digits_views

digits = load_digits_views()
rng = np.random.default_rng(0)
data = {n: np.array(x) for n, x in zip(digits.names, digits.arrays, strict=True)}
first = digits.names[0]

broken, misfiled = np.split(rng.permutation(len(digits))[:80], 2)
for row in broken:
    name = digits.names[rng.integers(digits.n_views)]
    data[name][row] = rng.uniform(data[name].min(axis=0), data[name].max(axis=0))
data[first][misfiled] = data[first][rng.permutation(misfiled)]

# %%
# The fit puts all of them somewhere. The score is asked for afterwards.

model = S2MVTC(10, random_state=0).fit(data)
found = model.find_outliers(data, label_outliers=0.05)
figure = found.figure()
figure

# %%
# Rows that nobody touched, beside those that were changed:

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
untouched = np.setdiff1d(np.arange(len(digits)), np.r_[broken, misfiled])
groups = {"untouched": untouched, "noise in one view": broken, "misfiled": misfiled}
colours = ("#0072B2", "#D55E00", "#009E73")
for (name, rows), colour in zip(groups.items(), colours, strict=True):
    axis.hist(
        found.score[rows],
        bins=np.linspace(0, 14, 43),
        density=True,
        histtype="step",
        linewidth=2,
        color=colour,
        label=name,
    )
    aside = (found.labels[rows] == -1).mean()
    print(f"{name}: {aside:.0%} of {len(rows)} set aside")
axis.set(
    xlabel="outlier score (standard deviations)",
    ylabel="density",
    title="1,797 digits in six views, 80 rows changed, seed 0",
)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
plt.show()
