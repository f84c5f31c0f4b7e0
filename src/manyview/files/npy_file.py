"""One array in one ``.npy`` file: checked header, block-wise writing, mapping.

Headers are compared with the size of the file before anything is allocated or
mapped, and pickled objects are never read.
"""

import hashlib
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from array_api_compat import is_torch_array

from manyview.arrays.ops import to_host
from manyview.errors import FileError

NDArray = np.ndarray[Any, Any]

# Copied at a time: large enough for a disk to run at full speed, small beside memory.
BLOCK_BYTES = 32 * 2**20
# NumPy's own limit of a header; longer ones are an attack on its parser.
_MAX_HEADER = 10_000
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class NpyHeader:
    """Shape and type of the array, and where its bytes begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]
    offset: int

    @property
    def n_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def read_header(file: IO[bytes], where: str, n_bytes: int) -> NpyHeader:
    """Header of an open npy stream of `n_bytes` bytes in all, checked against it."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"npy version {version} is not known")
        read = _HEADERS[version]
        shape, fortran, dtype = read(file, max_header_size=_MAX_HEADER)
    except (ValueError, OSError, SyntaxError, TypeError) as error:
        raise FileError(
            f"{where} is no valid npy array: {error}. Write it again with numpy.save."
        ) from error
    if dtype.hasobject:
        raise FileError(
            f"{where} was refused: it holds pickled Python objects, which can run "
            "code when read. Save plain numbers instead."
        )
    shape = tuple(int(s) for s in shape)
    header = NpyHeader(shape, dtype, "F" if fortran else "C", file.tell())
    if any(s < 0 for s in header.shape) or header.n_bytes != n_bytes - header.offset:
        raise FileError(
            f"{where} is damaged: its header promises shape {header.shape} of "
            f"{header.dtype}, {header.n_bytes} bytes, but {n_bytes - header.offset} "
            "bytes follow. Fetch or write the file again."
        )
    return header


def read_array(file: IO[bytes], where: str, n_bytes: int) -> NDArray:
    """The array of an open npy stream of `n_bytes` bytes in all."""
    header = read_header(file, where, n_bytes)
    array = np.empty(header.shape, header.dtype, header.order)
    if array.nbytes:
        content = np.frombuffer(file.read(header.n_bytes), np.uint8)
        if content.size != header.n_bytes:
            raise FileError(f"{where} is cut short. Fetch or write the file again.")
        array.reshape(-1, order="A").view(np.uint8)[:] = content
    return array


def map_array(path: Path, *, private: bool = False) -> NDArray:
    """The array of a npy file, memory-mapped.

    By default a read-only `numpy.memmap`. A `private` array is writable (writes
    stay in this process) and does not know its file, so the file may be removed.
    """
    with path.open("rb") as file:
        header = read_header(file, path.name, path.stat().st_size)
        if header.n_bytes == 0:
            return np.empty(header.shape, header.dtype)
        if not private:
            where = (header.offset, header.shape, header.order)
            return np.memmap(path, header.dtype, "r", *where)
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    raw = np.frombuffer(pages, np.uint8)[header.offset :]
    flat: NDArray = raw.view(header.dtype)
    return flat.reshape(header.shape, order=header.order)


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in this machine's byte order; extended precision becomes float64."""
    if dtype.kind == "f" and dtype.itemsize > 8:
        return np.dtype(np.float64)
    return dtype.newbyteorder("=")


def write_array(path: Path, array: Any, *, checksum: bool = False) -> str | None:
    """Write any sliceable array in C order, block by block; its SHA-256 or None."""
    # Written, not mapped: a full disk is then an error instead of a bus error.
    kind = str(array.dtype).removeprefix("torch.")
    dtype = native(np.dtype(kind if is_torch_array(array) else array.dtype))
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": tuple(int(s) for s in array.shape),
    }
    with path.open("wb") as file:
        np.lib.format.write_array_header_2_0(file, header)
        for block in _blocks(array, dtype):
            file.write(block.view(np.uint8).data if block.size else b"")
    return file_checksum(path) if checksum else None


def _blocks(array: Any, dtype: np.dtype[Any]) -> Iterator[NDArray]:
    """All entries in C order, as many rows at a time as `BLOCK_BYTES` hold."""
    n_rows = int(array.shape[0])
    row_bytes = dtype.itemsize * int(np.prod(array.shape[1:], dtype=object))
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, n_rows, step):
        block = to_host(array[start : min(start + step, n_rows)])
        yield np.ascontiguousarray(block, dtype=dtype).reshape(-1)


def file_checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
