"""Torch tensors as users have them: plain ones are made of them, or they are refused.

A tensor is worked on where it lies. Beside a tensor every dense view becomes one, on
its device, block by block; sparse matrices stay what they are until a device engine
makes their blocks dense.
"""

from collections.abc import Sequence
from typing import Any

import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.ops import Array, like
from manyview.errors import InputTypeError


def plain_tensor(tensor: Any, name: str) -> Any:
    """The tensor without its history of gradients; refused where it has no rows."""
    import torch

    kind, advice = None, "it as tensor.to_dense() or as a scipy sparse matrix"
    if tensor.device.type == "meta":
        kind, advice = "on the device 'meta'", "a tensor that has values"
    elif tensor.is_quantized:
        kind, advice = f"quantised ({tensor.dtype})", "it as tensor.dequantize()"
    elif tensor.layout is not torch.strided:
        kind = f"a sparse tensor ({tensor.layout})"
    if kind is not None:
        raise InputTypeError(f"View {name!r} is {kind}, of no use. Give {advice}.")
    return tensor.detach()


def in_one_place(parts: Sequence[Array]) -> list[Array]:
    """Dense arrays beside a tensor as tensors, on the device of the first one."""
    model = next((p for p in parts if is_torch_array(p)), None)
    if model is None:
        return list(parts)
    return [p if sp.issparse(p) else like(p, model) for p in parts]
