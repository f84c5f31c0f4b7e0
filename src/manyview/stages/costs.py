"""What the methods of passes keep per row and how much work they do.

Counts for `plan`: two floating-point operations per multiply-add, as many
passes of k-means as there may be.
"""

from typing import Any, NamedTuple

import numpy as np

from manyview.engine.contract import sizes
from manyview.engine.plan import Need, Plan, Work, make_plan
from manyview.engine.scratch import parse_memory, work_bytes
from manyview.kmeans.passes import MOST_PASSES
from manyview.stages.anchor_graph import VECTORS
from manyview.stages.anchors import anchor_count, feature_passes
from manyview.stages.sequence_settings import setting
from manyview.views.views import Views

# Clusters to plan for where their number is yet to be found.
UNKNOWN_CLUSTERS = 8


class Cost(NamedTuple):
    """Fields of the state, passes (and those that read the views), work."""

    needs: list[Need]
    passes: int
    reads: int
    flops: float
    touched: float


def plan_of(model: Any, views: Views) -> Plan:
    """The plan of a fit with the model's parameters."""
    dtype = np.dtype(model.dtype or views.dtype)
    rows = min(sizes.block_rows, len(views))
    limit = model.memory_limit
    cost = model._cost(len(views), views.n_features, dtype.itemsize)
    work = Work(
        n_samples=len(views),
        block_rows=rows,
        passes=cost.passes,
        reads=cost.reads,
        data_bytes=float(len(views)) * sum(views.n_features) * dtype.itemsize,
        block_bytes=work_bytes(rows, views.n_features, dtype),
        flops=cost.flops,
        touched=cost.touched,
    )
    return make_plan(cost.needs, work, None if limit is None else parse_memory(limit))


def _clusters(model: Any) -> int:
    known = isinstance(model.n_clusters, int)
    return model.n_clusters if known else UNKNOWN_CLUSTERS


def graph_cost(n: int, n_features: tuple[int, ...], itemsize: int, model: Any) -> Cost:
    """The anchor graph, its basis, and k-means on as many columns."""
    n_clusters = _clusters(model)
    width, n_anchors = VECTORS * n_clusters, setting(model, "n_graph_anchors")
    looked_at = n if n <= sizes.sampled_rows else n + sizes.sampled_rows
    flops = 2.0 * looked_at * sum(n_features) * n_anchors / len(n_features)
    flops += 2.0 * n * width * n_clusters * MOST_PASSES
    needs = [Need("F", width * itemsize), Need("labels", 8.0)]
    touched = float(looked_at) * n_anchors * itemsize
    return Cost(needs, 6 + MOST_PASSES, 4, flops, touched)


def rounds_cost(
    n: int,
    n_features: tuple[int, ...],
    itemsize: int,
    model: Any,
    *,
    graph: bool,
    n_rounds: int,
) -> Cost:
    """Features, their Grams, and the rounds."""
    n_clusters = _clusters(model)
    m = anchor_count(model.n_anchors, n, n_clusters)
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
    passes = reads = 5 + n_rounds
    touched = float(n) * m * n_views * itemsize
    flops = gram + n * (once + 4.0 * m * k * n_views * (n_rounds + 1))
    if not graph:
        n_low = setting(model, "n_low")
        needs += [Need("F", (2.0 * n_low - 1) * itemsize), Need("labels", 8.0)]
        return Cost(needs, passes + 1 + MOST_PASSES, reads, flops, touched)
    more = graph_cost(n, n_features, itemsize, model)
    return Cost(
        needs + more.needs,
        passes + more.passes - 2,
        reads + 2,
        flops + more.flops,
        touched + more.touched,
    )
