"""Views that contradict the others: rows that are near there are far apart here.

In every other view a row has its nearest drawn rows. Where these lie farther from it,
in this view, than they lie from their own such rows, the views contradict each other
(the log of that ratio, as for the view's own neighbours; its mean over the others).
Noise that no distance gives away, since rows of the view are all equally far from each
other, shows in that it tells nothing of what the others tell.
"""

from typing import NamedTuple

import numpy as np

from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    namespace,
    to_host,
)

NOBODY = -1  # in the place of a drawn row


class Beside(NamedTuple):
    """What one view says of the neighbours that drawn rows have in the others.

    Attributes
    ----------
    columns : array (n_drawn + 1,)
        Column of every drawn row in distances of this view, −1 without the view; the
        last one is that of nobody.
    distances : array (n_views, n_drawn + 1)
        Mean distance, in this view, of every drawn row to its neighbours of each view;
        NaN where one of both lacks a view.
    """

    columns: Matrix
    distances: Matrix


def beside(there: Matrix, squares: Array, neighbours: list[Matrix], v: int) -> Beside:
    """Of one view, from the squared distances of the drawn rows that are `there`."""
    size = len(neighbours[v])
    columns = np.full(size + 1, NOBODY)
    columns[there] = np.arange(there.size)
    found = Beside(columns, np.full((len(neighbours), size + 1), np.nan))
    for u, near in enumerate(neighbours):
        known = distance_to(squares, like(near[there], squares), found)
        found.distances[u, there] = to_host(known)
    return found


def distance_to(squares: Array, rows: Array, here: Beside) -> Array:
    """Mean distance of every row to some drawn rows (n_rows, k); NaN where unknown."""
    columns = like(here.columns, squares)[rows]
    known = columns >= 0
    xp = namespace(squares)
    picked = xp.take_along_axis(squares, xp.where(known, columns, 0 * columns), axis=1)
    return _mean(in_float64(picked) ** 0.5, known)


def contradiction(
    squares: Array, neighbours: list[Array], v: int, here: Beside, floor: float
) -> Array:
    """Mean over the other views of the log of the ratio; 0 where nothing is known."""
    xp, ratios = namespace(squares), []
    for u, near in enumerate(neighbours):
        if u == v:
            continue
        own = distance_to(squares, near, here)
        theirs = cast(here.distances[u], own)[near]
        theirs = _mean(theirs, ~xp.isnan(theirs))
        ratios.append(xp.log((own + floor) / (theirs + floor)))
    if not ratios:
        return like(np.zeros(squares.shape[0]), squares)
    every = xp.stack(ratios, axis=1)
    found = _mean(every, ~xp.isnan(every))
    return xp.where(xp.isnan(found), like(np.zeros(1), found), found)


def _mean(values: Array, known: Array) -> Array:
    """Of every row's known values; NaN where there are none."""
    xp = namespace(values)
    zeros = like(np.zeros(1), values)
    total = xp.sum(xp.where(known, values, zeros), axis=1)
    count = xp.sum(in_float64(known), axis=1)
    mean = total / xp.clip(count, 1.0, None)
    return xp.where(count > 0, mean, zeros * np.nan)
