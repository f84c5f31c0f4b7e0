"""Generated views: Gaussian clusters of a chosen shape, difficulty and size.

Every block of rows has a seed of its own, so the same call gives the same
numbers whether they are made in memory or written to disk block by block.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyview.datasets import registry
from manyview.datasets.converting import write_whole
from manyview.datasets.loading import load
from manyview.datasets.raw_data import NDArray, RawData
from manyview.errors import InputError
from manyview.views.views import Views

# Rows that share a seed; another number would generate other data.
BLOCK_ROWS = 8192
# Distance between two centres of a view of quality 1, in units of the noise: six
# standard deviations overlap in about one row of a thousand.
_SEPARATION = 6.0


def make_views(
    n_samples: int = 1000,
    n_features: Sequence[int] = (20, 30, 40),
    n_clusters: int = 5,
    *,
    imbalance: float = 1.0,
    view_quality: float | Sequence[float] = 1.0,
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = None,
    dtype: Any = np.float32,
    out: str | os.PathLike[str] | None = None,
    origin: str = "generated",
) -> Views:
    """Views of Gaussian clusters, rows in random order.

    Row i of view v is ``c_v[y_i] + noise · z`` with standard normal z; the
    centres c_v[k] are at a mean distance of about ``6 · quality_v``.

    Parameters
    ----------
    n_samples, n_features, n_clusters : int, sequence of int, int
        Rows, features of each view, and the clusters that the rows fall into.
    imbalance : float
        Size of the largest cluster over that of the smallest, at least 1.
    view_quality : float or sequence of float
        0 for a view that knows nothing of the clusters, 1 for a clear one.
    noise : float
        Standard deviation within a cluster.
    random_state, dtype : int, Generator or None; float type
        Seed of clusters and noise, and the type of the arrays.
    out : path, optional
        Write to this data folder block by block and return it memory-mapped.
    origin : str
        How the result is marked, in ``Views.origin``.

    Returns
    -------
    Views
        Named ``generated0``, ``generated1``, …, with ``labels``.

    Examples
    --------
    >>> from manyview.datasets import make_views
    >>> data = make_views(100, (5, 8), 3, random_state=0)
    >>> data.n_features, data.names, data.origin
    ((5, 8), ('generated0', 'generated1'), 'generated')
    """
    quality = _check(n_samples, n_features, n_clusters, imbalance, view_quality, noise)
    seed = _seed(random_state)
    labels = _draw_labels(n_samples, n_clusters, imbalance, seed)
    views: list[Any] = [
        GeneratedView(labels, d, n_clusters, q, noise, seed, v, np.dtype(dtype))
        for v, (d, q) in enumerate(zip(n_features, quality, strict=True))
    ]
    names = [f"generated{v}" for v in range(len(views))]
    raw = RawData(views, names, labels=labels, origin=origin)
    if out is not None:
        return load(write_whole(raw, out))
    return replace(raw, views=[view[0:n_samples] for view in views]).to_views()


def like(
    name: str,
    *,
    n_samples: int | None = None,
    random_state: int | np.random.Generator | None = None,
    **options: Any,
) -> Views:
    """Generated data of exactly the shape of a known data set.

    For measuring time and memory only: the values have nothing to do with the
    real ones. ``Views.origin`` says ``generated like NAME``.

    Parameters
    ----------
    name : str
        A data set of the registry.
    n_samples : int, optional
        Other than the real number of rows.
    random_state : int, Generator or None
    **options
        Further options of `make_views`.

    Examples
    --------
    >>> from manyview.datasets import like
    >>> data = like("YoutubeFace_sel", n_samples=500, random_state=0)
    >>> data.n_features, data.origin
    ((64, 512, 64, 647, 838), 'generated like YoutubeFace_sel')
    """
    entries = registry.named(name)
    if not entries:
        raise registry.unknown(name)
    entry = entries[0]
    return make_views(
        entry.rows if n_samples is None else n_samples,
        entry.features,
        max(entry.classes, 2),
        random_state=random_state,
        origin=f"generated like {entry.name}",
        **options,
    )


@dataclass(frozen=True)
class GeneratedView:
    """One view that is computed where it is sliced."""

    labels: NDArray
    n_features: int
    n_clusters: int
    quality: float
    noise: float
    seed: int
    position: int
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.labels), self.n_features

    def __getitem__(self, rows: slice) -> NDArray:
        start, stop, _ = rows.indices(len(self.labels))
        result = np.empty((stop - start, self.n_features), dtype=self.dtype)
        centres = self._centres()
        for begin in range(start // BLOCK_ROWS * BLOCK_ROWS, stop, BLOCK_ROWS):
            low, high = max(begin, start), min(begin + BLOCK_ROWS, stop)
            block = self._block(begin, centres)
            result[low - start : high - start] = block[low - begin : high - begin]
        return result

    def _block(self, begin: int, centres: NDArray) -> NDArray:
        labels = self.labels[begin : begin + BLOCK_ROWS]
        rng = _rng(self.seed, 2, self.position, begin)
        block = rng.standard_normal((len(labels), self.n_features), dtype=np.float32)
        return block * np.float32(self.noise) + centres[labels]

    def _centres(self) -> NDArray:
        rng = _rng(self.seed, 1, self.position)
        scale = self.quality * _SEPARATION / np.sqrt(2 * self.n_features)
        centres = rng.standard_normal((self.n_clusters, self.n_features)) * scale
        return np.asarray(centres, dtype=np.float32)


def _rng(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _seed(random_state: int | np.random.Generator | None) -> int:
    if not isinstance(random_state, (int, np.integer)):
        return int(np.random.default_rng(random_state).integers(2**63))
    if random_state < 0:
        raise InputError(
            f"random_state={random_state} is negative. Give a number from 0 on."
        )
    return int(random_state)


def _draw_labels(
    n_samples: int, n_clusters: int, imbalance: float, seed: int
) -> NDArray:
    """Geometric cluster sizes, largest over smallest as asked, in random order."""
    shares = np.geomspace(imbalance, 1.0, n_clusters)
    spare = n_samples - n_clusters
    ends = np.rint(np.cumsum(shares / shares.sum()) * spare).astype(np.int64)
    sizes = np.diff(ends, prepend=0) + 1  # no cluster is empty
    labels = np.repeat(np.arange(n_clusters), sizes)
    return _rng(seed, 0).permutation(labels)


def _check(
    n_samples: int,
    n_features: Sequence[int],
    n_clusters: int,
    imbalance: float,
    view_quality: float | Sequence[float],
    noise: float,
) -> list[float]:
    """Refuse impossible requests; the quality of every view."""
    if not 1 <= n_clusters <= n_samples:
        raise InputError(
            f"{n_samples} rows cannot form {n_clusters} clusters. Ask for at least one "
            "cluster and one row per cluster."
        )
    listed = isinstance(n_features, (list, tuple)) and len(n_features) > 0
    if not listed or min(n_features) < 1:
        raise InputError(
            f"n_features={n_features!r} must be a list that gives every view at least "
            "one feature, such as (20, 30)."
        )
    if imbalance < 1 or noise < 0:
        raise InputError(
            f"imbalance={imbalance} must be at least 1 and noise={noise} not negative."
        )
    quality = np.asarray(view_quality, dtype=float).ravel()
    if quality.size not in (1, len(n_features)) or quality.min() < 0:
        raise InputError(
            f"view_quality={view_quality} must be one number from 0 on, or one for "
            f"each of the {len(n_features)} views."
        )
    return [float(q) for q in np.broadcast_to(quality, len(n_features))]
