"""The set-up along an order: weights of the terms, and how F reaches the rows."""

import numpy as np
import pytest

from manyview import SequenceS2MVTC
from manyview.engine.local import LocalEngine
from manyview.stages.sequence import low_pass, make_sequence
from manyview.stages.sequence_setup import put_order
from manyview.views.views import Views


def sequence_of(n_rows, n_low):
    order = np.random.default_rng(0).permutation(n_rows)
    return make_sequence(
        n_rows, order=order, n_low=n_low, min_duration=None, periodic=False
    )


def engine_of(n_rows):
    x = np.random.default_rng(1).normal(size=(n_rows, 2))
    engine = LocalEngine(Views([x]), np.float64, block_rows=7)
    engine.put("B_bar", np.zeros((n_rows, 3)))
    return engine


def test_a_narrow_basis_is_given_to_the_rows_in_their_order():
    engine, sequence = engine_of(40), sequence_of(40, 3)
    assert put_order(engine, sequence, graph=False) is None
    F = engine.read("F")
    B = np.random.default_rng(2).normal(size=(40, 2))
    np.testing.assert_allclose(F @ (F.T @ B), low_pass(B, sequence), atol=1e-12)


def test_too_wide_a_basis_stays_a_sequence(monkeypatch):
    monkeypatch.setattr("manyview.stages.sequence_setup.MOST_BASIS_VECTORS", 4)
    engine, sequence = engine_of(40), sequence_of(40, 3)
    assert put_order(engine, sequence, graph=False) is sequence
    with pytest.raises(KeyError):
        engine.read("F")


def test_the_vectors_of_a_graph_are_filtered():
    engine, sequence = engine_of(40), sequence_of(40, 3)
    F = np.random.default_rng(3).normal(size=(40, 4))
    engine.put("F", F)
    assert put_order(engine, sequence, graph=True) is None
    np.testing.assert_allclose(engine.read("F_out"), low_pass(F, sequence))


def test_a_fit_on_prepared_features_is_the_fit(three_views):
    views, _ = three_views
    order = np.random.default_rng(4).permutation(300)
    small = {"n_anchors": 40, "max_iter": 2, "n_init": 2, "random_state": 0}
    ready = SequenceS2MVTC(4, lam=0.01, **small).prepare(views)
    for changes in ({"lam": 0.01}, {"lam": 3.0, "beta": 0.2, "n_low": 5}):
        model = SequenceS2MVTC(4, **small, **changes)
        found = model.fit_prepared(views, ready, order=order).embedding_
        whole = SequenceS2MVTC(4, **small, **changes).fit(views, order=order)
        np.testing.assert_allclose(found, whole.embedding_, atol=1e-6)
