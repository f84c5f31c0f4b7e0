"""Rows that are followed round by round: their numbers and views, for both sides."""

from typing import Any

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.engine.contract import Engine
from manyview.views.arguments import check_rows


def trace_rows(engine: Engine, trace: Any) -> Matrix:
    """The engine's sorted numbers of the rows that are to be traced."""
    return np.sort(engine.engine_rows(check_rows(trace, engine.n_samples)))


def caller_trace(
    traced: list[dict[str, Matrix]], engine: Engine, trace: Any
) -> list[dict[str, Matrix]]:
    """Traced rows and views in the caller's order."""
    wanted = engine.engine_rows(check_rows(trace, engine.n_samples))
    back = np.searchsorted(np.sort(wanted), wanted)
    names = {
        f"{letter}{v}": f"{letter}{own}"
        for letter in "BY"
        for v, own in enumerate(engine.view_order)
    }
    return [{names.get(n, n): rows[back] for n, rows in t.items()} for t in traced]
