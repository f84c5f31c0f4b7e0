"""What the methods of passes keep per row and how much work they do.

Counts for `plan`: two floating-point operations per multiply-add, as many
passes of k-means as there may be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manyview.engine.local import BLOCK_ROWS, n_threads, work_bytes
from manyview.engine.plan import Budget, Need, Plan, make_plan, parse_memory
from manyview.kmeans.passes import MOST_PASSES
from manyview.stages.anchor_graph import VECTORS
from manyview.stages.anchors import anchor_count
from manyview.stages.kernels import feature_passes
from manyview.stages.sampling import SAMPLED_ROWS
from manyview.views.views import Views


class Cost(NamedTuple):
    """Fields of the state, passes (and those that read the views), work.

    `flops` is matrix products; `touched` counts bytes of distances and features,
    whose minima and exponentials cost more than their products on narrow views.
    """

    needs: list[Need]
    passes: int
    reads: int
    flops: float
    touched: float


def plan_of(model: Any, views: Views) -> Plan:
    """The plan of a fit with the model's parameters."""
    dtype = np.dtype(model.dtype or views.dtype)
    rows = min(model.block_rows or BLOCK_ROWS, len(views))
    limit = parse_memory(model.memory_limit)
    budget = Budget(
        limit, len(views), work_bytes(rows, views.n_features, dtype.itemsize)
    )
    cost = model._cost(len(views), views.n_features, dtype.itemsize)
    return make_plan(
        cost.needs,
        budget,
        block_rows=rows,
        passes=cost.passes,
        reads=cost.reads,
        data_bytes=float(len(views)) * sum(views.n_features) * dtype.itemsize,
        flops=cost.flops,
        touched=cost.touched,
        threads=n_threads(),
    )


def graph_cost(
    n: int, n_features: tuple[int, ...], itemsize: int, n_clusters: int, model: Any
) -> Cost:
    """The anchor graph, its basis, and k-means on as many columns."""
    width = VECTORS * n_clusters
    share = model.n_graph_anchors / len(n_features)
    seen = n if n <= SAMPLED_ROWS else n + SAMPLED_ROWS
    flops = 2.0 * seen * sum(n_features) * share
    flops += 2.0 * n * width * n_clusters * MOST_PASSES
    needs = [Need("F", width * itemsize), Need("labels", 8.0)]
    touched = float(seen) * model.n_graph_anchors * itemsize
    return Cost(needs, 6 + MOST_PASSES, 4, flops, touched)


def rounds_cost(n: int, n_features: tuple[int, ...], itemsize: int, model: Any) -> Cost:
    """Features, their Grams, and the rounds."""
    n_clusters = model.n_clusters if isinstance(model.n_clusters, int) else 8
    m = anchor_count(model.n_anchors, n, n_clusters)
    n_views = len(n_features)
    uses_graph = model.smoothing in ("graph", "graph+sequence")
    k = VECTORS * n_clusters if uses_graph else model.n_components
    once = 2.0 * m * sum(n_features)
    # Float64 products at twice the price, or float32 ones of a sample of the rows.
    rough = model.lam is None and n > SAMPLED_ROWS
    gram = m * m * n_views * (float(SAMPLED_ROWS) if rough else 2.0 * n)
    each_round = 4.0 * m * k * n_views
    needs = [
        Need(
            "features",
            float(m * n_views * itemsize),
            once,
            feature_passes(model.n_rounds, rough),
        ),
        Need("B_bar", float(k * itemsize)),
    ]
    passes, reads = 5 + model.n_rounds, 5 + model.n_rounds
    touched = float(n) * m * n_views * itemsize
    flops = gram + n * (once + each_round * (model.n_rounds + 1))
    if not uses_graph:
        needs += [Need("F", (2.0 * model.n_low - 1) * itemsize), Need("labels", 8.0)]
        return Cost(needs, passes + 1 + MOST_PASSES, reads, flops, touched)
    more = graph_cost(n, n_features, itemsize, n_clusters, model)
    return Cost(
        needs + more.needs,
        passes + more.passes - 2,
        reads + 2,
        flops + more.flops,
        touched + more.touched,
    )
