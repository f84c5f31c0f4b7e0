"""Which views are joined by rows that have both: the rest cannot be aligned.

Rows need not have all views. A chain is enough: rows with the first and the second,
others with the second and the third. Where nothing joins two groups of views, nothing
tells which of their clusters belong together.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.sparse.csgraph import connected_components

from manyview.arrays.ops import Matrix, to_host
from manyview.engine.contract import Engine, Result, State, touches
from manyview.errors import DegenerateWarning
from manyview.stages.sampling import Draw
from manyview.views.views import Block


def check_views_overlap(
    engine: Engine, drawn: Draw, names: Sequence[str], n_clusters: int
) -> None:
    """Warn of groups of views that no row joins, or fewer rows than clusters."""
    joint = _joint(to_host(drawn.block.present))
    if _groups(joint >= n_clusters).max() > 0:
        # The drawn rows do not tell of all; few may join what they leave apart.
        total, _ = engine.run(overlap_step, title="Looking for rows that join views")
        joint = to_host(total["joint"])
    groups = _groups(joint >= n_clusters)
    if groups.max() == 0:
        return
    members = [np.flatnonzero(groups == g).tolist() for g in np.unique(groups)]
    members.sort(key=lambda views: sorted(names[v] for v in views))
    first, second = (", ".join(sorted(names[v] for v in m)) for m in members[:2])
    count = int(joint[np.ix_(*members[:2])].max())
    warnings.warn(
        f"{'No row has' if count == 0 else f'At most {count} rows have'} both a view "
        f"of {first} and one of {second}, for {n_clusters} clusters: there is no "
        "overlap to learn from which clusters of the one are those of the other. Add "
        "rows that have both, or cluster the two by themselves.",
        DegenerateWarning,
        stacklevel=4,
    )


def _joint(present: Matrix) -> Matrix:
    """Rows (n_views, n_views) that have both views."""
    there = present.astype(np.int64)
    return there.T @ there


def _groups(joined: Matrix) -> Matrix:
    """The number of the group that every view is in."""
    return np.asarray(connected_components(joined, directed=False)[1])


@touches()
def overlap_step(block: Block, state: State, shared: None) -> Result:
    """Rows of the block that have both of two views."""
    return Result(stats={"joint": _joint(to_host(block.present))})
