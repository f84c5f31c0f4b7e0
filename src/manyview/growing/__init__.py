"""Data that grows or changes, and clusters from coarse to fine."""

from manyview.growing.adding import partial_fit
from manyview.growing.changes import Change, Changes
from manyview.growing.drifting import Drift, drift
from manyview.growing.refitting import refit
from manyview.growing.tree import Hierarchy, Split, hierarchy

__all__ = [
    "Change",
    "Changes",
    "Drift",
    "Hierarchy",
    "Split",
    "drift",
    "hierarchy",
    "partial_fit",
    "refit",
]
