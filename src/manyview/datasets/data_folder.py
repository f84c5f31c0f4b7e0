"""The on-disk layout that streaming uses: ``NAME.manyview-data/``.

::

    meta.json        format version, names, shapes, types, checksums
    view0.npy        one C-order array per view, or for a sparse view
    view1.data.npy, view1.indices.npy, view1.indptr.npy
    labels.npy  present.npy  row_names.json

File names follow from the position of a view, never from its name, so nothing
in ``meta.json`` can point outside the folder. A folder is written under a
temporary name and renamed when it is complete.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets.raw_data import (
    SPARSE_PARTS,
    NDArray,
    RawData,
    Request,
    checked_csr,
)
from manyview.errors import FileError
from manyview.files.npy_file import file_checksum, map_array, native, write_array

SUFFIX = ".manyview-data"
META = "meta.json"
FORMAT = "manyview-data"
VERSION = 1  # of the layout: the first; another one is refused
# Room for the names of some millions of rows or features.
MAX_META = 256 * 2**20
# Checksums of as many bytes take about a second.
AUTO_VERIFY = 256 * 2**20


def is_data_folder(path: Path) -> bool:
    """Is this a folder in our layout (by its ``meta.json``)?"""
    return (path / META).is_file()


def write_data_folder(raw: RawData, folder: Path, *, checksums: bool = True) -> None:
    """Write all parts into an existing empty folder, block by block."""
    arrays: dict[str, Any] = {}
    about = []
    for v, view in enumerate(raw.views):
        sparse = sp.issparse(view)
        whole = sp.csr_array(view) if sparse else view
        for name, part in _view_files(v, sparse).items():
            arrays[name] = getattr(whole, part) if part else whole
        about.append(
            {
                "name": raw.names[v],
                "shape": [int(s) for s in view.shape],
                "dtype": native(np.dtype(view.dtype)).str,
                "sparse": bool(sparse),
                "feature_names": raw.feature_names and raw.feature_names[v],
            }
        )
    if raw.labels is not None:
        labels = np.asarray(raw.labels)
        plain = labels.dtype.kind in "fiubU"
        arrays["labels.npy"] = labels if plain else labels.astype(str)
    if raw.present is not None:
        arrays["present.npy"] = np.asarray(raw.present, dtype=bool)
    files = {
        name: write_array(folder / name, array, checksum=checksums)
        for name, array in arrays.items()
    }
    if raw.row_names is not None:
        names = folder / "row_names.json"
        text = json.dumps(list(raw.row_names), ensure_ascii=False)
        names.write_text(text, encoding="utf-8")
        files[names.name] = file_checksum(names) if checksums else None
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "origin": raw.origin,
        "views": about,
        "files": files,
    }
    meta["checksum"] = _meta_checksum(meta)
    text = json.dumps(meta, ensure_ascii=False, indent=1)
    (folder / META).write_text(text, encoding="utf-8")


def _view_files(v: int, sparse: bool) -> dict[str, str]:
    """The files of a view, each with the part of the sparse matrix it holds."""
    if sparse:
        return {f"view{v}.{part}.npy": part for part in SPARSE_PARTS}
    return {f"view{v}.npy": ""}


def _meta_checksum(meta: dict[str, Any]) -> str:
    rest = {k: v for k, v in meta.items() if k != "checksum"}
    text = json.dumps(rest, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def open_data_folder(
    folder: Path, *, verify: bool | None = None, private: bool = False
) -> RawData:
    """Map the views of a folder; shapes, types and sizes are checked first.

    Checksums are compared if `verify` says so, by default where that is quick. Of a
    `private` mapping the folder may be deleted afterwards.
    """
    meta = _read_meta(folder)
    files = {name: _own_file(folder, name) for name in meta["files"]}
    total = sum(path.stat().st_size for path in files.values())
    if verify or (verify is None and total <= AUTO_VERIFY):
        for name, path in files.items():
            expected = meta["files"][name]
            if expected is not None and file_checksum(path) != expected:
                raise _damaged(f"{folder.name}/{name} does not match its checksum")
    features = [about["feature_names"] for about in meta["views"]]
    names = files.get("row_names.json")
    return RawData(
        views=[_open_view(folder, v, a, private) for v, a in enumerate(meta["views"])],
        names=[about["name"] for about in meta["views"]],
        feature_names=None if all(f is None for f in features) else features,
        present=_open_optional(files.get("present.npy"), private),
        labels=_open_optional(files.get("labels.npy"), private),
        row_names=None if names is None else _strings(_read_json(names), names.name),
        origin=meta["origin"],
    )


def _open_optional(path: Path | None, private: bool) -> NDArray | None:
    if path is None:
        return None
    array = map_array(path, private=private)
    if array.dtype.kind not in "fiubU":
        raise _damaged(f"{path.name} holds {array.dtype}")
    return array


def _damaged(what: str) -> FileError:
    return FileError(f"{what}. The data folder is damaged; convert the data again.")


def _read_json(path: Path) -> Any:
    if path.stat().st_size > MAX_META:
        raise _damaged(f"{path.name} is larger than any real one")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(f"{path.name} is no valid JSON") from error


def _read_meta(folder: Path) -> dict[str, Any]:
    meta = _read_json(_own_file(folder, META))
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise FileError(
            f"{folder.name} is no manyview data folder: {META} does not say so. "
            "Give a folder written by manyview convert."
        )
    if meta.get("version") != VERSION:
        raise FileError(
            f"{folder.name} has layout version {meta.get('version')!r}; this release "
            f"reads version {VERSION}. Convert the data again."
        )
    if meta.get("checksum") != _meta_checksum(meta):
        raise _damaged(f"{META} does not match its own checksum")
    try:  # a file with a right checksum may still be made by hand
        sound = _describes_views(meta)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise _damaged(f"{META} does not describe the views properly")
    return meta


def _describes_views(meta: dict[str, Any]) -> bool:
    """Is every field of the kind it should be, and every file one of ours?"""
    expected = {"labels.npy", "present.npy", "row_names.json"}
    for v, about in enumerate(meta["views"]):
        shape, features = about["shape"], about["feature_names"]
        fine = (
            isinstance(about["name"], str)
            and len(shape) == 2
            and all(type(s) is int and s >= 0 for s in shape)
            and np.dtype(about["dtype"]).kind in "fiub"
            and (features is None or len(_strings(features, META)) == shape[1])
        )
        if not fine:
            return False
        expected |= set(_view_files(v, about["sparse"]))
    origin = meta["origin"]
    return set(meta["files"]) <= expected and origin in (None, str(origin))


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(s, str) for s in value):
        raise _damaged(f"{where} is no list of names")
    return value


def _own_file(folder: Path, name: str) -> Path:
    """A plain file of the folder itself, not a link to somewhere else."""
    path = folder / name
    if path.is_symlink() or not path.is_file():
        raise _damaged(f"{name} is missing or no plain file")
    return path


def _open_view(folder: Path, v: int, about: dict[str, Any], private: bool) -> Any:
    shape, dtype = tuple(about["shape"]), np.dtype(about["dtype"])
    names = list(_view_files(v, about["sparse"]))
    parts = [map_array(_own_file(folder, n), private=private) for n in names]
    vectors = about["sparse"] and all(p.ndim == 1 for p in parts)
    if parts[0].dtype != dtype or not (vectors or parts[0].shape == shape):
        raise _damaged(f"{names[0]} does not have the shape and type in {META}")
    if not about["sparse"]:
        return parts[0]
    try:
        return checked_csr(parts, shape)
    except (ValueError, TypeError, IndexError) as error:
        raise _damaged(f"the sparse view of {names[0]} is inconsistent") from error


def select_parts(raw: RawData, request: Request) -> RawData:
    """The named views of a converted folder, or of several files."""
    if request.labels is False:
        raw = replace(raw, labels=None)
    elif isinstance(request.labels, str) and request.labels != "labels":
        raise FileError(
            f"A converted folder has one set of labels, not {request.labels!r}. Leave "
            "labels= (--labels) away or pass the labels themselves."
        )
    if request.views is None:
        return raw
    missing = [n for n in request.views if n not in raw.names]
    if missing:
        raise FileError(
            f"There is no view {missing[0]!r}. Found: "
            f"{', '.join(raw.names)}. Name one of these with views= (--view)."
        )
    at = [raw.names.index(n) for n in request.views]
    return replace(
        raw,
        views=[raw.views[i] for i in at],
        names=[raw.names[i] for i in at],
        feature_names=raw.feature_names and [raw.feature_names[i] for i in at],
        present=None if raw.present is None else raw.present[:, at],
    )
