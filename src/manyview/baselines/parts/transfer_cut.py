"""Transfer cut: normalised cut of a bipartite graph through its small side."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from manyview.arrays.ops import unit_rows
from manyview.base import FloatArray
from manyview.stages.scaling import inverse


def transfer_cut(B: sp.csr_array, n_vectors: int) -> FloatArray:
    """Unit-row spectral embedding of the rows of a bipartite graph.

    With ``Dx = diag(B 1)``, ``W = B' Dx^{-1} B`` and ``D = diag(W 1)``, the leading
    eigenvectors ``E`` of ``D^{-1/2} W D^{-1/2}`` give ``Dx^{-1} B D^{-1/2} E``: the
    same subspace as the (n + p)-sized normalised cut, from a p-sized problem.

    B (n_samples, n_columns) is not negative, and its empty rows embed at zero. No more
    than n_columns vectors are returned.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from manyview.baselines.parts.transfer_cut import transfer_cut
    >>> B = sp.csr_array(np.kron(np.eye(2), np.ones((3, 2))))
    >>> F = transfer_cut(B, 2)
    >>> bool(np.allclose(F @ F.T, np.kron(np.eye(2), np.ones((3, 3)))))
    True
    """
    Q = sp.diags_array(inverse(B.sum(axis=1))) @ B
    W = (B.T @ Q).toarray()
    scale = np.sqrt(inverse(W.sum(axis=1)))
    W *= scale[:, None] * scale
    p = len(W)
    first = max(0, p - n_vectors)
    _, E = eigh(W, subset_by_index=[first, p - 1], check_finite=False)
    return np.asarray(unit_rows(Q @ (scale[:, None] * E[:, ::-1])))
