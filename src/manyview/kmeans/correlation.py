"""k-means by correlation: the D, G step of the paper's eq. (18) as its authors run it.

Rows are z-scored, so the largest inner product is the largest correlation; one
start, ten steps.
"""

import numpy as np

from manyview.arrays.ops import Matrix, to_host, z_score
from manyview.engine.contract import Engine
from manyview.kmeans.passes import (
    FIELD,
    LABELS,
    Centres,
    Clustering,
    assign_step,
    pick,
)


def correlation(sums: Matrix, counts: Matrix) -> Centres:
    """Best centre by correlation; an empty cluster is never chosen."""
    offsets = np.where(counts > 0, 0.0, np.inf)
    return Centres(z_score(sums), offsets)


def correlation_kmeans(engine: Engine, rows: Matrix, max_iter: int = 10) -> Clustering:
    """Correlation k-means from the given rows as centres: one start, few steps."""
    first = to_host(pick(engine, FIELD, rows))
    centres = correlation(first, np.ones(len(rows)))
    for _ in range(max_iter):
        total, _ = engine.run(assign_step, centres, title="Clustering", views=False)
        centres = correlation(to_host(total["sums"]), to_host(total["counts"]))
    total, _ = engine.run(assign_step, centres, title="Clustering", views=False)
    inertia = float(total["inertia"])
    return Clustering(centres, engine.read(LABELS), inertia, max_iter)
