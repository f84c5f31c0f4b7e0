"""On a device nothing of the rows' size may slip back to the host by accident."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC

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
