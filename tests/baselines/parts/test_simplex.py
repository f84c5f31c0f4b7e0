"""The batched projection against a generic solver and its optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from manyview.baselines.parts.simplex import project_groups, project_simplex

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


def test_points_of_the_simplex_stay():
    Z = np.random.default_rng(2).dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(project_simplex(Z), Z, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_and_large_values_do_no_harm(dtype):
    Z = project_simplex(np.array([[1e30, 0.0, -1e30]], dtype=dtype))
    assert Z.dtype == dtype
    assert Z.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e8])
def test_group_projection_agrees_with_the_batched_one(scale):
    rng = np.random.default_rng(2)
    U = scale * rng.normal(size=(40, 7))
    group = np.repeat(np.arange(40), 7)
    flat = project_groups(U.ravel(), group, 40).reshape(U.shape)
    np.testing.assert_allclose(flat, project_simplex(U), atol=1e-12)


def test_group_projection_takes_groups_of_any_size_in_any_order():
    u, group = np.array([3.0, 0.2, -5.0, 0.4, 0.1]), np.array([2, 0, 0, 0, 2])
    projected = project_groups(u, group, 4)
    np.testing.assert_allclose(projected, [1, 0.4, 0, 0.6, 0])
