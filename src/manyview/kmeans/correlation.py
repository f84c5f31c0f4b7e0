"""k-means by correlation: the D, G step of the paper's eq. (18) as its authors run it.

Rows are z-scored, so the largest inner product is the largest correlation; one start,
ten steps. `correlation_kmeans` starts from rows of the last consensus. The authors'
program labels the rows by inner products with c rows of the *first* consensus, and the
last step starts from these labels (`first_labels_kmeans`). The first consensus is not
normalised: long rows win over short ones, and clusters of short rows stay empty for
good; from rows of the last consensus there are none.
"""

import numpy as np

from manyview.arrays.ops import Matrix, index_count, index_sum, to_host, z_score
from manyview.engine.contract import Engine, Result, State, Totals, touches
from manyview.kmeans.passes import (
    FIELD,
    LABELS,
    Centres,
    Clustering,
    assign_step,
    nearest,
    pick,
)
from manyview.views.views import Block

FIRST_LABELS = "first_labels"
# Steps of D and G: the authors' program.
N_STEPS = 10


def correlation(sums: Matrix, counts: Matrix) -> Centres:
    """Best centre by correlation; an empty cluster is never chosen."""
    offsets = np.where(counts > 0, 0.0, np.inf)
    return Centres(z_score(sums), offsets)


def correlation_kmeans(
    engine: Engine, rows: Matrix, max_iter: int = N_STEPS
) -> Clustering:
    """Correlation k-means from the given rows as centres: one start, few steps."""
    first = to_host(pick(engine, FIELD, rows))
    centres = correlation(first, np.ones(len(rows)))
    for _ in range(max_iter):
        total = _assign(engine, centres)
        centres = correlation(to_host(total["sums"]), to_host(total["counts"]))
    return _found(engine, centres, _assign(engine, centres), max_iter)


def keep_first_labels(engine: Engine, rows: Matrix) -> None:
    """G before the rounds: the best of the given rows of B_bar by inner product."""
    centres = _by_inner_product(to_host(pick(engine, FIELD, rows)))
    engine.run(first_labels_step, centres, title="Clustering", views=False)


def first_labels_kmeans(engine: Engine, n_clusters: int) -> Clustering:
    """Ten steps of D and G on the last B_bar, from the labels that were kept."""
    total, _ = engine.run(first_sums_step, n_clusters, title="Clustering", views=False)
    for _ in range(N_STEPS):
        # D = z-scores of the sums; an empty cluster correlates with nothing.
        centres = _by_inner_product(z_score(to_host(total["sums"])))
        total = _assign(engine, centres)
    return _found(engine, centres, total, N_STEPS)


@touches(reads=[FIELD], writes=[FIRST_LABELS])
def first_labels_step(block: Block, state: State, shared: Centres) -> Result:
    """The label of every row, under a name that the rounds leave alone."""
    return Result(state={FIRST_LABELS: nearest(state[FIELD], shared)[0]})


@touches(reads=[FIELD, FIRST_LABELS])
def first_sums_step(block: Block, state: State, shared: int) -> Result:
    """Sums of the rows of B_bar by the labels that were kept."""
    labels = state[FIRST_LABELS]
    sums = index_sum(state[FIELD], labels, shared)
    return Result(stats={"sums": sums, "counts": index_count(labels, shared)})


def _by_inner_product(points: Matrix) -> Centres:
    return Centres(points, np.zeros(len(points)))


def _assign(engine: Engine, centres: Centres) -> Totals:
    return engine.run(assign_step, centres, title="Clustering", views=False)[0]


def _found(engine: Engine, centres: Centres, total: Totals, n_iter: int) -> Clustering:
    return Clustering(centres, engine.read(LABELS), float(total["inertia"]), n_iter)
