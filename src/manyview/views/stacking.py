"""Rows of several pieces of one view below each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.from_torch import in_one_place
from manyview.arrays.ops import Matrix, namespace, to_host
from manyview.views.parsing import is_dask, reads_on_demand


class StackedRows:
    """Rows in memory above rows on disk, which are read when they are asked for."""

    chunks = None  # marks a lazy array

    def __init__(self, above: Matrix, below: Any) -> None:
        self._above, self._below = above, below
        self.shape = (len(above) + int(below.shape[0]), int(above.shape[1]))
        self.dtype = np.result_type(above.dtype, below.dtype)

    def __getitem__(self, rows: Any) -> Matrix:
        n = len(self._above)
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.shape[0])
            upper = self._above[start : min(stop, n)]
            lower = self._below[max(start - n, 0) : max(stop - n, 0)]
        else:  # in ascending order, as all that is on disk is asked for
            ids = np.asarray(rows)
            upper, lower = self._above[ids[ids < n]], self._below[ids[ids >= n] - n]
        return np.concatenate([upper, np.asarray(lower)])


def stack(parts: Sequence[Any]) -> Any:
    """The rows of all parts, in memory of their own; a tensor beside tensors.

    Sparse ones make the whole sparse.
    """
    if any(sp.issparse(part) for part in parts):
        rows = [part if sp.issparse(part) else to_host(part) for part in parts]
        return sp.vstack([sp.csr_array(part) for part in rows], format="csr")
    dense = in_one_place([p if hasattr(p, "device") else np.asarray(p) for p in parts])
    return namespace(*dense).concat(dense)


def stack_below(above: Any, below: Any) -> Any:
    """The same of rows in memory and rows that may be on disk or on workers."""
    if is_dask(below) or is_dask(above):
        # Dask takes NumPy's call over, and the rows in memory with it.
        return np.concatenate([p if is_dask(p) else to_host(p) for p in (above, below)])
    on_disk = isinstance(below, np.memmap) or reads_on_demand(below)
    if on_disk and not sp.issparse(above):
        return StackedRows(to_host(above), below)
    return stack([above, below])
