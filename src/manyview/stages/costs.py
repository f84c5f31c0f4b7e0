"""What the methods of passes keep per row and how much work they do.

Counts for `plan`: two floating-point operations per multiply-add, as many
passes of k-means as there may be. What happens once, beside the passes, counts as
well: searches for anchors and starts, the graph's vectors, the ridge.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.linear import SPARSE_COST
from manyview.engine.contract import sizes
from manyview.engine.plan import Need, Plan, Work, make_plan
from manyview.engine.scratch import parse_memory, work_bytes
from manyview.kmeans.passes import (
    KMEANS_SAMPLE,
    LARGE_ROWS_PER_ANCHOR,
    LARGE_SEARCH,
    LARGE_STEPS,
    MOST_PASSES,
    ROWS_PER_ANCHOR,
    search_steps,
)
from manyview.stages.anchor_graph import (
    MOST_DRAWS,
    VECTORS,
    resolutions,
    sample_size,
)
from manyview.stages.anchors import anchor_count, feature_passes
from manyview.stages.refining import (
    MOST_PARTS,
    REFINED_ROWS,
    ROWS_PER_CLUSTER,
    affordable_rows,
)
from manyview.stages.scaling import DIRECTIONS
from manyview.stages.sequence_settings import setting
from manyview.views.arguments import check_count
from manyview.views.disk_views import DiskViews
from manyview.views.views import Views

# Clusters to plan for where their number is yet to be found.
UNKNOWN_CLUSTERS = 8
# Of one core of common hardware, a second: entries of sparse products, pairs of
# entries of a sparse Gram, bytes of a matrix that Lanczos steps read.
SPARSE_RATE = 1.5e9
PAIR_RATE = 1.1e8
LANCZOS_RATE = 2.5e10
# Lanczos steps per vector that they hold (counted on generated data).
LANCZOS_STEPS = 2
# Steps of a search for starts, and what its narrow float64 products cost beside wide
# float32 ones (timed).
START_STEPS = 20
NARROW = 10.0
# Distances whose few smallest are sought, beside those given their exponential.
NEAREST = 2.0
# A float64 matrix of size m is brought to three diagonals in so many m³ operations
# of a float32 product (timed).
RIDGE_WORK = 6.0
# Communities of all rows: pairs of rows a second whose distance is found and looked
# at in a view, and seconds beside that (timed).
NEIGHBOUR_RATE = 2e8
COMMUNITY_SECONDS = 0.15
# One search for anchors of a view, however few its rows (timed).
SEARCH_SECONDS = 0.007
FLOAT64 = 8.0


class Cost(NamedTuple):
    """Fields of the state, passes (and those that read the views), work.

    The work of the passes, that of the set-up, and what travels where there are
    workers: see `Work`.
    """

    needs: list[Need]
    passes: int
    reads: int
    flops: float
    touched: float
    setup_flops: float = 0.0
    setup_touched: float = 0.0
    setup_seconds: float = 0.0
    sent_bytes: float = 0.0
    gathered_bytes: float = 0.0

    def plus(self, other: "Cost") -> "Cost":
        """Both together."""
        pairs: Any = zip(self, other, strict=True)
        return Cost(*(a + b for a, b in pairs))


class Shape(NamedTuple):
    """Data as far as a plan has to know it."""

    n_samples: int
    n_features: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.float32)


def shape_of(X: Any) -> Shape | None:
    """The shape that stands for data, (rows, [columns of every view]), if X is one."""
    if not (isinstance(X, tuple) and len(X) == 2 and isinstance(X[0], int)):
        return None
    check_count(X[0], "the number of rows")
    for width in X[1]:
        check_count(width, "the number of columns of a view")
    return Shape(X[0], tuple(X[1]))


def plan_of(model: Any, data: Views | Shape, workers: int = 0) -> Plan:
    """The plan of a fit with the model's parameters."""
    n_samples = data.n_samples if isinstance(data, Shape) else len(data)
    model._check_n_clusters(n_samples)
    dtype, widths = np.dtype(model.dtype or data.dtype), data.n_features
    rows = min(sizes.block_rows, n_samples)
    limit = model.memory_limit
    stored = widths if isinstance(data, Shape) else stored_widths(data)
    priced = zip(widths, stored, strict=True)
    most = DIRECTIONS if n_samples > sizes.exact_rows else max(widths)
    wide = (min(w, SPARSE_COST * s, most) if s < w else w for w, s in priced)
    priced_widths = tuple(wide)
    cost = model._cost(n_samples, priced_widths, dtype.itemsize)
    work = Work(
        n_samples=n_samples,
        block_rows=rows,
        data_bytes=float(n_samples) * sum(stored) * dtype.itemsize,
        block_bytes=work_bytes(rows, widths, dtype),
        rows_in_files=isinstance(data, DiskViews),
        **{name: value for name, value in cost._asdict().items() if name != "needs"},
    )
    limit = None if limit is None else parse_memory(limit)
    return make_plan(cost.needs, work, limit, workers)


def stored_widths(views: Views) -> tuple[int, ...]:
    """Entries of a row that every view holds: of a sparse one, the mean."""
    pairs = zip(views.arrays, views.n_features, strict=True)
    return tuple(-(-x.nnz // len(views)) if sp.issparse(x) else w for x, w in pairs)


def _clusters(model: Any) -> int:
    return model.n_clusters if isinstance(model.n_clusters, int) else UNKNOWN_CLUSTERS


def search_cost(n: int, n_features: tuple[int, ...], n_anchors: int) -> Cost:
    """One search for anchors of every view: products, and distances looked at."""
    rows, steps = min(n, ROWS_PER_ANCHOR * n_anchors), search_steps(n_anchors)
    if n_anchors >= rows:
        return Cost([], 0, 0, 0.0, 0.0)
    if rows * n_anchors * max(n_features) > LARGE_SEARCH:
        rows, steps = min(n, LARGE_ROWS_PER_ANCHOR * n_anchors), LARGE_STEPS
    entries = float(rows) * n_anchors * steps
    flops, touched = 2.0 * entries * sum(n_features), 4.0 * entries * len(n_features)
    return Cost([], 0, 0, 0.0, 0.0, flops, touched, SEARCH_SECONDS * len(n_features))


def communities_cost(n: int, n_views: int) -> Cost:
    """Neighbours of all rows in every view, and communities of their graphs."""
    seconds = COMMUNITY_SECONDS + n_views * float(n) ** 2 / NEIGHBOUR_RATE
    return Cost([], 0, 0, 0.0, 0.0, setup_seconds=seconds)


def refining_cost(n: int, n_features: tuple[int, ...], n_clusters: int) -> Cost:
    """Neighbours of some rows in every view, and a pass more over all labels.

    Before it one over the views, where their discriminants give the clusters.
    """
    most = min(n, sizes.exact_rows)
    n_rows = affordable_rows(min(REFINED_ROWS, most), float(sum(n_features)))
    if n_rows < ROWS_PER_CLUSTER * n_clusters:
        return Cost([], 0, 0, 0.0, 0.0)
    pairs = float(n_rows) ** 2 * min(MOST_PARTS, most // n_rows)
    seconds = COMMUNITY_SECONDS + len(n_features) * pairs / NEIGHBOUR_RATE
    # Float64 products at twice the price of the passes' own.
    flops = 2.0 * 2.0 * pairs * sum(n_features)
    return Cost([], 2, 1, 0.0, 0.0, setup_flops=flops, setup_seconds=seconds)


def spectrum_seconds(entries: float, size: int, n_views: int, n_clusters: int) -> float:
    """The graph's vectors, and those of every view's part alone."""
    all_steps = LANCZOS_STEPS * 3 * VECTORS * n_clusters
    own_steps = LANCZOS_STEPS * 3 * n_clusters
    if SPARSE_COST * entries <= float(size) ** 2:
        return 2.0 * entries * (all_steps + own_steps) / SPARSE_RATE
    read = FLOAT64 / 2 * size**2 * (all_steps + own_steps / n_views)
    return read / LANCZOS_RATE


def graph_cost(
    n: int,
    n_features: tuple[int, ...],
    itemsize: int,
    model: Any,
    *,
    communities: bool = False,
) -> Cost:
    """The anchor graph, its basis, and k-means on as many columns or communities."""
    n_clusters, n_views = _clusters(model), len(n_features)
    width, n_anchors = VECTORS * n_clusters, setting(model, "n_graph_anchors")
    share = max(n_anchors // n_views, 1)
    levels = resolutions(n, n_clusters, share)
    n_draws = int(np.clip(share // sum(levels), 1, MOST_DRAWS))
    size = n_views * n_draws * sum(levels)
    sampled = min(n, sizes.sampled_rows)
    ties = n_views * n_draws * len(levels) * setting(model, "n_neighbors")
    seconds = spectrum_seconds(sampled * ties, size, n_views, n_clusters)
    if SPARSE_COST * sampled * ties > float(size) ** 2:
        seconds += sampled * float(ties) ** 2 / PAIR_RATE
    starts = 2.0 * min(n, KMEANS_SAMPLE) * n_clusters * width * START_STEPS
    columns = sum(n_features)
    own = Cost(
        needs=[Need("F", width * itemsize), Need("labels", 8.0)],
        passes=6 + MOST_PASSES,
        reads=4,
        flops=2.0 * n * columns * size / n_views
        + 2.0 * n * width * n_clusters * MOST_PASSES,
        touched=NEAREST * n * size * itemsize,
        setup_flops=0.0 if communities else NARROW * (model.n_init + 1) * starts,
        setup_seconds=seconds,
        sent_bytes=FLOAT64 * size * (columns / n_views + width),
        gathered_bytes=sampled * ties * (FLOAT64 + 4)
        + float(min(n, sample_size(n_anchors, n_views))) * columns * itemsize,
    )
    for level in levels:
        search = search_cost(n, n_features, level)
        for _ in range(n_draws):
            own = own.plus(search)
    return own.plus(communities_cost(n, n_views)) if communities else own


def rounds_cost(
    n: int,
    n_features: tuple[int, ...],
    itemsize: int,
    model: Any,
    *,
    graph: bool,
    n_rounds: int,
    communities: bool = False,
    refined: bool = False,
) -> Cost:
    """Features, their Grams, and the rounds."""
    n_clusters = _clusters(model)
    m = anchor_count(model.n_anchors or model.usual_anchors, n, n_clusters)
    n_views = len(n_features)
    k = VECTORS * n_clusters if graph else setting(model, "n_components")
    once = 2.0 * m * sum(n_features)
    # Float64 products at twice the price, or float32 ones of a sample of the rows.
    rough = model.lam is None and n > sizes.sampled_rows
    gram = m * m * n_views * (float(sizes.sampled_rows) if rough else 2.0 * n)
    uses = feature_passes(n_rounds, rough)
    needs = [
        Need("features", float(m * n_views * itemsize), once, uses),
        Need("B_bar", float(k * itemsize)),
    ]
    own = Cost(
        needs=needs,
        passes=5 + n_rounds,
        reads=5 + n_rounds,
        flops=gram + n * (once + 4.0 * m * k * n_views * (n_rounds + 1)),
        touched=float(n) * m * n_views * itemsize,
        setup_flops=RIDGE_WORK * float(m) ** 3 * n_views,
        # Anchors go out; Grams come back, then PhiᵀB, and fits go out in every round.
        sent_bytes=FLOAT64
        * m
        * (sum(n_features) + n_views * (m + 2.0 * k * (n_rounds + 1))),
    ).plus(search_cost(n, n_features, m))
    if not graph:
        n_low = setting(model, "n_low")
        kept = [Need("F", (2.0 * n_low - 1) * itemsize), Need("labels", 8.0)]
        return own.plus(Cost(kept, 1 + MOST_PASSES, 0, 0.0, 0.0))
    # Two passes are the same for both.
    more = graph_cost(n, n_features, itemsize, model, communities=communities)
    more = more._replace(passes=more.passes - 2, reads=2)
    if refined:
        more = more.plus(refining_cost(n, n_features, n_clusters))
    return own.plus(more)
