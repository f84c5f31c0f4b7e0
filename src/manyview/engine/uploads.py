"""Rows and small values on their way to a torch device, and sums on it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.ops import Array, in_float64, to_host
from manyview.engine.contract import Result, Totals
from manyview.errors import DeviceError
from manyview.views.views import Block


def free_memory(device: Any) -> int | None:
    """Bytes that are free on the device; None where nobody tells."""
    if device.type != "cuda":
        return None
    import torch

    # What torch has set aside but does not use is free for us as well.
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + int(idle)


def send(array: Any, device: Any) -> Any:
    """A host array or tensor on the device; its dtype kept if that has it."""
    import torch

    if is_torch_array(array):
        return array.to(device)
    host = np.require(array, requirements=("C", "W"))
    tensor = torch.as_tensor(host)
    if device.type == "mps" and tensor.dtype == torch.float64:
        tensor = tensor.to(torch.float32)
    return tensor.to(device)


def placed(shared: Any, send_one: Callable[[Any], Any]) -> Any:
    """A pass's small value with the float arrays in its tuples sent to the device."""
    if isinstance(shared, tuple):
        parts = [placed(part, send_one) for part in shared]
        make = getattr(shared, "_make", tuple)
        return make(parts)
    is_float = isinstance(shared, np.ndarray) and shared.dtype.kind == "f"
    return send_one(shared) if is_float else shared


def upload(block: Block, device: Any) -> Block:
    """The block on the device, sparse views dense."""
    views = tuple(send(_dense(x), device) for x in block.views)
    return Block(block.start, views, to_host(block.present))


def stream(blocks: Iterable[Block], device: Any) -> Iterator[Block]:
    """Blocks of the host on the device, one ahead: read, copy and work overlap."""
    if device.type != "cuda":
        yield from (upload(block, device) for block in blocks)
        return
    import torch

    side = torch.cuda.Stream(device)
    ahead: list[tuple[Block, Any]] = []
    for block in blocks:
        ahead.append(_copy_ahead(block, device, side))
        if len(ahead) == 2:
            yield _arrived(ahead.pop(0), device)
    while ahead:
        yield _arrived(ahead.pop(0), device)


def _copy_ahead(block: Block, device: Any, side: Any) -> tuple[Block, Any]:
    """The block on its way through pinned memory, and the event of its arrival."""
    import torch

    views: list[Any] = []
    with torch.cuda.stream(side):
        for x in block.views:
            host = torch.as_tensor(np.require(_dense(x), requirements=("C", "W")))
            views.append(host.pin_memory().to(device, non_blocking=True))
        done = side.record_event()
    return Block(block.start, tuple(views), to_host(block.present)), done


def _arrived(sent: tuple[Block, Any], device: Any) -> Block:
    """The block once its copy is done, as far as the working stream sees."""
    import torch

    block, done = sent
    working = torch.cuda.current_stream(device)
    working.wait_event(done)
    for x in block.views:
        x.record_stream(working)
    return block


def _dense(x: Any) -> Any:
    return x.toarray() if sp.issparse(x) else x


def fold_there(totals: Totals, result: Result) -> None:
    """Add a block's sums to the totals, in float64, on the device."""
    for name, value in result.stats.items():
        exact: Array = (
            in_float64(value)
            if is_torch_array(value)
            else np.asarray(value, np.float64)
        )
        totals[name] = totals[name] + exact if name in totals else exact


@contextmanager
def out_of_memory_told(device: Any, title: str) -> Iterator[None]:
    """Out of memory in our words."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        free, total = torch.cuda.mem_get_info(device)
        raise DeviceError(
            f"The memory of device='{device}' ran out in the pass '{title}': "
            f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB are free. Give a "
            "memory_limit or fewer anchors, or use device='cpu'."
        ) from error
