"""What a plan counts: fields per row, passes and work grow as the method does."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.engine.contract import lowered
from manyview.stages.costs import (
    UNKNOWN_CLUSTERS,
    Shape,
    communities_cost,
    graph_cost,
    plan_of,
    refining_cost,
    rounds_cost,
    stored_widths,
)
from manyview.views.views import Views

WIDTHS = (20, 30)


def bytes_of(cost):
    return {need.name: need.bytes_per_row for need in cost.needs}


def test_the_graph_keeps_two_vectors_per_cluster():
    cost = graph_cost(10_000, WIDTHS, 4, AnchorSpectral(7))
    assert bytes_of(cost) == {"F": 2 * 7 * 4, "labels": 8.0}
    unknown = graph_cost(10_000, WIDTHS, 4, AnchorSpectral("auto"))
    assert bytes_of(unknown)["F"] == 2 * UNKNOWN_CLUSTERS * 4


def test_rounds_keep_the_features_of_every_view():
    model = S2MVTC(7, n_anchors=100)
    cost = rounds_cost(10_000, WIDTHS, 4, model, graph=True, n_rounds=2)
    found = bytes_of(cost)
    assert found["features"] == 100 * 2 * 4 and found["B_bar"] == 2 * 7 * 4
    more = rounds_cost(10_000, WIDTHS, 4, model, graph=True, n_rounds=5)
    assert more.passes == cost.passes + 3 and more.flops > cost.flops


def test_along_an_order_the_basis_is_that_of_the_frequencies():
    model = SequenceS2MVTC(7, n_low=5, n_components=11)
    cost = rounds_cost(10_000, WIDTHS, 8, model, graph=False, n_rounds=2)
    found = bytes_of(cost)
    assert found["F"] == 9 * 8 and found["B_bar"] == 11 * 8


def test_a_sample_makes_the_grams_of_many_rows_cheaper():
    model = S2MVTC(7, n_anchors=1000)
    exact = model.get_params() | {"lam": 0.1}
    with lowered(sampled_rows=1000):
        quick = rounds_cost(10_000, WIDTHS, 4, model, graph=True, n_rounds=1)
        whole = rounds_cost(10_000, WIDTHS, 4, S2MVTC(**exact), graph=True, n_rounds=1)
    # Two Grams: of a sample in float32, of all rows in float64 at twice the price.
    saved = 1000**2 * 2 * (2.0 * 10_000 - 1000)
    assert whole.flops - quick.flops == pytest.approx(saved)


@pytest.mark.parametrize("model", [S2MVTC(3), SequenceS2MVTC(3), AnchorSpectral(3)])
def test_a_plan_counts_the_rows_of_the_views(model):
    views = Views([np.ones((500, 4), np.float32), np.ones((500, 6), np.float32)])
    assert str(plan_of(model, views)).startswith("500 rows")
    with lowered(block_rows=100):
        assert str(plan_of(model, views)).startswith("500 rows in blocks of 100;")


def test_few_rows_pay_for_their_neighbours_and_not_for_starts():
    model = S2MVTC(7, n_anchors=100)
    own = [plan_of(model, Shape(n, WIDTHS)).seconds for n in (2000, 4000, 8000)]
    assert np.diff(own)[1] > 2.5 * np.diff(own)[0]  # most with the square of the rows
    near = [communities_cost(n, 3).setup_seconds for n in (2000, 4000, 8000)]
    assert np.diff(near)[1] == pytest.approx(4 * np.diff(near)[0])
    with lowered(exact_rows=1000):
        cost = model._cost(2000, WIDTHS, 4)
    assert cost.setup_flops > model._cost(2000, WIDTHS, 4).setup_flops


def test_many_rows_pay_for_the_neighbours_of_some():
    own, none = (refining_cost(10**5, (800, 900), k) for k in (10, 300))
    assert own.setup_seconds > 0.3 and (own.passes, own.reads) == (2, 1)
    assert none.setup_seconds == none.passes == 0  # too few rows of a cluster
    with lowered(exact_rows=4096):  # one part in place of two
        half = refining_cost(10**5, (800, 900), 10)
    assert own.setup_flops == pytest.approx(2 * half.setup_flops)
    wide, wider = (refining_cost(10**5, (w, w), 10) for w in (8000, 9000))
    assert wider.setup_flops == pytest.approx(wide.setup_flops, rel=0.01)


def test_a_sparse_view_is_planned_by_what_it_stores():
    thin = sp.random_array((3000, 4000), density=0.002, format="csr", rng=0)
    full = np.zeros((3000, 4000))
    sparse, dense = (plan_of(S2MVTC(3), Views([x, x])).seconds for x in (thin, full))
    assert sparse < dense / 5
    # Of many rows no more than the directions they are compared along.
    few, many = (
        sp.random_array((9000, 5000), density=share, format="csr", rng=0)
        for share in (0.005, 0.02)
    )
    plans = [plan_of(S2MVTC(3), Views([x, x])) for x in (few, many)]
    assert plans[1].seconds < 1.2 * plans[0].seconds
    assert stored_widths(Views([thin, full])) == (8, 4000)
    assert stored_widths(Views([sp.csr_array(np.ones((30, 20)))])) == (20,)
