"""The paper's tensor algebra: t-product, t-SVD and low-frequency approximation.

Tensors are real arrays of shape (n1, n2, n3); ``X[:, :, i]`` is a frontal slice. Under
a Fourier transform along the third axis the t-product is a matrix product per slice.
The transform of a real tensor is conjugate symmetric, so its first
ceil((n3 + 1) / 2) slices tell it all: they are the ones that ``rfft`` returns, and
``irfft`` supplies the others and gives a real tensor back.

Equation numbers are those of Long et al., "S²MVTC: a Simple yet Efficient Scalable
Multi-View Tensor Clustering", CVPR 2024.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manyview.errors import InputError, InputTypeError

__all__ = [
    "identity_tensor",
    "is_f_diagonal",
    "is_orthogonal",
    "stack_views",
    "t_product",
    "t_svd",
    "tensor_transpose",
    "tlfa",
    "unstack",
]

Tensor = NDArray[np.floating[Any]]


def t_product(X: ArrayLike, Y: ArrayLike) -> Tensor:
    """Multiply X (n1, n2, n3) and Y (n2, n4, n3): Z = X * Y (n1, n4, n3) (eq. 1)."""
    X, Y = _tensor(X, "X"), _tensor(Y, "Y")
    if X.shape[1:] != (Y.shape[0], Y.shape[2]):
        raise InputError(
            f"X of shape {X.shape} cannot be multiplied with Y of shape {Y.shape}; "
            "Y must have as many rows as X has columns, and as many slices."
        )
    return _from_fourier(_to_fourier(X) @ _to_fourier(Y), X.shape[2])


def tensor_transpose(X: ArrayLike) -> Tensor:
    """Transpose every frontal slice and reverse slices 2 to n3 (eqs. 2 and 3)."""
    X = _tensor(X, "X")
    n_slices = X.shape[2]
    return X[:, :, -np.arange(n_slices) % n_slices].transpose(1, 0, 2)


def identity_tensor(size: int, n_slices: int) -> Tensor:
    """Neutral element (size, size, n_slices): an identity slice, then zeros."""
    identity = np.zeros((size, size, n_slices))
    identity[:, :, 0] = np.eye(size)
    return identity


def is_orthogonal(X: ArrayLike, tol: float = 1e-10) -> bool:
    """Tell whether X * Xᵀ = Xᵀ * X = I up to `tol` in every entry (eq. 4)."""
    X = _tensor(X, "X")
    if X.shape[0] != X.shape[1]:
        return False
    identity = identity_tensor(X.shape[0], X.shape[2])
    X_T = tensor_transpose(X)
    products = t_product(X, X_T), t_product(X_T, X)
    return all(np.abs(product - identity).max() <= tol for product in products)


def is_f_diagonal(X: ArrayLike, tol: float = 1e-10) -> bool:
    """Tell whether frontal slices are diagonal, up to `tol` of the largest entry."""
    X = _tensor(X, "X")
    off_diagonal = ~np.eye(*X.shape[:2], dtype=np.bool_)
    return bool(np.all(np.abs(X[off_diagonal]) <= tol * np.abs(X).max()))


def t_svd(X: ArrayLike) -> tuple[Tensor, Tensor, Tensor]:
    """Decompose X (n1, n2, n3) = U * S * Vᵀ (eq. 5, Algorithm 1).

    U (n1, n1, n3) and V (n2, n2, n3) are orthogonal, S (n1, n2, n3) is f-diagonal.
    """
    X = _tensor(X, "X")
    n1, n2, n_slices = X.shape
    X_hat = _to_fourier(X)
    U_hat, S_hat, V_hat = (
        np.zeros((len(X_hat), *size), X_hat.dtype)
        for size in ((n1, n1), (n1, n2), (n2, n2))
    )
    own_mirror = -np.arange(len(X_hat)) % n_slices == np.arange(len(X_hat))
    diagonal = np.arange(min(n1, n2))
    # Slices that are their own mirror are real. Their factors must be real too: a
    # complex phase would be cut off on the way back and orthogonality lost.
    for which, slices in (
        (own_mirror, X_hat[own_mirror].real),
        (~own_mirror, X_hat[~own_mirror]),
    ):
        U_hat[which], s, Vh = np.linalg.svd(slices)
        S_hat[np.flatnonzero(which)[:, None], diagonal, diagonal] = s
        V_hat[which] = Vh.conj().transpose(0, 2, 1)
    U, S, V = (_from_fourier(A_hat, n_slices) for A_hat in (U_hat, S_hat, V_hat))
    return U, S, V


def tlfa(B: ArrayLike, n_low: int) -> Tensor:
    """Keep the `n_low` lowest frequencies of B (n_components, n_views, n_samples).

    Of all tensors made of these frequencies the result Y is the nearest to B:
    Ŷ(:, :, i) = B̂(:, :, i) for the first `n_low` slices and their mirrors, else 0
    (Algorithm 2). `n_low`, the paper's L, goes from 1 (the mean over samples) to
    n_samples // 2 + 1 (all of B).
    """
    B = _tensor(B, "B")
    n_samples = B.shape[2]
    if not 1 <= n_low <= n_samples // 2 + 1:
        raise InputError(
            f"n_low is {n_low}, but {n_samples} samples have frequencies 1 to "
            f"{n_samples // 2 + 1}; choose n_low in that range."
        )
    B_hat = np.fft.rfft(B, axis=2)
    B_hat[:, :, n_low:] = 0
    return np.fft.irfft(B_hat, n=n_samples, axis=2)


def stack_views(Bs: Sequence[ArrayLike]) -> Tensor:
    """Stack embeddings (n_samples, n_components) and rotate: the paper's Ω.

    The tensor is (n_components, n_views, n_samples).
    """
    if len({np.shape(B) for B in Bs}) != 1:
        raise InputError(
            f"embeddings have shapes {[np.shape(B) for B in Bs]}; "
            "give at least one, all with the same rows and columns."
        )
    return _tensor(np.stack([np.transpose(B) for B in Bs], axis=1), "stack of views")


def unstack(B: ArrayLike) -> list[Tensor]:
    """Undo `stack_views`, the paper's Ω⁻¹: embeddings (n_samples, n_components)."""
    return list(_tensor(B, "B").transpose(1, 2, 0))


def _tensor(X: ArrayLike, name: str) -> Tensor:
    tensor = np.asarray(X)
    if tensor.dtype.kind not in "fiub":
        raise InputTypeError(
            f"{name} has dtype {tensor.dtype}; tensors must hold real numbers."
        )
    if tensor.ndim != 3 or not tensor.size:
        raise InputError(
            f"{name} has shape {tensor.shape}; give a tensor with three axes, "
            "none of them empty."
        )
    if tensor.dtype.kind != "f":
        tensor = tensor.astype(np.float64)
    if not np.isfinite(tensor).all():
        raise InputError(f"{name} holds NaN or infinity; remove or replace them first.")
    return tensor


def _to_fourier(X: Tensor) -> NDArray[np.complexfloating[Any]]:
    """Non-redundant slices of the transform, slice first: (n3 // 2 + 1, n1, n2)."""
    X_hat: NDArray[np.complexfloating[Any]] = np.fft.rfft(X, axis=2)
    return X_hat.transpose(2, 0, 1)


def _from_fourier(X_hat: NDArray[np.complexfloating[Any]], n_slices: int) -> Tensor:
    X: Tensor = np.fft.irfft(X_hat.transpose(1, 2, 0), n=n_slices, axis=2)
    return X
