"""What the rounds of S²MVTC start from: anchors, features, graph or directions.

Everything found here is small; what the rows keep stays with the engine, and
`enter` gives it to them again from the small values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Array
from manyview.engine.contract import Engine
from manyview.kmeans import passes as assign
from manyview.stages import anchor_graph as graph
from manyview.stages.anchors import choose_anchors, make_kernels
from manyview.stages.kernels import Features, feature_passes, fit_features
from manyview.stages.ridge import Ridge
from manyview.stages.ridge_weight import choose_weights
from manyview.stages.rounds import (
    First,
    GraphStart,
    Start,
    graph_start_step,
    start_from_directions,
    start_from_graph,
    start_step,
)
from manyview.stages.sampling import SAMPLED_ROWS, Draw
from manyview.stages.scaling import Scaling
from manyview.stages.settings import uses_graph, weighs_fits
from manyview.stages.start import principal_start

if TYPE_CHECKING:
    from manyview.s2mvtc import S2MVTC

Matrix = np.ndarray[Any, Any]


class Setup(NamedTuple):
    """What the rounds start from; all small."""

    anchors: tuple[Matrix, ...]
    ridges: tuple[Ridge, ...]
    spectrum: graph.Spectrum | None
    start: Start | GraphStart
    first: First
    partition: Matrix | None
    explained: Matrix


def set_up(
    model: S2MVTC,
    engine: Engine,
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    n_anchors: int,
    seeds: list[int],
) -> Setup:
    """Anchors, features and the start of the rounds, as the parameters ask."""
    anchors = choose_anchors(drawn, scalings, model.anchors, n_anchors, seeds[0])
    plain = _plain_features(model, engine, drawn, scalings, anchors)
    kept, ridges = fit_features(engine, plain, model.lam, model.rank_tol, drawn)
    if uses_graph(model):
        return _from_graph(model, engine, drawn, anchors, kept, ridges, seeds)
    signs = model.start == "signs"
    start = principal_start(
        drawn, kept, ridges, model.n_components, seeds[1], signs=signs
    )
    first = start_from_directions(engine, start, ridges)
    return Setup(anchors, ridges, None, start, first, None, np.ones(len(anchors)))


def _plain_features(
    model: S2MVTC,
    engine: Engine,
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    anchors: tuple[Array, ...],
) -> Features:
    """How to make the features of these anchors."""
    size = engine.dtype.itemsize * sum(len(a) for a in anchors)
    # A ridge weight that follows the Gram's size needs no exact Gram.
    rough = model.lam is None and engine.n_samples > SAMPLED_ROWS
    work = 2.0 * sum(a.shape[0] * a.shape[1] for a in anchors)
    keep = engine.keeps(size, work, feature_passes(model.n_rounds, rough))
    some = drawn if rough else None
    kernels = make_kernels(
        engine, model.kernel, scalings, anchors, keep=keep, drawn=some
    )
    return Features(
        scalings, kernels, keep=keep, sampled=rough, reuse=not engine.redoes
    )


def _from_graph(
    model: S2MVTC,
    engine: Engine,
    drawn: Draw,
    anchors: tuple[Array, ...],
    kept: Features,
    ridges: tuple[Ridge, ...],
    seeds: list[int],
) -> Setup:
    """The start from the graph of all views."""
    n_clusters = model.n_clusters_
    spectrum = graph.fit_graph(
        engine,
        drawn,
        kept.scalings,
        n_clusters=n_clusters,
        n_anchors=model.n_graph_anchors,
        n_neighbors=model.n_neighbors,
        seed=seeds[1],
    )
    scale = graph.frequency_weights(spectrum.values, n_clusters)
    start = GraphStart(kept, scale, model.row_norm == "zscore")
    first, targets = start_from_graph(engine, start, ridges)
    explained = np.ones(len(anchors))
    if weighs_fits(model):
        ridges, explained = choose_weights(ridges, targets)
    found = None
    if model.smoothing == "graph" and model.assign == "kmeans":
        # The graph's own partition of the drawn rows, which the rounds refine.
        found = assign.partition(
            engine, n_clusters, drawn.rows, n_init=model.n_init, seed=seeds[2]
        )
    return Setup(anchors, ridges, spectrum, start, first, found, explained)


def enter(
    engine: Engine, spectrum: graph.Spectrum | None, start: Start | GraphStart
) -> None:
    """The set-up's state of every row, from its small values."""
    if spectrum is not None:
        graph.spread_basis(engine, spectrum)
    step = start_step if spectrum is None else graph_start_step
    engine.run(step, start, title="Start")
