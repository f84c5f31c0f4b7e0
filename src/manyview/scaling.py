"""Per-view preparation, chosen from the data's own shares, never its magnitudes.

One pass gathers the column moments; the choice and the block-wise
transformation are pure functions. Multiplying a view by a constant changes
nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._xp import Array, like, namespace, row_norms, to_host
from .engine import Engine, Result, State
from .views import Block


class Moments(NamedTuple):
    """Column moments of one view over the rows that have it."""

    count: float
    mean: np.ndarray[Any, Any]
    std: np.ndarray[Any, Any]
    zero_share: float
    negative_share: float
    sparse: bool

    @property
    def inverse_std(self) -> np.ndarray[Any, Any]:
        """1/std, and 0 for constant columns, which then carry nothing."""
        return inverse(self.std)


class Scaling(NamedTuple):
    """x ↦ (x − shift) · scale, then to unit length if `unit`."""

    kind: str
    shift: np.ndarray[Any, Any] | None
    scale: np.ndarray[Any, Any] | None
    unit: bool


def inverse(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """1/values where positive, 0 elsewhere."""
    safe = np.where(values > 0, values, 1.0)
    return np.asarray(np.where(values > 0, 1.0 / safe, 0.0))


class Tally(NamedTuple):
    """What one block tells of one view."""

    count: float
    mean: np.ndarray[Any, Any]
    squares: np.ndarray[Any, Any]
    zeros: float
    negatives: float
    sparse: bool


def measure(engine: Engine) -> tuple[Moments, ...]:
    """Column moments of every view, in one pass."""
    _, notes = engine.run(survey_step, title="Surveying the views")
    return tuple(_moments(parts) for parts in zip(*notes, strict=True))


def survey_step(block: Block, state: State, small: None) -> Result:
    """Count, column means and squared deviations of this block's rows, per view."""
    return Result(note=tuple(_survey(block, v) for v in range(len(block.views))))


def _survey(block: Block, v: int) -> Tally:
    x, there = block.views[v], block.present[:, v]
    xp = namespace(there)
    count = float(xp.sum(xp.astype(there, xp.float64)))
    if sp.issparse(x):
        wide = x.astype(np.float64)
        mean = np.asarray(wide.sum(axis=0)).ravel() / max(count, 1.0)
        squares = np.asarray(wide.multiply(wide).sum(axis=0)).ravel()
        zeros = count * x.shape[1] - float(np.count_nonzero(x.data))
        negatives = float((x.data < 0).sum())
        squares = np.maximum(squares - count * mean**2, 0.0)
        return Tally(count, mean, squares, zeros, negatives, True)
    wide = xp.astype(x, xp.float64)
    mean = xp.sum(wide, axis=0) / max(count, 1.0)
    away = xp.where(there[:, None], wide - mean, xp.zeros_like(wide))
    squares = to_host(xp.sum(away * away, axis=0))
    blank = (len(block) - count) * x.shape[1]
    zeros = float(xp.sum(xp.astype(x == 0, xp.float64))) - blank
    negatives = float(xp.sum(xp.astype(x < 0, xp.float64)))
    return Tally(count, to_host(mean), squares, zeros, negatives, False)


def _moments(parts: tuple[Tally, ...]) -> Moments:
    """Blocks merged by the pairwise update of means and squared deviations."""
    count, mean, squares = parts[0].count, parts[0].mean, parts[0].squares
    for part in parts[1:]:
        both = max(count + part.count, 1.0)
        gap = part.mean - mean
        squares = squares + part.squares + gap**2 * (count * part.count / both)
        mean = mean + gap * (part.count / both)
        count += part.count
    std = np.sqrt(squares / max(count - 1.0, 1.0))
    # Rounding of a constant column must not pass for spread.
    std = np.where(std > 1e-7 * np.abs(mean), std, 0.0)
    entries = max(count * mean.size, 1.0)
    zeros = sum(part.zeros for part in parts) / entries
    negatives = sum(part.negatives for part in parts) / entries
    return Moments(count, mean, std, zeros, negatives, parts[0].sparse)


def choose_scaling(moments: Moments, kind: str | None) -> Scaling:
    """The transformation of one view: the named one, or the one its shares suggest.

    ``"standard"`` centres every feature and divides it by its standard
    deviation; ``"global"`` centres and divides the whole view by one number;
    ``"unit"`` brings every row to length 1; ``None`` only centres, which no
    distance sees.
    """
    if kind == "auto":
        kind = suggest(moments)
    mean = None if moments.sparse else moments.mean
    if kind == "standard":
        scale = moments.inverse_std
        return Scaling("standard", mean, scale, False)
    if kind == "global":
        spread = np.sqrt(np.mean(moments.std**2))
        scale = np.full(moments.mean.size, inverse(spread))
        return Scaling("global", mean, scale, False)
    if kind == "unit":
        return Scaling("unit", None, None, True)
    return Scaling("none", mean, None, False)


def suggest(moments: Moments) -> str:
    """Counts and text to unit rows, the rest standardised."""
    counts = moments.negative_share == 0 and moments.zero_share > 0.5
    return "unit" if counts or moments.sparse else "standard"


def apply_scaling(x: Array, scaling: Scaling) -> Array:
    """One block of one view, prepared; sparse stays sparse."""
    if scaling.shift is not None:
        x = x - cast(scaling.shift, x)
    if scaling.scale is not None:
        x = x * cast(scaling.scale, x) if not sp.issparse(x) else _scale_csr(x, scaling)
    if scaling.unit:
        length = row_norms(x) ** 0.5
        xp = namespace(length)
        factor = xp.where(length > 0, 1.0 / xp.where(length > 0, length, 1.0), 0.0)
        if sp.issparse(x):
            return (sp.diags_array(factor.astype(x.dtype)) @ x).tocsr()
        return x * factor[:, None]
    return x


def _scale_csr(x: Any, scaling: Scaling) -> Any:
    out = x.copy()
    out.data *= scaling.scale[x.indices].astype(x.dtype)  # type: ignore[index]
    return out


def cast(small: Any, model: Array) -> Array:
    """A small float64 array on the device and in the dtype of `model`."""
    array = like(small, model)
    return namespace(array).astype(array, model.dtype)
