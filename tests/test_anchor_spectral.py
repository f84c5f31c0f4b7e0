"""AnchorSpectral against its parts, and beside S2MVTC on the same graph."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral
from manyview.stages.anchor_graph import frequency_weights


def test_rounds_start_from_this_very_graph_and_partition(three_views):
    views, _ = three_views
    plain = AnchorSpectral(4, random_state=3).fit(views)._passes.spectrum
    _, _, spectrum, start, *_ = S2MVTC(4, random_state=3).fit(views)._passes
    np.testing.assert_allclose(spectrum.values, plain.values)
    np.testing.assert_allclose(spectrum.table, plain.table, atol=1e-9)
    np.testing.assert_allclose(start.scale, frequency_weights(plain.values, 4))


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_embedding_has_two_unit_vectors_per_cluster(three_views, n_clusters):
    views, _ = three_views
    model = AnchorSpectral(n_clusters, random_state=0).fit(views)
    assert model.embedding_.shape == (len(views[0]), 2 * n_clusters)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1.0, rtol=1e-6)
