"""`partial_fit`: rows that come in pieces.

Up to `sizes.exact_rows` rows the pieces are kept, and all of them are fitted again:
rows are visited in the order of their content, so the clusters are those of one fit of
everything, whatever the order of the pieces. Beyond, anchors, graph and labels stand;
new rows go through the same passes, and tests say when they no longer fit.
"""

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix, to_host
from manyview.engine.contract import sizes
from manyview.engine.resources import parse_size, show_size
from manyview.errors import DriftWarning, InputError, InputTypeError, ResourceError
from manyview.growing.changes import Changes, tell
from manyview.growing.comparing import Measured, require_reference
from manyview.growing.drifting import RATE, drift_of
from manyview.growing.refitting import refit, take_over
from manyview.predicting import GrowsByPieces
from manyview.views.parsing import fetched, is_dask
from manyview.views.stacking import stack, stack_below
from manyview.views.views import Views

# New rows that are looked at together, at least: fewer tell little, and every look
# leaves less of the rate of false alarms to the later ones.
ROWS_PER_LOOK = 200
# Of a memory limit, for the rows that are kept: a fit of them needs several times that.
ROOM_SHARE = 0.25
# What a fit of views leaves that the rows alone do not tell.
OF_FIRST_PIECE = ("feature_names_in_", "preparation_", "fill_values_")


class Growth(NamedTuple):
    """What a model keeps in order to grow.

    Attributes
    ----------
    rows : tuple of arrays, or None
        All rows so far, view by view, while they are few.
    present : array (n_rows, n_views) of bool, or None
        Which views they have; None for all.
    looks : int
        Times that new rows were held against the model since it stands.
    waiting : Measured or None
        Rows that are too few yet to be held against it.
    """

    rows: tuple[Any, ...] | None = None
    present: Any = None
    looks: int = 0
    waiting: Measured | None = None


def partial_fit(model: Any, X: Any) -> Any:
    """Add rows to a model, or fit it to the first ones; see `S2MVTC.partial_fit`.

    Where anything fails, the model is as it was.

    Parameters
    ----------
    model : S2MVTC or AnchorSpectral
        It is changed in place, as by ``fit``.
    X : views, as in ``fit``
        New rows, in the views of those before.

    Returns
    -------
    the model
    """
    grows = isinstance(model, GrowsByPieces)
    if not grows:
        raise InputTypeError(
            f"Rows are added to S2MVTC and AnchorSpectral; got {type(model).__name__}. "
            "Fit one of them, or fit all rows at once."
        )
    if model.checkpoint is not None:
        raise InputError(
            "partial_fit keeps no checkpoint: every piece is other data. Set "
            "checkpoint=None, or fit all rows at once."
        )
    if "labels_" not in vars(model):
        return _begin(model, X)
    require_reference(model)
    growth: Growth = getattr(model, "_growth", Growth())
    if growth.rows is None and len(model.labels_) <= sizes.exact_rows:
        raise InputError(
            f"The model keeps none of its {len(model.labels_):,} rows, and up to "
            f"{sizes.exact_rows:,} rows partial_fit fits all of them again: it was "
            "fitted by fit, or has forgotten them. Begin with partial_fit(first "
            "piece), or give the old rows and the new to refit."
        )
    piece = model._views_to_predict(X)
    if growth.rows is None:
        return _add(model, growth, piece)
    return _fit_all(model, growth, piece)


def _begin(model: Any, X: Any) -> Any:
    other = model._fresh().fit(X)
    piece = other._views_to_predict(X)
    if len(piece) <= sizes.exact_rows:
        own = _in_memory(piece)
        _require_room(model, own.arrays)
        other._growth = Growth(own.arrays, own.present)
    take_over(model, other)
    return model


def _fit_all(model: Any, growth: Growth, piece: Any) -> Any:
    """All rows so far fitted again; clusters that live on keep their numbers."""
    kept, n_known = growth.rows, len(model.labels_)
    assert kept is not None
    n_rows = n_known + len(piece)
    few = n_rows <= sizes.exact_rows
    if few or piece.in_memory:
        piece = _in_memory(piece)
    present = _stacked_masks(growth.present, piece.present, n_known, n_rows)
    arrays = getattr(piece, "aligned", piece.arrays)
    far = any(map(is_dask, arrays))
    if far and growth.present is not None:  # where only rows of NaN are missing
        there = growth.present.T[:, :, None]
        pairs = zip(kept, there, strict=True)
        kept = tuple(np.where(own, to_host(a), np.nan) for a, own in pairs)
    rows = tuple(stack_below(a, b) for a, b in zip(kept, arrays, strict=True))
    if few:
        _require_room(model, rows)
    names = model.view_names_
    everything: Any = dict(zip(names, rows, strict=True))
    if not far:
        columns = model.feature_names_per_view_
        everything = Views(
            list(rows), names=names, feature_names=columns, present=present
        )
    carried = {n: vars(model)[n] for n in OF_FIRST_PIECE if n in vars(model)}
    former = np.where(np.arange(n_rows) < n_known, np.arange(n_rows), -1)
    refit(model, everything, former=former)
    vars(model).update(carried)
    model._growth = Growth(rows, present) if few else Growth()
    return model


def _in_memory(piece: Any) -> Views:
    """The rows of a piece in memory of their own, their values checked."""
    arrays = [
        a.compute() if is_dask(a) else stack([a[:]])
        for a in getattr(piece, "aligned", piece.arrays)
    ]
    own = Views(arrays, names=piece.names, present=piece.present)
    for _ in own.blocks(sizes.block_rows):
        pass
    return own


def _stacked_masks(above: Any, below: Any, n_above: int, n_rows: int) -> Any:
    """Which views all rows have; None where all have all."""
    if above is None and below is None:
        return None
    n_views = (above if above is not None else below).shape[1]
    there = np.ones((n_rows, n_views), dtype=bool)
    if above is not None:
        there[:n_above] = above
    if below is not None:
        there[n_above:] = below
    return there


def _require_room(model: Any, rows: tuple[Any, ...]) -> None:
    """Refuse to keep rows that a memory limit has no room for."""
    if model.memory_limit is None or model.device is not None:
        return
    room = int(ROOM_SHARE * parse_size(model.memory_limit))
    held = sum(a.data.nbytes if sp.issparse(a) else a.nbytes for a in rows)
    if held > room:
        raise ResourceError(
            f"partial_fit keeps up to {sizes.exact_rows:,} rows; those so far take "
            f"{show_size(held)}, and memory_limit={model.memory_limit!r} has room for "
            f"{show_size(room)} of them. Raise memory_limit, or fit all rows at once "
            "from disk."
        )


def _add(model: Any, growth: Growth, piece: Any) -> Any:
    """New rows through the passes of the model, which stands; a look at their drift."""
    n_views, place = model.n_views_, model._without_rows()._placed_of
    width = 2 + n_views + model._n_features_out
    found = fetched(piece.each(partial(place, embedded=True), np.float64, width))
    new = Measured(found[:, 0].astype(np.intp), found[:, 2 : 2 + n_views])
    rows = found[:, 2 + n_views :].astype(model._passes.dtype)
    waiting: Any = new
    if growth.waiting is not None:
        pairs = zip(growth.waiting, new, strict=True)
        waiting = Measured(*map(np.concatenate, pairs))
    looks, due = growth.looks, ""
    if len(waiting.labels) >= ROWS_PER_LOOK:
        looks += 1
        # Over all looks that ever come, 1/2 + 1/6 + 1/12 + … of the rate: all of it.
        seen = drift_of(model, waiting, RATE / (looks * (looks + 1)))
        waiting = None
        if seen.drifted:
            due = (
                f"{seen.sentence} They got the nearest clusters all the same. A refit "
                "is due: give the old rows and the new to model.refit."
            )
    changes = _standing(model, new.labels, due)
    labels = stack_below(model.labels_, new.labels)
    embedding = stack_below(model.embedding_, rows)
    model.labels_, model.embedding_, model.changes_ = labels, embedding, changes
    model._growth = Growth(looks=looks, waiting=waiting)
    vars(model).pop("outlier_score_", None)
    if due:
        warnings.warn(due, DriftWarning, stacklevel=4)
    return model


def _standing(model: Any, labels: Matrix, due: str) -> Changes:
    """Old rows where they were, and new ones that had no cluster."""
    old, n_clusters = fetched(model.labels_), len(model._passes.centres.points)
    counts = np.bincount(old[old >= 0], minlength=n_clusters)
    new = np.bincount(labels, minlength=n_clusters)
    overlap = np.vstack([np.diag(counts), new])
    still = np.zeros((n_clusters, model.n_views_), dtype=bool)
    events = tell(overlap, counts, still, tuple(model.view_names_))
    return Changes(events, overlap, 0, refit_due=due)
