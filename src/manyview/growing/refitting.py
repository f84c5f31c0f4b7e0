"""`refit`: a fit of grown or changed data that keeps the names of the clusters."""

from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from manyview.arrays.ops import Matrix, like, to_host
from manyview.errors import InputError
from manyview.growing.changes import (
    Changes,
    beyond_known,
    contingency,
    match,
    moved_views,
    tell,
)
from manyview.growing.comparing import measure, reference, require_reference
from manyview.kmeans.passes import Centres
from manyview.views.joining import follow_rows
from manyview.views.parsing import check_per_row, fetched, is_dask
from manyview.views.views import Views


def refit(
    model: Any, X: Any, *, former: Any = None, n_clusters: Any = None, **fit_params: Any
) -> Any:
    """Fit the model to other rows; clusters that live on keep their numbers.

    `changes_` of the model tells what became of the clusters. Where the fit fails,
    the model is as it was.

    Parameters
    ----------
    model : fitted S2MVTC, SequenceS2MVTC or AnchorSpectral
        It is changed in place, as by ``fit``.
    X : views, as in ``fit``
        All rows that the model is to know from now on, in the views it knows.
    former : array (n_samples,) of int, optional
        The number every row had in the fit before, −1 for rows that are new; for data
        whose rows are the same but look different now. Default: the fit before places
        every row, which gives rows that it knew the cluster they had.
    n_clusters : int or "auto", optional
        Another number of clusters; default the model's parameter.
    **fit_params
        What ``fit`` takes besides.

    Returns
    -------
    the model

    Examples
    --------
    >>> from manyview import S2MVTC
    >>> from manyview.datasets import make_views
    >>> views = make_views(400, (5, 4), 3, random_state=0)
    >>> model = S2MVTC(3, random_state=0).fit(views[:300])
    >>> before = model.labels_
    >>> bool((model.refit(views).labels_[:300] == before).mean() > 0.95)
    True
    >>> [event.kind for event in model.changes_.events]
    ['kept', 'kept', 'kept']
    """
    require_reference(model)
    if hasattr(model, "preparation_") and not isinstance(X, Views):
        X = model.preparation_.transform(X)
    views = model._views_to_predict(X)
    known = _check_former(former, views, len(model.labels_))
    old, new = reference(model), measure(model, views)
    changed = {} if n_clusters is None else {"n_clusters": n_clusters}
    other = model._fresh(**changed).fit(X, **fit_params)
    after = fetched(other.labels_)
    n_before, n_after = (len(m._passes.centres.points) for m in (model, other))
    if known is None:
        before = np.where(beyond_known(old, new, after, n_after)[after], -1, new.labels)
    else:
        before = np.where(known >= 0, fetched(model.labels_)[known], -1)
    ids = match(contingency(before, after, (n_before, n_after))[:-1])
    n_numbers = max(n_before, int(ids.max()) + 1)
    rename_clusters(other, ids, n_numbers)
    moved = moved_views(old, new._replace(labels=ids[after]), n_numbers)
    other.changes_ = _changes(model, before, ids[after], moved)
    take_over(model, other)
    return model.set_params(**changed)


def _changes(model: Any, before: Matrix, after: Matrix, moved: Matrix) -> Changes:
    """Of the model before: what its clusters and those after share."""
    n_before, own = len(model._passes.centres.points), fetched(model.labels_)
    overlap = contingency(before, after, (n_before, len(moved)))
    sizes = np.bincount(own[own >= 0], minlength=n_before)
    events = tell(overlap, sizes, moved, tuple(model.view_names_))
    relabelled = np.flatnonzero((before >= 0) & (before != after))
    return Changes(events, overlap, len(relabelled), relabelled)


def _check_former(former: Any, views: Views, n_before: int) -> Matrix | None:
    """Row numbers of the fit before, −1 for new rows, none of them twice."""
    named = follow_rows(former, views.row_names, "former")
    found = check_per_row(named, len(views), "former")
    if found is None:
        return None
    known = np.asarray(found)
    if known.dtype.kind not in "iu" or known.min() < -1 or known.max() >= n_before:
        raise InputError(
            f"former must hold row numbers of the fit before, 0 to {n_before - 1}, or "
            f"-1 for new rows; got {known.min()} to {known.max()} ({known.dtype})."
        )
    numbers, times = np.unique(known[known >= 0], return_counts=True)
    if numbers.size == 0 or times.max() > 1:
        seen = "no row of it" if numbers.size == 0 else f"row {numbers[times > 1][0]}"
        raise InputError(
            "former must name rows of the fit before, each at most once; it names "
            f"{seen}{'' if numbers.size == 0 else ' twice'}. Leave it out where rows "
            "are not known."
        )
    return known


def rename_clusters(model: Any, ids: Matrix, n_numbers: int) -> None:
    """Give the clusters of a fitted model other numbers, some of which may be unused.

    No row is ever put into a number that is not used: its centre is infinitely far.
    """
    passes = model._passes
    nodes = passes.nodes
    if isinstance(nodes, Centres):
        nodes = _renumbered(nodes, ids, n_numbers)
    elif nodes is not None:
        nodes = nodes._replace(labels=ids[nodes.labels])
    centres, asked = _renumbered(passes.centres, ids, n_numbers), passes.asked
    votes = np.where(asked.votes >= 0, ids[asked.votes], -1)
    asked = asked._replace(labels=ids[asked.labels], votes=votes)
    model._passes = passes._replace(centres=centres, nodes=nodes, asked=asked)
    model._reach = model._reach._replace(labels=ids[to_host(model._reach.labels)])
    shares = np.full((n_numbers, model.n_views_), 1.0 / model.n_views_)
    shares[ids] = model.cluster_influence_
    model.cluster_influence_ = shares
    labels = model.labels_
    if is_dask(labels):
        model.labels_ = labels.map_blocks(ids.__getitem__, dtype=np.intp)
    elif is_torch_array(labels):
        model.labels_ = like(ids, labels)[labels]
    else:
        model.labels_ = ids[labels]


def take_over(model: Any, other: Any) -> None:
    """All that the other model was fitted to, in place of the model's own."""
    params = model.get_params(deep=False)
    for name in [n for n in vars(model) if _is_fitted(n, params)]:
        delattr(model, name)
    for name, value in vars(other).items():
        if _is_fitted(name, params):
            setattr(model, name, value)


def _is_fitted(name: str, params: dict[str, Any]) -> bool:
    return name not in params and not name.startswith("_skl")


def _renumbered(centres: Centres, ids: Matrix, n_numbers: int) -> Centres:
    """The centres by their new numbers; what is not used is infinitely far."""
    points, offsets = centres
    wide = np.zeros((n_numbers, points.shape[1]), dtype=points.dtype)
    far = np.full(n_numbers, np.inf, dtype=offsets.dtype)
    wide[ids], far[ids] = points, offsets
    return Centres(wide, far)
