"""The batched projection against a generic solver and its optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from manyview.baselines.parts.simplex import project_simplex

rows = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 7)),
    elements=st.floats(-1e3, 1e3),
)


@given(rows)
def test_rows_lie_on_the_simplex(U):
    Z = project_simplex(U)
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1e-12)


@given(rows)
def test_no_other_point_is_nearer(U):
    # z is the projection iff (u - z)'(w - z) <= 0 for every vertex w.
    Z = project_simplex(U)
    G = U - Z
    slack = (G * Z).sum(axis=1, keepdims=True) - G
    assert (slack >= -1e-9 * (1 + np.abs(U).max())).all()


def test_equals_a_generic_solver():
    u = np.random.default_rng(0).normal(size=5)
    found = minimize(
        lambda z: ((z - u) ** 2).sum(),
        np.full(5, 0.2),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(project_simplex(u[None])[0], found.x, atol=1e-6)


def test_support_is_the_projection_of_the_allowed_entries():
    rng = np.random.default_rng(1)
    U = rng.normal(size=(4, 6))
    support = rng.random((4, 6)) < 0.5
    support[:, 2] = True
    Z = project_simplex(U, support)
    assert (Z[~support] == 0).all()
    for z, u, s in zip(Z, U, support, strict=True):
        np.testing.assert_allclose(z[s], project_simplex(u[s][None])[0], atol=1e-12)


def test_points_of_the_simplex_stay():
    Z = np.random.default_rng(2).dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(project_simplex(Z), Z, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_large_values_do_no_harm(dtype):
    Z = project_simplex(np.array([[1e30, 0.0, -1e30]], dtype=dtype))
    assert Z.dtype == dtype
    assert Z.tolist() == [[1.0, 0.0, 0.0]]
