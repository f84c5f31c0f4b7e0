"""The neighbourhood graph of cells in the consensus embedding, as scanpy keeps it."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix
from manyview.stages.neighbour_graph import nearest_rows, self_tuned_graph

N_NEIGHBORS = 15  # scanpy's own default


class CellGraph(NamedTuple):
    """Sparse n × n matrices, and how many neighbours every cell has."""

    distances: Any
    connectivities: Any
    n_neighbors: int


def neighbour_graph(embedding: Matrix) -> CellGraph:
    """The nearest cells of every cell.

    Connectivities fall with the squared distance, in units of both cells' own widths
    (scanpy has such under the name ``"gauss"``).
    """
    n_rows = len(embedding)
    k = min(N_NEIGHBORS, n_rows - 1)
    if k < 1:
        empty = sp.csr_matrix((n_rows, n_rows))
        return CellGraph(empty, empty, k)
    apart, ids = nearest_rows(np.asarray(embedding), k)
    starts = np.arange(0, k * n_rows + 1, k)
    distances = sp.csr_matrix((apart.ravel(), ids.ravel(), starts), (n_rows, n_rows))
    return CellGraph(distances, sp.csr_matrix(self_tuned_graph(apart, ids, k)), k)
