"""Views whose rows lie in Dask arrays or DataFrames."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.ops import dtype_of, to_host
from manyview.engine.partition import join_chunks, join_sealed
from manyview.engine.travel import Sealed
from manyview.errors import InputError, InputTypeError
from manyview.views.views import NamedViews, Views

if TYPE_CHECKING:
    from distributed import Client, Future

    from manyview.engine.dask_workers import Workers

# Of rows that come in one piece: 256 MB of 1,000 features in float32.
PARTITION_ROWS = 65536
# Of rows on disk: every one is three tasks in every pass, which the scheduler counts.
MOST_PARTITIONS = 4096


class DaskViews(NamedViews):
    """Views that are Dask arrays or DataFrames: shapes here, rows on workers."""

    present = labels = row_names = origin = None
    in_memory = False

    def __init__(self, data: Any) -> None:
        self.names_chosen = isinstance(data, dict)
        listed = data if isinstance(data, (list, tuple)) else [data]
        numbered = {f"view{v}": item for v, item in enumerate(listed)}
        named = data if self.names_chosen else numbered
        items, self.names = list(named.values()), tuple(map(str, named))
        self.feature_names = tuple(_columns(item) for item in items)
        self.arrays = tuple(
            _as_array(x, n) for x, n in zip(items, self.names, strict=True)
        )
        self._aligned: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return int(self.aligned[0].shape[0])

    @property
    def aligned(self) -> tuple[Any, ...]:
        """The views with the same known row chunks; counts rows where it must."""
        if self._aligned is None:
            sized = [_with_sizes(a) for a in self.arrays]
            counts = {
                n: int(a.shape[0]) for n, a in zip(self.names, sized, strict=True)
            }
            if len(set(counts.values())) > 1:
                raise InputError(
                    f"The views have different numbers of rows: {counts}. Every view "
                    "must describe the same rows in the same order."
                )
            self.arrays = tuple(sized)
            edges = sorted({int(e) for a in sized for e in np.cumsum(a.chunks[0])})
            common = tuple(int(c) for c in np.diff([0, *edges]) if c)
            self._aligned = tuple(a.rechunk({0: common}) for a in sized)
        return self._aligned

    def in_order(self, view_order: Sequence[int]) -> DaskViews:
        """The same rows with these views, in this order."""
        kept = super().in_order(view_order)
        kept._aligned = None
        return kept

    def each(
        self, function: Callable[[Views], Any], dtype: Any, width: int | None
    ) -> Any:
        """`function` of every chunk of rows, lazily, as one Dask array."""
        import dask.array as da

        same = len({a.chunks[0] for a in self.arrays}) == 1
        unknown = any(np.isnan(a.shape[0]) for a in self.arrays)
        matched = unknown and len({a.numblocks for a in self.arrays}) == 1
        arrays = self.arrays if same or matched else self.aligned
        rows = arrays[0].chunks[0]
        return da.map_blocks(
            _apply,
            *arrays,
            dtype=dtype,
            chunks=(rows,) if width is None else (rows, (width,)),
            drop_axis=1 if width is None else None,
            meta=np.empty((0,) if width is None else (0, 0), dtype),
            function=function,
            names=self.names,
        )


def partition_sizes(
    views: DaskViews | Views, client: Client, most_rows: int, step: int
) -> list[int]:
    """Rows of every partition: the views' own chunks, or multiples of `step`."""
    if isinstance(views, DaskViews):
        return [int(n) for n in views.aligned[0].chunks[0]]
    n_rows, threads = len(views), sum(client.nthreads().values()) or 1
    most = max(most_rows, -(-n_rows // MOST_PARTITIONS))
    rows = min(most, -(-n_rows // (2 * threads)))
    rows = -(-rows // step) * step
    full, rest = divmod(n_rows, rows)
    return [rows] * full + ([rest] if rest else [])


def place_chunks(views: DaskViews, workers: Workers) -> list[Future]:
    """Every partition's chunks brought to its home, once."""
    import dask
    from dask.delayed import delayed

    chunks = [a.to_delayed().ravel() for a in views.aligned]
    sources = []
    names = Sealed(views.names)
    for i, parts in enumerate(zip(*chunks, strict=True)):
        with dask.annotate(workers=[workers.home(i)], allow_other_workers=True):
            sources.append(delayed(join_sealed)(names, *parts))
    return list(workers.client.compute(sources))


def on_host(views: DaskViews | Views) -> DaskViews | Views:
    """The views with arrays in the place of tensors, which workers would not share."""
    if not any(is_torch_array(a) for a in views.arrays):
        return views
    found = copy.copy(views)
    found.arrays = tuple(to_host(a) if is_torch_array(a) else a for a in views.arrays)
    return found


def row_bytes(views: DaskViews | Views) -> float:
    """Bytes of a row of all views, as they are held."""
    return sum(map(_row_bytes_of, views.arrays))


def _row_bytes_of(array: Any) -> float:
    if sp.issparse(array):
        n_bytes = int(array.data.nbytes + array.indices.nbytes)
        return n_bytes / max(int(array.shape[0]), 1)
    return int(array.shape[1]) * dtype_of(array).itemsize


def _apply(*chunks: Any, function: Callable[[Views], Any], names: Any) -> Any:
    return function(join_chunks(names, *chunks))


def _columns(item: Any) -> tuple[str, ...] | None:
    found = getattr(item, "columns", None)
    return None if found is None else tuple(str(c) for c in found)


def _as_array(item: Any, name: str) -> Any:
    """One view as a 2-D Dask array with all columns in one chunk."""
    import dask.array as da

    if hasattr(item, "to_dask_array"):
        array = item.to_dask_array()
    elif isinstance(item, da.Array):
        array = item
    else:
        array = da.from_array(np.asarray(item), chunks=(PARTITION_ROWS, -1))
    if array.ndim != 2:
        raise InputError(
            f"View {name!r} must be 2-D (samples on rows, features on columns); its "
            f"shape is {array.shape}. Reshape your data."
        )
    if array.dtype.kind not in "fiub":
        raise InputTypeError(
            f"View {name!r} is not numeric: its dtype is {array.dtype}. Drop or "
            "encode text columns and give numbers."
        )
    return array if array.numblocks[1] == 1 else array.rechunk({1: -1})


def _with_sizes(array: Any) -> Any:
    """The array with its row chunks counted, the user's own left as it is."""
    if not np.isnan(array.shape[0]):
        return array
    known = array.copy()
    known.compute_chunk_sizes()
    return known
