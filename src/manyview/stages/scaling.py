"""Per-view preparation, chosen from the data's own shares, never its magnitudes.

One pass gathers the column moments; the choice and the block-wise
transformation are pure functions. Multiplying a view by a constant changes
nothing.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.linear import SPARSE_COST, leading
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    has_float64,
    in_float64,
    like,
    namespace,
    sum_in_float64,
    to_host,
    unit_rows,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.engine.threads import single_threaded_blas
from manyview.errors import InputError
from manyview.views.views import Block

SCALINGS = ("auto", "standard", "global", "cosine", "unit", "root", None)

# More than half of the entries: zeros are then the rule.
MOSTLY = 0.5
# Sums of histogram rows differ by little more than rounding, and by far less than the
# features do: sums of features of a large mean (years, times) differ as much as they.
EVEN = 1e-3
EVEN_SPREAD = 0.1
# Root mean square correlation; chosen on the tuning half (DESIGN.md): tells principal
# components (Cifar-10-deep) from other features (CCV).
UNCORRELATED = 0.1
# Squared deviations that are less of the squares have lost their digits to the mean.
LEAST_SPREAD = 1e-4
# A spread that is less of the mean is the rounding of a constant: a unit in the last
# place of float32 (and of squares in float64), a few dozen of float64.
ROUNDING = 1e-7
FINE_ROUNDING = 1e-14
# Rows and features that tell the kind of a view: bound the products of the rule.
RULE_ROWS = 2000
RULE_FEATURES = 600
# Directions of many rows; there are so many times more columns and drawn rows.
DIRECTIONS, PER_CLUSTER, NARROWER = 128, 2, 4
# Power of a column's inverse mean square that it weighs: 0 hears the most frequent
# words alone, .4 the rarest (DESIGN.md, "Sparse text along few directions"). Rows and
# steps that find them: half keep a fiftieth less of other rows' squares.
EVENING, DIRECTION_ROWS, ITERATIONS = 0.25, 8192, 2
# Spreads beyond these, or below their inverse, leave a type no room: rows are hashed
# in 2⁻¹⁶ of a spread, and squared in float64.
ROOM = {"float32": 2.0**110, "float64": 2.0**505}
# Views beyond this size come near 1 first: float32 still squares and sums these.
FAR = 2.0**40


class Moments(NamedTuple):
    """Column moments of one view over the rows that have it.

    `dtype` is what the rows are to be prepared in.
    """

    n_rows: float
    mean: Matrix
    std: Matrix
    sparse: bool
    dtype: str

    @property
    def inverse_std(self) -> Array:
        """1/std, and 0 for constant columns, which then carry nothing."""
        return inverse(self.std)


class Scaling(NamedTuple):
    """x ↦ (√x − shift) · scale, along directions, to unit length; each if asked for.

    With `gaps` rows of zeros count as rows that lack the view. The result has the
    `dtype`, or that of the rows.
    """

    kind: str
    root: bool = False
    shift: Matrix | None = None
    scale: Matrix | None = None
    unit: bool = False
    gaps: bool = False
    dtype: str | None = None
    directions: Matrix | None = None


def inverse(values: Array) -> Array:
    """1/values where positive, 0 elsewhere."""
    values = values if is_torch_array(values) else np.asarray(values)
    xp = namespace(values)
    one = xp.ones_like(values)
    return xp.where(values > 0, one / xp.where(values > 0, values, one), 0.0 * one)


class Tally(NamedTuple):
    """What one block tells of one view."""

    n_rows: float
    mean: Matrix
    squares: Matrix
    sparse: bool
    rounding: float


def measure(engine: Engine) -> tuple[Moments, ...]:
    """Column moments of every view, in one pass."""
    _, notes = engine.run(survey_step, title="Surveying the views")
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        found = [
            _moments(parts, engine.dtype.name) for parts in zip(*notes, strict=True)
        ]
    pairs = zip(found, engine.view_order, strict=True)
    return tuple(_with_room(m, number) for m, number in pairs)


@touches()
def survey_step(block: Block, state: State, shared: None) -> Result:
    """Count, column means and squared deviations of this block's rows, per view."""
    with np.errstate(over="ignore", invalid="ignore"):  # `measure` refuses such views
        return Result(note=tuple(_survey(block, v) for v in range(len(block.views))))


def _survey(block: Block, v: int) -> Tally:
    x, there = block.views[v], to_host(block.present[:, v])
    count = float(np.count_nonzero(there))
    if sp.issparse(x):
        exact = x.astype(np.float64)
        mean = np.asarray(exact.sum(axis=0)).ravel() / max(count, 1.0)
        squares = np.asarray(exact.multiply(exact).sum(axis=0)).ravel()
        squares = np.maximum(squares - count * mean**2, 0.0)
        return Tally(count, mean, squares, True, ROUNDING)
    rounding = FINE_ROUNDING if x.dtype == namespace(x).float64 else ROUNDING
    mean = sum_in_float64(x, axis=0) / max(count, 1.0)
    quick = _quick_squares(x, mean, count)
    if quick is not None:
        return Tally(count, to_host(mean), quick, False, rounding)
    # In float64: rounding about the block's own mean would hang on its rows.
    away = in_float64(x, copy=True)
    away -= mean
    if count < len(block):
        away = away * like(there[:, None], away)
    xp = namespace(away)
    off = xp.sum(away, axis=0) / max(count, 1.0)  # what rounding did to the mean
    away *= away
    squares = xp.sum(away, axis=0) - count * off**2
    return Tally(count, to_host(mean + off), to_host(squares), False, rounding)


def _quick_squares(x: Array, mean: Array, count: float) -> Matrix | None:
    """Squared deviations of a tensor's columns from sums of squares in float64.

    A device reads the rows once for that, instead of writing them out in float64.
    None where a mean so large that it would cost the digits asks for the long way.
    """
    if not is_torch_array(x) or not has_float64(x):
        return None
    xp = namespace(x)
    plain = xp.linalg.vector_norm(x, axis=0, dtype=xp.float64) ** 2
    squares = plain - count * mean**2
    if bool(xp.any(squares < LEAST_SPREAD * plain)):
        return None
    return to_host(squares)


def _moments(parts: tuple[Tally, ...], dtype: str) -> Moments:
    """Blocks merged by the pairwise update of means and squared deviations."""
    count, mean, squares = parts[0].n_rows, parts[0].mean, parts[0].squares
    for part in parts[1:]:
        both = max(count + part.n_rows, 1.0)
        gap = part.mean - mean
        squares = squares + part.squares + gap**2 * (count * part.n_rows / both)
        mean = mean + gap * (part.n_rows / both)
        count += part.n_rows
    std = np.sqrt(np.maximum(squares, 0.0) / max(count - 1.0, 1.0))
    std = np.where(std > parts[0].rounding * np.abs(mean), std, 0.0)
    return Moments(count, mean, std, parts[0].sparse, dtype)


def _with_room(moments: Moments, number: int) -> Moments:
    """The moments, if the type computed in has room for the view's values.

    A column whose spread is far too small for it counts as constant.
    """
    room = ROOM[moments.dtype]
    size = float(np.max([np.abs(moments.mean), moments.std]))
    kept = np.where(moments.std > 1.0 / room, moments.std, 0.0)
    if size <= room and (kept.any() or not moments.std.any()):
        return moments._replace(std=kept)
    seen = f"of about {size:.0e}" if np.isfinite(size) else "beyond 1e150"
    wider = ", or give it in float64" if moments.dtype == "float32" else ""
    raise InputError(
        f"View number {number} (the first is 0) holds values {seen}, which leave "
        f"{moments.dtype} no room to compute with. Multiply the view by a constant "
        f"that brings them near 1{wider}."
    )


def make_scaling(moments: Moments, kind: str | None) -> Scaling:
    """The named transformation of one view.

    ``"standard"`` centres every feature and divides it by its standard
    deviation, ``"global"`` divides the whole view by one number; ``"cosine"``
    centres the features and brings every row to length 1, ``"unit"`` does so
    without centring, ``"root"`` takes square roots first; ``None`` only centres,
    which no distance sees, and brings views that are far too large or too small to
    square near 1.
    """
    plain = Scaling(kind or "none", dtype=moments.dtype)
    if kind in ("unit", "root"):
        return plain._replace(root=kind == "root", unit=True)
    if not moments.sparse:
        plain = plain._replace(shift=moments.mean)
    if kind == "standard":
        return plain._replace(scale=moments.inverse_std)
    if kind in ("global", "cosine"):
        size = np.sqrt(np.mean(moments.std**2))
        scale = np.full(moments.std.size, inverse(size))
        return plain._replace(scale=scale, unit=kind == "cosine")
    middle = 0.0 if not moments.sparse else moments.mean
    factor = near_one(float(np.sqrt(np.mean(moments.std**2 + middle**2))))
    sized = None if factor == 1.0 else np.full(moments.std.size, factor)
    return plain._replace(scale=sized)


def near_one(size: float) -> float:
    """A power of two that brings numbers of far too large or small a size near 1.

    No digit is lost by it, and features of distances do not see it.
    """
    if size == 0.0 or 1.0 / FAR <= size <= FAR:
        return 1.0
    return 2.0 ** min(-round(math.log2(size)), 1000)


def suggest(moments: Moments, rows: Array, n_clusters: int) -> str:
    """What kind of features these are, from shares that no rescaling changes.

    Counts (no negative and mostly zero entries) and histograms (rows of equal
    sum) are compared by angle, after a square root that tames large counts.
    More uncorrelated features than clusters are principal components, whose
    small directions are mostly noise and must not be blown up: they are left
    small and rows compared by angle. The rest is standardised.
    """
    if not ((rows.data if sp.issparse(rows) else rows) < 0).any():
        if _zero_share(rows) > MOSTLY or _even_rows(rows, moments):
            return "root"
    if moments.sparse:
        return "unit"
    if moments.mean.size > n_clusters and correlation_level(rows) < UNCORRELATED:
        return "cosine"
    return "standard"


def _zero_share(rows: Array) -> float:
    full = rows.count_nonzero() if sp.issparse(rows) else (rows != 0).sum()
    n_entries: int = math.prod(rows.shape)
    return 1.0 - float(full) / max(n_entries, 1)


def _even_rows(rows: Array, moments: Moments) -> bool:
    """Do all rows sum to nearly the same, though their features differ?"""
    sums = to_host(rows.sum(axis=1)).astype(np.float64).ravel()
    spread = float(np.linalg.norm(moments.std))
    return bool(sums.std() < min(EVEN * sums.mean(), EVEN_SPREAD * spread))


def correlation_level(rows: Array) -> float:
    """Root mean square correlation between features, its sampling noise removed."""
    x = in_float64(rows[:RULE_ROWS])
    if x.shape[1] > RULE_FEATURES:
        some = np.linspace(0, x.shape[1] - 1, RULE_FEATURES).astype(int)
        x = x[:, like(some, x)]
    x = x - namespace(x).mean(x, axis=0)
    length = (x * x).sum(axis=0) ** 0.5
    x = x[:, length > 0] / length[length > 0]
    n_rows, n_features = x.shape
    if n_features < 2 or n_rows < 3:
        return 1.0
    square = float(((x.T @ x) ** 2).sum()) - n_features
    mean_square = square / (n_features * (n_features - 1))
    return float(np.sqrt(max(mean_square - 1.0 / n_rows, 0.0)))


def apply_scaling(x: Array, scaling: Scaling) -> Array:
    """One block of one view, prepared; sparse stays sparse.

    Rounded to the scaling's dtype at the end: a large mean takes no digits.
    """
    if scaling.dtype == "float64":
        x = in_float64(x)
    if scaling.root:
        x = _signed_root(x)
    if scaling.shift is not None:
        x = x - cast(scaling.shift, x)
    if scaling.scale is not None:
        if sp.issparse(x):
            data = x.data * scaling.scale[x.indices].astype(x.dtype)
            x = sp.csr_array((data, x.indices, x.indptr), shape=x.shape)
        elif scaling.shift is None:
            x = x * cast(scaling.scale, x)
        else:
            x *= cast(scaling.scale, x)
    if scaling.directions is not None:
        along = like(scaling.directions, x)
        x = x @ namespace(along).astype(along, x.dtype, copy=False)
    x = unit_rows(x) if scaling.unit else x
    if scaling.dtype == "float32":
        xp = namespace(x)
        narrow = x.astype if sp.issparse(x) else partial(xp.astype, x)
        x = narrow(xp.float32, copy=False)
    return x


def along_directions(scaling: Scaling, rows: Array, n_clusters: int) -> Scaling:
    """A wide view of zeros for the most part, compared by angle, along few directions.

    Leading ones of drawn rows, by subspace iteration (N. Halko, P. G. Martinsson, J. A.
    Tropp: Finding structure with randomness. SIAM Review 53, 2011).
    """
    rows, size = rows[:DIRECTION_ROWS], max(DIRECTIONS, PER_CLUSTER * n_clusters)
    filled = 1.0 - _zero_share(rows)
    most = min(SPARSE_COST * filled * rows.shape[1], min(rows.shape) / NARROWER)
    if not scaling.unit or filled >= 1.0 - MOSTLY or size > most:
        return scaling
    made = apply_scaling(rows, scaling._replace(dtype="float64"))
    flat = sp.csr_array(made if sp.issparse(made) else to_host(made))
    weight = inverse(flat.multiply(flat).mean(axis=0)) ** EVENING
    flat = sp.csr_array(flat.multiply(weight))
    tall = flat.T.tocsr()
    Q = np.random.default_rng(0).standard_normal((flat.shape[0], size))
    with single_threaded_blas:
        Q = _orthonormal(tall @ Q)
        for _ in range(ITERATIONS):
            Q = _orthonormal(tall @ (flat @ Q))
    return scaling._replace(directions=(weight[:, None] * Q).astype(scaling.dtype))


def _orthonormal(columns: Matrix) -> Matrix:
    """Orthonormal columns of the same span; rows of zeros stay so, unlike in QR."""
    values, vectors = leading(columns.T @ columns, columns.shape[1])
    return np.asarray(columns @ (vectors / values**0.5))


def mark_gaps(scaling: Scaling, rows: Array, n_clusters: int) -> Scaling:
    """Does the view, compared by angle, have rows of zeros among the drawn ones?

    Such a row has no angle: left in, all of them would be one and the same point,
    and look like a cluster (an empty text beside an image). A view with next to
    no other rows stays as it is.
    """
    if not scaling.unit or scaling.shift is not None:
        return scaling
    filled = int(np.count_nonzero(_filled(rows)))
    return scaling._replace(gaps=n_clusters <= filled < rows.shape[0])


def hide_empty_rows(block: Block, scalings: tuple[Scaling, ...]) -> Block:
    """The block without the views in which a row holds nothing but zeros.

    A row of zeros in every view it has keeps them all.
    """
    if not any(s.gaps for s in scalings):
        return block
    given = to_host(block.present)
    present = given.copy()
    for v, scaling in enumerate(scalings):
        if scaling.gaps:
            present[:, v] &= _filled(block.views[v])
    there = present.any(axis=1, keepdims=True)
    return Block(block.start, block.views, np.where(there, present, given))


def _filled(x: Array) -> Matrix:
    """Which rows hold anything but zeros, on the host."""
    if sp.issparse(x):
        return np.asarray((x != 0).sum(axis=1)).ravel() > 0
    return np.asarray(to_host(namespace(x).any(x != 0, axis=1)))


def _signed_root(x: Array) -> Array:
    if sp.issparse(x):
        root = np.sign(x.data) * np.sqrt(np.abs(x.data))
        return sp.csr_array((root, x.indices, x.indptr), shape=x.shape)
    xp = namespace(x)
    return xp.sign(x) * xp.sqrt(xp.abs(x))
