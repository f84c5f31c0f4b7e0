"""Other people's containers: AnnData and MuData in, results back the scverse way.

Recognised by their parts (``.mod``, ``.obs``, ``.obsm``), never imported. A view
is named as in `manyview.datasets.load`: a modality ``rna`` (its ``X``), one of
its layers ``rna/layers/counts`` or embeddings ``rna/obsm/X_pca``; of an AnnData
``X``, ``layers/counts`` or ``obsm/X_pca``. Sparse matrices stay sparse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import to_host
from manyview.base import MultiViewClusterer
from manyview.errors import InputError, InputTypeError
from manyview.views.views import Views

Matrix = np.ndarray[Any, Any]


def is_mudata(data: Any) -> bool:
    """Does it hold named modalities with rows of their own?"""
    return isinstance(getattr(data, "mod", None), Mapping) and hasattr(data, "obs")


def is_anndata(data: Any) -> bool:
    """Is it one annotated matrix?"""
    return all(hasattr(data, part) for part in ("X", "obs", "obsm", "layers", "var"))


def is_container(data: Any) -> bool:
    """AnnData or MuData?"""
    return is_mudata(data) or is_anndata(data)


def to_views(data: Any, views: str | Sequence[str] | None = None) -> Views:
    """The views of an AnnData or MuData object; rows missing in a modality stay so.

    Parameters
    ----------
    data : MuData or AnnData
    views : str or list of str, optional
        Default every modality; of an AnnData its ``X``.

    Returns
    -------
    Views
        Named like the chosen parts, rows named by ``obs_names``.
    """
    if is_mudata(data) and getattr(data, "axis", 0) != 0:
        raise InputError(
            "This MuData object shares features between its modalities (axis=1); views "
            "must share rows. Give one whose modalities share observations."
        )
    names = _chosen(data, views)
    tables = dict(data.mod) if is_mudata(data) else {"": data}
    parts, present, features = [], [], []
    for name in names:
        table, inner = _find(tables, name)
        rows = table.obs_names.get_indexer(data.obs_names)
        parts.append(_spread(_matrix(table, inner, name), rows))
        present.append(rows >= 0)
        known = None if inner.startswith("obsm/") else list(map(str, table.var_names))
        features.append(known)
    found = Views(
        parts,
        names=names,
        feature_names=features,
        present=np.stack(present, axis=1),
        row_names=np.asarray(data.obs_names),
    )
    found.origin = type(data).__name__
    return found


def _chosen(data: Any, views: str | Sequence[str] | None) -> list[str]:
    if views is None:
        return list(data.mod) if is_mudata(data) else ["X"]
    return [views] if isinstance(views, str) else list(views)


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
    kind, _, key = inner.partition("/")
    found = None
    if inner == "X":
        found = table.X
    elif kind in ("layers", "obsm") and key in getattr(table, kind):
        found = getattr(table, kind)[key]
    if found is None:
        known = [f"layers/{k}" for k in table.layers] + [
            f"obsm/{k}" for k in table.obsm
        ]
        raise InputError(
            f"There is no matrix for the view {name!r}. Beside X there are: "
            f"{', '.join(known) or 'no others'}."
        )
    return found.to_memory() if hasattr(found, "to_memory") else found


def _spread(matrix: Any, rows: Matrix) -> Any:
    """The modality's rows at the places of the whole; blank where it has none."""
    if np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    here = np.flatnonzero(rows >= 0)
    if sp.issparse(matrix):
        ones = np.ones(len(here), matrix.dtype)
        shape = (len(rows), matrix.shape[0])
        return sp.csr_array((ones, (here, rows[here])), shape=shape) @ matrix
    full = np.zeros((len(rows), matrix.shape[1]), dtype=matrix.dtype)
    full[here] = np.asarray(matrix)[rows[here]]
    return full


def cluster_mudata(
    data: Any,
    n_clusters: int | str = "auto",
    *,
    views: str | Sequence[str] | None = None,
    estimator: MultiViewClusterer | None = None,
    fill: str | None = None,
    key_added: str = "manyview",
    copy: bool = False,
    random_state: Any = 0,
) -> Any:
    """Cluster the rows of a MuData (or AnnData) object and write the result back.

    Parameters
    ----------
    data : MuData or AnnData
    n_clusters : int or "auto"
    views : str or list of str, optional
        Parts to use, such as ``["rna", "prot/obsm/X_pca"]``; default every modality.
    estimator : estimator of this package, optional
        Default ``S2MVTC(n_clusters, random_state=random_state)``.
    fill : {"mean"}, optional
        Replace single missing values by the mean of their feature.
    key_added : str
        Name of the results.
    copy : bool
        Return a changed copy and leave `data` as it is.
    random_state : int, generator or None

    Returns
    -------
    None, or the copy
        With clusters in ``.obs[key_added]``, how sure they are in
        ``.obs[key_added + "_certainty"]``, the consensus embedding in
        ``.obsm["X_" + key_added]`` and the settings in ``.uns[key_added]``.
    """
    if not is_container(data):
        raise InputTypeError(
            f"cluster_mudata takes MuData or AnnData; got {type(data).__name__}. "
            "Call fit on other data."
        )
    parts = to_views(data, views)
    if fill is not None:
        parts = parts.filled(fill)
    model = estimator or _default(n_clusters, random_state)
    model.fit(parts)
    target = data.copy() if copy else data
    _write(target, model, key_added)
    return target if copy else None


def _default(n_clusters: int | str, random_state: Any) -> MultiViewClusterer:
    from manyview.s2mvtc import S2MVTC

    return S2MVTC(n_clusters, random_state=random_state)


def _write(target: Any, model: MultiViewClusterer, key: str) -> None:
    import pandas

    from manyview.files.json_value import json_value

    names = [str(j) for j in range(model.n_clusters_)]
    codes = to_host(model.labels_)
    target.obs[key] = pandas.Categorical.from_codes(codes, categories=names)
    if hasattr(model, "certainty_"):
        target.obs[f"{key}_certainty"] = model.certainty_
    if hasattr(model, "embedding_"):
        target.obsm[f"X_{key}"] = to_host(model.embedding_)
    params = {k: v for k, v in json_value(model.get_params()).items() if v is not None}
    facts = {"method": type(model).__name__, "params": params}
    facts["views"] = np.asarray(model.view_names_)
    if hasattr(model, "view_influence_"):
        facts["view_influence"] = model.view_influence_
    target.uns[key] = facts


def series(values: Any, data: Any, name: str = "cluster") -> Any:
    """One value per row as a Series of the library that the rows came from.

    Parameters
    ----------
    values : array (n_samples,)
        Labels, for instance.
    data : what the model was fitted on
        A pandas or polars table, a list or dict of them, `Views`, MuData.
    name : str

    Returns
    -------
    pandas.Series with the index of the rows, or polars.Series

    Examples
    --------
    >>> import pandas as pd
    >>> from manyview.containers import series
    >>> table = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    >>> series([0, 1], [table]).to_dict()
    {'x': 0, 'y': 1}
    """
    values = to_host(values) if hasattr(values, "shape") else np.asarray(values)
    tables = list(data.values()) if isinstance(data, Mapping) else data
    first = tables[0] if isinstance(tables, (list, tuple)) else tables
    if type(first).__module__.partition(".")[0] == "polars":
        import polars

        return polars.Series(name, values)
    import pandas

    index = getattr(first, "index", None) if hasattr(first, "columns") else None
    if index is None:
        index = Views.of(data).row_names
    return pandas.Series(values, index=index, name=name)
