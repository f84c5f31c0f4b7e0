"""Whether a cell has done what the matrix asks of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.metrics import adjusted_rand_score

from .cells import Cell
from .work import Done

# One row in two thousand on a border may fall to the other side by rounding.
AGREES = 0.999
SAME, REFUSED, FAILED = "same labels", "refused", "failed"
# The one pass that may precede a refusal: rows that lack a view are not known before.
LOOK = "Surveying the views"


class Verdict(NamedTuple):
    """The outcome, the agreement with the plain fit, and what was said."""

    outcome: str
    ari: float | None = None
    said: str = ""


def judge(cell: Cell, done: Done, plain: Done) -> Verdict:
    """The labels of the plain fit within the limit, or a refusal by name."""
    if done.refusal is not None:
        return _judge_refusal(cell, done)
    pairs = [(plain.labels, done.labels)]
    if done.predicted is not None:
        pairs.append((plain.predicted, done.predicted))
    ari = min(_agreement(a, b) for a, b in pairs)
    if ari < AGREES:
        what = "labels" if _agreement(*pairs[0]) < AGREES else "predicted labels"
        return Verdict(FAILED, ari, f"other {what} than the plain fit in memory")
    if done.limit is not None and done.held is not None and done.held > done.limit:
        held, limit = done.held / 1e9, done.limit / 1e9
        return Verdict(FAILED, ari, f"held {held:.2f} GB of {limit:.2f} GB")
    return Verdict(SAME, ari)


def _agreement(wanted: Any, found: Any) -> float:
    same_rows = len(wanted) == len(found)
    return float(adjusted_rand_score(wanted, found)) if same_rows else 0.0


def _judge_refusal(cell: Cell, done: Done) -> Verdict:
    said = str(done.refusal)
    work = [title for title in done.passes if title != LOOK]
    if work:
        return Verdict(FAILED, said=f"refused after {work[-1]!r}: {said}")
    if not any(word in said for word in cell.asked):
        return Verdict(FAILED, said=f"refused, but not by name: {said}")
    return Verdict(REFUSED, said=said)
