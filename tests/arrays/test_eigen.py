"""Leading eigenvectors, on the host and in torch."""

import numpy as np
import pytest

from manyview.arrays.linear import leading, leading_values
from manyview.arrays.ops import to_host


@pytest.mark.parametrize("size", [50, 900])
def test_leading_vectors_of_every_solver(xp, size, monkeypatch):
    monkeypatch.setattr("manyview.arrays.eigen.DENSE_SIZE_ON_DEVICE", 600)
    if xp.__name__ == "array_api_strict":
        pytest.skip("matrices of a fit are NumPy arrays or tensors")
    rng = np.random.default_rng(size)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    spectrum = 0.8 ** np.arange(size)
    gram = (basis * spectrum) @ basis.T
    values, vectors = leading(xp.asarray(gram), 12)
    found = to_host(vectors)
    np.testing.assert_allclose(values, spectrum[:12], rtol=1e-6)
    np.testing.assert_allclose(found.T @ found, np.eye(12), atol=1e-8)
    np.testing.assert_allclose(gram @ found, found * values, atol=1e-5)
    assert (np.sum(found**3, axis=0) >= 0).all()


def test_directions_of_no_size_are_left_out(xp):
    if xp.__name__ == "array_api_strict":
        pytest.skip("matrices of a fit are NumPy arrays or tensors")
    values, vectors = leading(xp.asarray(np.diag([3.0, 2.0, 0.0, 0.0])), 4)
    assert values.tolist() == [3.0, 2.0] and vectors.shape == (4, 2)


def test_values_alone(xp):
    if xp.__name__ == "array_api_strict":
        pytest.skip("matrices of a fit are NumPy arrays or tensors")
    half = np.random.default_rng(2).normal(size=(40, 30))
    gram = half.T @ half
    expected = np.linalg.eigvalsh(gram)[::-1][:5]
    np.testing.assert_allclose(leading_values(xp.asarray(gram), 5), expected)
