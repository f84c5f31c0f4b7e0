"""The first B_v without a graph: features along their leading principal directions."""

from __future__ import annotations

import numpy as np

from manyview.arrays.ops import Array, eigh, like, namespace, wide
from manyview.stages import ridge
from manyview.stages.anchors import features
from manyview.stages.kernels import Features
from manyview.stages.rounds import Start
from manyview.stages.sampling import Draw

PRINCIPAL_ROWS = 1000
# Below this share of the largest eigenvalue, the side of a row is rounding.
LEAST_SIDES = 1e-6


def principal_start(
    drawn: Draw,
    kept: Features,
    ridges: tuple[ridge.Ridge, ...],
    n_components: int,
    seed: int,
    *,
    signs: bool,
) -> Start:
    """First B_v: leading principal directions of drawn rows of Phi_v.

    With `signs` the views share the `n_components` columns.
    """
    weights = []
    width = -(-n_components // len(ridges)) if signs else n_components
    for v, r in enumerate(ridges):
        rows = drawn.view(v)[-PRINCIPAL_ROWS:]
        phi = features(rows, kept.scalings[v], kept.kernels[v])
        floor = LEAST_SIDES if signs else 0.0
        lead = principal_directions(wide(phi), width, seed, floor)
        weights.append(ridge.express(r, lead))
    offsets = tuple(r.mean @ w for r, w in zip(ridges, weights, strict=True))
    return Start(kept, tuple(weights), offsets, signs)


def principal_directions(rows: Array, k: int, seed: int, floor: float = 0.0) -> Array:
    """Leading k principal directions (m, k) of the rows; 0 beyond their number.

    Directions whose eigenvalue is below `floor` of the largest are 0 as well. An
    eigenvector's sign is arbitrary, but z-scored rows feel it. The side of a
    random vector decides: no convention of a library, no lean to one side.
    """
    xp = namespace(rows)
    n_columns = rows.shape[1]
    away = rows - xp.mean(rows, axis=0)
    values, vectors = eigh(away.T @ away, k)
    vectors = vectors * (values >= floor * values[-1])
    vectors = xp.flip(vectors, axis=1)[:, :k]
    side = like(np.random.default_rng(seed).standard_normal(n_columns), rows) @ vectors
    vectors = xp.where(side < 0, -vectors, vectors)
    blank = like(np.zeros((n_columns, max(k - n_columns, 0))), vectors)
    return xp.concat([vectors, blank], axis=1)
