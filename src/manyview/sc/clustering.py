"""`cluster`: the cells of an AnnData or MuData object, results written into it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyview.arrays.ops import to_host
from manyview.base import MultiViewClusterer, require_method
from manyview.errors import InputTypeError
from manyview.files.json_value import json_value
from manyview.s2mvtc import S2MVTC
from manyview.sc.cell_graph import CellGraph, neighbour_graph
from manyview.sc.cell_parts import views_of_cells
from manyview.views.containers import is_container, is_mudata, rows_of

Names = str | Mapping[str, str] | None


def cluster(
    data: Any,
    n_clusters: int | str = "auto",
    *,
    views: str | Sequence[str] | None = None,
    use_rep: Names = None,
    layer: Names = None,
    use_highly_variable: bool | None = None,
    estimator: MultiViewClusterer | None = None,
    fill: str | None = None,
    key_added: str = "manyview",
    copy: bool = False,
    random_state: Any = 0,
) -> Any:
    """Cluster the cells of a MuData (or AnnData) object and write the result back.

    Raw counts are recognised, and become square roots of every cell's shares.

    Parameters
    ----------
    data : MuData or AnnData
        The cells; they may lack modalities.
    n_clusters : int or "auto"
        How many clusters to find; "auto" asks `choose_n_clusters`.
    views : str or list of str, optional
        Parts to use, such as ``["rna", "prot/obsm/X_pca"]``; default every modality.
    use_rep, layer : str or dict of str, optional
        Representation in ``obsm`` (``"X"`` for X itself) or layer to use in place of X,
        for all modalities or by modality.
    use_highly_variable : bool, optional
        Keep the features of ``var["highly_variable"]`` only; default where a modality
        has that column. Representations are used whole.
    estimator : estimator of this package, optional
        Default ``S2MVTC(n_clusters, random_state=random_state)``.
    fill : {"mean"}, optional
        Replace single missing values by the mean of their feature.
    key_added : str
        Name of the results.
    copy : bool
        Return a changed copy and leave `data` as it is.
    random_state : int, generator or None
        Seed of the default estimator.

    Returns
    -------
    None, or the copy
        With ``.obs[key]``, ``.obs[key + "_certainty"]``, ``.obsm["X_" + key]``,
        ``.obsp[key + "_connectivities"]`` and ``"_distances"``, their record
        ``.uns[key + "_neighbors"]`` and settings ``.uns[key]``; in modalities too.
    """
    places = _checked(data, key_added)
    parts = views_of_cells(data, views, use_rep, layer, use_highly_variable)
    if fill is not None:
        parts = parts.filled(fill)
    model = estimator or S2MVTC(n_clusters, random_state=random_state)
    require_method(model)
    model.fit(parts)
    target = data.copy() if copy else data
    _write(target, places, model, key_added)
    return target if copy else None


def _checked(data: Any, key_added: str) -> list[Any]:
    """Row of the whole for every row of its tables."""
    if not is_container(data):
        raise InputTypeError(
            f"sc.cluster takes MuData or AnnData; got {type(data).__name__}. "
            "Call fit on other data."
        )
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise InputTypeError(
            f"key_added must be a name for the results, without '/', which files of "
            f"cells take for a folder; got {key_added!r}."
        )
    return [rows_of(data, table) for table in _tables(data)]


def _tables(data: Any) -> list[Any]:
    """The cells, and every modality's own."""
    return [data, *(data.mod.values() if is_mudata(data) else ())]


def _write(target: Any, places: list[Any], model: MultiViewClusterer, key: str) -> None:
    """Everything into the cells, and into every modality for its own cells."""
    import pandas

    names = [str(j) for j in range(model.n_clusters_)]
    codes = to_host(model.labels_)
    found = pandas.Categorical.from_codes(codes, categories=names)
    sure, embedding, graph = None, None, None
    if hasattr(model, "certainty_"):
        sure = to_host(model.certainty_)
    if hasattr(model, "embedding_"):
        embedding = to_host(model.embedding_)
        graph = neighbour_graph(embedding)
    for table, rows in zip(_tables(target), places, strict=True):
        table.obs[key] = found[rows]
        if sure is not None:
            table.obs[f"{key}_certainty"] = sure[rows]
        if embedding is not None and graph is not None:
            table.obsm[f"X_{key}"] = embedding[rows]
            _write_graph(table, graph, rows, key)
        table.uns[key] = _facts(model)


def _facts(model: MultiViewClusterer) -> dict[str, Any]:
    params = {k: v for k, v in json_value(model.get_params()).items() if v is not None}
    facts = {"method": type(model).__name__, "params": params}
    facts["views"] = np.asarray(model.view_names_)
    facts["n_features"] = np.asarray(model.n_features_per_view_)
    if hasattr(model, "view_influence_"):
        facts["view_influence"] = model.view_influence_
    return facts


def _write_graph(table: Any, graph: CellGraph, rows: Any, key: str) -> None:
    """Under the names that sc.pp.neighbors and mu.pp.neighbors give."""
    kept = {"distances": graph.distances, "connectivities": graph.connectivities}
    for name, matrix in kept.items():
        table.obsp[f"{key}_{name}"] = matrix[rows][:, rows]
    params: dict[str, Any] = {
        "n_neighbors": graph.n_neighbors + 1,  # scanpy counts the cell itself
        "method": "gauss",
        "metric": "euclidean",
        "use_rep": f"X_{key}",
    }
    if is_mudata(table):  # muon looks for each modality's own, and -1 for all columns
        params["use_rep"] = dict.fromkeys(table.mod, f"X_{key}")
        params["n_pcs"] = dict.fromkeys(table.mod, -1)
    keys = {f"{name}_key": f"{key}_{name}" for name in kept}
    table.uns[f"{key}_neighbors"] = {**keys, "params": params}
