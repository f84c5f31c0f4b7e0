"""Transfer cut: normalised cut of a bipartite graph through its small side."""

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
    same subspace as the (n + p)-sized normalised cut, from a p-sized problem. Empty
    rows of B embed at zero; there are at most p vectors.
    """
    Q = sp.diags_array(inverse(B.sum(axis=1))) @ B
    W = (B.T @ Q).toarray()
    scale = np.sqrt(inverse(W.sum(axis=1)))
    W *= scale[:, None] * scale
    p = len(W)
    first = max(0, p - n_vectors)
    _, E = eigh(W, subset_by_index=[first, p - 1], check_finite=False)
    return np.asarray(unit_rows(Q @ (scale[:, None] * E[:, ::-1])))
