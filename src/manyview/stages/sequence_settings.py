"""What the parameters of SequenceS2MVTC may be, and what the paper sets them to."""

from typing import Any

from manyview.errors import InputError
from manyview.stages.durations import check_duration
from manyview.stages.scaling import SCALINGS
from manyview.views.arguments import (
    check_anchors,
    check_choice,
    check_count,
    check_dtype,
    check_flag,
    check_number,
)

# Classes, beta, lam and L of the paper's six data sets (its Tables 2 and 3).
PUBLISHED = {
    "CCV": (20, 0.1, 1e-5, 18),
    "Caltech102": (102, 1.0, 10.0, 16),
    "NUS-WIDE-OBJ": (31, 1.0, 1e-3, 16),
    "AwA": (50, 0.1, 0.03, 9),
    "Cifar-10": (10, 1e-4, 1e-4, 16),
    "YoutubeFace_sel": (31, 0.1, 0.005, 19),
}
# L, k and T of the paper; the graph's sizes are those of `S2MVTC`.
DEFAULTS = {
    "n_low": 16,
    "n_components": 64,
    "start": "signs",
    "n_graph_anchors": 4096,
    "n_neighbors": 5,
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
        "n_low": n_low,
        "periodic": True,
        "anchors": "random",
        "scaling": None,
        "start": "directions",
        "lam": lam,
        "beta": beta,
        "smoothing_growth": 1.1,
        "row_norm": "zscore",
        "rank_tol": 0.0,
        "assign": "published",
    }


def setting(model: Any, name: str) -> Any:
    """A parameter, or what it is where nothing was given."""
    value = getattr(model, name, None)
    return DEFAULTS[name] if value is None else value


def check_sequence_settings(model: Any) -> None:
    """Every parameter is what it may be, or a sentence says what it is not."""
    check_anchors(model.n_anchors, model.anchors)
    check_choice(model.kernel, "kernel", ("rbf", "linear"))
    check_choice(model.row_norm, "row_norm", ("unit", "zscore"))
    check_choice(model.assign, "assign", ("kmeans", "correlation", "published"))
    check_choice(model.scaling, "scaling", SCALINGS)
    check_choice(model.start, "start", ("signs", "directions", None))
    check_flag(model.graph, "graph")
    check_flag(model.periodic, "periodic")
    check_dtype(model.dtype)
    for name in ("max_iter", "n_init"):
        check_count(getattr(model, name), name)
    for name in ("n_low", "n_components", "n_graph_anchors", "n_neighbors"):
        if getattr(model, name) is not None:
            check_count(getattr(model, name), name)
    for name in ("beta", "smoothing_weight", "smoothing_growth", "rank_tol"):
        check_number(getattr(model, name), name)
    if model.lam is not None:
        check_number(model.lam, "lam")
    if model.min_duration is not None:
        check_duration(model.min_duration, "min_duration")
    _refuse_silenced(model)


def _refuse_silenced(model: Any) -> None:
    """What another parameter leaves without a say is refused by name."""
    if model.n_low is not None and model.min_duration is not None:
        raise InputError(
            f"n_low={model.n_low} and min_duration={model.min_duration} both set the "
            "cut-off of the smoothing. Give one of them."
        )
    of_graph, of_directions = (
        ("n_graph_anchors", "n_neighbors"),
        ("n_components", "start"),
    )
    for name in of_directions if model.graph else of_graph:
        if getattr(model, name) is not None:
            raise InputError(
                f"{name}={getattr(model, name)!r} has no say with graph="
                f"{model.graph}. Leave {name} out, or set graph={not model.graph}."
            )
