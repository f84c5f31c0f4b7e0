"""Data that grows or changes: drift, and refits that keep the names of clusters."""

from manyview.growing.changes import Change, Changes
from manyview.growing.drifting import Drift, drift
from manyview.growing.refitting import refit

__all__ = ["Change", "Changes", "Drift", "drift", "refit"]
