"""Model files of earlier versions, in the words of this one.

Each step takes the decoded JSON of a model file from one version of the format
to the next; it knows the names in files only, never a class of this release.
"""

import re
import warnings
from typing import Any

import numpy as np

from manyview.errors import FileError, ManyviewWarning

# Of the model format: files of all earlier ones are translated. Those from 2 on only
# lack what came later: how far the rows of a fit reach (3), the distances that new rows
# are held against and `changes_` (4), the rows that a model keeps in order to grow (5),
# and what views say of rows, by which probabilities are calibrated (6).
VERSION = 6
Content = dict[str, Any]

# Version 1 named records and hidden values as the code of its release did.
_FIELDS_1 = {("Scaling", "gaps"): "missing", ("Round", "worth"): "view_weights"}
_LOST_FIELDS_1 = {("Features", "reuse")}
_ATTRIBUTES_1 = {
    "_Us": "projections",
    "_dtype": "dtype",
    "_maps": "feature maps",
    "_moments": "moments",
    "_scalings": "scalings",
}
# What version 1 called lam is no ridge weight in these methods.
_WEIGHTS_1 = {
    "BMVC": "cluster_weight",
    "FMVACC": "feature_weight",
    "LMTC": "tensor_weight",
    "SMERAMVC": "residual_weight",
}
# How version 1 spelt the words of scaling in the methods it compares with.
_SCALINGS_1 = {True: "standard", False: None, "feature": "standard"}
# None stood for a default that depended on the smoothing; now each class has its own.
_OPTIONAL_1 = ("beta", "max_iter", "min_duration", "smoothing_weight")
_ORDER_FREE = (
    *("n_clusters", "n_anchors", "anchors", "scaling", "n_graph_anchors"),
    *("n_neighbors", "lam", "beta", "smoothing_weight", "max_iter", "n_init"),
    *("random_state", "dtype"),
)
# Parameters that the order-free method has lost, and what it always does now.
_SETTLED = {
    "kernel": "rbf",
    "row_norm": "unit",
    "rank_tol": 1e-3,
    "assign": "kmeans",
    "smoothing_growth": 1.0,
}


def migrate(content: Content) -> Content:
    """The content of a model file as this version of the format puts it."""
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise FileError(
            f"It is in version {version!r} of the model format; this release reads "
            f"versions 1 to {VERSION}. Load it with the release that wrote it "
            f"(manyview {content.get('manyview')})."
        )
    try:
        content = _from_1(content) if version == 1 else content
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FileError(
            "The model file is refused: it holds a broken value. It was damaged, or "
            "made by hand; save the model again."
        ) from error
    return {**content, "version": VERSION}


def _from_1(content: Content) -> Content:
    name, params = content["class"], dict(content["params"])
    params.pop("block_rows", None)
    if name == "S2MVTC":
        name, params = _split_s2mvtc(params)
    if "standardise" in params:
        word = params.pop("standardise")
        params["scaling"] = _SCALINGS_1.get(word, word)
    if name in _WEIGHTS_1:
        params[_WEIGHTS_1[name]] = params.pop("lam")
    fitted = _gather_passes(content["fitted"])
    fitted = {_ATTRIBUTES_1.get(k, k): _rename_records(v) for k, v in fitted.items()}
    return {**content, "class": name, "params": params, "fitted": fitted}


def _gather_passes(fitted: dict[str, Any]) -> dict[str, Any]:
    """One record of all that new rows go through; views were visited as they stood."""
    if "_centres" not in fitted:
        return fitted
    kept = dict(fitted)
    passes = {
        "dtype": np.dtype(kept.pop("_dtype")["dtype"]).name,
        "view_order": {"tuple": list(range(kept["n_views_"]))},
        "centres": kept.pop("_centres"),
    }
    if "_passes" in kept:
        passes |= kept.pop("_passes")["record"][1]
    else:
        spectrum = kept.pop("_spectrum")
        passes |= {"spectrum": spectrum, "start": None, "rounds": {"tuple": []}}
    return {**kept, "passes": {"record": ["passes", passes]}}


def _split_s2mvtc(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The order-free method or the one along an order, each with its own parameters.

    Version 1 had one class for both, in which some parameters silenced others and
    None stood for a default that depended on the smoothing.
    """
    smoothing = params.pop("smoothing")
    kept = {k: v for k, v in params.items() if k not in _OPTIONAL_1 or v is not None}
    if kept.pop("consensus") is False:
        kept["beta"] = 0.0
    if not isinstance(kept["anchors"], str):
        del kept["n_anchors"]
    if smoothing == "graph":
        _warn_of_lost_settings(kept)
        return "S2MVTC", {k: v for k, v in kept.items() if k in _ORDER_FREE}
    silenced = {"n_components", "start"}
    if smoothing != "graph+sequence":
        silenced = {"n_graph_anchors", "n_neighbors"}
    if smoothing is None:
        kept["smoothing_weight"] = 0.0
        silenced |= {"n_low", "min_duration"}
    elif "min_duration" in kept:
        silenced.add("n_low")
    kept = {k: v for k, v in kept.items() if k not in silenced}
    return "SequenceS2MVTC", {"graph": smoothing == "graph+sequence", **kept}


def _warn_of_lost_settings(params: dict[str, Any]) -> None:
    """What the order-free method has settled matters to another fit alone."""
    lost = [f"{k}={params[k]!r}" for k, v in _SETTLED.items() if params[k] != v]
    if lost:
        warnings.warn(
            f"The model was fitted with {', '.join(lost)}, which S2MVTC no longer has. "
            "It predicts as before; look at another fit of it anew.",
            ManyviewWarning,
            stacklevel=2,
        )


def _rename_records(value: Any) -> Any:
    """The same value with every record and field under its present name."""
    if isinstance(value, list):
        return [_rename_records(part) for part in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), *_ = value.items()
    if kind == "dict":
        return {kind: {key: _rename_records(part) for key, part in inner.items()}}
    if kind != "record":
        return {kind: _rename_records(inner)}
    name, fields = inner
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    renamed = {
        _FIELDS_1.get((name, field), field): _rename_records(part)
        for field, part in fields.items()
        if (name, field) not in _LOST_FIELDS_1
    }
    return {kind: ["direction start" if name == "Start" else words, renamed]}
