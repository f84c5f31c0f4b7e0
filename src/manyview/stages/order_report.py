"""How much of a partition the order of the rows alone explains.

A method that smooths along the rows can look good because the rows are sorted
by class. The evidence is cheap: compare the labels with equal pieces of the row
order, which know nothing of any feature, and count how often the label changes
from row to row.
"""

import warnings
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.errors import OrderWarning
from manyview.metrics import nmi
from manyview.stages.sequence import RowSequence


class OrderReport(NamedTuple):
    """What the order of the rows alone says about a partition.

    Attributes
    ----------
    index_nmi : float
        Agreement (NMI) of the labels with equal consecutive pieces of the rows.
    changes : int
        Neighbouring rows with different labels.
    expected_changes : float
        The same for these labels in random order.
    """

    index_nmi: float
    changes: int
    expected_changes: float

    @property
    def sentence(self) -> str:
        """The report in plain words."""
        return (
            "The labels were smoothed along the order of the rows: they change "
            f"{self.changes} times where random order would give "
            f"{self.expected_changes:.0f}, and equal pieces of the row order alone "
            f"agree with them at NMI {self.index_nmi:.2f}. Trust this only if the "
            "order is real (time, frames, scan lines); rows sorted by class leak the "
            "answer. manyview.audit_order shows what remains without the order."
        )


def order_report(labels: Matrix, sequence: RowSequence, n_clusters: int) -> OrderReport:
    """Compare labels with the order they were smoothed along."""
    ordered, group = labels[sequence.rows], sequence.group[sequence.rows]
    inside = group[1:] == group[:-1]
    changes = int(np.sum((ordered[1:] != ordered[:-1]) & inside))
    counts, n = np.bincount(ordered), ordered.size
    alike = np.sum(counts * (counts - 1.0)) / max(n * (n - 1), 1)  # of two rows
    expected = float(np.sum(inside) * (1.0 - alike))
    pieces = np.arange(ordered.size) * n_clusters // ordered.size
    return OrderReport(float(nmi(pieces, ordered)), changes, expected)


def warn_of_order(report: OrderReport) -> None:
    """Name the risk of an order-dependent result, once per fit."""
    warnings.warn(report.sentence, OrderWarning, stacklevel=5)


def warn_of_new_rows(model: object) -> None:
    """Say, once per model, that new rows are placed without the sequence."""
    if model not in _told:
        _told.add(model)
        warnings.warn(
            "New rows have no place in the order the model was fitted along: the "
            "smoothing along the rows is left out for them, and rows of the fit may "
            "get other labels than in labels_. Use S2MVTC, which knows no order, for "
            "new rows.",
            OrderWarning,
            stacklevel=4,
        )


_told: WeakSet[object] = WeakSet()
