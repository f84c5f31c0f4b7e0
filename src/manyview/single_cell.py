"""Clustering where scverse keeps its cells: AnnData or MuData in, results in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyview.arrays.ops import to_host
from manyview.base import MultiViewClusterer, require_method
from manyview.errors import InputTypeError
from manyview.files.json_value import json_value
from manyview.s2mvtc import S2MVTC
from manyview.views.containers import is_container
from manyview.views.views import Views


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
        The cells, with one modality or several.
    n_clusters : int or "auto"
        How many clusters to find; "auto" asks `choose_n_clusters`.
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
        Seed of the default estimator.

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
    parts = Views.of(data, views)
    if fill is not None:
        parts = parts.filled(fill)
    model = S2MVTC(n_clusters, random_state=random_state)
    if estimator is not None:
        require_method(estimator)
        model = estimator
    model.fit(parts)
    target = data.copy() if copy else data
    _write(target, model, key_added)
    return target if copy else None


def _write(target: Any, model: MultiViewClusterer, key: str) -> None:
    import pandas

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
