"""Model files: a zip of ``model.json`` and ``arrays/N.npy``, safe to share.

Nothing in a file can run: there is no pickle, the class is looked up in the
list of methods, values in the fixed table of `model_codec`. Entries are stored
without compression, so a file never grows when it is read. The last 64 bytes
are the SHA-256 of all bytes before them: a file with a single changed byte is
refused before anything else is looked at.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from manyview import __version__
from manyview.base import MultiViewClusterer
from manyview.errors import FileError, InputTypeError
from manyview.files.atomic import atomic_file
from manyview.files.codec import Encoder, decode

FORMAT = "manyview model"
VERSION = 1
META = "model.json"
MOST_META_BYTES = 256 * 2**20
DIGEST_BYTES = 64
COMMENT = b"manyview-sha256:"

# Where a model runs is no part of it: these go back to their defaults.
PLACE = ("device", "engine", "memory_limit", "checkpoint", "verbose")

_ARRAY = re.compile(r"arrays/(0|[1-9][0-9]{0,8})\.npy")


def save(model: MultiViewClusterer, path: str | os.PathLike[str]) -> Path:
    """Write a fitted model, whole or not at all; the file's path.

    Parameters
    ----------
    model : fitted estimator of this package
    path : path
        Usually ``NAME.manyview``; an existing file is replaced.
    """
    model._check_fitted()
    target = Path(path).expanduser()
    encoder = Encoder()
    meta = _describe(model, encoder)
    with atomic_file(target) as part, part.open("w+b") as file:
        _write(file, meta, encoder.arrays)
    return target


def load(
    path: str | os.PathLike[str],
    *,
    memory_limit: int | float | str | None = None,
    **place: Any,
) -> MultiViewClusterer:
    """Read a model that `save` wrote, on this machine or another.

    Parameters
    ----------
    path : path
    memory_limit : int or str, optional
        Largest file to read, such as ``"2GB"``; default half of the memory.
    **place
        Where the model is to run, for instance ``device="cuda"``.

    Returns
    -------
    fitted estimator

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import manyview
    >>> x = np.repeat([[0.0, 0.0], [9.0, 1.0]], 30, axis=0)
    >>> x += np.random.default_rng(0).normal(size=x.shape)
    >>> model = manyview.AnchorSpectral(2, random_state=0).fit([x, x**2])
    >>> file = model.save(tempfile.mkdtemp() + "/two.manyview")
    >>> bool((manyview.load(file).predict([x, x**2]) == model.labels_).all())
    True
    """
    from manyview.engine.resources import parse_size, require_room

    source = Path(path).expanduser()
    try:
        with source.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            require_room(size, parse_size(memory_limit), f"The model {source.name}")
            _check_digest(file, size, source.name)
            meta, arrays = _read(file, size, source.name)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"{source} could not be read: {error.strerror or error}. Give a file "
            "written by save."
        ) from error
    return _restore(meta, arrays, place)


def _describe(model: MultiViewClusterer, encoder: Encoder) -> dict[str, Any]:
    """What ``model.json`` says: class, parameters, fitted values, versions."""
    name = type(model).__name__
    if _methods().get(name) is not type(model):
        raise InputTypeError(
            f"{name} is no method of this package, so its models cannot be saved in "
            "model files. Keep what you need of it in arrays."
        )
    params = model.get_params(deep=False)
    kept = {k: v for k, v in params.items() if k not in PLACE}
    own = {k: v for k, v in vars(model).items() if k not in params}
    fitted = {k: v for k, v in own.items() if not k.startswith("_skl")}
    return {
        "format": FORMAT,
        "version": VERSION,
        "manyview": __version__,
        "class": name,
        "params": {k: encoder.encode(v, f"parameter {k}") for k, v in kept.items()},
        "fitted": {k: encoder.encode(v, k) for k, v in fitted.items()},
    }


def _methods() -> dict[str, type[MultiViewClusterer]]:
    from manyview.methods import all_methods

    return {m.name: m.estimator for m in all_methods()}


def _write(file: BinaryIO, meta: dict[str, Any], arrays: list[Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(meta, ensure_ascii=False, allow_nan=False)
        with archive.open(_entry(META), "w") as out:
            out.write(text.encode())
        for number, array in enumerate(arrays):
            entry = _entry(f"arrays/{number}.npy")
            with archive.open(entry, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
        archive.comment = COMMENT + b"0" * DIGEST_BYTES
    end = file.seek(0, io.SEEK_END) - DIGEST_BYTES
    digest = _digest(file, end)
    file.seek(end)
    file.write(digest)


def _entry(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _digest(file: BinaryIO, n_bytes: int) -> bytes:
    """SHA-256, in hexadecimal, of the first bytes of a file."""
    found = hashlib.sha256()
    file.seek(0)
    left = n_bytes
    while left > 0 and (part := file.read(min(left, 2**20))):
        found.update(part)
        left -= len(part)
    return found.hexdigest().encode()


def _check_digest(file: BinaryIO, size: int, name: str) -> None:
    end = size - DIGEST_BYTES
    mark = b""
    if end >= len(COMMENT):
        file.seek(end - len(COMMENT))
        mark = file.read(len(COMMENT))
    if mark != COMMENT:
        raise FileError(
            f"{name} is no model file, or its end is missing. Give a file written by "
            "save, and copy it again if it was cut short."
        )
    file.seek(end)
    if file.read() != _digest(file, end):
        raise FileError(
            f"{name} is damaged: its bytes do not match its checksum. Copy or save "
            "it again."
        )


def _read(file: BinaryIO, size: int, name: str) -> tuple[dict[str, Any], list[Any]]:
    """The parts of a file whose checksum holds; hostile ones are refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = _check_entries(archive, size, name)
            meta = _read_meta(archive, entries[META], name)
            arrays = [
                _read_array(archive, entries[f"arrays/{i}.npy"], name)
                for i in range(len(entries) - 1)
            ]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FileError(
            f"{name} is refused: it is no plain zip archive ({error}). Save the "
            "model again."
        ) from error
    return meta, arrays


def _check_entries(
    archive: zipfile.ZipFile, size: int, name: str
) -> dict[str, zipfile.ZipInfo]:
    """Names we wrote, nothing compressed, no more bytes than the file has."""
    infos = archive.infolist()
    for info in infos:
        if info.filename != META and not _ARRAY.fullmatch(info.filename):
            raise _refused(name, f"an entry named {info.filename[:80]!r}")
        if info.compress_type != zipfile.ZIP_STORED:
            raise _refused(name, "compressed entries, which could grow without end")
    wanted = {META, *(f"arrays/{i}.npy" for i in range(len(infos) - 1))}
    entries = {info.filename: info for info in infos}
    if len(entries) != len(infos) or set(entries) != wanted:
        raise _refused(name, "missing or doubled entries")
    if sum(i.file_size for i in infos) > size or entries[META].file_size > (
        MOST_META_BYTES
    ):
        raise _refused(name, "entries that claim more bytes than there are")
    return entries


def _refused(name: str, seen: str) -> FileError:
    return FileError(
        f"{name} is refused: it holds {seen}. Only load files that save has written."
    )


def _read_meta(archive: zipfile.ZipFile, info: Any, name: str) -> dict[str, Any]:
    try:
        meta = json.loads(archive.read(info))
    except (ValueError, RecursionError) as error:
        raise _refused(name, f"a {META} that is no JSON") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise _refused(name, f"a {META} that describes no model")
    if meta.get("version") != VERSION:
        raise FileError(
            f"{name} is in version {meta.get('version')!r} of the model format; this "
            f"release reads version {VERSION}. Load it with the release that wrote "
            f"it (manyview {meta.get('manyview')})."
        )
    return meta


def _read_array(archive: zipfile.ZipFile, info: Any, name: str) -> Any:
    from manyview.files.npy_file import read_header

    with archive.open(info) as stream:
        header = read_header(
            stream,  # type: ignore[arg-type]
            f"{info.filename} in {name}",
            info.file_size,
        )
        raw = np.frombuffer(stream.read(header.n_bytes), header.dtype)
    return raw.reshape(header.shape, order=header.order).copy(order="K")


def _restore(
    meta: dict[str, Any], arrays: list[Any], place: dict[str, Any]
) -> MultiViewClusterer:
    """The estimator that a checked file describes."""
    methods = _methods()
    if meta.get("class") not in methods:
        raise FileError(
            f"The model is of the method {meta.get('class')!r}, which this release "
            f"does not have. Load it with manyview {meta.get('manyview')}."
        )
    kind = methods[meta["class"]]
    params, fitted = meta.get("params"), meta.get("fitted")
    known = set(kind().get_params(deep=False))
    if not isinstance(params, dict) or not isinstance(fitted, dict):
        raise FileError(
            "The model file is refused: it has no parameters or values. Save the model "
            "again."
        )
    strange = (set(params) - known) | {n for n in fitted if hasattr(kind, n)}
    strange |= {n for n in fitted if not n.isidentifier() or n in known}
    if strange:
        raise FileError(
            f"The model file is refused: {meta['class']} has nothing named "
            f"{', '.join(sorted(strange)[:5])}. It was written by manyview "
            f"{meta.get('manyview')}; save the model again."
        )
    model = kind(**{k: decode(v, arrays) for k, v in params.items()})
    model.set_params(**place)
    for name, value in fitted.items():
        setattr(model, name, decode(value, arrays))
    return model
