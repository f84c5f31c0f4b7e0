"""Figures, drawn by matplotlib (extra ``plot``), readable without colour vision.

Every group has a colour and a marker of its own and its name written on it. A
title says which data, in which row order, with which seed and setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from itertools import count
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from manyview.arrays.ops import Matrix
from manyview.engine.resources import n_cores
from manyview.errors import InputError, InputTypeError, required
from manyview.files.atomic import atomic_file
from manyview.metrics import contingency
from manyview.running.progress import task
from manyview.views.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# M. Okabe and K. Ito, Color Universal Design (2008), with yellow darkened, or it
# would vanish on white, and two colours more for ten groups.
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
    "#D55E00", "#C7B700", "#000000", "#882255", "#999999",
)  # fmt: skip
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
MOST_POINTS = 10_000  # more hide each other, and t-SNE's time grows with them
# Iterations of t-SNE, exaggerated and plain, the angle of its tree, and the steps its
# progress is told in. From principal components these are enough: in a quarter of the
# time of the usual 250, 500 and 0.5 the digits keep as many of their neighbours
# (trustworthiness .997 of the embedding and .992 of the pixels, as before).
EARLY = 100
LATE = 200
THETA = 0.8
STEPS = 12
FEWEST_ROWS = 50  # t-SNE needs three neighbours per unit of perplexity
BY_TREE = 4_000  # rows; a tree is quicker below, a grid above
MOST_NAMES = 40  # groups; more names would cover the points
PANEL = 3.6  # inches; at half its size the text can still be read
PER_INCH = 10  # characters of a title
DPI = 160  # sharp in print at half a page's width, and still a small file


class Map(NamedTuple):
    """A flat picture of an embedding."""

    points: Matrix  # (n_shown, 2)
    rows: Matrix  # (n_shown,), the row of every point
    how: str  # it was laid out


def is_available() -> bool:
    """Is matplotlib installed?"""
    return find_spec("matplotlib") is not None


def new_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure with a title that says data, order, seeds and setting."""
    with required("Figures need matplotlib", "plot"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    lines = (fill(line, int(PER_INCH * width)) for line in title.splitlines())
    figure.suptitle("\n".join(lines), fontsize=12, parse_math=False)
    # So that a notebook shows it, whether or not pyplot is loaded there.
    vars(figure)["_repr_png_"] = partial(_png_of, figure)
    return figure


def _png_of(figure: Figure) -> bytes:
    with BytesIO() as file:
        figure.savefig(file, format="png")
        return file.getvalue()


def save(
    figure: Figure, stem: Path, endings: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """As PNG for screens and SVG for print, whole or not at all; their paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in endings]
    for path, ending in zip(paths, endings, strict=True):
        with atomic_file(path) as part:
            figure.savefig(part, dpi=DPI, format=ending)
    return paths


def choose_rows(n_samples: int, most: int, seed: int = 0) -> Matrix:
    """All rows, or `most` of them drawn at random, in order."""
    if n_samples <= most:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(seed).choice(n_samples, most, replace=False))


def flatten(embedding: Matrix, *, method: str = "auto", random_state: int = 0) -> Map:
    """Lay an embedding out in the plane.

    Parameters
    ----------
    embedding : array (n_samples, n_components)
        For instance `embedding_` of a model.
    method : {"auto", "tsne", "pca"}
        t-SNE by openTSNE where it is installed ("auto"), else the two leading
        principal components; these also where there are fewer than 50 rows.
    random_state : int
        Seed of the drawn rows and of t-SNE.

    Returns
    -------
    Map
        Of at most 10,000 rows, drawn at random where there are more.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import plot
    >>> plot.flatten(np.eye(6), method="pca").points.shape
    (6, 2)
    """
    return flatten_all([embedding], method=method, random_state=random_state)[0]


def flatten_all(
    embeddings: Sequence[Matrix], *, method: str = "auto", random_state: int = 0
) -> list[Map]:
    """The map of every embedding, as many at a time as there are cores."""
    check_choice(method, "method", ("auto", "tsne", "pca"))
    for x in embeddings:
        if np.ndim(x) != 2:
            raise InputError(
                f"An embedding must be 2-D, a row per sample; its shape is "
                f"{np.shape(x)}. Give for instance model.embedding_."
            )
    with (
        task("Maps", STEPS * len(embeddings)) as advance,
        threadpool_limits(1),  # inside a map, or threads would wait for each other
        ThreadPoolExecutor(n_cores()) as pool,
    ):
        # In copies of this context, or listeners to the work would not hear them.
        waiting = [
            pool.submit(copy_context().run, _map, x, method, random_state, advance)
            for x in embeddings
        ]
        return [future.result() for future in waiting]


def _map(
    embedding: Matrix, method: str, random_state: int, advance: Callable[[], None]
) -> Map:
    rows = choose_rows(len(embedding), MOST_POINTS, random_state)
    shown = np.asarray(embedding[rows], dtype=np.float64)
    wanted = method == "tsne" or (method == "auto" and find_spec("openTSNE"))
    if wanted and len(rows) >= FEWEST_ROWS:
        return Map(_tsne(shown, random_state, advance), rows, "t-SNE")
    for _ in range(STEPS):
        advance()
    return Map(_principal(shown), rows, "principal components")


def _principal(rows: Matrix) -> Matrix:
    if not len(rows):
        return np.empty((0, 2))
    left, spread, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    lead = (left * spread)[:, :2]
    return np.pad(lead, ((0, 0), (0, 2 - lead.shape[1])))


def _tsne(rows: Matrix, random_state: int, advance: Callable[[], None]) -> Matrix:
    with required("t-SNE needs openTSNE", "plot"):
        from openTSNE import TSNE
    tsne = TSNE(
        perplexity=min(30.0, (len(rows) - 1) / 3),
        initialization="pca",
        early_exaggeration_iter=EARLY,
        n_iter=LATE,
        theta=THETA,
        neighbors="exact",
        negative_gradient_method="bh" if len(rows) < BY_TREE else "fft",
        callbacks=lambda iteration, error, points: advance(),
        callbacks_every_iters=(EARLY + LATE) // STEPS,
        random_state=random_state,
    )
    return np.asarray(tsne.fit(rows))


def draw_embedding(flat: Map, groupings: Mapping[str, Any], *, title: str) -> Figure:
    """The same map once per grouping, side by side.

    Groups of the further ones have the colours of those of the first that they share
    most rows with.

    Parameters
    ----------
    flat : Map
        From `flatten`.
    groupings : mapping of panel title to array (n_samples,)
        For instance the clusters found and the classes known.
    title : str
        What is shown: data, order, seed, setting.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import plot
    >>> flat = plot.flatten(np.eye(6), method="pca")
    >>> groups = {"Clusters": [0, 0, 0, 1, 1, 1]}
    >>> figure = plot.draw_embedding(flat, groups, title="Six rows")
    >>> len(figure.axes)
    1
    """
    _check_drawn(flat, groupings)
    figure = new_figure(PANEL * len(groupings), PANEL + 0.7, title)
    axes = figure.subplots(1, len(groupings), squeeze=False)[0]
    n_shown, n_samples = len(flat.rows), len(next(iter(groupings.values())))
    first = np.asarray(next(iter(groupings.values())))[flat.rows]
    for axis, (name, groups) in zip(axes, groupings.items(), strict=True):
        own = np.asarray(groups)[flat.rows]
        size = np.clip(7_000 / n_shown, 2, 30)
        scatter_groups(axis, flat.points, own, size, match_groups(first, own))
        if len(np.unique(own)) <= MOST_NAMES:
            _write_names(axis, flat.points, own)
        axis.set_aspect("equal")
        axis.set_title(name, fontsize=12)
    part = "" if n_shown == n_samples else f" drawn from {n_samples:,}"
    caption = f"{n_shown:,} rows{part}, laid out by {flat.how}; axes have no unit"
    figure.supxlabel(caption, fontsize=11)
    return figure


def _check_drawn(flat: Any, groupings: Any) -> None:
    """A map, and one group per row of it in every panel."""
    if not isinstance(flat, Map) or not isinstance(groupings, Mapping) or not groupings:
        raise InputTypeError(
            "What is drawn must be a map of plot.flatten and a dict of groups by "
            f"title; got {type(flat).__name__} and {type(groupings).__name__}. Write "
            'for instance draw_embedding(flat, {"Clusters": labels}, title="Mine").'
        )
    for name, groups in groupings.items():
        if np.ndim(groups) != 1 or len(groups) <= flat.rows.max():
            raise InputError(
                f"The groups {name!r} must have one entry per row of the embedding, at "
                f"least {flat.rows.max() + 1}; their shape is {np.shape(groups)}."
            )


def match_groups(first: Matrix, second: Matrix) -> list[int]:
    """For every group of the second the place of the one of the first it shares most
    rows with, one for one; places beyond those of the first where none is left."""
    counts = contingency(first, second).toarray()
    mine, theirs = linear_sum_assignment(-counts)
    place = dict(zip(theirs.tolist(), mine.tolist(), strict=True))
    rest = count(counts.shape[0])
    return [place[j] if j in place else next(rest) for j in range(counts.shape[1])]


def scatter_groups(
    axis: Axes,
    points: Matrix,
    groups: Matrix,
    size: float,
    looks: Sequence[int] | None = None,
) -> None:
    """The points (n, 2), every group in a colour and marker of its own.

    `looks` numbers them by group; default in the order of the groups' names.
    """
    names = np.unique(groups)
    for i, name in zip(looks or range(len(names)), names, strict=True):
        # One marker further after each round of colours, so that 80 groups differ.
        marker = MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]
        colour = COLOURS[i % len(COLOURS)]
        x, y = points[groups == name].T
        axis.scatter(x, y, s=size, c=colour, marker=marker, linewidths=0, alpha=0.7)
    axis.set(xticks=[], yticks=[])


def _write_names(axis: Axes, points: Matrix, groups: Matrix) -> None:
    """Every group's name at its point that is nearest to its median."""
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=3, foreground="white")]
    for name in np.unique(groups):
        own = points[groups == name]
        away = np.linalg.norm(own - np.median(own, axis=0), axis=1)
        axis.annotate(
            str(name), tuple(own[away.argmin()]), ha="center", va="center", fontsize=12,
            fontweight="bold", parse_math=False, path_effects=outline,
        )  # fmt: skip
