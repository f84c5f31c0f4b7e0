"""Anchors that a user gives, checked and prepared."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyview.arrays.ops import Matrix, dense
from manyview.errors import InputError, InputTypeError, ManyviewError
from manyview.stages.sampling import Draw
from manyview.stages.scaling import Scaling, apply_scaling
from manyview.views.views import Views


def given_anchors(
    anchors: Any, scalings: tuple[Scaling, ...], drawn: Draw, view_order: Sequence[int]
) -> tuple[Matrix, ...]:
    """A user's anchors, one array per view in input units, checked and prepared."""
    known = [drawn.moments[v].mean.size for v in np.argsort(view_order)]
    try:
        given = [Views.of(a) for a in anchors]
    except ManyviewError as error:
        raise InputTypeError(
            f"One of the given anchors is no table: {error}"
        ) from error
    widths = [sum(g.n_features) for g in given]
    if widths != known:
        raise InputError(
            f"The given anchors have {widths} features per view, the data {known}. "
            "Give one anchor array per view, in the order of the views."
        )
    rows = [given[v].block(slice(None), np.float64).views[0] for v in view_order]
    exact = [scaling._replace(dtype="float64") for scaling in scalings]
    return tuple(map(dense, map(apply_scaling, rows, exact)))
