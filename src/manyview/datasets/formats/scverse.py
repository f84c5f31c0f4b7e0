"""Single-cell containers on disk: AnnData (``.h5ad``) and MuData (``.h5mu``).

Read through h5py alone. A MuData file may lack whole modalities for some rows;
``obsmap`` says which row of a modality belongs to which global row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets.formats.hdf5_file import (
    is_numeric,
    is_sparse,
    read_sparse,
    read_strings,
)
from manyview.datasets.formats.raw import NDArray, RawData, Request, clean_name, n_bytes
from manyview.datasets.layout import LABEL_NAMES, tidy_labels
from manyview.engine.resources import require_room
from manyview.errors import FileError

_CELL_TYPES = ("cell_type", "celltype", "cell_types")


def looks_like_mudata(file: Any) -> bool:
    """MuData keeps its modalities in a group ``mod``."""
    return "mod" in file and hasattr(file["mod"], "keys") and "obs" in file


def looks_like_anndata(file: Any) -> bool:
    """AnnData has tables ``obs`` and ``var``."""
    return "obs" in file and "var" in file and ("X" in file or "obsm" in file)


def read_anndata(file: Any, request: Request) -> RawData:
    """``X`` of an AnnData file, or the layers and embeddings that were named."""
    n_samples = _n_rows(file)
    choices = dict(_matrices(file, ""))
    names = list(request.views or [n for n in choices if n == "X"] or choices)
    views = [
        _read_matrix(_pick(choices, n), request.memory_limit, n_samples) for n in names
    ]
    return RawData(
        views=views,
        names=[clean_name(n) for n in names],
        feature_names=[
            _feature_names(file, n, v) for n, v in zip(names, views, strict=True)
        ],
        labels=_labels({"": file}, request),
        row_names=_index(file["obs"]),
    )


def read_mudata(file: Any, request: Request) -> RawData:
    """Every modality of a MuData file as one view; absent rows are zero."""
    mods = file["mod"]
    order = [m for m in _mod_order(mods) if m in mods]
    choices = {n: node for m in order for n, node in _matrices(mods[m], m)}
    names = list(request.views or [m for m in order if m in choices])
    row_names = _index(file["obs"])
    n_samples = _n_rows(file)
    views, present, features = [], [], []
    for name in names:
        mod = name.split("/", 1)[0]
        node = _pick(choices, name)
        rows = _row_map(file, mod, n_samples)
        source = _read_matrix(node, request.memory_limit, _n_rows(mods[mod]))
        views.append(_spread(source, rows, request.memory_limit))
        present.append(rows >= 0)
        inner = name.split("/", 1)[1] if "/" in name else "X"
        features.append(_feature_names(mods[mod], inner, source))
    mask = np.stack(present, axis=1) if present else None
    return RawData(
        views=views,
        names=[clean_name(n) for n in names],
        feature_names=features,
        present=None if mask is None or mask.all() else mask,
        labels=_labels({"": file, **{m: mods[m] for m in order}}, request),
        row_names=row_names,
    )


def _mod_order(mods: Any) -> list[str]:
    order = mods.attrs.get("mod-order")
    return list(mods) if order is None else [str(m) for m in order]


def _matrices(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Everything in an AnnData group that can be a view, by its name for views=."""
    if "X" in group and _is_matrix(group["X"]):
        yield prefix or "X", group["X"]
    for kind in ("layers", "obsm"):
        for name, node in group[kind].items() if kind in group else ():
            if node is not None and _is_matrix(node):
                yield "/".join(filter(None, (prefix, kind, name))), node


def _is_matrix(node: Any) -> bool:
    return is_sparse(node) or (is_numeric(node) and len(node.shape) == 2)


def _pick(choices: dict[str, Any], name: str) -> Any:
    if name not in choices:
        listed = ", ".join(clean_name(n) for n in choices) or "no matrix at all"
        raise FileError(
            f"There is no matrix {name!r} in the file. Found: {listed}. "
            "Name one of these with views= (--view)."
        )
    return choices[name]


def _read_matrix(node: Any, limit: int, n_rows: int) -> Any:
    if is_sparse(node):
        matrix = read_sparse(node, limit)
    else:
        require_room(n_bytes(node), limit, f"The matrix {node.name}")
        matrix = node
    if matrix.shape[0] != n_rows:
        raise FileError(
            f"The matrix {clean_name(node.name)} has {matrix.shape[0]} rows but its "
            f"table of rows (obs) has {n_rows}. The file is damaged; write it again."
        )
    return matrix


def _n_rows(group: Any) -> int:
    """Length of the index of ``obs``."""
    table = group["obs"]
    key = _index_key(table)
    if key is None:
        raise FileError(
            "The table of rows (obs) has no index. The file was written by an old or "
            "foreign program; open it with anndata and write it again."
        )
    return int(table[key].shape[0])


def _index_key(table: Any) -> str | None:
    if not hasattr(table, "keys"):
        return None
    key = table.attrs.get("_index", "_index")
    key = key.decode() if isinstance(key, bytes) else str(key)
    return key if key in table and hasattr(table[key], "shape") else None


def _index(table: Any) -> list[str] | None:
    key = _index_key(table)
    return None if key is None else [clean_name(s) for s in read_strings(table[key])]


def _feature_names(group: Any, name: str, matrix: Any) -> list[str] | None:
    """Names of ``var`` for X and layers; embeddings have none."""
    if "obsm/" in name or "var" not in group:
        return None
    names = _index(group["var"])
    return names if names is not None and len(names) == matrix.shape[1] else None


def _row_map(file: Any, mod: str, n_samples: int) -> NDArray:
    """Row of the modality for each global row; -1 where the modality is missing."""
    node = file["obsmap"].get(mod) if "obsmap" in file else None
    if node is None:
        return _rows_by_name(file, mod)
    # obsmap counts from one and writes zero for a missing row.
    rows = np.asarray(node[:]).astype(np.int64).ravel() - 1
    n_mod = _n_rows(file["mod"][mod])
    if len(rows) != n_samples or rows.max(initial=-1) >= n_mod or (rows < -1).any():
        raise FileError(
            f"The map of rows of modality {clean_name(mod)!r} does not fit its "
            f"{n_mod} rows. The file is damaged; write it again."
        )
    return rows


def _rows_by_name(file: Any, mod: str) -> NDArray:
    own = {n: i for i, n in enumerate(_index(file["mod"][mod]["obs"]) or ())}
    return np.array([own.get(n, -1) for n in _index(file["obs"]) or ()], dtype=np.int64)


def _spread(matrix: Any, rows: NDArray, limit: int) -> Any:
    """The modality's rows at their global places."""
    if np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    here = np.flatnonzero(rows >= 0)
    if sp.issparse(matrix):
        place = sp.csr_array(
            (np.ones(len(here), matrix.dtype), (here, rows[here])),
            shape=(len(rows), matrix.shape[0]),
        )
        return sp.csr_array(place @ matrix)
    require_room(
        len(rows) * matrix.shape[1] * matrix.dtype.itemsize, limit, "A spread view"
    )
    full = np.zeros((len(rows), matrix.shape[1]), dtype=matrix.dtype)
    full[here] = matrix[:][rows[here]]
    return full


def _labels(tables: dict[str, Any], request: Request) -> NDArray | None:
    """The named column of ``obs``, or the one with a usual name, if unique."""
    if request.labels is False:
        return None
    columns = dict(_columns(tables, global_only=request.labels is None))
    if isinstance(request.labels, str):
        if request.labels not in columns:
            raise FileError(
                f"There is no column {request.labels!r} in obs. Found: "
                f"{', '.join(map(clean_name, columns)) or 'none'}. "
                "Name one with labels= (--labels)."
            )
        return _read_column(columns[request.labels], request.labels)
    usual = [n for n in columns if n.lower() in (*LABEL_NAMES, *_CELL_TYPES)]
    return _read_column(columns[usual[0]], usual[0]) if len(usual) == 1 else None


def _columns(tables: dict[str, Any], global_only: bool) -> Iterator[tuple[str, Any]]:
    for where, group in tables.items():
        if (where and global_only) or not hasattr(group["obs"], "keys"):
            continue
        index = _index_key(group["obs"])
        for name, node in group["obs"].items():
            if name != index and node is not None:
                yield (f"{where}/obs/{name}" if where else name), node


def _read_column(node: Any, name: str) -> NDArray:
    """One column of ``obs``: numbers, text, categories or nullable values."""
    if hasattr(node, "keys") and {"codes", "categories"} <= set(node.keys()):
        codes = np.asarray(node["codes"][:]).astype(np.int64)
        words = read_strings(node["categories"])
        if codes.max(initial=-1) >= len(words) or codes.min(initial=0) < -1:
            raise FileError(
                f"The categories of column {name!r} do not fit its codes. The file is "
                "damaged; write it again."
            )
        return np.append(words, "")[codes]
    if hasattr(node, "keys") and {"values", "mask"} <= set(node.keys()):
        values, unknown = np.asarray(node["values"][:]), node["mask"][:].astype(bool)
        # As among categories, an unknown class is the empty text.
        if unknown.any():
            return np.where(unknown, "", values.astype(str))
        return tidy_labels(values)
    if is_numeric(node):
        return tidy_labels(np.asarray(node[:]).ravel())
    if hasattr(node, "shape"):
        return read_strings(node)
    raise FileError(
        f"Column {name!r} of obs is of a kind that cannot be labels. Name one of "
        "numbers, text or categories with labels= (--labels)."
    )
