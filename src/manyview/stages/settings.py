"""What the parameters of S2MVTC may be and mean, and what the paper sets them to."""

from __future__ import annotations

from typing import Any

from manyview.base import (
    check_choice,
    check_count,
    check_dtype,
    check_flag,
    check_number,
)
from manyview.errors import InputError, InputTypeError
from manyview.stages.scaling import SCALINGS

PAPER_ROUNDS = 7

# Classes, beta, lam and L of the paper's six data sets (its Tables 2 and 3).
PUBLISHED = {
    "CCV": (20, 0.1, 1e-5, 18),
    "Caltech102": (102, 1.0, 10.0, 16),
    "NUS-WIDE-OBJ": (31, 1.0, 1e-3, 16),
    "AwA": (50, 0.1, 0.03, 9),
    "Cifar-10": (10, 1e-4, 1e-4, 16),
    "YoutubeFace_sel": (31, 0.1, 0.005, 19),
}


def published(data_set: str) -> dict[str, Any]:
    """The paper's setting for one of its six data sets, as its authors run it."""
    if data_set not in PUBLISHED:
        raise InputError(
            f"The paper has no data set named {data_set!r}; it has "
            f"{', '.join(PUBLISHED)}."
        )
    n_clusters, beta, lam, n_low = PUBLISHED[data_set]
    return {
        "n_clusters": n_clusters,
        "anchors": "random",
        "scaling": None,
        "start": "directions",
        "n_low": n_low,
        "lam": lam,
        "beta": beta,
        "max_iter": PAPER_ROUNDS,
        "smoothing": "sequence",
        "smoothing_growth": 1.1,
        "row_norm": "zscore",
        "periodic": True,
        "rank_tol": 0.0,
        "assign": "correlation",
    }


def check_settings(model: Any) -> None:
    """Every parameter is what it may be, or a sentence says what it is not."""
    check_choice(model.kernel, "kernel", ("rbf", "linear"))
    kinds = ("graph", "sequence", "graph+sequence", None)
    check_choice(model.smoothing, "smoothing", kinds)
    check_choice(model.row_norm, "row_norm", ("unit", "zscore"))
    check_choice(model.assign, "assign", ("kmeans", "correlation"))
    check_choice(model.start, "start", ("signs", "directions"))
    check_choice(model.scaling, "scaling", SCALINGS)
    if isinstance(model.anchors, str):
        check_choice(model.anchors, "anchors", ("kmeans", "random"))
    elif not isinstance(model.anchors, (list, tuple)):
        raise InputTypeError(
            "anchors must be 'kmeans', 'random' or a list of one array per view; got "
            f"{type(model.anchors).__name__}."
        )
    for name in ("consensus", "periodic"):
        check_flag(getattr(model, name), name)
    for name in (
        *("n_anchors", "n_graph_anchors", "n_neighbors", "n_components"),
        *("n_low", "n_init"),
    ):
        check_count(getattr(model, name), name)
    for name in ("max_iter", "block_rows"):
        if getattr(model, name) is not None:
            check_count(getattr(model, name), name)
    check_dtype(model.dtype)
    for name in ("smoothing_growth", "rank_tol"):
        check_number(getattr(model, name), name)
    for name in ("lam", "beta", "smoothing_weight", "min_duration"):
        if getattr(model, name) is not None:
            check_number(getattr(model, name), name)


def uses_order(model: Any) -> bool:
    """Does the fit smooth along the rows?"""
    return model.smoothing in ("sequence", "graph+sequence")


def uses_graph(model: Any) -> bool:
    """Does the fit smooth over the anchor graph?"""
    return model.smoothing in ("graph", "graph+sequence")


def weighs_fits(model: Any) -> bool:
    """Are views weighed by their fits, and these by cross-validation?"""
    return model.smoothing == "graph" and model.lam is None
