"""The ridge weight of a view by generalised cross-validation.

Which weight predicts rows that were not fitted best, without fitting twice: with
H the matrix that turns B into its fit, n rows and ‖B‖² about the mean,

    GCV(lam) = ‖B − H B‖² / (1 − tr H / n)²,    R² = 1 − GCV / ‖B‖²,

all from small matrices. R² also says how much of B the view can explain at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Array
from manyview.engine.cuda_graphs import side_by_side
from manyview.stages import ridge

# In units of the mean eigenvalue of the Gram: neither rows nor anchors change them.
SHARES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
LEAST_EXPLAINED = 0.02
LEAST_FREE = 0.05


class Target(NamedTuple):
    """What is to be predicted, B, as its view sees it.

    Attributes
    ----------
    products : array (m, k) or (rank, k)
        Centred features times B.
    square : float
        ‖B‖² about the mean of its rows.
    n_rows : float
    """

    products: Array
    square: float
    n_rows: float


def choose_weights(
    ridges: tuple[ridge.Ridge, ...], targets: list[Target]
) -> tuple[tuple[ridge.Ridge, ...], np.ndarray[Any, Any]]:
    """`choose_weight` of every view."""
    pairs = list(zip(ridges, targets, strict=True))
    found = side_by_side(lambda pair: choose_weight(*pair), pairs, ridges[0].gram)
    chosen, explained = zip(*found, strict=True)
    return chosen, np.asarray(explained)


def choose_weight(made: ridge.Ridge, target: Target) -> tuple[ridge.Ridge, float]:
    """The ridge of the least GCV, and its R² (never quite 0).

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import ridge
    >>> from manyview.stages.ridge_weight import Target, choose_weight
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> x -= x.mean(axis=0)
    >>> y = x @ np.ones((3, 1))
    >>> plain = ridge.factor_gram(x.T @ x, np.zeros(3), 1.0, 0.0)
    >>> _, explained = choose_weight(plain, Target(x.T @ y, float((y * y).sum()), 50))
    >>> explained > 0.99
    True
    """
    mean_value = float(made.gram.diagonal().sum()) / len(made.gram)
    if mean_value <= 0 or target.square <= 0:
        return made, LEAST_EXPLAINED
    best, least = made, float("inf")
    for share in SHARES:
        lam = share * mean_value
        other = ridge.reweighed(made, lam)
        error = validation_error(other, lam, target)
        if error < least:
            best, least = other, error
    return best, max(1.0 - least / target.square, LEAST_EXPLAINED)


def validation_error(made: ridge.Ridge, lam: float, target: Target) -> float:
    """GCV of a ridge factored with this weight."""
    U = ridge.solve(made, target.products)
    if made.reduce is None:
        # PhiᵀPhi U = P − lam U: the residual needs no second product.
        gain = float((U * (target.products + lam * U)).sum())
        fitted = len(made.gram) - lam * float(made.factor.diagonal().sum())
    else:
        gain = float((U * (2.0 * target.products - U)).sum())
        fitted = float(made.factor.sum())
    free = max(1.0 - fitted / max(target.n_rows, 1.0), LEAST_FREE)
    return max(target.square - gain, 0.0) / free**2
