"""
Sensors in time
===============

Two sensors on a machine, three recordings, four states that come and go. Single
samples are noisy, but a state lasts at least two seconds. That is evidence: the order
of the rows is real here, unlike in a file sorted by class.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from manyview import S2MVTC, OrderWarning, SequenceS2MVTC, Views, plot
from manyview.metrics import ari, contingency

rng = np.random.default_rng(3)
lengths = rng.integers(20, 60, size=30)  # samples per state, ten per second
runs = rng.integers(4, size=30)
state = np.repeat(runs, lengths)
recording = np.repeat(np.repeat(["first", "second", "third"], 10), lengths)
time = np.concatenate(
    [np.arange((recording == r).sum()) * 0.1 for r in ("first", "second", "third")]
)
views = Views(
    {
        "vibration": rng.normal(size=(4, 8))[state]
        + 1.6 * rng.normal(size=(len(state), 8)),
        "current": rng.normal(size=(4, 5))[state]
        + 1.6 * rng.normal(size=(len(state), 5)),
    }
)

# %%
# Without the order, and along it. ``min_duration`` is in the unit of the order key,
# seconds; recordings are smoothed one by one.

settings = {"n_anchors": 200, "n_graph_anchors": 1000, "random_state": 0}
plain = S2MVTC(4, **settings).fit(views)
model = SequenceS2MVTC(4, graph=True, min_duration=2.0, **settings)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", OrderWarning)  # we vouch for the order
    model.fit(views, order=time, groups=recording)

for name, labels in {"ignored": plain.labels_, "used": model.labels_}.items():
    print(f"order {name}: ARI {ari(state, labels):.2f}")

# %%
# The first recording, as it was and as it was found. Clusters have no order of their
# own; here they take the number of the state they match best.


def matched(labels):
    """Clusters renamed to the states they share most samples with."""
    found, clusters = linear_sum_assignment(-contingency(state, labels).toarray())
    return found[np.argsort(clusters)][labels]


rows = recording == "first"
figure, axes = plt.subplots(3, 1, sharex=True, figsize=(8, 3.4), layout="constrained")
shown = {
    "true state": state,
    "order ignored": matched(plain.labels_),
    "order used": matched(model.labels_),
}
for axis, (name, labels) in zip(axes, shown.items(), strict=True):
    for value in range(4):
        own = rows & (labels == value)
        axis.scatter(
            time[own],
            np.full(own.sum(), value),
            s=14,
            marker="|",
            color=plot.COLOURS[value],
        )
    axis.set(yticks=[], ylim=(-0.7, 3.7))
    axis.set_ylabel(name, rotation=0, ha="right", va="center")
axes[-1].set_xlabel("seconds; height and colour: state or cluster")
figure.suptitle("First recording (generated, seed 3)", fontsize=12)
plt.show()
