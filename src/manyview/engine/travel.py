"""Values on their way between processes, and those that lie on a worker's device.

Tensors travel as arrays, and lie on the device of whoever opens them.
"""

import io
import pickle
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from manyview.arrays.ops import to_host
from manyview.engine.uploads import placed, send


class Sealed:
    """A value on its way to another process, opaque to whoever carries it."""

    def __init__(self, value: Any) -> None:
        out = io.BytesIO()
        _Packer(out, protocol=5).dump(value)
        self.content = out.getvalue()

    def open(self, device: str | None = None) -> Any:
        """The value; what were tensors on the device, or arrays without one."""
        return _Opener(io.BytesIO(self.content), device).load()


class _Packer(pickle.Pickler):
    """Takes the arrays of tensors for the tensors."""

    def persistent_id(self, obj: Any) -> Any:
        return to_host(obj) if is_torch_array(obj) else None


class _Opener(pickle.Unpickler):
    """Sends the arrays of tensors to a device."""

    def __init__(self, file: io.BytesIO, device: str | None) -> None:
        super().__init__(file)
        self._device = None if device is None else torch_device(device)

    def persistent_load(self, pid: np.ndarray[Any, Any]) -> Any:
        return pid if self._device is None else send(pid, self._device)


class Held:
    """A value in the memory of a worker's device; it leaves that as arrays.

    Dask takes it for small: what lies on a device is no memory of the worker's.
    """

    def __init__(self, value: Any, device: str) -> None:
        self.value, self.device = value, device

    def __reduce__(self) -> Any:
        return _held_again, (Sealed(self.value), self.device)


def _held_again(sealed: Sealed, device: str) -> Held:
    return Held(sealed.open(device), device)


def here(value: Any) -> Any:
    """The value itself, wherever it lies."""
    return value.value if isinstance(value, Held) else value


def torch_device(name: str) -> Any:
    """The device of that name in this process."""
    import torch

    return torch.device(name)


def unpack(sealed: Sealed, device: str | None = None) -> Any:
    """A small value as a worker's steps take it, its numbers on the worker's device."""
    value = sealed.open(device)
    if device is None:
        return value
    there = torch_device(device)
    return Held(placed(value, lambda array: send(array, there)), device)
