"""Real views for the demo: scikit-learn's handwritten digits seen six ways.

Every view is computed here from the same 8 × 8 images.
"""

import numpy as np
from sklearn.datasets import load_digits

from manyview.datasets.raw_data import NDArray
from manyview.views.views import Views

_SIDE = 8  # pixels of an image's edge


def load_digits_views(random_state: int | None = 0) -> Views:
    """1,797 handwritten digits as six views, in shuffled order.

    Parameters
    ----------
    random_state : int or None
        Seed of the shuffle; None keeps the order of scikit-learn.

    Returns
    -------
    Views
        ``pixels`` (64), ``gradients`` (72), ``fourier`` (39), ``profiles`` (46),
        ``moments`` (18) and ``zones`` (20), with the digits as ``labels``.

    Examples
    --------
    >>> from manyview.datasets import load_digits_views
    >>> data = load_digits_views()
    >>> len(data), data.n_views, len(set(data.labels))
    (1797, 6, 10)
    """
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, _SIDE, _SIDE) / 16.0
    if random_state is not None:
        order = np.random.default_rng(random_state).permutation(len(labels))
        images, labels = images[order], labels[order]
    makers = {
        "pixels": lambda x: x.reshape(len(x), -1),
        "gradients": gradient_histograms,
        "fourier": fourier_magnitudes,
        "profiles": profiles,
        "moments": moments,
        "zones": zones,
    }
    views = {name: make(images).astype(np.float32) for name, make in makers.items()}
    result = Views(views, labels=labels)
    result.origin = "scikit-learn digits"
    return result


def gradient_histograms(images: NDArray) -> NDArray:
    """Gradient strength by direction (8 bins) in 3 × 3 overlapping cells (n, 72)."""
    dy, dx = np.gradient(images, axis=(1, 2))
    strength = np.hypot(dx, dy)
    angle = np.arctan2(dy, dx) % (2 * np.pi)
    bins = np.minimum((angle / (2 * np.pi) * 8).astype(int), 7)
    planes = strength[..., None] * (bins[..., None] == np.arange(8))
    cells = [
        planes[:, r : r + 4, c : c + 4].sum(axis=(1, 2))
        for r in (0, 2, 4)
        for c in (0, 2, 4)
    ]
    histogram = np.concatenate(cells, axis=1)
    length = np.linalg.norm(histogram, axis=1, keepdims=True)
    return np.asarray(histogram / (length + 1e-6))


def fourier_magnitudes(images: NDArray) -> NDArray:
    """Magnitudes of the half-plane of the 2-D spectrum, without the mean (n, 39)."""
    spectrum = np.abs(np.fft.rfft2(images)).reshape(len(images), -1)
    return np.log1p(spectrum[:, 1:])


def profiles(images: NDArray) -> NDArray:
    """Ink along rows, columns and both kinds of diagonals (n, 8 + 8 + 15 + 15)."""
    offsets = range(-_SIDE + 1, _SIDE)
    diagonals = [images.trace(k, axis1=1, axis2=2) for k in offsets]
    others = [images[:, :, ::-1].trace(k, axis1=1, axis2=2) for k in offsets]
    lines = np.stack([*diagonals, *others], axis=1)
    return np.concatenate([images.sum(axis=2), images.sum(axis=1), lines], axis=1)


def moments(images: NDArray) -> NDArray:
    """Mass, centre and scaled central moments of orders 2 to 5 (n, 1 + 2 + 15)."""
    grid = np.linspace(-1.0, 1.0, _SIDE)
    mass = images.sum(axis=(1, 2))
    x = (images.sum(axis=1) @ grid) / mass
    y = (images.sum(axis=2) @ grid) / mass
    dx, dy = grid - x[:, None], grid - y[:, None]
    spread = np.sqrt(
        (np.einsum("nij,nj->n", images, dx**2) + np.einsum("nij,ni->n", images, dy**2))
        / mass
    )
    dx, dy = dx / spread[:, None], dy / spread[:, None]
    # xx + yy is one after scaling, so yy and the two highest mixed terms are left out.
    orders = {(p, total - p) for total in range(2, 6) for p in range(total + 1)}
    orders -= {(0, 2), (0, 5), (5, 0)}
    central = [
        np.einsum("nij,ni,nj->n", images, dy**q, dx**p) / mass
        for p, q in sorted(orders, key=lambda pq: (sum(pq), pq))
    ]
    return np.stack([mass, x, y, *central], axis=1)


def zones(images: NDArray) -> NDArray:
    """Mean ink in 16 squares of 2 × 2 and in 4 quarters (n, 20)."""
    fine = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    coarse = images.reshape(-1, 2, 4, 2, 4).mean(axis=(2, 4)).reshape(-1, 4)
    return np.concatenate([fine, coarse], axis=1)
