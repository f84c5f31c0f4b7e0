"""Blocks on a torch device: resident where they fit, streamed where they do not.

Rows stay on the device between passes when they fit into its memory; otherwise
every pass copies them block by block through two pinned buffers, the next block
on its way while the current one is worked on. State and sums stay on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.ops import Array, to_host, wide
from manyview.engine.contract import Result, Step, Totals
from manyview.errors import DependencyError, DeviceError
from manyview.running import progress
from manyview.views.views import Block, Views

MOST_BLOCK_ROWS = 1_048_576
LEAST_BLOCK_ROWS = 4096
HOST_BLOCK_ROWS = 8192
WORK_SHARE = 0.2
DATA_SHARE = 0.4
STATE_SHARE = 0.85


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


def _import_torch(wanted: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise DependencyError(
            f"device={wanted!r} needs torch, which is not installed. Install it with "
            "'pip install manyview[torch]', or leave device at None."
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


def free_memory(device: Any) -> int | None:
    """Bytes that are free on the device; None where nobody tells."""
    if device.type != "cuda":
        return None
    import torch

    # What torch has set aside but does not use is free for us as well.
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + int(idle)


class DeviceEngine:
    """Passes over views on a torch device, one block after the other.

    Parameters
    ----------
    views : Views
    dtype : dtype of the blocks, float32 or float64
    device : torch.device
    block_rows : int, optional
        Rows per block; default what the device's memory allows.
    """

    redoes = False

    def __init__(
        self, views: Views, dtype: Any, device: Any, *, block_rows: int | None = None
    ) -> None:
        import torch

        self.views, self.device = views, device
        self.dtype = np.dtype(dtype)
        self._type = torch.float64 if self.dtype == np.float64 else torch.float32
        if device.type == "mps" and self.dtype == np.float64:
            raise DeviceError(
                "device='mps' has no float64, which this data asks for. Set "
                "dtype='float32', or use device='cpu'."
            )
        self._as_numpy = not any(is_torch_array(a) for a in views.arrays)
        self._resident = self._fits()
        rows = block_rows or self._choose_rows()
        edges = [*range(0, len(views), rows), len(views)]
        self._slices = [slice(a, b) for a, b in pairwise(edges)]
        self._state: list[dict[str, Array]] = [{} for _ in self._slices]
        self._blocks: list[Block | None] = [None for _ in self._slices]
        self._smalls: dict[int, tuple[Any, Any]] = {}

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.views)

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        free = free_memory(self.device)
        return free is None or bytes_per_row * self.n_samples <= STATE_SHARE * free

    def _fits(self) -> bool:
        free = free_memory(self.device)
        need = sum(self.views.n_features) * self.dtype.itemsize * len(self.views)
        return free is None or need <= DATA_SHARE * free

    def _choose_rows(self) -> int:
        """Rows whose features, distances and float64 copies fit beside the rest."""
        free = free_memory(self.device)
        if free is None:
            return HOST_BLOCK_ROWS
        widest = max(max(self.views.n_features), 1024)
        rows = int(WORK_SHARE * free / (widest * (4 * 8 + 2 * self.dtype.itemsize)))
        if rows < LEAST_BLOCK_ROWS:
            need = LEAST_BLOCK_ROWS * widest * 40 / WORK_SHARE / 2**30
            raise DeviceError(
                f"device='{self.device}' has {free / 2**30:.1f} GiB free; the smallest "
                f"useful block of these views needs {need:.1f} GiB. Free memory there, "
                "or use device='cpu'."
            )
        return min(rows, MOST_BLOCK_ROWS)

    def run(
        self, step: Step, small: Any = None, *, title: str = "", views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step to every block; sums in block order, notes as a list."""
        totals: Totals = {}
        notes: list[Any] = []
        near = self._near(small)
        blocks = self._view_blocks() if views else self._plain_blocks()
        name = title or step.__name__
        with progress.task(name, len(self._slices)) as advance, self._told(name):
            for number, block in enumerate(blocks):
                result = step(block, self._state[number], near)
                self._state[number].update(result.state)
                _fold(totals, result)
                notes.append(result.note)
                advance()
        return totals, notes

    @contextmanager
    def _told(self, title: str) -> Iterator[None]:
        """Out of memory in our words."""
        import torch

        try:
            yield
        except torch.OutOfMemoryError as error:
            free, total = torch.cuda.mem_get_info(self.device)
            raise DeviceError(
                f"The memory of device='{self.device}' ran out in the pass '{title}': "
                f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB are free. Give a "
                "smaller block_rows or n_anchors, or use device='cpu'."
            ) from error

    def _near(self, small: Any) -> Any:
        """A pass's small value with its float arrays on the device, sent once."""
        if isinstance(small, tuple):
            parts = [self._near(part) for part in small]
            make = getattr(small, "_make", tuple)
            return make(parts)
        if not (isinstance(small, np.ndarray) and small.dtype.kind == "f"):
            return small
        if id(small) not in self._smalls:
            self._smalls[id(small)] = (small, self._send(small))
        return self._smalls[id(small)][1]

    def _send(self, array: Any) -> Any:
        """A host array or tensor on the device; its dtype kept if that has it."""
        import torch

        if is_torch_array(array):
            return array.to(self.device)
        host = np.require(array, requirements=("C", "W"))
        tensor = torch.as_tensor(host)
        if self.device.type == "mps" and tensor.dtype == torch.float64:
            tensor = tensor.to(torch.float32)
        return tensor.to(self.device)

    def _plain_blocks(self) -> Iterator[Block]:
        for rows in self._slices:
            shape = (rows.stop - rows.start, self.views.n_views)
            yield Block(rows.start, (), np.ones(shape, dtype=bool))

    def _view_blocks(self) -> Iterator[Block]:
        if self._resident:
            for number, rows in enumerate(self._slices):
                block = self._blocks[number]
                if block is None:
                    block = self._upload(self.views.block(rows, self.dtype))
                    self._blocks[number] = block
                yield block
        else:
            yield from self._stream()

    def _upload(self, block: Block) -> Block:
        views = tuple(self._send(_dense(x)) for x in block.views)
        return Block(block.start, views, to_host(block.present))

    def _stream(self) -> Iterator[Block]:
        """Blocks through pinned memory, one ahead: read, copy and work overlap."""
        import torch

        side = torch.cuda.Stream(self.device)
        ahead: list[tuple[Block, Any]] = []
        for rows in self._slices:
            ahead.append(self._copy_ahead(self.views.block(rows, self.dtype), side))
            if len(ahead) == 2:
                yield _arrived(ahead.pop(0), self.device)
        while ahead:
            yield _arrived(ahead.pop(0), self.device)

    def _copy_ahead(self, block: Block, side: Any) -> tuple[Block, Any]:
        import torch

        views = []
        with torch.cuda.stream(side):
            for x in block.views:
                host = torch.as_tensor(np.require(_dense(x), requirements=("C", "W")))
                views.append(host.pin_memory().to(self.device, non_blocking=True))
            done = side.record_event()
        return Block(block.start, tuple(views), to_host(block.present)), done

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for."""
        return self._upload(self.views.block(np.asarray(rows), self.dtype))

    def put(self, name: str, values: Array) -> None:
        """Split an array with one entry per row over the blocks."""
        for rows, state in zip(self._slices, self._state, strict=True):
            part = values[rows]
            whole = is_torch_array(part) or part.dtype.kind == "f"
            state[name] = self._send(part) if whole else part

    def read(self, name: str) -> Array:
        """A state field of all rows, in row order: as tensors if these came in."""
        import torch

        parts = [state[name] for state in self._state]
        if not is_torch_array(parts[0]):
            return np.concatenate(parts)
        whole = torch.cat(parts) if len(parts) > 1 else parts[0]
        return to_host(whole) if self._as_numpy else whole

    def drop(self, name: str) -> None:
        """Forget a state field."""
        for state in self._state:
            state.pop(name, None)


def _dense(x: Any) -> Any:
    return x.toarray() if sp.issparse(x) else x


def _arrived(sent: tuple[Block, Any], device: Any) -> Block:
    """The block once its copy is done, as far as the working stream sees."""
    import torch

    block, done = sent
    stream = torch.cuda.current_stream(device)
    stream.wait_event(done)
    for x in block.views:
        x.record_stream(stream)
    return block


def _fold(totals: Totals, result: Result) -> None:
    """Add a block's sums to the totals, in float64, on the device."""
    for name, value in result.stats.items():
        exact = wide(value) if is_torch_array(value) else np.asarray(value, np.float64)
        totals[name] = totals[name] + exact if name in totals else exact
