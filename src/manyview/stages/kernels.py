"""The kept features of a block: Phi, or its leading directions Psi.

Features are made once and kept in the state, or made again in every pass when
memory does not allow it: `block_features` hides which.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_torch_array

from manyview.arrays.ops import Array, like, namespace, to_host
from manyview.engine.contract import Engine, Result, State
from manyview.stages import ridge
from manyview.stages.anchors import Kernel, features, from_distances
from manyview.stages.sampling import SAMPLED, SAMPLED_ROWS, Draw
from manyview.stages.scaling import Scaling, cast, seen
from manyview.views.views import Block

Matrix = np.ndarray[Any, Any]

LAM_SHARE = 0.01
CENTRE_ROWS = 500


class Features(NamedTuple):
    """How to make (or find) the kept features of a block.

    `reuse` says that distances may be overwritten by the features made of them;
    a view's Gram is taken about its entry of `centres`, if it has one, in float32.
    """

    scalings: tuple[Scaling, ...]
    kernels: tuple[Kernel, ...]
    means: tuple[Matrix, ...] = ()
    reduces: tuple[Matrix | None, ...] = ()
    centres: tuple[Matrix | None, ...] = ()
    keep: bool = True
    sampled: bool = False
    reuse: bool = False


def feature_passes(n_rounds: int, sampled: bool) -> int:
    """Passes that need all rows' features: the Grams (of all rows), start, rounds."""
    return n_rounds + (1 if sampled else 2)


def fit_features(
    engine: Engine,
    plain: Features,
    lam: float | None,
    rank_tol: float,
    drawn: Draw | None = None,
) -> tuple[Features, tuple[ridge.Ridge, ...]]:
    """One pass for the Grams; then a ridge per view and the kept features.

    Without `lam` the ridge weight is `LAM_SHARE` of the mean eigenvalue of each
    view's Gram, so that neither the number of rows nor of anchors changes it;
    with `plain.sampled` the Grams are those of a sample of the rows, scaled up.
    With `drawn` rows, many rows' Grams are float32 where these show that it does.
    """
    if drawn is not None and engine.n_samples > SAMPLED_ROWS:
        plain = plain._replace(centres=_centres(drawn, plain, lam, engine.n_samples))
    total, _ = engine.run(gram_step, plain, title="Anchor features")
    ridges, means = [], []
    for v in range(len(plain.kernels)):
        count, sums = float(total[f"rows{v}"]), total[f"sum{v}"]
        centre = _centre(plain, v)
        gram = ridge.centred_gram(total[f"gram{v}"], sums, count)
        if plain.sampled:
            gram = gram * (float(total[f"all{v}"]) / max(count, 1.0))
        mean = sums / max(count, 1.0)
        means.append(mean if centre is None else mean + centre)
        mean_value = float(gram.diagonal().sum()) / len(gram)
        own = LAM_SHARE * mean_value if lam is None else lam
        made = ridge.factor_gram(gram, means[v], own, rank_tol, reduces=plain.keep)
        ridges.append(made)
    reduces = tuple(r.reduce for r in ridges)
    return plain._replace(means=tuple(means), reduces=reduces), tuple(ridges)


def _centres(
    drawn: Draw, plain: Features, lam: float | None, n_samples: int
) -> tuple[Matrix | None, ...]:
    """What to take off every view's features before a float32 Gram, if that does.

    It does for a sample, where the ridge weight follows the Gram; a device
    multiplies float64 as fast.
    """
    if is_torch_array(drawn.block.views[0]):
        return ()
    weight = math.inf if lam is None else lam
    found = []
    for v, kernel in enumerate(plain.kernels):
        rows = drawn.view(v)[:CENTRE_ROWS]
        phi = features(rows, plain.scalings[v], kernel)
        found.append(ridge.quick_centre(phi, weight, n_samples))
    return tuple(found)


def _centre(small: Features, v: int) -> Matrix | None:
    return small.centres[v] if small.centres else None


def gram_step(block: Block, state: State, small: Features) -> Result:
    """Phi of every view; Gram, column sums and number of (sampled) rows."""
    kept: dict[str, Array] = {}
    stats: dict[str, Array] = {}
    rows = None
    block = seen(block, small.scalings)
    if small.sampled:
        rows = namespace(state[SAMPLED]).nonzero(state[SAMPLED])[0]
    chosen_rows = None if rows is None else to_host(rows)
    for v, x in enumerate(block.views):
        there = block.there(v)
        stats[f"all{v}"] = count_rows(there, len(block))
        chosen = there
        if there is not None and chosen_rows is not None:
            chosen = there[chosen_rows]
        if rows is not None and not small.keep:
            phi = features(x[rows], small.scalings[v], small.kernels[v])
            phi = masked(phi, chosen)
        else:
            phi = masked(_first_features(x, state, small, v), there)
            if small.keep:
                kept[f"Phi{v}"] = phi
            phi = phi if rows is None else phi[rows]
        centre = _centre(small, v)
        if centre is not None:
            phi = masked(phi - cast(centre, phi), chosen)
        exact = centre is None and not small.sampled
        gram, sums = ridge.block_gram(phi, exact=exact)
        stats[f"gram{v}"], stats[f"sum{v}"] = gram, sums
        stats[f"rows{v}"] = count_rows(chosen, phi.shape[0])
    return Result(state=kept, stats=stats)


def _first_features(x: Array, state: State, small: Features, v: int) -> Array:
    """Phi from the distances that the width pass left in its place, or from views."""
    kernel = small.kernels[v]
    if kernel.name == "linear" or f"Phi{v}" not in state:
        return features(x, small.scalings[v], kernel)
    return from_distances(state[f"Phi{v}"], kernel, reuse=small.reuse)


def count_rows(there: Matrix | None, n_rows: int) -> Matrix:
    """How many of the rows have a view, as a number to be summed."""
    return np.asarray(float(n_rows if there is None else np.count_nonzero(there)))


def block_features(block: Block, state: State, small: Features, v: int) -> Array:
    """The kept features of one view: from the state, or made again."""
    if f"Psi{v}" in state:
        return state[f"Psi{v}"]
    phi = state.get(f"Phi{v}")
    if phi is None:
        phi = features(block.views[v], small.scalings[v], small.kernels[v])
    reduce = small.reduces[v]
    if reduce is None:
        return phi
    return ridge.reduced(phi, cast(small.means[v], phi), cast(reduce, phi))


def keep_features(kept: dict[str, Array], made: Array, small: Features, v: int) -> None:
    """Keep Psi where there is one, in place of the Phi it was made of."""
    if small.keep and small.reduces[v] is not None:
        kept[f"Psi{v}"], kept[f"Phi{v}"] = made, made[:, :0]


def masked(rows: Array, there: Array | None) -> Array:
    """Rows without the view (where not all have it) contribute nothing."""
    if there is None:
        return rows
    xp = namespace(rows)
    return xp.where(like(there, rows)[:, None], rows, xp.zeros_like(rows))
