"""
What is known already
=====================

Somebody has named one digit in twenty. `fit` takes such labels, or pairs of rows that
do or do not belong together, keeps to them, and lets them decide where clusters are in
doubt. `conflicts_` names the rows that the data would place elsewhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from manyview import S2MVTC
from manyview.datasets import load_digits_views
from manyview.metrics import accuracy

digits = load_digits_views()
rng = np.random.default_rng(0)
n = len(digits)
order = rng.permutation(n)


def told(share):
    labels = np.full(n, -1)  # -1: not known
    rows = order[: int(share * n)]
    labels[rows] = digits.labels[rows]
    return labels


# %%
# The score is that of rows that nobody has named, the same for all shares.

rest = order[int(0.2 * n) :]
shares = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
scores = []
for share in shares:
    model = S2MVTC(10, random_state=0).fit(digits, partial_labels=told(share))
    scores.append(accuracy(digits.labels[rest], model.labels_[rest]))
    print(f"{share:.0%} known: ACC {scores[-1]:.3f}")

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.plot(shares, scores, marker="o", color="#0072B2")
axis.set(
    xlabel="share of the rows that are known",
    ylabel="ACC of rows that are not",
    title="1,797 digits in six views, seed 0",
)
axis.spines[["top", "right"]].set_visible(False)
figure

# %%
# A tenth of the names is wrong. They are kept, and most of them are found out:

labels = told(0.05)
known = np.flatnonzero(labels >= 0)
wrong = known[::10]
labels[wrong] = (labels[wrong] + 1) % 10
model = S2MVTC(10, random_state=0).fit(digits, partial_labels=labels)
named = np.isin(wrong, model.conflicts_).sum()
print(
    f"{named} of {len(wrong)} wrong names are among {len(model.conflicts_)} conflicts"
)
print(f"ACC of the others {accuracy(digits.labels[rest], model.labels_[rest]):.3f}")

# %%
# Pairs instead of names: these two are the same, those two are not.

pairs = order[:90].reshape(-1, 2)
same = digits.labels[pairs[:, 0]] == digits.labels[pairs[:, 1]]
model = S2MVTC(10, random_state=0).fit(
    digits, must_link=pairs[same], cannot_link=pairs[~same]
)
a, b = model.labels_[pairs].T
print((a[same] == b[same]).all(), (a[~same] != b[~same]).all())
plt.show()
