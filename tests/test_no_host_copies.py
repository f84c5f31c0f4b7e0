"""On a device nothing of the rows' size may slip back to the host by accident."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.stages import refining

torch = pytest.importorskip("torch", reason="torch is not installed")

MODELS = {
    "graph": S2MVTC(4, random_state=0),
    "published": S2MVTC.as_published("CCV").set_params(n_clusters=4, random_state=0),
    "both": SequenceS2MVTC(4, graph=True, min_duration=20, random_state=0),
    "spectral": AnchorSpectral(4, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_implicit_conversion_to_numpy(name, monkeypatch):
    """CUDA tensors refuse `np.asarray`; here CPU tensors do, so that it shows."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 600)
    views = [
        torch.as_tensor(3 * rng.normal(size=(4, d))[labels] + rng.normal(size=(600, d)))
        for d in (6, 9)
    ]

    def refuse(self, *args, **kwargs):
        raise TypeError("implicit host copy of a tensor")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    model = MODELS[name].fit(views)
    assert isinstance(model.labels_, torch.Tensor)
    labels = model.predict(views)
    assert isinstance(labels, torch.Tensor) and labels.shape == (600,)
    assert isinstance(model.transform(views), torch.Tensor)
    assert model.certainty_.shape == (600,)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_refined_rows_stay_on_the_device(missing, monkeypatch):
    """Of the rows only labels come back, and how far they lie along eight directions.

    Nearest rows, fits and moves are made where the views are, with the host's result.
    """
    n_rows, brought = 400, []
    rows = make_views(1200, (30, 25, 20), 4, noise=3.0, random_state=0)
    arrays = [np.array(x) for x in rows.arrays]
    arrays[1][np.random.default_rng(0).uniform(size=1200) < missing] = np.nan
    refine, numpy = refining.refine_clusters, torch.Tensor.numpy

    def watched(*given, **how):
        def spied(tensor, *args, **kwargs):
            brought.append(tuple(tensor.shape))
            return numpy(tensor, *args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(torch.Tensor, "numpy", spied)
            return refine(*given, **how)

    monkeypatch.setattr(refining, "REFINED_ROWS", n_rows // 2)
    monkeypatch.setattr("manyview.s2mvtc.refine_clusters", watched)
    with lowered(exact_rows=n_rows):
        found = S2MVTC(4, random_state=0).fit(list(map(torch.as_tensor, arrays)))
        here = S2MVTC(4, random_state=0).fit(arrays)
    wide = [shape for shape in brought if n_rows // 2 in shape or n_rows in shape]
    wide = [shape for shape in wide if len(shape) > 1 and min(shape) > 8]
    assert brought and not wide
    np.testing.assert_array_equal(found.labels_, here.labels_)
