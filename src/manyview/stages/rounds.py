"""The rounds of S²MVTC, eq. (11–17), as passes over row blocks.

The next B_v of a row needs only that row's features, F and B_bar and two small
matrices per view, P_v = PhiᵀB_v and C_v = FᵀB_v, which the same pass sums for
the round after. Neither B_v nor Y_v is kept. Symbols: see `s2mvtc`.
"""

from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    masked,
    namespace,
    row_norms,
    sum_in_float64,
    tall_product,
    tall_sum,
    to_host,
    z_score,
)
from manyview.engine.contract import (
    NO_CHECKPOINT,
    Engine,
    NoCheckpoint,
    Result,
    State,
    touches,
)
from manyview.kmeans.passes import pick
from manyview.running import progress
from manyview.stages import ridge
from manyview.stages.anchors import Features, block_features, count_rows, keep_reduced
from manyview.stages.scaling import hide_empty_rows
from manyview.stages.sequence import RowSequence, low_pass
from manyview.views.views import Block


class Weights(NamedTuple):
    """Weights of the objective's terms.

    `beta` of the consensus, `growth` per round of the smoothing weight a, which
    starts at `smooth`, `of_views` of every view (1 each in the paper); `centre` says
    whether rows are z-scored or only brought to one length. With `by_length` a
    row of B_v counts in B_bar as much as it is long before that: the fit of a row
    that the view says little of is short.
    """

    beta: float
    growth: float
    smooth: float
    centre: bool
    of_views: tuple[float, ...]
    by_length: bool = False


class Round(NamedTuple):
    """What one round broadcasts, per view.

    `fits` are the coefficients of the features (U_v; in round 1 also the
    unfiltered start), `offsets` take out the features' mean, `smooth` are
    a · C_v, `filtered` is the weight a of a Y_v kept in the state, `by_length`
    lets the rows of B_v enter B_bar at their length, `keep` asks for B_v itself.
    `sums` says for whom to add up: "next" for the round after, "last" for the
    objective alone, which needs no PhiᵀB_v, "nobody" for new rows.
    """

    features: Features
    fits: tuple[Matrix, ...]
    offsets: tuple[Matrix, ...]
    smooth: tuple[Matrix, ...] | None
    beta: float
    of_views: tuple[float, ...]
    centre: bool
    by_length: bool
    filtered: float = 0.0
    keep: bool = False
    trace: Matrix | None = None
    sums: str = "next"


class Carried(NamedTuple):
    """What one round hands to the next: P_v of the centred features, and C_v.

    A start along principal directions has no C_v but the weights W_v that made it,
    `unfiltered`; where it has neither, every B_v starts from B_bar.
    """

    products: list[Matrix]
    smooth: tuple[Matrix, ...] | None
    unfiltered: tuple[Matrix, ...] | None = None


class History(NamedTuple):
    """What the rounds leave behind: smalls to replay, objective, traced rows."""

    rounds: list[Round]
    objective: list[float]
    trace: list[dict[str, Matrix]]


class Finished(NamedTuple):
    """A checkpoint of the rounds: what was found, and what the next one needs."""

    history: History
    carried: Carried


class GraphStart(NamedTuple):
    """The start from the graph: rows of F, its columns scaled."""

    features: Features
    scale: Matrix
    centre: bool


@touches(reads=["F", "Phi", "Psi"], writes=["B_bar", "Psi"])
def graph_start_step(block: Block, state: State, shared: GraphStart) -> Result:
    """B_v = B_bar = the graph's own smooth vectors; the first P_v and C_v."""
    stats: dict[str, Array] = {}
    phis = []
    F = state["F"]
    block = hide_empty_rows(block, shared.features.scalings)
    B_bar = z_score(F * cast(shared.scale, F), shared.centre)
    for v in range(block.present.shape[1]):
        phi = block_features(block, state, shared.features, v)
        phis.append(phi)
        B = masked(B_bar, block.there(v))
        stats[f"sum{v}"] = sum_in_float64(B, axis=0)
        stats[f"P{v}"] = _first_products(phi, B, stats[f"sum{v}"], shared.features, v)
        stats[f"square{v}"] = sum_in_float64(row_norms(B))
        stats[f"rows{v}"] = count_rows(block.there(v), len(block))
        stats[f"C{v}"] = tall_product(F, B)
    kept = keep_reduced(phis, state, shared.features)
    return Result({"B_bar": B_bar, **kept.state}, stats, replaces=kept.replaces)


def _first_products(
    phi: Array, B: Array, sums: Array, features: Features, v: int
) -> Array:
    """PhiᵀB of a block, as exact as Phi is.

    The ridge fit of the first round blows up the rounding of sums over rows, and other
    blocks of the same rows would end in other clusters. So in float64, or about the
    centre of the Gram: without the mean the rounding of products is less than Phi's.
    """
    centre = features.centres[v] if features.centres else None
    if centre is None or features.reduces[v] is not None:
        return tall_product(in_float64(phi), in_float64(B))
    centre = cast(centre, phi)
    away = in_float64(tall_product(phi - centre, B))
    return away + in_float64(centre)[:, None] * sums[None, :]


@touches(reads=["B_bar", "F", "F_out", "Phi", "Psi", "Y"], writes=["B_bar", "B"])
def round_step(block: Block, state: State, shared: Round) -> Result:
    """One round of a block: new B_bar; the next P_v and C_v."""
    B_bar, F = state["B_bar"], state.get("F")
    xp = namespace(B_bar)
    kept: dict[str, Array] = {}
    stats: dict[str, Array] = {}
    # Scores of clusters are fewer columns than B_bar has.
    total = xp.zeros_like(B_bar[:, : shared.fits[0].shape[1]])
    agreed = shared.beta * B_bar if shared.beta else None
    by_length = xp.zeros_like(total) if shared.by_length else total
    block = hide_empty_rows(block, shared.features.scalings)
    for v in range(block.present.shape[1]):
        phi = block_features(block, state, shared.features, v)
        B = phi @ cast(shared.fits[v], phi)
        B -= cast(shared.offsets[v], B)
        fit = xp.asarray(B, copy=True) if shared.sums == "last" else None
        if agreed is not None:
            B += agreed
        if shared.smooth is not None:
            B += state.get("F_out", F) @ cast(shared.smooth[v], B)
        if shared.filtered:
            B += shared.filtered * state[f"Y{v}"]
        there = block.there(v)
        if shared.by_length:
            by_length += shared.of_views[v] * masked(B, there)
        B = masked(z_score(B, shared.centre), there)
        total += shared.of_views[v] * B
        if shared.sums == "next":
            stats[f"P{v}"] = tall_product(phi, B)
            stats[f"sum{v}"] = tall_sum(B)
        elif fit is not None:
            stats[f"fit{v}"] = sum_in_float64(xp.vecdot(fit, B))
        if shared.sums != "nobody":
            stats[f"square{v}"] = sum_in_float64(row_norms(B))
            if F is not None:
                stats[f"C{v}"] = tall_product(F, B)
        if shared.keep or shared.trace is not None:
            kept[f"B{v}"] = B
    counts = view_counts(block, total, shared.of_views)
    kept["B_bar"] = fresh = z_score(by_length / counts, shared.centre)
    if shared.sums != "nobody":
        stats["disagreement"] = sum_in_float64(fresh * (counts * fresh - 2.0 * total))
    note = None if shared.trace is None else _traced(block, kept, shared.trace)
    return Result(kept if shared.keep else {"B_bar": fresh}, stats, note)


def view_counts(block: Block, model: Array, of_views: tuple[float, ...]) -> Array:
    """Total weight of the views that every row has, as a column."""
    present = to_host(block.present)
    # One number serves all rows where none lacks a view: no column to move about.
    shares = present[:1] if block.complete else present
    return cast((shares @ np.asarray(of_views, dtype=np.float64))[:, None], model)


def _traced(block: Block, kept: State, rows: Matrix) -> dict[str, Matrix]:
    """This block's share of the traced rows (sorted row numbers)."""
    low, high = np.searchsorted(rows, [block.start, block.start + len(block)])
    inside = rows[low:high] - block.start
    return {name: to_host(values)[inside] for name, values in kept.items()}


def start_from_graph(
    engine: Engine, start: GraphStart, ridges: tuple[ridge.Ridge, ...]
) -> tuple[Carried, list[ridge.Target]]:
    """One pass: the first B_bar from F, and what the first round needs of it.

    Also what the views are to fit, for the ridge weights to be chosen by.
    """
    total, _ = engine.run(graph_start_step, start, title="Start")
    smooth = tuple(total[f"C{v}"] for v in range(len(ridges)))
    products = next_products(ridges, total)
    targets = []
    for v, own in enumerate(products):
        n_rows, sums = float(total[f"rows{v}"]), total[f"sum{v}"]
        mean_part = float((sums * sums).sum()) / max(n_rows, 1.0)
        square = float(total[f"square{v}"]) - mean_part
        targets.append(ridge.Target(own, square, n_rows))
    return Carried(products, smooth), targets


def run_rounds(
    engine: Engine,
    features: Features,
    ridges: tuple[ridge.Ridge, ...],
    weights: Weights,
    first: Carried,
    *,
    max_iter: int,
    sequence: RowSequence | None = None,
    trace: Matrix | None = None,
    saved: NoCheckpoint = NO_CHECKPOINT,
) -> History:
    """All rounds, or those a checkpoint has not seen, one pass each."""
    begun = saved.load("rounds") or Finished(History([], [], []), first)
    history, carried = begun
    saved.put_rows("rounds", engine)
    n_views = len(ridges)
    for t in range(len(history.rounds), max_iter):
        a = weights.smooth * weights.growth**t
        old = carried.products
        fits = ridge.solve_all(ridges, old)
        # A start within the fits hides what the objective has to know of them.
        is_last = t == max_iter - 1 and carried.unfiltered is None
        shared = _next_round(features, ridges, weights, carried, fits, t)._replace(
            filtered=a if sequence is not None and t > 0 else 0.0,
            keep=sequence is not None,
            trace=trace,
            sums="last" if is_last else "next",
        )
        total, notes = engine.run(round_step, shared, title=f"Round {t + 1}")
        products = [] if is_last else next_products(ridges, total)
        smooth = carried.smooth
        if "C0" in total:
            smooth = tuple(total[f"C{v}"] for v in range(n_views))
        energy = [_smooth_energy(engine, total, sequence, v) for v in range(n_views)]
        fit_dots = _fit_dots(total, fits, products)
        history.rounds.append(shared)
        history.objective.append(
            objective(total, fits, old, fit_dots, energy, a, weights)
        )
        if trace is not None:
            history.trace.append(
                _gather_trace(engine, notes, smooth, trace, sequence is not None)
            )
        carried = Carried(products, smooth)
        filtered = [] if sequence is None else [f"Y{v}" for v in range(n_views)]
        rows: dict[str, Any] = {"engine": engine, "fields": ["B_bar", *filtered]}
        saved.save("rounds", Finished(history, carried), number=t + 1, **rows)
        if progress.stop_is_asked():
            break
    return history


def _next_round(
    features: Features,
    ridges: tuple[ridge.Ridge, ...],
    weights: Weights,
    carried: Carried,
    fits: list[Matrix],
    t: int,
) -> Round:
    """What round t broadcasts, but for what its caller wants to keep of it."""
    a = weights.smooth * weights.growth**t
    used = tuple(fits)
    if carried.unfiltered is not None:
        used = tuple(u + a * w for u, w in zip(fits, carried.unfiltered, strict=True))
    # The first Y_v is the unfiltered start, which may be B_bar itself.
    from_shared = t == 0 and carried.smooth is None and carried.unfiltered is None
    smooth = None
    if carried.smooth is not None and a:
        smooth = tuple(a * c for c in carried.smooth)
    return Round(
        features=features,
        fits=used,
        offsets=tuple(r.mean @ u for r, u in zip(ridges, used, strict=True)),
        smooth=smooth,
        beta=weights.beta + (a if from_shared else 0.0),
        of_views=weights.of_views,
        centre=weights.centre,
        by_length=weights.by_length,
    )


def _fit_dots(
    total: dict[str, Any], fits: list[Matrix], products: list[Matrix]
) -> list[float]:
    """⟨Phi U, B⟩ of every view: from PhiᵀB, or as the last round sums it."""
    if products:
        return [float((u * p).sum()) for u, p in zip(fits, products, strict=True)]
    return [float(total[f"fit{v}"]) for v in range(len(fits))]


def next_products(
    ridges: tuple[ridge.Ridge, ...], total: dict[str, Any]
) -> list[Matrix]:
    """P_v of the centred features from a pass's sums, where the ridges are."""
    # Those of a resumed fit come from a file, and lie on the host on any device.
    return [
        ridge.centred_products(
            r, like(total[f"P{v}"], r.mean), like(total[f"sum{v}"], r.mean)
        )
        for v, r in enumerate(ridges)
    ]


def _smooth_energy(
    engine: Engine, total: dict[str, Any], sequence: RowSequence | None, v: int
) -> float:
    """‖Y_v‖²; where F is too wide to keep, filter B_v and put Y_v in its place."""
    if sequence is not None:
        Y = low_pass(to_host(engine.read(f"B{v}")), sequence)
        engine.put(f"Y{v}", Y)
        return float(np.sum(Y * Y, dtype=np.float64))
    return float((total[f"C{v}"] ** 2).sum()) if f"C{v}" in total else 0.0


def objective(
    total: dict[str, Any],
    fits: list[Matrix],
    old: list[Matrix],
    fit_dots: list[float],
    smooth: list[float],
    a: float,
    weights: Weights,
) -> float:
    """The objective at the end of a round, from small matrices alone.

    ‖B − Phi U‖² + lam ‖U‖² = ‖B‖² − 2⟨Phi U, B⟩ + ⟨U, PhiᵀB_old⟩, since U solves
    (PhiᵀPhi + lam I) U = PhiᵀB_old; `fit_dots` holds ⟨Phi U, B⟩. For a projection
    ‖B − Y‖² = ‖B‖² − ‖Y‖².
    """
    value = weights.beta * float(total["disagreement"])
    for v, weight in enumerate(weights.of_views):
        square = float(total[f"square{v}"])
        fit = square - 2.0 * fit_dots[v] + float((fits[v] * old[v]).sum())
        value += weight * (fit + weights.beta * square + a * (square - smooth[v]))
    return 0.5 * value


def _gather_trace(
    engine: Engine,
    notes: list[dict[str, Matrix]],
    smooth: tuple[Matrix, ...] | None,
    rows: Matrix,
    filtered: bool,
) -> dict[str, Matrix]:
    """B_v, Y_v and B_bar of the traced rows after this round."""
    names = notes[0]
    out = {name: np.concatenate([n[name] for n in notes]) for name in names}
    for v in range(len(names) - 1):
        if filtered:
            out[f"Y{v}"] = to_host(pick(engine, f"Y{v}", rows))
        elif smooth is not None:
            out[f"Y{v}"] = to_host(pick(engine, "F", rows)) @ to_host(smooth[v])
    return out
