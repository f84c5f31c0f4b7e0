"""NumPy's files: ``.npy``, mapped, and ``.npz``, measured before it is unpacked.

A sparse view in an archive is four members ``NAME_data``, ``NAME_indices``,
``NAME_indptr`` and ``NAME_shape``, or the unprefixed members of
`scipy.sparse.save_npz`.
"""

import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyview.datasets.layout import LABEL_NAMES, arrange, holds_fractions, tidy_labels
from manyview.datasets.raw_data import (
    NDArray,
    RawData,
    Request,
    checked_csr,
    clean_name,
)
from manyview.engine.resources import require_room
from manyview.errors import FileError
from manyview.files.npy_file import map_array, read_array

_PARTS = ("data", "indices", "indptr", "shape")


def read_npy(path: Path, request: Request, stack: ExitStack) -> RawData:
    """One array as one view, or as labels when the file is named so."""
    array = map_array(path)
    if path.stem.lower() in LABEL_NAMES and array.size == array.shape[0]:
        labels = tidy_labels(array.ravel())
        if array.ndim == 1 or not holds_fractions(labels):
            return RawData(views=[], names=[], labels=labels)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise FileError(
            f"{path.name} is no view: it holds {array.dtype} of shape {array.shape}. "
            "Give a 2-D array of numbers with samples on rows."
        )
    return RawData(views=[array], names=[path.stem])


def read_npz(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Arrays of an archive, arranged as views."""
    archive = stack.enter_context(zipfile.ZipFile(path))
    members = archive.infolist()
    require_room(sum(m.file_size for m in members), request.memory_limit, path.name)
    arrays: dict[str, NDArray] = {}
    skipped: dict[str, str] = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name == member.filename:
            skipped[name] = "no npy array"
            continue
        with archive.open(member) as file:
            where = f"the member {clean_name(member.filename)!r}"
            array = read_array(file, where, member.file_size)
        if array.dtype.kind in "fiubSU":
            arrays[name] = array
        else:
            skipped[name] = f"dtype {array.dtype}"
    return arrange(_numeric(_join_sparse(arrays), skipped), request, skipped)


def _join_sparse(arrays: dict[str, Any]) -> dict[str, Any]:
    """Replace the parts of each sparse matrix by the matrix, where the first stood."""
    stems = [n.removesuffix("_indptr") for n in arrays if n.endswith("_indptr")]
    for stem, prefix in [*((s, f"{s}_") for s in stems), ("X", "")]:
        names = [prefix + part for part in _PARTS]
        if all(n in arrays for n in names):
            matrix = _sparse([arrays[n] for n in names], arrays.get(prefix + "format"))
            arrays = {
                stem if n == names[0] else n: matrix if n == names[0] else item
                for n, item in arrays.items()
                if n not in (*names[1:], prefix + "format")
            }
    return arrays


def _sparse(parts: list[NDArray], kind: NDArray | None) -> Any:
    *compressed, shape = parts
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise FileError(
            "A sparse view has a shape that is not two whole numbers. Write its shape "
            "as an integer array of two."
        )
    name = "csr" if kind is None else kind.astype(str).item()
    return checked_csr(compressed, shape, name)


def _numeric(found: dict[str, Any], skipped: dict[str, str]) -> dict[str, Any]:
    """Matrices of numbers and vectors; text may only be labels."""
    kept = {}
    for name, item in found.items():
        text = item.dtype.kind in "SU"
        if len(item.shape) not in (1, 2) or (text and len(item.shape) != 1):
            skipped[name] = f"shape {item.shape} of {item.dtype}"
        else:
            kept[name] = item.astype(str) if text else item
    return kept
