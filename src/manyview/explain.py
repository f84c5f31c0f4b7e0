"""Why a partition is as it is: views, rows and features behind the clusters."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import has_fit_parameter

from manyview.arrays.ops import Matrix, to_host
from manyview.base import MultiViewClusterer
from manyview.engine.local import open_engine
from manyview.errors import InputError, InputTypeError, OrderWarning
from manyview.present.table import ShowsTables, Table
from manyview.stages.effect_sizes import effect_sizes
from manyview.stages.sampling import (
    Draw,
    choose_scalings,
    draw,
    first_rows,
    measure_influence,
    neighbours,
    vote,
)
from manyview.stages.scaling import Scaling
from manyview.views.arguments import child_seed, generator
from manyview.views.parsing import check_per_row
from manyview.views.views import Views

# Rows that are fitted again without each view: more would take longer than the fit.
MOST_ROWS = 5000


class Effect(NamedTuple):
    """One feature that sets a cluster apart.

    `size` is (mean inside − mean outside) / pooled standard deviation.
    """

    cluster: int
    view: str
    feature: str
    size: float
    inside: float
    outside: float


@dataclass(frozen=True)
class Explanation(ShowsTables):
    """What `explain` found.

    Attributes
    ----------
    view_names : tuple of str
    sizes : array (n_clusters,)
        Rows of every cluster.
    view_influence : array (n_views,)
        Share of every view in the consensus; the shares sum to 1.
    cluster_influence : array (n_clusters, n_views)
        The same for the rows of each cluster.
    view_agreement : array (n_views, n_views)
        Adjusted Rand index between the clusters that two views' neighbours vote for.
    left_out : array (n_views,) or None
        1 − adjusted Rand index between the clusters with and without each view.
    certainty : array (n_samples,) or None
        How likely every row is to be in its cluster, as `certainty_` of the model.
    typical, doubtful : list of arrays
        Row numbers of each cluster, the most typical and the most doubtful first.
    effects : list of Effect
        The features that set each cluster apart, largest effect first.
    row_names : array (n_samples,) or None
    """

    view_names: tuple[str, ...]
    sizes: Matrix
    view_influence: Matrix
    cluster_influence: Matrix
    view_agreement: Matrix
    left_out: Matrix | None
    certainty: Matrix | None
    typical: list[Matrix]
    doubtful: list[Matrix]
    effects: list[Effect]
    row_names: Matrix | None = None

    def tables(self) -> list[Table]:
        """Views, clusters, agreement between views, and features, as tables."""
        return [
            self._view_table(),
            self._agreement_table(),
            self._cluster_table(),
            self._feature_table(),
        ]

    def _view_table(self) -> Table:
        told = self.left_out is not None
        columns = ["view", "influence", *(["change without it"] if told else [])]
        table = Table("views", "How much each view shaped the clusters", columns)
        for v, name in enumerate(self.view_names):
            change = [] if self.left_out is None else [f"{self.left_out[v]:.3f}"]
            table.add(name, f"{self.view_influence[v]:.3f}", *change)
        return table

    def _agreement_table(self) -> Table:
        caption = "How far the views tell the same clusters (1: the same)"
        table = Table("agreement", caption, ["view", *self.view_names])
        for name, row in zip(self.view_names, self.view_agreement, strict=True):
            table.add(name, *(f"{value:z.2f}" for value in row))
        return table

    def _cluster_table(self) -> Table:
        columns = ["cluster", "rows", *self.view_names, "typical rows", "doubtful rows"]
        caption = "Clusters: influence of the views, rows"
        align = "l" + "r" * (len(columns) - 3) + "ll"
        table = Table("clusters", caption, columns, align=align)
        for j, shares in enumerate(self.cluster_influence):
            ends = [self._names(rows) for rows in (self.typical[j], self.doubtful[j])]
            numbers = [f"{share:.2f}" for share in shares]
            table.add(str(j), str(self.sizes[j]), *numbers, *ends)
        return table

    def _feature_table(self) -> Table:
        columns = ["cluster", "view", "feature", "effect", "inside", "outside"]
        caption = "Features that set each cluster apart"
        table = Table("features", caption, columns, align="lllrrr")
        for e in self.effects:
            numbers = (f"{e.size:+.2f}", f"{e.inside:.4g}", f"{e.outside:.4g}")
            table.add(str(e.cluster), e.view, e.feature, *numbers)
        return table

    def _names(self, rows: Matrix) -> str:
        names = rows if self.row_names is None else self.row_names[rows]
        return ", ".join(map(str, names))


def explain(
    model: MultiViewClusterer,
    views: Any,
    *,
    order: Any = None,
    groups: Any = None,
    n_features: int = 5,
    n_rows: int = 3,
    leave_out: bool = True,
    random_state: Any = 0,
) -> Explanation:
    """Explain the clusters of a fitted model on the rows it was fitted on.

    Parameters
    ----------
    model, views : fitted estimator; Views, or list or dict of arrays
        What is to be explained, and the views it was fitted on.
    order, groups : array (n_samples,), optional
        What the fit was given besides; the fits without a view take it too.
    n_features, n_rows : int
        Features, and typical and doubtful rows, to name for each cluster.
    leave_out : bool
        Fit again without each view (on at most 5,000 rows), to see what changes.
    random_state : int, generator or None
        Seed of the drawn rows.

    Examples
    --------
    >>> from manyview import S2MVTC, explain
    >>> from manyview.datasets import make_views
    >>> views = make_views(200, (5, 5), 3, view_quality=[1, 0], random_state=0)
    >>> model = S2MVTC(3, random_state=0).fit(views)
    >>> found = explain.explain(model, views, leave_out=False)
    >>> bool(found.view_influence[0] > found.view_influence[1])
    True
    """
    views, labels = _fitted_rows(model, views)
    along = _along(model, len(views), order, groups) if leave_out else None
    engine = open_engine(views, views.dtype, view_order=range(views.n_views))
    seed = child_seed(generator(random_state))
    drawn = draw(engine, min(MOST_ROWS, len(views)), seed)
    weights = _view_weights(model, views.n_views)
    own, n_clusters = labels[drawn.caller_rows], int(labels.max()) + 1
    near = neighbours(first_rows(drawn.block), _scalings(model, drawn))
    shares = measure_influence(near, own, weights, n_clusters)
    certainty = to_host(model.certainty_) if hasattr(model, "certainty_") else None
    typical, doubtful = typical_and_doubtful(labels, certainty, n_clusters, n_rows)
    return Explanation(
        view_names=views.names,
        sizes=np.bincount(labels, minlength=n_clusters),
        view_influence=shares.overall,
        cluster_influence=shares.by_cluster,
        view_agreement=_view_agreement(near, own, n_clusters),
        left_out=_left_out(model, views, drawn.caller_rows, along),
        certainty=certainty,
        typical=typical,
        doubtful=doubtful,
        effects=feature_effects(views, labels, n_clusters, n_features),
        row_names=views.row_names,
    )


def require_here(views: Any, title: str) -> None:
    """Refuse rows on workers where they are looked at here."""
    if not isinstance(views, Views):
        raise InputError(
            f"{title} looks at the views where it runs, and these are Dask "
            "collections. Compute them, or give the paths of their files."
        )


def _fitted_rows(model: MultiViewClusterer, views: Any) -> tuple[Views, Matrix]:
    """The views as the model knows them, and its labels; as many rows as it has."""
    if not isinstance(model, MultiViewClusterer):
        raise InputTypeError(
            "Only a fitted method of this package can be explained; got "
            f"{type(model).__name__}. Give the model first, then its views."
        )
    own = model._views_of_fit(views)
    require_here(own, "explain")
    return own, to_host(model.labels_)


def _view_weights(model: Any, n_views: int) -> Matrix:
    """The weight of every view; the mean where each row has its own, as in WNN."""
    weights = np.asarray(getattr(model, "view_weights_", np.ones(n_views)))
    return np.asarray(weights.mean(axis=0)) if weights.ndim == 2 else weights


def _scalings(model: MultiViewClusterer, drawn: Draw) -> tuple[Scaling, ...]:
    """The preparation of the views in the fit, or the one we would choose."""
    passes = getattr(model, "_passes", None)
    if passes is not None:
        made = passes.spectrum.graph if passes.start is None else passes.start.features
        return tuple(made.scalings[v] for v in np.argsort(passes.view_order))
    return choose_scalings(drawn, "auto", model.n_clusters_)


def _view_agreement(near: list[Matrix], labels: Matrix, n_clusters: int) -> Matrix:
    """ARI between the neighbour votes of every two views, on rows that have both."""
    own = labels[: len(near[0])]
    votes = [vote(nearest, own, n_clusters) for nearest in near]
    out = np.eye(len(votes))
    for v, first in enumerate(votes):
        for w, second in enumerate(votes[:v]):
            both = (first >= 0) & (second >= 0)
            value = adjusted_rand_score(first[both], second[both])
            out[v, w] = out[w, v] = value if both.any() else 0.0
    return out


def typical_and_doubtful(
    labels: Matrix, certainty: Matrix | None, n_clusters: int, n_rows: int
) -> tuple[list[Matrix], list[Matrix]]:
    """Rows of highest and lowest certainty of every cluster."""
    typical, doubtful = [], []
    for j in range(n_clusters):
        rows = np.flatnonzero(labels == j)
        if certainty is None:
            rows = rows[:0]
        else:
            rows = rows[np.argsort(certainty[rows], kind="stable")]
        doubtful.append(rows[:n_rows])
        typical.append(rows[::-1][:n_rows])
    return typical, doubtful


def _along(
    model: MultiViewClusterer, n_samples: int, order: Any, groups: Any
) -> dict[str, Matrix]:
    """What other fits like the model's are to be given: what that one was."""
    given = {"order": order, "groups": groups}
    keys = {n: check_per_row(k, n_samples, n) for n, k in given.items()}
    along = {name: key for name, key in keys.items() if key is not None}
    unused = [name for name in along if not has_fit_parameter(model, name)]
    if unused:
        raise InputError(
            f"{type(model).__name__} does not use {unused[0]}=. Leave it out."
        )
    missing = [n for n in getattr(model, "fitted_along_", ()) if n not in along]
    if missing:
        raise InputError(
            f"The model was fitted with {missing[0]}=, and the fits without a view "
            f"need it too. Give the same {missing[0]}=, or leave_out=False."
        )
    return along


def _left_out(
    model: MultiViewClusterer,
    views: Views,
    rows: Matrix,
    along: dict[str, Matrix] | None,
) -> Matrix | None:
    """1 − ARI between the clusters with and without each view; `along` the order."""
    if along is None or views.n_views < 2:
        return None
    if len(rows) == len(views):
        part, own = views, to_host(model.labels_)
    else:
        rows = np.sort(rows)
        along = {name: key[rows] for name, key in along.items()}
        keyed = has_fit_parameter(model, "order")
        if keyed and model.__sklearn_tags__().multiview.order_dependent:
            # Where rows stood among all: durations are counted in those.
            along.setdefault("order", rows)
        part = views[rows]
        own = _labels_of_others(model, part, along)
    change = []
    for v in range(views.n_views):
        kept = part.without(v)
        # Rows that had this view alone cannot be clustered without it.
        there = kept.rows_with_any()
        keys = {name: key[there] for name, key in along.items()}
        again = _labels_of_others(model, kept[there], keys)
        change.append(1.0 - adjusted_rand_score(own[there], again))
    return np.array(change)


def _labels_of_others(
    model: MultiViewClusterer, views: Views, along: dict[str, Matrix]
) -> Matrix:
    """Labels of other rows or views by a fit like the model's."""
    other = model._fresh(n_clusters=model.n_clusters_)
    with warnings.catch_warnings():
        # The model's own fit has said what there is to say about the order.
        warnings.simplefilter("ignore", OrderWarning)
        return to_host(other.fit(views, **along).labels_)


def feature_effects(
    views: Views, labels: Matrix, n_clusters: int, n_features: int
) -> list[Effect]:
    """The features of largest effect for every cluster."""
    sizes, means = effect_sizes(views, labels, n_clusters)
    out = []
    for j, numbers in enumerate(zip(sizes, *means, strict=True)):
        out += largest_effects(views, range(views.n_views), j, numbers, n_features)
    return out


def largest_effects(
    views: Views,
    order: Iterable[int],
    cluster: int,
    numbers: tuple[Matrix, ...],
    n_features: int,
) -> list[Effect]:
    """The features of largest effect; `numbers` have the views in this order.

    They are effects and means inside and outside, of every feature.
    """
    columns = [(v, i) for v in order for i in range(views.n_features[v])]
    out, sizes = [], np.abs(numbers[0])
    best = np.argsort(-sizes, kind="stable")[:n_features]
    for c in best[sizes[best] > 0].tolist():
        v, i = columns[c]
        names = views.feature_names[v]
        name = f"feature {i}" if names is None else names[i]
        row = (float(values[c]) for values in numbers)
        out.append(Effect(cluster, views.names[v], name, *row))
    return out
