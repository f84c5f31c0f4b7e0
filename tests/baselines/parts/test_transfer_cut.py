import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import unit_rows
from manyview.baselines.parts.transfer_cut import transfer_cut


def test_equals_the_normalised_cut_of_the_whole_bipartite_graph():
    B = np.random.default_rng(0).uniform(size=(25, 6)) ** 3
    whole = np.block([[np.zeros((25, 25)), B], [B.T, np.zeros((6, 6))]])
    degrees = whole.sum(axis=1)
    values, vectors = np.linalg.eigh(whole / np.sqrt(np.outer(degrees, degrees)))
    # The large problem's vectors differ from ours by the singular values alone.
    F = (vectors / np.sqrt(degrees)[:, None])[:25, ::-1][:, :4] * values[::-1][:4]
    F = unit_rows(F)
    ours = transfer_cut(sp.csr_array(B), 4)
    np.testing.assert_allclose(ours @ ours.T, F @ F.T, atol=1e-10)


def test_components_embed_at_right_angles_and_empty_rows_at_zero():
    B = np.zeros((7, 4))
    B[:3, :2], B[3:6, 2:] = 1.0, 2.0
    F = transfer_cut(sp.csr_array(B), 2)
    np.testing.assert_allclose(F[:3] @ F[3:6].T, 0, atol=1e-12)
    np.testing.assert_allclose(F[:3] @ F[:3].T, 1)
    np.testing.assert_array_equal(F[6], 0)


def test_gives_no_more_vectors_than_columns():
    assert transfer_cut(sp.csr_array(np.ones((5, 2))), 9).shape == (5, 2)
