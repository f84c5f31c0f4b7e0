"""The set-up of S²MVTC along an order: features, ridges and the start of the rounds."""

from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.engine.contract import Engine
from manyview.stages.anchor_graph import fit_graph, frequency_weights
from manyview.stages.anchors import (
    Features,
    anchor_count,
    choose_anchors,
    fit_features,
    plain_features,
    sum_grams,
)
from manyview.stages.ridge import Gram
from manyview.stages.rounds import GraphStart, Weights, start_from_graph
from manyview.stages.sampling import Draw
from manyview.stages.scaling import Scaling
from manyview.stages.sequence import (
    MOST_BASIS_VECTORS,
    RowSequence,
    put_filtered,
    put_sequence_basis,
)
from manyview.stages.sequence_settings import setting
from manyview.stages.setup import Setup
from manyview.stages.start import principal_start, start_from_directions


class Prepared(NamedTuple):
    """Rows with their features and Grams: what no weight of the method changes."""

    engine: Engine
    drawn: Draw
    scalings: tuple[Scaling, ...]
    seeds: list[int]
    anchors: tuple[Matrix, ...]
    features: Features
    grams: list[Gram]
    n_clusters: int | str
    choice: Any


def prepare_features(
    model: Any,
    engine: Engine,
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    seeds: list[int],
) -> Prepared:
    """Anchors, kernel widths and the Grams of the features."""
    wanted = model.n_anchors or model.usual_anchors
    m = anchor_count(wanted, engine.n_samples, model.n_clusters_)
    order = engine.view_order
    anchors = choose_anchors(drawn, scalings, model.anchors, m, seeds[0], order)
    how: dict[str, Any] = {"kernel": model.kernel, "lam": model.lam}
    rows = (engine, drawn, scalings)
    plain = plain_features(*rows, anchors, n_rounds=model.max_iter, **how)
    grams = sum_grams(engine, plain)
    choice = model.choice_ if isinstance(model.n_clusters, str) else None
    return Prepared(*rows, seeds, anchors, plain, grams, model.n_clusters, choice)


def set_up_sequence(model: Any, ready: Prepared, *, reduces: bool) -> Setup:
    """Ridges, and the start of the rounds from the graph or from directions."""
    engine, drawn, scalings, seeds, anchors, plain, grams, _, _ = ready
    features, ridges = fit_features(
        plain, grams, model.lam, model.rank_tol, reduces=reduces
    )
    even = np.ones(len(anchors))
    if not model.graph:
        width = setting(model, "n_components")
        signs = setting(model, "start") == "signs"
        start = principal_start(drawn, features, ridges, width, seeds[1], signs=signs)
        first = start_from_directions(engine, start, ridges)
        return Setup(anchors, ridges, None, start, first, None, even)
    how: Any = {"n_clusters": model.n_clusters_, "seed": seeds[1]}
    how["n_anchors"] = setting(model, "n_graph_anchors")
    how["n_neighbors"] = setting(model, "n_neighbors")
    spectrum = fit_graph(engine, drawn, scalings, **how)
    scale = frequency_weights(spectrum.values, model.n_clusters_)
    smooth = GraphStart(features, scale, model.row_norm == "zscore")
    first, _ = start_from_graph(engine, smooth, ridges)
    return Setup(anchors, ridges, spectrum, smooth, first, None, even)


def sequence_weights(model: Any, setup: Setup) -> Weights:
    """The objective's weights; views weigh as in the graph, or all the same."""
    of_views = setup.explained
    if setup.spectrum is not None:
        of_views = setup.spectrum.weights
        of_views = of_views * (len(of_views) / of_views.sum())
    return Weights(
        beta=float(model.beta),
        growth=float(model.smoothing_growth),
        smooth=float(model.smoothing_weight),
        centre=model.row_norm == "zscore",
        of_views=tuple(float(w) for w in of_views),
    )


def put_order(
    engine: Engine, sequence: RowSequence, *, graph: bool
) -> RowSequence | None:
    """Give every row its F; the sequence itself where F would be too wide."""
    if graph:
        put_filtered(engine, sequence)
    elif sequence.n_vectors > MOST_BASIS_VECTORS:
        return sequence
    else:
        put_sequence_basis(engine, sequence)
    return None
