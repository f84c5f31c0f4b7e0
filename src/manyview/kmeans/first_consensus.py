"""The D, G step of the paper's eq. (18) with G fixed before the rounds, as published.

The authors' program labels the rows by inner products with c rows of the *first*
consensus, and the last step starts from these labels. The first consensus is not
normalised: long rows win over short ones, and clusters of short rows stay empty for
good. `correlation_kmeans`, which starts from rows of the last consensus, has none.
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


def keep_first_labels(engine: Engine, rows: Matrix) -> None:
    """G before the rounds: the best of the given rows of B_bar by inner product."""
    centres = _by_inner_product(to_host(pick(engine, FIELD, rows)))
    engine.run(first_labels_step, centres, title="Clustering", views=False)


def first_labels_kmeans(engine: Engine, n_clusters: int) -> Clustering:
    """Ten steps of D and G on the last B_bar, from the labels that were kept."""
    total, _ = engine.run(first_sums_step, n_clusters, title="Clustering", views=False)
    for _ in range(N_STEPS):
        centres = _correlated(total)
        total, _ = engine.run(assign_step, centres, title="Clustering", views=False)
    inertia = float(total["inertia"])
    return Clustering(centres, engine.read(LABELS), inertia, N_STEPS)


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


def _correlated(total: Totals) -> Centres:
    """D = z-scores of the sums; an empty cluster correlates with nothing."""
    return _by_inner_product(z_score(to_host(total["sums"])))


def _by_inner_product(points: Matrix) -> Centres:
    return Centres(points, np.zeros(len(points)))
