"""One zip of JSON and arrays, safe to share: ``NAME.json`` and ``arrays/N.npy``.

Model files and checkpoints: no pickle, so nothing in them can run; no compression,
so they never grow when read. The last 64 bytes are the SHA-256 of all before them: a
file with a single changed byte is refused before anything else is looked at.
"""

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from manyview.engine.resources import parse_size, require_room
from manyview.errors import FileError
from manyview.files.atomic import atomic_file
from manyview.files.failures import FilesTold
from manyview.files.npy_file import read_array

# A million fitted numbers written out in JSON are 20 MB; more is no description.
MOST_JSON_BYTES = 256 * 2**20
DIGEST_BYTES = 64
COMMENT = b"manyview-sha256:"
_ARRAY = re.compile(r"arrays/(0|[1-9][0-9]{0,8})\.npy")


def write_container(
    target: Path, what: str, content: Mapping[str, Any], arrays: Sequence[Any]
) -> None:
    """Write a file that is a `what`, such as a ``"model"``, whole or not at all."""
    text = json.dumps(
        {"format": f"manyview {what}", **content}, ensure_ascii=False, allow_nan=False
    )
    with atomic_file(target) as part, part.open("w+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_entry(f"{what}.json"), text)
            for number, array in enumerate(arrays):
                entry = _entry(f"arrays/{number}.npy")
                with archive.open(entry, "w", force_zip64=True) as out:
                    host = np.asarray(array)
                    np.lib.format.write_array(out, host, allow_pickle=False)
            archive.comment = COMMENT + b"0" * DIGEST_BYTES
        end = file.seek(-DIGEST_BYTES, io.SEEK_END)
        file.write(_digest(file, end))


def read_container(
    source: Path, what: str, memory_limit: int | float | str | None = None
) -> tuple[dict[str, Any], list[Any]]:
    """The content and the arrays of a `what` that `write_container` wrote."""
    name = source.name
    told = FilesTold(f"{source} could not be read", "Give a file written by save.")
    with told, source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        require_room(size, parse_size(memory_limit), f"The {what} {name}")
        _check_digest(file, size, name, what)
        return _read(file, size, name, what)


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry without a date: the same content gives the same bytes."""
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _digest(file: BinaryIO, n_bytes: int) -> bytes:
    """SHA-256, in hexadecimal, of the first bytes of a file."""
    found = hashlib.sha256()
    file.seek(0)
    for start in range(0, n_bytes, 2**20):
        found.update(file.read(min(2**20, n_bytes - start)))
    return found.hexdigest().encode()


def _check_digest(file: BinaryIO, size: int, name: str, what: str) -> None:
    file.seek(max(0, size - DIGEST_BYTES - len(COMMENT)))
    mark, digest = file.read(len(COMMENT)), file.read()
    if mark != COMMENT or len(digest) != DIGEST_BYTES:
        raise FileError(
            f"{name} is no {what} file, or its end is missing. Give a file written by "
            "save, and copy it again if it was cut short."
        )
    if digest != _digest(file, size - DIGEST_BYTES):
        raise FileError(
            f"{name} is damaged: its bytes do not match its checksum. Copy or save "
            "it again."
        )


def _read(
    file: BinaryIO, size: int, name: str, what: str
) -> tuple[dict[str, Any], list[Any]]:
    """The parts of a file whose checksum holds; hostile ones are refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            first, *entries = _check_entries(archive, size, name, f"{what}.json")
            try:
                content = json.loads(archive.read(first))
            except (ValueError, RecursionError) as error:
                raise _refused(name, f"a {what}.json that is no JSON") from error
            known = isinstance(content, dict) and content.get("format")
            if known != f"manyview {what}":
                raise _refused(name, f"a {what}.json that describes no {what}")
            arrays = []
            for entry in entries:
                with archive.open(entry) as stream:
                    where = f"{entry.filename} in {name}"
                    arrays.append(read_array(stream, where, entry.file_size))
            return content, arrays
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FileError(
            f"{name} is refused: it is no plain zip archive ({error}). Save the "
            f"{what} again."
        ) from error


def _check_entries(
    archive: zipfile.ZipFile, size: int, name: str, first: str
) -> list[zipfile.ZipInfo]:
    """Names we wrote, nothing compressed, no more bytes than the file has."""
    infos = archive.infolist()
    for info in infos:
        if info.filename != first and not _ARRAY.fullmatch(info.filename):
            raise _refused(name, f"an entry named {info.filename[:80]!r}")
        if info.compress_type != zipfile.ZIP_STORED:
            raise _refused(name, "compressed entries, which could grow without end")
    wanted = [first, *(f"arrays/{i}.npy" for i in range(len(infos) - 1))]
    entries = {info.filename: info for info in infos}
    if len(entries) != len(infos) or set(entries) != set(wanted):
        raise _refused(name, "missing or doubled entries")
    total = sum(info.file_size for info in infos)
    if total > size or entries[first].file_size > MOST_JSON_BYTES:
        raise _refused(name, "entries that claim more bytes than there are")
    return [entries[entry] for entry in wanted]


def _refused(name: str, seen: str) -> FileError:
    return FileError(
        f"{name} is refused: it holds {seen}. Only load files that save has written."
    )
