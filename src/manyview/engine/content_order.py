"""Rows and views in the order of their content, whatever order they stand in."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from manyview.arrays.ops import Array, hash_bits, like, mix64, namespace
from manyview.engine.contract import IntArray, cut
from manyview.engine.threads import side_by_side
from manyview.views.views import Block

# Any numbers do; fixed, since the same rows must always get the same order.
HASH_SEED = 20240617


class InContentOrder:
    """An engine whose rows stand in an order of its own; None for the caller's."""

    _order: IntArray | None

    def caller_rows(self, rows: IntArray) -> IntArray:
        """The caller's numbers of rows given by the engine's."""
        return np.asarray(rows) if self._order is None else self._order[rows]

    def engine_rows(self, rows: IntArray) -> IntArray:
        """The engine's numbers of rows given by the caller's."""
        if self._order is None:
            return np.asarray(rows)
        return np.argsort(self._order, kind="stable")[rows]


def content_order(
    views: Any, dtype: Any, block_rows: int
) -> tuple[IntArray | None, IntArray]:
    """Rows and views in the order of their content; rows elsewhere as they stand."""
    if not views.in_memory:
        return None, np.arange(views.n_views)
    odd = [odd_numbers(n) for n in views.n_features]
    slices = cut(len(views), block_rows)

    def one(rows: slice) -> Array:
        return hash_block(views.block(rows, dtype), odd)

    hashes = side_by_side([partial(one, rows) for rows in slices])
    return hash_orders(np.concatenate(hashes))


def hash_orders(hashes: Array) -> tuple[Array, Array]:
    """Rows and views in the order of their content, from every row's hash in each view.

    A view is known by its rows' hashes beside those of the whole rows, a row by its
    hashes and the places of their views in that order: neither knows where it stands,
    and (a, b) is not (b, a). Rows of equal content are interchangeable.
    """
    xp = namespace(hashes)
    views = xp.argsort(view_keys(hashes), stable=True)
    places = like(np.arange(1, hashes.shape[1] + 1), hashes)
    rows = xp.sum(mix64(hashes[:, views] + places), axis=1)
    return xp.argsort(rows, stable=True), views


def view_keys(hashes: Array) -> Array:
    """What tells the views' order, of some rows: to be added up over all of them."""
    xp = namespace(hashes)
    whole = mix64(xp.sum(hashes, axis=1))
    return xp.sum(mix64(hashes + whole[:, None]), axis=0)


def hash_block(block: Block, odd: Sequence[IntArray]) -> Array:
    """A 64-bit hash (n_rows, n_views) of every row in every view; 0 where it has none.

    A row of zeros is not such a row.
    """
    found = []
    for v, x in enumerate(block.views):
        one, there = mix64(hash_bits(x, odd[v]) + 1), block.there(v)
        found.append(one if there is None else one * like(there, one))
    return namespace(*found).stack(found, axis=1)


def odd_numbers(n_features: int) -> IntArray:
    """Multipliers of a view's bits, the same for views of equal width."""
    rng = np.random.default_rng([HASH_SEED, n_features])
    return np.asarray(rng.integers(-(2**62), 2**62, n_features) * 2 + 1)
