"""Blocks on a torch device: resident where they fit, streamed where they do not.

Rows stay on the device between passes when they fit into its memory; otherwise
every pass copies them block by block through two pinned buffers, the next block
on its way while the current one is worked on. State and sums stay on the device.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_torch_array

from manyview.arrays.ops import Array, is_on_gpu, like, namespace, to_host
from manyview.engine.content_order import hash_block, hash_orders, odd_numbers
from manyview.engine.contract import (
    Step,
    Totals,
    check_block_rows,
    cut,
    require_same_fields,
    rows_alone,
    sizes,
)
from manyview.engine.scratch import parse_memory
from manyview.engine.uploads import (
    fold_there,
    free_memory,
    out_of_memory_told,
    placed,
    send,
    stream,
    upload,
)
from manyview.errors import DependencyError, DeviceError, InputError, install_command
from manyview.running import progress
from manyview.views.finite_rows import floating
from manyview.views.views import Block, Views

# Rows per block: a GPU is busy from a few thousand on, and a million already fill it;
# the host's cache is smaller.
MOST_BLOCK_ROWS = 1_048_576
LEAST_BLOCK_ROWS = 4096
HOST_BLOCK_ROWS = 8192
# Of the free memory, which they share in turn: a block's temporaries and, beside the
# rows, their state.
WORK_SHARE = 0.2
STATE_SHARE = 0.85
# Entries of a view hashed at a time: 64-bit copies of them come and go.
HASHED_ENTRIES = 2**24


def find_device(wanted: str | None, views: Views) -> Any:
    """The torch device to compute on, or None for NumPy on this machine's cores."""
    tensors = [a for a in views.arrays if is_torch_array(a)]
    if wanted is None:
        return tensors[0].device if tensors else None
    if wanted == "cpu" and not tensors:
        return None
    torch = _import_torch(wanted)
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise DeviceError(
            f"device={wanted!r} is no device that torch knows. Give 'cpu', 'cuda', "
            "'cuda:1', 'mps' or None."
        ) from error
    _check_there(torch, device)
    return device


def workers_device(wanted: Any, views: Any) -> str | None:
    """The torch device of every Dask worker, or None for NumPy on its cores."""
    on_gpu = any(is_on_gpu(a) for a in views.arrays)
    name = str(wanted) if wanted is not None else "cuda" if on_gpu else "cpu"
    if name == "cpu":
        return None
    if not re.fullmatch(r"cuda(:[0-9]+)?", name):
        raise DeviceError(
            f"engine='dask' does not take device={name!r}: workers compute on their "
            "processors ('cpu') or on CUDA GPUs ('cuda', 'cuda:1'). Give one of these, "
            "or use engine='local'."
        )
    return name


def _import_torch(wanted: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise DependencyError(
            f"device={wanted!r} needs torch, which is not installed. Install it, "
            f"{install_command('torch')}, or leave device at None."
        ) from error
    return torch


def _check_there(torch: Any, device: Any) -> None:
    """A device that is not there gets a sentence, not a traceback from a driver."""
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            build = "with" if torch.version.cuda else "without"
            raise DeviceError(
                f"device='{device}' needs a CUDA GPU; torch {torch.__version__} "
                f"(built {build} CUDA) sees {count}. Use device='cpu', or install a "
                "CUDA build of torch and a driver."
            )
    elif device.type == "mps" and not torch.backends.mps.is_available():
        raise DeviceError(
            f"device='{device}' needs an Apple GPU, which torch {torch.__version__} "
            "does not see here. Use device='cpu'."
        )


class Seen(NamedTuple):
    """A device as a process sees it: which it is, bytes free, bytes it holds there."""

    name: str
    free: int | None
    held: int


def look_at(wanted: str) -> Seen:
    """The device of this process, or the reason why it cannot be had."""
    torch = _import_torch(wanted)
    device = torch.device(wanted)
    _check_there(torch, device)
    free = free_memory(device)
    if free is None:
        return Seen(wanted, None, 0)
    own = torch.cuda.get_device_properties(device)
    name = str(getattr(own, "uuid", own.name))
    return Seen(name, free, int(torch.cuda.memory_allocated(device)))


class DeviceEngine:
    """Passes over views on a torch device, one block after the other.

    Rows that fit stay there in the order of their content; streamed ones come as
    they stand.

    Parameters
    ----------
    views : Views
    dtype : dtype of the blocks, float32 or float64
    device : torch.device
    block_rows : int, optional
        Rows per block; default what the device's memory allows.
    memory_limit : str, int or None
        How much of the device's memory to use.
    view_order : sequence of int, optional
        Order to visit the views in; default that of their content, if resident.
    """

    def __init__(
        self,
        views: Views,
        dtype: Any,
        device: Any,
        *,
        block_rows: int | None = None,
        memory_limit: Any = None,
        view_order: Sequence[int] | None = None,
    ) -> None:
        self.device, self.dtype = device, np.dtype(dtype)
        self._check(device, memory_limit)
        self._limit = None if memory_limit is None else parse_memory(memory_limit)
        self._as_numpy = not any(is_torch_array(a) for a in views.arrays)
        self.views = views
        self._resident = self._fits()
        rows = block_rows and check_block_rows(block_rows)
        rows = rows or rows_within(self._free(), views.n_features, self.dtype, device)
        self._slices = cut(len(views), rows)
        self._state: list[dict[str, Array]] = [{} for _ in self._slices]
        self._smalls: dict[int, tuple[Any, Any]] = {}
        self._order: Any = None
        self._blocks: list[Block] = []
        self.view_order = tuple(
            range(views.n_views) if view_order is None else view_order
        )
        if self._resident:
            self._load(view_order is None)
        else:
            self.views = views.in_order(self.view_order)

    def _check(self, device: Any, memory_limit: Any) -> None:
        if device.type == "mps" and self.dtype == np.float64:
            raise DeviceError(
                "device='mps' has no float64, which this data asks for. Set "
                "dtype='float32', or use device='cpu'."
            )
        if memory_limit is not None and device.type != "cuda":
            raise InputError(
                f"memory_limit={memory_limit!r} holds for NumPy arrays and for CUDA "
                f"GPUs, not for tensors on device='{device}'. Leave it out, or give "
                "arrays."
            )

    def _load(self, by_content: bool) -> None:
        """All rows on the device, rows and views in the order of their content."""
        import torch

        there = (self.views.block(rows, self.dtype) for rows in self._slices)
        loaded = [upload(block, self.device) for block in there]
        odd = [odd_numbers(n) for n in self.views.n_features]
        hashes = torch.cat([hash_block(part, odd) for part in _pieces(loaded)])
        self._order, of_views = hash_orders(hashes)
        if by_content:
            self.view_order = tuple(of_views.tolist())
        present = np.concatenate([block.present for block in loaded])
        if not present.all():
            present = present[to_host(self._order)]
        views = [[block.views[v] for block in loaded] for v in self.view_order]
        del loaded
        ordered = []
        for v, parts in enumerate(views):
            ordered.append(torch.cat(parts)[self._order])
            views[v] = []
        self._blocks = [
            Block(r.start, tuple(x[r] for x in ordered), present[r][:, self.view_order])
            for r in self._slices
        ]
        self.views = self.views.in_order(self.view_order)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.views)

    def _free(self) -> int | None:
        """Bytes this fit may still take; None where nobody tells."""
        free = free_memory(self.device)
        return free if free is None or self._limit is None else min(free, self._limit)

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        free = self._free()
        return free is None or bytes_per_row * self.n_samples <= STATE_SHARE * free

    def _fits(self) -> bool:
        free = self._free()
        arrays = self.views.arrays
        row = sum(a.shape[1] * floating(a, self.dtype).itemsize for a in arrays)
        return free is None or row * len(self.views) <= sizes.resident_share * free

    def run(
        self, step: Step, shared: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step to every block; sums in block order, notes as a list."""
        totals: Totals = {}
        notes: list[Any] = []
        shared = placed(shared, self._send_once)
        blocks = self._blocks_of_pass(views)
        fresh: list[dict[str, Array]] = []
        told = out_of_memory_told(self.device, title)
        with progress.task(title, len(self._slices)) as advance, told:
            for state, block in zip(self._state, blocks, strict=True):
                result = step(block, dict(state), shared)
                for name in (*result.state, *result.replaces.values()):
                    state.pop(name, None)
                fresh.append(dict(result.state))
                fold_there(totals, result)
                notes.append(result.note)
                advance()
        require_same_fields(fresh)
        for state, made in zip(self._state, fresh, strict=True):
            state.update(made)
        return totals, notes

    def _send_once(self, array: Any) -> Any:
        """A small array on the device, sent in its first pass."""
        if id(array) not in self._smalls:
            self._smalls[id(array)] = (array, send(array, self.device))
        return self._smalls[id(array)][1]

    def _blocks_of_pass(self, views: bool) -> Iterator[Block]:
        if not views:
            return (rows_alone(rows, self.views.n_views) for rows in self._slices)
        if self._resident:
            return iter(self._blocks)
        blocks = (self.views.block(rows, self.dtype) for rows in self._slices)
        return stream(blocks, self.device)

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for."""
        own = self.views.block(self.caller_rows(rows), self.dtype)
        return upload(own, self.device)

    def put(self, name: str, values: Array) -> None:
        """Split an array in the caller's row order over the blocks."""
        if is_torch_array(values) or values.dtype.kind == "f":
            values = send(values, self.device)
        if self._order is not None:
            values = values[like(self._order, values)]
        for rows, state in zip(self._slices, self._state, strict=True):
            state[name] = values[rows]

    def read(self, name: str) -> Array:
        """A state field in the caller's row order: as tensors if these came in."""
        parts = [state[name] for state in self._state]
        whole = namespace(parts[0]).concat(parts)
        if self._order is not None:
            whole = whole[like(self._order.argsort(), whole)]
        return to_host(whole) if self._as_numpy else whole

    def caller_rows(self, rows: Any) -> Any:
        """The caller's numbers of rows given by the engine's."""
        if self._order is None:
            return np.asarray(rows)
        return to_host(self._order[send(np.asarray(rows), self.device)])

    def engine_rows(self, rows: Any) -> Any:
        """The engine's numbers of rows given by the caller's."""
        if self._order is None:
            return np.asarray(rows)
        place = self._order.argsort()
        return to_host(place[send(np.asarray(rows), self.device)])

    def drop(self, name: str) -> None:
        """Forget a state field."""
        for state in self._state:
            state.pop(name, None)


def rows_within(
    free: int | None, n_features: Sequence[int], dtype: np.dtype[Any], device: Any
) -> int:
    """Rows of a block whose features, distances and float64 copies fit."""
    if free is None:
        return HOST_BLOCK_ROWS
    widest = max(*n_features, 1024)
    row = widest * (4 * 8 + 2 * dtype.itemsize)
    rows = int(WORK_SHARE * free / row)
    if rows < LEAST_BLOCK_ROWS:
        need = LEAST_BLOCK_ROWS * row / WORK_SHARE / 2**30
        raise DeviceError(
            f"device='{device}' has {free / 2**30:.1f} GiB free; the smallest useful "
            f"block of these views needs {need:.1f} GiB. Free memory there, or use "
            "device='cpu'."
        )
    return min(rows, MOST_BLOCK_ROWS)


def _pieces(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks cut smaller, for what makes wide copies of their entries."""
    for block in blocks:
        widest = max(x.shape[1] for x in block.views)
        for rows in cut(len(block), max(HASHED_ENTRIES // max(widest, 1), 1)):
            yield Block(
                rows.start, tuple(x[rows] for x in block.views), block.present[rows]
            )
