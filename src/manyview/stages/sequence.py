"""Low-pass along an order of the rows: the paper's eq. (15), and its local forms.

Y keeps the slow part of an embedding. As published (`fourier_basis`) the order
is the row index, one periodic sequence. Where the order is real (time stamps,
frames, scan lines) every recording is filtered by itself and does not wrap
around (`cosine_basis`), and the cut-off follows from the shortest duration
worth keeping. Few frequencies: an orthonormal basis F and Y = F FᵀB, which
streams. Many: a discrete cosine transform of the gathered rows.

The order-free counterpart, the low frequencies of an anchor graph, is in
`anchor_graph`.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
from array_api_compat import is_torch_array

from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    namespace,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.errors import InputError, InputTypeError, OrderWarning
from manyview.stages.durations import as_times, is_duration, seconds, steps_in_seconds
from manyview.views.parsing import check_per_row
from manyview.views.views import Block

# Up to here the product with F is cheaper than a cosine transform (timed).
MOST_BASIS_VECTORS = 512
# Share of steps that differ from the median: more than half is no rhythm.
IRREGULAR = 0.5
# Relative error of a quotient of times, with much to spare.
ROUNDING = 1e-9


class RowSequence(NamedTuple):
    """An order of the rows: where each row stands, and how much is kept.

    Attributes
    ----------
    group : array (n,)
        Recording of every row, 0 … n_groups − 1.
    position : array (n,)
        Place of every row within its recording.
    rows : array (n,)
        All rows in order, recording by recording.
    lengths : array (n_groups,)
        Rows of every recording.
    n_low : array (n_groups,)
        Kept frequencies of every recording.
    periodic : bool
        Is the last row next to the first, as in the paper's DFT?
    """

    group: Matrix
    position: Matrix
    rows: Matrix
    lengths: Matrix
    n_low: Matrix
    periodic: bool

    @property
    def n_vectors(self) -> int:
        """Number of basis vectors of all recordings together."""
        return int(np.minimum(2 * self.n_low - 1, self.lengths).sum())


def make_sequence(
    n_samples: int,
    *,
    order: Any = None,
    groups: Any = None,
    n_low: int,
    min_duration: Any,
    periodic: bool,
) -> RowSequence:
    """Rows as they stand, or by `order`, within `groups`; checked."""
    key = _check_key(order, n_samples, "order")
    names = _check_key(groups, n_samples, "groups")
    group = np.zeros(n_samples, np.intp)
    if names is not None:
        group = np.unique(names, return_inverse=True)[1].ravel()
    lengths = np.bincount(group)
    rows = position = np.arange(n_samples)
    if key is not None or names is not None:
        rows = np.lexsort((group,) if key is None else (key, group))
        _warn_of_ties(key, group[rows], rows)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        position = np.empty(n_samples, np.intp)
        position[rows] = np.arange(n_samples) - starts[group[rows]]
    if min_duration is None:
        cut = np.full(lengths.size, n_low)
        if lengths.size == 1:
            check_n_low(n_low, n_samples)
    else:
        duration = _duration_in_rows(min_duration, key, group, rows)
        cut = np.array([math.ceil(n / duration) for n in lengths])
    cut = np.clip(cut, 1, lengths // 2 + 1)
    return RowSequence(group, position, rows, lengths, cut, periodic)


def _warn_of_ties(key: Matrix | None, group: Matrix, rows: Matrix) -> None:
    """Rows of one time stand as they are filed, which says nothing of them."""
    if key is None:
        return
    times = key[rows]
    tied = int(np.sum((times[1:] == times[:-1]) & (group[1:] == group[:-1])))
    if tied:
        warnings.warn(
            f"{tied} rows have the same value of order as another of their recording, "
            "and stand as they are filed. Where several recordings were joined, tell "
            "them apart by groups=; else give a finer order.",
            OrderWarning,
            stacklevel=5,
        )


def _check_key(key: Any, n_samples: int, name: str) -> Matrix | None:
    given = check_per_row(key, n_samples, name)
    if given is None:
        return None
    values = as_times(given)
    if values.dtype.kind in "fmM" and not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinity. Give every row a value.")
    try:
        np.sort(values)
    except TypeError as error:
        raise InputTypeError(
            f"{name} holds values that have no order: {error}. Give numbers, dates or "
            "text, all of one kind."
        ) from error
    return values


def _duration_in_rows(
    duration: Any, key: Matrix | None, group: Matrix, rows: Matrix
) -> float:
    """`min_duration` in rows: as given, or by the time from row to row."""
    if key is None:
        if is_duration(duration):
            raise InputError(
                f"min_duration={duration!r} is a time, and no row has one. Give the "
                "times of the rows as order=, or a number of rows."
            )
        return max(float(duration), 1.0)
    dates = key.dtype.kind in "mM"
    _require_same_units(duration, key)
    same = group[rows][1:] == group[rows][:-1]
    sorted_key = key[rows]
    steps = steps_in_seconds(sorted_key) if dates else np.diff(sorted_key)
    steps = steps.astype(np.float64)[same]
    steps = steps[steps > 0]
    length = seconds(duration, "min_duration") if dates else float(duration)
    if not steps.size:
        return 1.0 if dates else max(length, 1.0)
    spacing = float(np.median(steps))
    if np.mean(np.abs(steps - spacing) > 0.5 * spacing) > IRREGULAR:
        warnings.warn(
            "The order key is irregular: most steps differ from their median "
            f"({spacing:g}{' s' if dates else ''}) by more than half. min_duration is "
            "turned into rows by that median; resample the recording if that is wrong.",
            OrderWarning,
            stacklevel=4,
        )
    blur = 0.0 if dates else 2 * float(np.spacing(np.abs(sorted_key).max()))
    rounding, n_rows = blur / spacing + ROUNDING, length / spacing
    # A second of steps of 0.1 s is ten rows; a hair less would keep a frequency more.
    whole = float(np.rint(n_rows))
    return max(whole if abs(n_rows - whole) <= rounding * n_rows else n_rows, 1.0)


def _require_same_units(duration: Any, key: Matrix) -> None:
    """A duration with a unit for dates, a plain number for numbers."""
    if key.dtype.kind in "mM":
        if not is_duration(duration):
            raise InputError(
                f"min_duration={duration:g} has no unit, and order holds dates. Write "
                f"the unit, such as min_duration='{duration:g}s', or give a timedelta."
            )
    elif key.dtype.kind not in "biuf":
        shown = repr(duration) if is_duration(duration) else f"{duration:g}"
        raise InputTypeError(
            f"min_duration={shown} is counted in units of order, which holds "
            f"{key.dtype} and no numbers or dates. Give the time of every row, or no "
            "order to count in rows."
        )
    elif is_duration(duration):
        raise InputError(
            f"min_duration={duration!r} is a time, and order holds numbers. Give a "
            "number in the unit of order, or dates as order."
        )


def check_n_low(n_low: int, n_rows: int) -> None:
    """A sequence of n rows must have the frequencies that are to be kept."""
    most = n_rows // 2 + 1
    if not 1 <= n_low <= most:
        raise InputError(
            f"n_low={n_low} frequencies cannot be kept in a sequence of {n_rows} "
            f"rows. Choose 1 <= n_low <= {most}."
        )


def put_sequence_basis(engine: Engine, sequence: RowSequence) -> None:
    """Give every row its F, in one pass that reads no views."""
    nothing = np.empty(0)
    shared = sequence._replace(group=nothing, position=nothing, rows=nothing)
    engine.put("group", sequence.group)
    engine.put("position", sequence.position)
    engine.run(sequence_basis_step, shared, title="Basis", views=False)
    engine.drop("group")
    engine.drop("position")


def put_filtered(engine: Engine, sequence: RowSequence) -> None:
    """F_out: the low-pass of a graph's F along the sequence, computed once."""
    F = to_host(engine.read("F"))
    engine.put("F_out", low_pass(F, sequence))


@touches(reads=["group", "position", "B_bar"], writes=["F"])
def sequence_basis_step(block: Block, state: State, shared: RowSequence) -> Result:
    """F of a block: every recording has its own columns, zero elsewhere."""
    group, position = state["group"], state["position"]
    widths = np.minimum(2 * shared.n_low - 1, shared.lengths)
    ends = np.cumsum(widths)
    make = fourier_basis if shared.periodic else cosine_basis
    places = in_float64(like(position, state["B_bar"]))
    if len(widths) == 1:
        F = make(places, int(shared.lengths[0]), int(shared.n_low[0]))
        return Result(state={"F": cast(F, state["B_bar"])})
    F = like(np.zeros((group.size, int(ends[-1]))), places)
    for g in np.unique(group):
        mine = like(np.flatnonzero(group == g), places)
        part = make(places[mine], int(shared.lengths[g]), int(shared.n_low[g]))
        first = ends[g] - widths[g]
        F[mine, first : first + part.shape[1]] = part
    return Result(state={"F": cast(F, state["B_bar"])})


def fourier_basis(positions: Array, n_rows: int, n_low: int) -> Array:
    """Real DFT vectors of frequencies 0 … n_low − 1 at the given positions.

    The span of the DFT bins that TLFA keeps (bins 1 … L and their mirrors), so
    F FᵀB is the paper's low-pass; periodic: the last row is next to the first.
    """
    at = positions if is_torch_array(positions) else np.asarray(positions, np.float64)
    xp = namespace(at)
    frequency = like(np.arange(1, n_low) * (2 * np.pi / n_rows), at)
    angle = at[:, None] * frequency[None, :]
    root = math.sqrt(2.0)
    parts = [xp.ones_like(at[:, None]), root * xp.cos(angle), root * xp.sin(angle)]
    if n_low > 1 and 2 * (n_low - 1) == n_rows:
        # The Nyquist frequency has one vector (±1), not two.
        parts[1][:, -1] /= root
        parts[2] = parts[2][:, :-1]
    return xp.concat(parts, axis=1) / math.sqrt(n_rows)


def cosine_basis(positions: Array, n_rows: int, n_low: int) -> Array:
    """Cosines up to the same frequency, without wrapping the end to the start."""
    at = positions if is_torch_array(positions) else np.asarray(positions, np.float64)
    order = like(np.arange(min(2 * n_low - 1, n_rows)) * (np.pi / n_rows), at)
    waves = namespace(at).cos((at[:, None] + 0.5) * order[None, :])
    waves[:, 1:] *= math.sqrt(2.0)
    return waves / math.sqrt(n_rows)


def low_pass(values: Matrix, sequence: RowSequence) -> Matrix:
    """F Fᵀ values by a fast transform per recording, for any number of vectors."""
    out = np.empty_like(values)
    edges = np.concatenate([[0], np.cumsum(sequence.lengths)])
    for g, n_low in enumerate(sequence.n_low):
        rows = sequence.rows[edges[g] : edges[g + 1]]
        out[rows] = _low_pass_one(values[rows], int(n_low), sequence.periodic)
    return out


def _low_pass_one(rows: Matrix, n_low: int, periodic: bool) -> Matrix:
    if periodic:
        spectrum = scipy.fft.rfft(rows, axis=0)
        spectrum[n_low:] = 0
        return np.asarray(scipy.fft.irfft(spectrum, n=len(rows), axis=0))
    waves = scipy.fft.dct(rows, axis=0, norm="ortho")
    waves[2 * n_low - 1 :] = 0
    return np.asarray(scipy.fft.idct(waves, axis=0, norm="ortho"))
