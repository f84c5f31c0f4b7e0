"""How far the rows of a fit reach, and which new rows lie beyond.

A few of the drawn rows are landmarks of every view. The farthest that any other drawn
row lies from its nearest landmark, after preparation, is the reach of the view: of n
rows like those of the fit, n / (rows compared + 1) lie beyond it by chance. Views that
are compared by angle reach far by their nature: there little can lie beyond.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import pdtrc

from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    dense,
    namespace,
    row_norms,
    squared_distances,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.stages.sampling import Draw, first_rows
from manyview.stages.scaling import Scaling, apply_scaling, hide_empty_rows
from manyview.views.views import Block

BEYOND = "beyond"
# Landmarks: few cost little, and every tenth row leaves nine to compare.
MOST_LANDMARKS = 64
ROWS_PER_LANDMARK = 10
# Distances that differ by less are the same but for rounding, and so are lengths
# that are less of the rows' own.
ROUNDING = 1e-3
# Twice as far as any row of the fit is outside whatever the number of rows.
FAR = 2.0
# As many rows beyond are taken for chance unless that is rarer than this.
CHANCE = 1e-3


class Reach(NamedTuple):
    """Landmarks of every view, the reach around them, and the rows compared.

    `counts` says how many rows were compared in every view. `distances` (n_rows,
    n_views) are those of the compared rows, in units of the reach, 0 for landmarks and
    for rows without the view, and `labels` (n_rows,) their clusters: what new rows are
    held against. Models of earlier versions know neither.
    """

    scalings: tuple[Scaling, ...]
    landmarks: tuple[Matrix, ...]
    radii: tuple[float, ...]
    counts: tuple[int, ...]
    distances: Matrix | None = None
    labels: Matrix | None = None


def measure_reach(
    drawn: Draw, scalings: tuple[Scaling, ...], labels: Matrix | None = None
) -> Reach:
    """The reach of every view, from the drawn rows; `labels` are their clusters."""
    some = drawn._replace(block=first_rows(drawn.block))
    parts = [_reach_of(some.view(v), scaling) for v, scaling in enumerate(scalings)]
    landmarks, radii, counts, squares = zip(*parts, strict=True)
    there = to_host(some.block.present)
    distances = np.zeros(there.shape, dtype=np.float32)
    for v, own in enumerate(squares):
        rows = np.flatnonzero(there[:, v])[len(landmarks[v]) :]
        distances[rows, v] = np.sqrt(own) / radii[v]
    return Reach(tuple(scalings), landmarks, radii, counts, distances, labels)


def _reach_of(rows: Array, scaling: Scaling) -> tuple[Matrix, float, int, Matrix]:
    x = apply_scaling(rows, scaling)
    n_rows = int(x.shape[0])
    size = int(np.clip(n_rows // ROWS_PER_LANDMARK, 1, MOST_LANDMARKS))
    landmarks = to_host(dense(x[:size]))
    if n_rows == size:
        return landmarks, np.inf, 0, np.empty(0)
    squares = to_host(_nearest(x[size:], landmarks)).astype(np.float64)
    noise = ROUNDING**2 * float(np.max(to_host(row_norms(x)), initial=0.0))
    radius = (1.0 + ROUNDING) * np.sqrt(max(squares.max(), noise))
    # Where all rows are the same, nothing is known of how far others may lie.
    radius = float(radius) if radius > 0 else np.inf
    return landmarks, radius, n_rows - size, squares


def _nearest(x: Array, landmarks: Matrix) -> Array:
    d = squared_distances(x, landmarks)
    return namespace(d).min(d, axis=1)


@touches(writes=[BEYOND])
def reach_step(block: Block, state: State, shared: Reach) -> Result:
    """Distance of every row in units of the reach, view by view; 0 without the view."""
    block = hide_empty_rows(block, shared.scalings)
    columns = []
    for v, (x, scaling) in enumerate(zip(block.views, shared.scalings, strict=True)):
        squares = _nearest(apply_scaling(x, scaling), shared.landmarks[v])
        xp = namespace(squares)
        ratio = xp.sqrt(squares) / shared.radii[v]
        there = block.there(v)
        columns.append(ratio if there is None else ratio * cast(there, ratio))
    beyond = xp.stack(columns, axis=1)
    kinds = {"outside": beyond > 1.0, "far": beyond > FAR}
    stats = {name: xp.sum(mask, axis=0) for name, mask in kinds.items()}
    stats["rows"] = xp.sum(xp.any(kinds["outside"], axis=1))
    return Result(state={BEYOND: beyond}, stats=stats)


def look_beyond(engine: Engine, reach: Reach, names: tuple[str, ...]) -> str | None:
    """Measure the rows of an engine; a sentence where more lie outside than by chance.

    `names` are those of the views in the engine's order.
    """
    total, _ = engine.run(reach_step, reach, title="Looking for rows outside")
    n_rows = engine.n_samples
    outside, far = (to_host(total[key]).astype(int) for key in ("outside", "far"))
    expected = np.array([n_rows / (count + 1) for count in reach.counts])
    strange = (far > 0) | ((outside > 0) & (pdtrc(outside - 1, expected) < CHANCE))
    if not strange.any():
        return None
    parts = [f"{outside[v]} in view {names[v]!r}" for v in np.flatnonzero(strange)]
    return (
        f"{int(to_host(total['rows']))} of {n_rows} rows lie outside all that the "
        f"model has seen ({', '.join(parts)}): farther from the rows of the fit than "
        "any of these. They get the nearest cluster all the same; model.place(X) says "
        "which they are and how certain it is. Look at their units and columns."
    )
