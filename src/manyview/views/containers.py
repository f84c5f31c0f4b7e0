"""Other people's containers: AnnData and MuData in, Series of pandas or polars out.

Recognised by their parts, never imported. A view is named as in `datasets.load`: a
modality ``rna`` (its ``X``), a layer ``rna/layers/counts``, an embedding
``rna/obsm/X_pca``; of an AnnData without ``rna/``. Sparse matrices stay sparse.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix
from manyview.errors import DataWarning, InputError

# Representations of X itself, by the names that scverse's tools give them.
_COMPUTED = re.compile(
    "x_(pca|umap|tsne|diffmap|draw_graph|phate|mds|lsi|harmony|sc(an)?vi)"
)


def is_mudata(data: Any) -> bool:
    """Does it hold named modalities with rows of their own?"""
    return isinstance(getattr(data, "mod", None), Mapping) and hasattr(data, "obs")


def is_container(data: Any) -> bool:
    """AnnData or MuData?"""
    parts = ("X", "obs", "obsm", "layers", "var")
    return is_mudata(data) or all(hasattr(data, part) for part in parts)


def container_parts(
    data: Any, names: str | Sequence[str] | None = None, join: str | None = None
) -> dict[str, Any]:
    """Arguments of `Views` from an AnnData or MuData object.

    Default every modality, of an AnnData its ``X``; rows are named by ``obs_names``.
    Those that a modality lacks are marked missing, or left out with ``join="inner"``.
    """
    if is_mudata(data) and getattr(data, "axis", 0) != 0:
        raise InputError(
            "This MuData object shares features between its modalities (axis=1); views "
            "must share rows. Give one whose modalities share observations."
        )
    tables = dict(data.mod) if is_mudata(data) else {"": data}
    if names is None:
        names = list(tables) if is_mudata(data) else ["X"]
        tell_of_others(type(data).__name__, names, _left_aside(tables))
    names = [names] if isinstance(names, str) else list(names)
    found = [_find(tables, name) for name in names]
    rows = np.stack([rows_of(table, data) for table, _ in found], axis=1)
    kept = _kept_rows(rows, join)
    matrices = [_matrix(t, i, n) for (t, i), n in zip(found, names, strict=True)]
    parts = zip(matrices, found, strict=True)
    return {
        "views": [
            place_rows(np.asarray(m) if hasattr(m, "columns") else m, rows[kept, v])
            for v, m in enumerate(matrices)
        ],
        "names": names,
        "feature_names": [_columns(matrix, *where) for matrix, where in parts],
        "present": rows[kept] >= 0,
        "row_names": np.asarray(data.obs_names)[kept],
    }


def anndata_view(table: Any, name: str) -> tuple[Any, tuple[str, ...], Any]:
    """X of an AnnData object, and the names of its columns and rows."""
    tell_of_others(f"AnnData object {name!r}", ["X"], _left_aside({"": table}))
    return _matrix(table, "X", name), tuple(map(str, table.var_names)), table.obs_names


def tell_of_others(what: str, taken: Sequence[str], others: Sequence[str]) -> None:
    """Say which matrices were taken where others might have been meant."""
    if others:
        warnings.warn(others_left(what, taken, others), DataWarning, stacklevel=5)


def others_left(what: str, taken: Sequence[str], others: Sequence[str]) -> str:
    """What was taken of a container, what was not, and how to ask for it."""
    asked = ", ".join(repr(name) for name in (*taken[:1], others[0]))
    return (
        f"Of the {what} {', '.join(taken)} was taken; it also holds "
        f"{', '.join(others)}. Name the parts to use: Views.of(data, [{asked}]), "
        f"views=[{asked}] of load and sc.cluster, or --view once for each."
    )


def is_computed(name: str) -> bool:
    """Is a matrix of this name in ``obsm`` made from X, rather than measured?"""
    return bool(_COMPUTED.match(name.lower()))


def _left_aside(tables: Mapping[str, Any]) -> list[str]:
    """Matrices in ``obsm`` that may be views of their own, named as parts."""
    return [
        "/".join(filter(None, (mod, "obsm", key)))
        for mod, table in tables.items()
        for key in table.obsm
        if not is_computed(key) and not _is_ours(table, key)
    ]


def _is_ours(table: Any, key: str) -> bool:
    """Was it written by `sc.cluster`?"""
    record = table.uns.get(key.removeprefix("X_"))
    return isinstance(record, Mapping) and {"method", "views"} <= record.keys()


def rows_of(table: Any, data: Any) -> Matrix:
    """Row of the table for each row of the whole; -1 where it has none."""
    if table.obs_names.equals(data.obs_names):
        return np.arange(len(data.obs_names))
    if not table.obs_names.is_unique or not data.obs_names.is_unique:
        raise InputError(
            "Rows of the modalities cannot be matched: some obs_names stand there more "
            "than once. Make them unique: obs_names_make_unique()."
        )
    return np.asarray(table.obs_names.get_indexer(data.obs_names))


def _kept_rows(rows: Matrix, join: str | None) -> Matrix:
    """Numbers of the rows to keep, all or those that every part has."""
    if join != "inner":
        return np.arange(len(rows))
    kept = np.flatnonzero((rows >= 0).all(axis=1))
    if not kept.size:
        raise InputError(
            f"None of the {len(rows)} rows is in all modalities. Leave join='inner' "
            "out, or choose other modalities."
        )
    return kept


def _columns(matrix: Any, table: Any, inner: str) -> list[str] | None:
    """Names of the features; an embedding has none unless it is a table."""
    if hasattr(matrix, "columns"):
        return list(map(str, matrix.columns))
    return None if inner.startswith("obsm/") else list(map(str, table.var_names))


def _find(tables: Mapping[str, Any], name: str) -> tuple[Any, str]:
    """The annotated matrix a view lies in, and its name there."""
    if "" in tables:
        return tables[""], name
    mod, _, inner = name.partition("/")
    if mod not in tables:
        raise InputError(
            f"There is no modality {mod!r} for the view {name!r}; the modalities are "
            f"{', '.join(tables)}."
        )
    return tables[mod], inner or "X"


def _matrix(table: Any, inner: str, name: str) -> Any:
    """X, a layer or an embedding."""
    found = {"X": table.X}
    for kind in ("layers", "obsm"):
        found |= {f"{kind}/{key}": m for key, m in getattr(table, kind).items()}
    if found.get(inner) is None:
        others = ", ".join(n for n in found if n != "X")
        raise InputError(
            f"There is no matrix for the view {name!r}. Beside X there are: "
            f"{others or 'no others'}."
        )
    matrix = found[inner]
    return matrix.to_memory() if hasattr(matrix, "to_memory") else matrix


def place_rows(matrix: Any, rows: Matrix) -> Any:
    """Row ``rows[i]`` of a matrix at place i; zeros where that is -1."""
    if np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    here = np.flatnonzero(rows >= 0)
    if sp.issparse(matrix):
        ones = np.ones(len(here), matrix.dtype)
        shape = (len(rows), matrix.shape[0])
        place = sp.csr_array((ones, (here, rows[here])), shape=shape)
        return sp.csr_array(place @ matrix)
    full = np.zeros((len(rows), matrix.shape[1]), dtype=matrix.dtype)
    full[here] = np.asarray(matrix[:])[rows[here]]
    return full
