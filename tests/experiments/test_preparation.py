"""Our own scaling, applied before a method sees the views."""

import numpy as np
import scipy.sparse as sp

from manyview.experiments.estimators import (
    ON_OUR_SCALING,
    build,
    full_name,
    names_on_our_scaling,
)
from manyview.experiments.preparation import on_our_scaling
from manyview.views.views import Views


def test_each_view_is_prepared_by_its_kind():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 4)) * 50 + 7
    counts = sp.csr_array(rng.poisson(0.3, size=(80, 20)).astype(float))
    given = Views({"plain": plain, "counts": counts}, labels=np.arange(80) % 2)
    ours = on_our_scaling(given, 2, 0)
    assert ours.names == ("plain", "counts")
    np.testing.assert_array_equal(ours.labels, given.labels)
    z = (plain - plain.mean(axis=0)) / plain.std(axis=0, ddof=1)
    np.testing.assert_allclose(ours.arrays[0], z, atol=1e-6)
    assert sp.issparse(ours.arrays[1])
    roots = np.sqrt(counts.toarray())
    lengths = np.linalg.norm(roots, axis=1, keepdims=True)
    wanted = roots / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(ours.arrays[1].toarray(), wanted, atol=1e-6)


def test_views_that_some_rows_lack_stay_so():
    rng = np.random.default_rng(0)
    present = np.ones((30, 2), bool)
    present[:5, 1] = False
    given = Views([rng.normal(size=(30, 2)), rng.normal(size=(30, 3))], present=present)
    np.testing.assert_array_equal(on_our_scaling(given, 2, 0).present, present)


def test_methods_that_prepare_as_we_do_run_once():
    names = names_on_our_scaling()
    assert "BMVC" + ON_OUR_SCALING in names
    assert "KNNLeiden" + ON_OUR_SCALING not in names
    assert "S2MVTC" + ON_OUR_SCALING not in names


def test_the_name_is_understood_and_the_method_is_the_same():
    assert full_name("fsm-sc" + ON_OUR_SCALING) == "FSMSC" + ON_OUR_SCALING
    ours, given = (build("FSMSC" + w, {}, 3, 0, "x") for w in (ON_OUR_SCALING, ""))
    assert ours.get_params() == given.get_params()
