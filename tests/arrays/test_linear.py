"""Small symmetric and k-sparse matrices, on the host and in torch."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

import manyview
from manyview.arrays.linear import (
    eigh,
    inverse_by_cholesky,
    leading,
    leading_values,
    leading_vectors,
    mirrored,
    plus_diagonal,
    solve_shifted,
    sparse_gram,
    tridiagonal,
    turned,
    weighted_rows,
)
from manyview.arrays.ops import to_host


@pytest.mark.parametrize("size", [50, 900])
def test_leading_vectors_of_every_solver(xp, size, monkeypatch):
    monkeypatch.setattr("manyview.arrays.linear.DENSE_SIZE_ON_DEVICE", 600)
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


@pytest.mark.parametrize("n_largest", [1, 9, 10, 40])
def test_some_of_the_eigenvectors_by_either_solver(n_largest):
    half = np.random.default_rng(0).normal(size=(60, 40))
    gram = half.T @ half
    values, vectors = leading(gram, n_largest)
    assert values.shape == (n_largest,)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(gram)[: -n_largest - 1 : -1])
    np.testing.assert_allclose(gram @ vectors, vectors * values, atol=1e-9)


@pytest.mark.parametrize("shape", [(900, 700), (700, 900)])
def test_jobs_of_the_lanczos_steps_make_up_the_whole(shape, monkeypatch):
    """Halves of a sparse H, or of its dense Gram, each in a job of its own."""
    monkeypatch.setattr("manyview.arrays.linear.MANY_ENTRIES", 100)
    rng = np.random.default_rng(1)
    h = sp.random_array(shape, density=0.02, rng=rng, format="csr")
    done = []

    def by_jobs(jobs):
        done.append(len(jobs))
        return [job() for job in jobs[::-1]][::-1]

    for matrix in (h, (h.T @ h).toarray()):
        values, vectors = leading(matrix, 6, by_jobs)
        assert set(done) == {2}
        done.clear()
        np.testing.assert_allclose(values, leading(h, 6)[0], rtol=1e-6)
        gram = h.T @ h
        np.testing.assert_allclose(gram @ vectors, vectors * values, atol=1e-4)


def test_panels_of_a_sparse_gram_make_up_the_whole():
    rng = np.random.default_rng(2)
    columns = np.argsort(rng.random((80, 1300)), axis=1)[:, :4]
    weights, done = rng.random((80, 4)), []

    def by_jobs(jobs):
        done.append(len(jobs))
        return [job() for job in jobs[::-1]]

    found = sparse_gram(columns, weights, 1300, by_jobs)
    assert done == [3]
    np.testing.assert_array_equal(found, sparse_gram(columns, weights, 1300))


@pytest.mark.parametrize("n_largest", [3, 30, 60])
def test_leading_vectors_of_a_tridiagonal_matrix_by_either_solver(n_largest):
    half = np.random.default_rng(0).normal(size=(90, 60))
    gram = half.T @ half
    found = leading_vectors(tridiagonal(gram), n_largest)
    wanted = np.linalg.eigh(gram)[1][:, ::-1][:, :n_largest]
    np.testing.assert_allclose(np.abs(wanted.T @ found), np.eye(n_largest), atol=1e-9)


@pytest.mark.parametrize("kind", ["steps that end too soon", "a matrix of zeros"])
def test_leading_vectors_where_lanczos_steps_do_not_converge(kind, monkeypatch):
    if kind == "a matrix of zeros":
        values, vectors = leading(np.zeros((700, 700)), 5)
        assert values.size == 0 and vectors.shape == (700, 0)
        return
    half = np.random.default_rng(3).normal(size=(700, 700))
    gram = half.T @ half
    wanted, expected = leading(gram, 6)
    tried = []

    def impatient(*args, **settings):
        tried.append(settings["k"])
        return eigsh(*args, **settings, maxiter=1)

    monkeypatch.setattr("manyview.arrays.linear.eigsh", impatient)
    values, vectors = leading(gram, 6)
    assert tried == [6]
    np.testing.assert_allclose(values, wanted, rtol=1e-6)
    np.testing.assert_allclose(vectors, expected, atol=1e-4)


@pytest.mark.parametrize("shape", [(900, 2000), (2000, 900), (40, 300), (300, 40)])
def test_leading_vectors_of_a_sparse_factor_are_those_of_its_gram(shape):
    rng = np.random.default_rng(5)
    table = rng.random(shape) * (rng.random(shape) < 0.05)
    table *= np.geomspace(1.0, 0.01, shape[1])
    wanted, expected = leading(table.T @ table, 6)
    values, vectors = leading(sp.csr_array(table), 6)
    np.testing.assert_allclose(values, wanted, rtol=1e-6)
    np.testing.assert_allclose(vectors, expected, atol=1e-3)


def test_a_sparse_factor_of_low_rank_has_no_more_directions_than_that():
    h = sp.csr_array(np.outer(np.arange(1.0, 4.0), np.ones(9)))
    values, vectors = leading(h, 5)
    np.testing.assert_allclose(values, [14.0 * 9.0])
    np.testing.assert_allclose(vectors, np.full((9, 1), 1 / 3))


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_shifted_tridiagonal_systems_are_those_of_the_matrix(size):
    rng = np.random.default_rng(size)
    half = rng.normal(size=(size + 3, size))
    matrix, right = half.T @ half, rng.normal(size=(size, 4))
    found = tridiagonal(matrix)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(matrix))
    for shift in (0.5, 20.0):
        inside = solve_shifted(found, shift, turned(found, right))
        solved = turned(found, inside, back=True)
        wanted = np.linalg.solve(matrix + shift * np.eye(size), right)
        np.testing.assert_allclose(solved, wanted, atol=1e-10)


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


def test_ties_as_a_sparse_matrix(xp):
    columns = np.array([[0, 2], [1, 1], [4, 3]], dtype=np.int32)
    weights = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    dense = np.zeros((3, 5))
    np.add.at(dense, (np.arange(3)[:, None], columns), weights)
    table = np.random.default_rng(0).normal(size=(5, 4))
    near = xp.asarray(columns), xp.asarray(weights)
    found = to_host(weighted_rows(*near, xp.asarray(table)))
    np.testing.assert_allclose(found, dense @ table)
    np.testing.assert_allclose(to_host(sparse_gram(*near, 5)), dense.T @ dense)


@pytest.mark.parametrize("n_rows", [300, 40_000])
def test_the_gram_of_ties_on_a_gpu_is_exact(n_rows):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU here")
    rng = np.random.default_rng(4)
    # Three ties a row and quarters: every sum below 2²⁴ quarters is a float32.
    columns = np.argsort(rng.random((n_rows, 60)), axis=1)[:, :3]
    weights = rng.integers(1, 5, (n_rows, 3)) / np.float32(4)
    wanted = sparse_gram(columns, weights, 60)
    near = (torch.as_tensor(x, device="cuda") for x in (columns, weights))
    assert np.array_equal(to_host(sparse_gram(*near, 60)), wanted)


def test_nobody_sets_what_torch_shares_between_threads():
    for path in Path(manyview.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            set_here = [*getattr(node, "targets", ()), getattr(node, "target", None)]
            if isinstance(node, ast.Call):
                set_here.append(node.func)
            names = [ast.unparse(x) for x in set_here if isinstance(x, ast.Attribute)]
            shared = re.compile(r"torch\.(set_|backends\.)(?!.*is_available$)")
            assert not [n for n in names if shared.match(n)], path


def test_inverse_of_a_matrix_that_has_none_is_none(xp):
    if xp.__name__ == "array_api_strict":
        pytest.skip("matrices of a fit are NumPy arrays or tensors")
    table = np.random.default_rng(0).normal(size=(12, 5))
    gram = table.T @ table
    found = to_host(inverse_by_cholesky(xp.asarray(gram)))
    np.testing.assert_allclose(found @ gram, np.eye(5), atol=1e-8)
    assert inverse_by_cholesky(xp.asarray(-gram)) is None


def test_a_matrix_of_one_entry_has_its_eigenvector():
    values, vectors = eigh(np.array([[3.0]]))
    assert values.tolist() == [3.0] and abs(vectors[0, 0]) == 1.0


@pytest.mark.parametrize("value", [2.0, np.inf])
def test_only_the_diagonal_grows_and_of_a_new_matrix(value):
    for matrix in matrices_of_a_fit(np.ones((3, 3))):
        found = np.asarray(plus_diagonal(matrix, value))
        assert (np.diag(found) == 1.0 + value).all()
        assert (found[~np.eye(3, dtype=bool)] == 1.0).all()
        assert (np.asarray(matrix) == 1.0).all()


@pytest.mark.parametrize("n_largest", [None, 2, 9])
def test_largest_eigenvalues_ascend(xp, n_largest):
    if xp.__name__ == "array_api_strict":
        pytest.skip("matrices of a fit are NumPy arrays or tensors")
    half = np.random.default_rng(1).normal(size=(8, 6))
    gram = half.T @ half
    values, vectors = (to_host(x) for x in eigh(xp.asarray(gram), n_largest))
    first = 4 if n_largest == 2 else 0
    np.testing.assert_allclose(values, np.linalg.eigvalsh(gram)[first:], atol=1e-10)
    np.testing.assert_allclose(gram @ vectors, vectors * values, atol=1e-10)


def test_what_stands_above_the_triangle_means_nothing(xp):
    full = np.arange(9.0).reshape(3, 3)
    full += full.T
    lower = np.where(np.tri(3, dtype=bool), full, np.nan)
    np.testing.assert_array_equal(to_host(mirrored(xp.asarray(lower))), full)


def matrices_of_a_fit(matrix):
    """As NumPy array and, where torch is installed, as tensor."""
    yield matrix.copy()
    try:
        import torch
    except ImportError:
        return
    yield torch.as_tensor(matrix.copy())
