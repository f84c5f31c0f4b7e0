"""New rows held against those of the fit, view by view and cluster by cluster.

A fit keeps, for rows drawn by content, how far they lie from a few landmarks of every
view (`stages.reach`). Rows like those of the fit have distances like theirs: the two
samples are exchangeable, so rank tests know how often they differ by chance, whatever
the distribution and whatever the order of the rows.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import hypergeom, ks_2samp, rankdata

from manyview.arrays.ops import Matrix, to_host
from manyview.base import PassClusterer
from manyview.errors import InputError, InputTypeError, OutsideWarning
from manyview.stages.reach import ROUNDING, Reach
from manyview.views.parsing import is_dask
from manyview.views.views import Views

# Up to so many pairs of rows the distribution of the largest gap is counted exactly;
# beyond, its limit is as good and far cheaper.
EXACT_PAIRS = 10_000


class Measured(NamedTuple):
    """Where the fitted model puts rows: clusters, and distances (n_rows, n_views).

    Distances are in units of the reach of their view; 0 says nothing: the row lacks
    the view, or is a landmark itself.
    """

    labels: Matrix
    distances: Matrix


class Comparison(NamedTuple):
    """New rows beside those of the fit.

    Attributes
    ----------
    gaps : array (n_clusters, n_views)
        Largest gap between the two cumulative distributions of distances, 0 to 1.
    ratios : array (n_clusters, n_views)
        Median distance of the new rows over that of the fit; NaN where one is unknown.
    cells, views : arrays (n_clusters, n_views), (n_views,)
        How likely chance alone makes such gaps in the cells (Kolmogorov and Smirnov),
        and such ranks over all cells of a view (van Elteren).
    """

    gaps: Matrix
    ratios: Matrix
    cells: Matrix
    views: Matrix


def require_reference(model: Any) -> Reach:
    """What the model keeps of its rows; a sentence where it keeps nothing."""
    if not isinstance(model, PassClusterer):
        raise InputTypeError(
            "New rows can be held against a fitted S2MVTC, SequenceS2MVTC or "
            f"AnchorSpectral; got {type(model).__name__}. Give the model first, then "
            "the views."
        )
    model._check_fitted()
    reach: Reach | None = getattr(model, "_reach", None)
    if reach is None or reach.distances is None:
        raise InputError(
            "The model keeps no distances to hold new rows against: an earlier release "
            "has written it. Fit it again."
        )
    return reach


def measure(model: Any, views: Views) -> Measured:
    """One replay of the model on the views, wherever their rows lie."""
    with warnings.catch_warnings():
        # What lies outside is part of the answer.
        warnings.simplefilter("ignore", OutsideWarning)
        width = 2 + views.n_views
        found = views.each(model._without_rows()._placed_of, np.float64, width)
        host = np.asarray(found) if is_dask(found) else to_host(found)
    return Measured(host[:, 0].astype(np.intp), host[:, 2:])


def reference(model: Any) -> Measured:
    """The same of the rows that the fit has kept, views in the caller's order."""
    reach = require_reference(model)
    order = np.argsort(model._passes.view_order)
    labels, distances = to_host(reach.labels), to_host(reach.distances)
    return Measured(labels.astype(np.intp), distances[:, order].astype(np.float64))


def compare(old: Measured, new: Measured, n_clusters: int) -> Comparison:
    """Every cluster in every view, and every view over its clusters."""
    n_views = old.distances.shape[1]
    gaps, cells = np.zeros((n_clusters, n_views)), np.ones((n_clusters, n_views))
    ratios, views = np.full((n_clusters, n_views), np.nan), np.ones(n_views)
    for v in range(n_views):
        pairs = [(_told(old, j, v), _told(new, j, v)) for j in range(n_clusters)]
        for j, (a, b) in enumerate(pairs):
            if min(a.size, b.size) > 0:
                gaps[j, v], cells[j, v] = largest_gap(a, b)
                ratios[j, v] = np.median(b) / np.median(a)
        views[v] = stratified_ranks(pairs)
    return Comparison(gaps, ratios, cells, views)


def largest_gap(a: Matrix, b: Matrix) -> tuple[float, float]:
    """Kolmogorov and Smirnov's statistic of two samples, and its p value."""
    how = "exact" if a.size * b.size <= EXACT_PAIRS else "asymp"
    with warnings.catch_warnings():
        # Where counting fails, for gaps that are all but certain, the limit is taken.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ks_2samp(a, b, method=how)
    return float(found.statistic), float(found.pvalue)


def _told(rows: Measured, cluster: int, v: int) -> Matrix:
    """Known distances of a cluster's rows, in steps that rounding does not cross."""
    own = rows.distances[rows.labels == cluster, v]
    return np.asarray(np.rint(own[own > 0] / ROUNDING) + 1.0)


def stratified_ranks(pairs: list[tuple[Matrix, Matrix]]) -> float:
    """Two-sided p value of van Elteren's rank test: every pair by its own ranks.

    E. van Elteren, On the combination of independent two-sample tests of Wilcoxon
    (1960), ties averaged. Shares of the clusters play no part.
    """
    total, variance = 0.0, 0.0
    for a, b in pairs:
        m, n, size = a.size, b.size, a.size + b.size
        if min(m, n) == 0:
            continue
        both = np.concatenate([a, b])
        beyond = rankdata(both)[m:].sum() - n * (size + 1) / 2
        ties = np.unique(both, return_counts=True)[1].astype(np.float64)
        tied = float((ties**3 - ties).sum()) / (size * (size - 1))
        total += beyond / (size + 1)
        variance += m * n * (size + 1 - tied) / (12 * (size + 1) ** 2)
    return float(2 * ndtr(-abs(total) / np.sqrt(variance))) if variance > 0 else 1.0


def share_tests(before: Matrix, now: Matrix) -> Matrix:
    """p value of every cluster's share: rows (n_clusters,) of the fit, and new ones."""
    drawn, marked = int(now.sum()), before + now
    law = hypergeom(int(marked.sum()), marked, drawn)
    # The less likely side, doubled; the share itself counts to both.
    tail = np.minimum(law.cdf(now), law.sf(now - 1))
    return np.asarray(np.minimum(2.0 * tail, 1.0))


def holm(p_values: Matrix) -> Matrix:
    """p values adjusted for their number: with rate r, any false alarm in r of cases.

    S. Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    flat = np.asarray(p_values, dtype=np.float64).ravel()
    order = np.argsort(flat, kind="stable")
    steps = flat[order] * np.arange(flat.size, 0, -1)
    out = np.empty_like(flat)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return out.reshape(np.shape(p_values))
