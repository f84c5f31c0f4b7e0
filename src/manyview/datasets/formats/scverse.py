"""Single-cell containers on disk: AnnData (``.h5ad``) and MuData (``.h5mu``).

Tables are read by anndata, matrices by rows through h5py. A MuData file may lack
whole modalities for some rows; ``obsmap`` says which row of a modality belongs to
which global row.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from manyview.datasets.formats.hdf5_file import is_numeric, is_sparse, read_sparse
from manyview.datasets.layout import LABEL_NAMES, tidy_labels
from manyview.datasets.raw_data import (
    NDArray,
    RawData,
    Request,
    clean_name,
    n_bytes,
    name_list,
)
from manyview.engine.resources import require_room
from manyview.errors import FileError, required
from manyview.views.containers import is_computed, others_left, place_rows

_CELL_TYPES = ("cell_type", "celltype", "cell_types")


def looks_like_scverse(file: Any) -> bool:
    """AnnData has tables ``obs`` and ``var``; MuData a group ``mod`` of such."""
    anndata = "var" in file and ("X" in file or "obsm" in file)
    return "obs" in file and (anndata or _is_mudata(file))


def _is_mudata(file: Any) -> bool:
    return "mod" in file and hasattr(file["mod"], "keys")


def read(file: Any, request: Request) -> RawData:
    """Every modality (of AnnData ``X``) as a view, or the named matrices.

    Rows that a modality lacks are zero and marked missing.
    """
    mods = _modalities(file)
    choices = {n: (m, node) for m in mods for n, node in _matrices(mods[m], m)}
    usual = [n for n in choices if "/" not in n] or list(choices)
    names = list(request.views or usual)
    others = [] if request.views else [n for n in choices if _may_be_meant(n, mods)]
    others = [n for n in others if n not in names]
    obs = _table(file, "obs")
    views, present, features = [], [], []
    for name in names:
        if name not in choices:
            raise FileError(
                f"There is no matrix {name!r} in the file. Found: "
                f"{name_list(choices) or 'no matrix at all'}. "
                "Name one of these with views= (--view)."
            )
        mod, node = choices[name]
        own = _table(mods[mod], "obs") if mod else obs
        rows = _row_map(file, mod, own.index, obs.index)
        matrix = _read_matrix(node, request.memory_limit, len(own))
        size = n_bytes(matrix) * len(obs) // max(1, len(own))
        require_room(size, request.memory_limit, f"The matrix {node.name}")
        views.append(place_rows(matrix, rows))
        present.append(rows >= 0)
        features.append(_feature_names(mods[mod], node, matrix.shape[1]))
    mask = np.stack(present, axis=1)
    return RawData(
        views=views,
        names=[clean_name(n) for n in names],
        feature_names=features,
        present=None if mask.all() else mask,
        labels=_labels({"": file, **mods}, request),
        row_names=[clean_name(n) for n in obs.index],
        notes=(others_left("file", names, others),) if others else (),
    )


def _modalities(file: Any) -> dict[str, Any]:
    """The AnnData groups of a MuData file in their order, or the file itself."""
    if not _is_mudata(file):
        return {"": file}
    mods = file["mod"]
    order = mods.attrs.get("mod-order")
    return {m: mods[m] for m in (mods if order is None else order) if m in mods}


def _table(group: Any, name: str) -> Any:
    """A table of an AnnData group as a pandas DataFrame."""
    with required("Reading AnnData and MuData files needs anndata", "singlecell"):
        from anndata.io import read_elem
    table = read_elem(group[name])
    if not hasattr(table, "index") or not hasattr(table, "columns"):
        raise FileError(
            f"The table {clean_name(group[name].name)} has no index. The file was "
            "written by an old or foreign program; open it with anndata and write it "
            "again."
        )
    return table


def _matrices(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Everything in an AnnData group that can be a view, by its name for views=."""
    if "X" in group and _is_matrix(group["X"]):
        yield prefix or "X", group["X"]
    for kind in ("layers", "obsm"):
        for name, node in group[kind].items() if kind in group else ():
            if node is not None and _is_matrix(node):
                yield "/".join(filter(None, (prefix, kind, name))), node


def _may_be_meant(name: str, mods: dict[str, Any]) -> bool:
    """Is it a matrix in ``obsm`` that was measured, not made of X or by us?"""
    prefix, _, key = f"/{name}".partition("/obsm/")
    if not key or is_computed(key):
        return False
    mod = mods[prefix.lstrip("/")]
    record: Any = mod["uns"].get(key.removeprefix("X_")) if "uns" in mod else None
    return not (hasattr(record, "keys") and {"method", "views"} <= set(record))


def _is_matrix(node: Any) -> bool:
    return is_sparse(node) or is_numeric(node, 2) or _is_table(node)


def _is_table(node: Any) -> bool:
    """A table of numbers, as proteins often are in ``obsm``."""
    return hasattr(node, "keys") and node.attrs.get("encoding-type") == "dataframe"


def _read_matrix(node: Any, limit: int, n_rows: int) -> Any:
    if _is_table(node):
        size = sum(int(n_bytes(c)) for c in node.values() if hasattr(c, "shape"))
        require_room(size, limit, f"The table {node.name}")
        matrix = np.asarray(_table(node.parent, node.name))
        if matrix.dtype.kind not in "fiub":
            raise FileError(
                f"The table {clean_name(node.name)} has columns that are not numeric. "
                "Encode them, or choose other views with views= (--view)."
            )
    else:
        matrix = read_sparse(node, limit) if is_sparse(node) else node
    if matrix.shape[0] != n_rows:
        raise FileError(
            f"The matrix {clean_name(node.name)} has {matrix.shape[0]} rows but its "
            f"table of rows (obs) has {n_rows}. The file is damaged; write it again."
        )
    return matrix


def _feature_names(group: Any, node: Any, n_features: int) -> list[str] | None:
    """Names of ``var`` for X and layers; in ``obsm`` only tables have some."""
    if _is_table(node):
        return [clean_name(n) for n in _table(node.parent, node.name).columns]
    if "/obsm/" in node.name or "var" not in group:
        return None
    names = [clean_name(n) for n in _table(group, "var").index]
    return names if len(names) == n_features else None


def _row_map(file: Any, mod: str, own: Any, rows: Any) -> NDArray:
    """Row of the modality for each global row; -1 where the modality is missing."""
    node = file["obsmap"].get(mod) if mod and "obsmap" in file else None
    if node is None:
        return np.asarray(own.get_indexer(rows))
    # obsmap counts from one and writes zero for a missing row.
    place = np.asarray(node[:]).astype(np.int64).ravel() - 1
    bounds = place.min(initial=0) >= -1 and place.max(initial=-1) < len(own)
    if len(place) != len(rows) or not bounds:
        raise FileError(
            f"The map of rows of modality {clean_name(mod)!r} does not fit its "
            f"{len(own)} rows. The file is damaged; write it again."
        )
    return place


def _labels(groups: dict[str, Any], request: Request) -> NDArray | None:
    """The named column of ``obs``, or the one with a usual name, if unique."""
    if request.labels is False:
        return None
    name = request.labels
    named = isinstance(name, str)
    columns: dict[str, Any] = {}
    for mod, group in groups.items() if named else [("", groups[""])]:
        prefix = f"{mod}/obs/" if mod else ""
        columns |= {f"{prefix}{n}": c for n, c in _table(group, "obs").items()}
    if not named:
        usual = [n for n in columns if n.lower() in (*LABEL_NAMES, *_CELL_TYPES)]
        return _as_labels(columns[usual[0]]) if len(usual) == 1 else None
    if name not in columns:
        raise FileError(
            f"There is no column {name!r} in obs. Found: "
            f"{name_list(columns) or 'none'}. Name one with labels= (--labels)."
        )
    return _as_labels(columns[name])


def _as_labels(column: Any) -> NDArray:
    """Numbers as they are, the rest as text; an unknown class is the empty text."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return tidy_labels(column.to_numpy())
    unknown = column.isna().to_numpy()
    plain = np.asarray(column.astype(object))
    if not unknown.any() and getattr(column.dtype, "kind", "O") in "fiub":
        return tidy_labels(plain.astype(column.dtype.numpy_dtype))
    return np.where(unknown, "", plain.astype(str))
