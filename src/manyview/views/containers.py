"""Other people's containers: AnnData and MuData in, Series of pandas or polars out.

Recognised by their parts, never imported. A view is named as in `datasets.load`: a
modality ``rna`` (its ``X``), a layer ``rna/layers/counts``, an embedding
``rna/obsm/X_pca``; of an AnnData without ``rna/``. Sparse matrices stay sparse.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import to_host
from manyview.errors import InputError

Matrix = np.ndarray[Any, Any]


def is_mudata(data: Any) -> bool:
    """Does it hold named modalities with rows of their own?"""
    return isinstance(getattr(data, "mod", None), Mapping) and hasattr(data, "obs")


def is_container(data: Any) -> bool:
    """AnnData or MuData?"""
    parts = ("X", "obs", "obsm", "layers", "var")
    return is_mudata(data) or all(hasattr(data, part) for part in parts)


def container_parts(
    data: Any, names: str | Sequence[str] | None = None
) -> dict[str, Any]:
    """Arguments of `Views` from an AnnData or MuData object.

    Default every modality, of an AnnData its ``X``; rows are named by ``obs_names``
    and marked missing where a modality lacks them.
    """
    if is_mudata(data) and getattr(data, "axis", 0) != 0:
        raise InputError(
            "This MuData object shares features between its modalities (axis=1); views "
            "must share rows. Give one whose modalities share observations."
        )
    tables = dict(data.mod) if is_mudata(data) else {"": data}
    if names is None:
        names = list(tables) if is_mudata(data) else ["X"]
    names = [names] if isinstance(names, str) else list(names)
    views, present, features = [], [], []
    for name in names:
        table, inner = _find(tables, name)
        rows = table.obs_names.get_indexer(data.obs_names)
        views.append(place_rows(_matrix(table, inner, name), rows))
        present.append(rows >= 0)
        embedding = inner.startswith("obsm/")
        features.append(None if embedding else list(map(str, table.var_names)))
    return {
        "views": views,
        "names": names,
        "feature_names": features,
        "present": np.stack(present, axis=1),
        "row_names": np.asarray(data.obs_names),
    }


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


def series(values: Any, data: Any, name: str = "cluster") -> Any:
    """One value per row as a Series of the library that the rows came from.

    `data` is what a model was fitted on: pandas or polars tables, `Views`, MuData.
    A pandas Series has the index of the rows.
    """
    values = to_host(values) if hasattr(values, "shape") else np.asarray(values)
    items = list(data.values()) if isinstance(data, Mapping) else data
    items = items if isinstance(items, (list, tuple)) else [data]
    if type(items[0]).__module__.partition(".")[0] == "polars":
        import polars

        return polars.Series(name, values)
    import pandas

    tables = [item for item in items if isinstance(item, pandas.DataFrame)]
    index = tables[0].index if tables else getattr(data, "row_names", None)
    if is_container(data):
        index = data.obs_names
    return pandas.Series(values, index=index, name=name)
