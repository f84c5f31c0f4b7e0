"""The engine that a fit's parameters ask for; what cannot be had is refused by name.

Optional libraries load within the engines, when these are opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manyview.engine.contract import Engine
from manyview.engine.dask import DaskEngine
from manyview.engine.dask_workers import find_client
from manyview.engine.device import DeviceEngine, find_device
from manyview.engine.local import LocalEngine
from manyview.errors import InputError, InputTypeError
from manyview.views.views import Views


def open_engine(
    views: Views,
    dtype: Any,
    *,
    engine: Any = "local",
    device: str | None = None,
    memory_limit: Any = None,
    view_order: Sequence[int] | None = None,
) -> Engine:
    """The engine for these views: this process, a GPU or a Dask cluster.

    With `view_order`, of an earlier fit, the views are visited in that order.
    """
    _check_device(device)
    if not isinstance(engine, str) or engine != "local":
        return _open_dask(views, dtype, engine, device, memory_limit)
    if not isinstance(views, Views):
        raise InputError(
            "The views are Dask collections, but engine='local'. Give engine='dask' "
            "or a client, or compute the views first."
        )
    wants_torch = device is not None or any(hasattr(a, "cpu") for a in views.arrays)
    if wants_torch:
        found = find_device(device, views)
        if found is not None:
            return DeviceEngine(
                views, dtype, found, memory_limit=memory_limit, view_order=view_order
            )
    return LocalEngine(views, dtype, memory_limit=memory_limit, view_order=view_order)


def _open_dask(
    views: Any, dtype: Any, engine: Any, device: str | None, memory_limit: Any
) -> Engine:
    """Passes on the workers of a cluster; what cannot be had there is refused."""
    client = find_client(engine)
    for name, value in (("device", device), ("memory_limit", memory_limit)):
        if value is not None:
            raise InputError(
                f"engine='dask' does not take {name}={value!r}: workers compute on "
                "their own processors, within the memory limit they were started "
                f"with. Leave {name} out, or use engine='local'."
            )
    return DaskEngine(views, dtype, client)


def _check_device(device: Any) -> None:
    named = device is None or isinstance(device, str)
    if not named and type(device).__module__ != "torch":
        raise InputTypeError(
            f"device={device!r} is no name of a device. Give 'cpu', 'cuda', 'cuda:1', "
            "'mps' or None."
        )
