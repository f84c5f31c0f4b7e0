"""What becomes of features that cannot be had."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence

from manyview import S2MVTC
from manyview.stages import steering


@pytest.mark.parametrize("n_found", [0, 2])
def test_vectors_that_do_not_converge_are_done_without(
    n_found, three_views, monkeypatch
):
    views, labels = three_views
    told = np.where(np.arange(300) % 10 == 0, labels, -1)

    def never(S, k, **how):
        found = np.linalg.eigh(sp.csr_array(S).toarray())[1][:, -k:]
        raise ArpackNoConvergence("no", np.ones(n_found), found[:, :n_found])

    monkeypatch.setattr(steering, "eigsh", never)
    model = S2MVTC(4, random_state=0).fit(views, partial_labels=told)
    assert (model.labels_ == labels).mean() > 0.95
