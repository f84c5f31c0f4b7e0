"""The first B_bar without a graph: features along leading principal directions."""

from typing import NamedTuple

import numpy as np

from manyview.arrays.linear import eigh
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    masked,
    namespace,
    sum_in_float64,
    tall_product,
    z_score,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.engine.threads import at_once
from manyview.stages import ridge
from manyview.stages.anchors import Features, block_features, features, keep_reduced
from manyview.stages.rounds import Carried, next_products, view_counts
from manyview.stages.sampling import Draw
from manyview.stages.scaling import hide_empty_rows
from manyview.views.views import Block

# Drawn rows whose principal directions the rounds start from, as in the authors' code.
PRINCIPAL_ROWS = 1000
# Below this share of the largest eigenvalue, the side of a row is rounding.
LEAST_SIDES = 1e-6


class DirectionStart(NamedTuple):
    """The start of the rounds, B_v = Phi_v W_v, per view; offsets take out means.

    With `signs` all views start from the same B_bar, whose columns are the signs
    of every Phi_v W_v side by side: weak directions then say as much as strong
    ones, and no column of one view meets an unrelated one of another.
    """

    features: Features
    weights: tuple[Matrix, ...]
    offsets: tuple[Matrix, ...]
    signs: bool = False


@touches(reads=["Phi", "Psi"], writes=["B_bar", "Psi"])
def direction_start_step(block: Block, state: State, shared: DirectionStart) -> Result:
    """The first B_bar: the views' first embeddings' mean, or their signs."""
    phis, firsts = [], []
    stats: dict[str, Array] = {}
    block = hide_empty_rows(block, shared.features.scalings)
    for v in range(block.present.shape[1]):
        phi = block_features(block, state, shared.features, v)
        first = phi @ cast(shared.weights[v], phi) - cast(shared.offsets[v], phi)
        firsts.append(masked(first, block.there(v)))
        phis.append(phi)
    if shared.signs:
        xp = namespace(phis[0])
        B_bar = z_score(xp.sign(xp.concat(firsts, axis=1)), centre=False)
        for v, phi in enumerate(phis):
            B = masked(B_bar, block.there(v))
            stats[f"P{v}"] = tall_product(phi, B)
            stats[f"sum{v}"] = sum_in_float64(B, axis=0)
    else:
        total = sum(firsts[1:], start=firsts[0])
        B_bar = total / view_counts(block, total, (1.0,) * block.present.shape[1])
    kept = keep_reduced(phis, state, shared.features)
    return Result({"B_bar": B_bar, **kept.state}, stats, replaces=kept.replaces)


def start_from_directions(
    engine: Engine, start: DirectionStart, ridges: tuple[ridge.Ridge, ...]
) -> Carried:
    """One pass: the first B_bar; the authors' first round smooths with B_v itself."""
    total, _ = engine.run(direction_start_step, start, title="Start")
    if start.signs:
        return Carried(next_products(ridges, total), None)
    pairs = list(zip(ridges, start.weights, strict=True))
    found = at_once(lambda pair: ridge.start_products(*pair), pairs, ridges[0].gram)
    return Carried(found, None, start.weights)


def principal_start(
    drawn: Draw,
    kept: Features,
    ridges: tuple[ridge.Ridge, ...],
    n_components: int,
    seed: int,
    *,
    signs: bool,
) -> DirectionStart:
    """First B_v: leading principal directions of drawn rows of Phi_v.

    With `signs` the views share the `n_components` columns.
    """
    width = -(-n_components // len(ridges)) if signs else n_components

    def first_weights(v: int) -> Array:
        rows = drawn.view(v)[-PRINCIPAL_ROWS:]
        phi = features(rows, kept.scalings[v], kept.kernels[v])
        floor = LEAST_SIDES if signs else 0.0
        lead = principal_directions(in_float64(phi), width, seed, floor)
        return ridge.express(ridges[v], lead)

    weights = at_once(first_weights, range(len(ridges)), ridges[0].gram)
    offsets = tuple(r.mean @ w for r, w in zip(ridges, weights, strict=True))
    return DirectionStart(kept, tuple(weights), offsets, signs)


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
