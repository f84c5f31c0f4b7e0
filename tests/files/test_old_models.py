"""Model files that earlier releases wrote load, and predict as they did."""

from pathlib import Path

import numpy as np
import pytest

import manyview
from manyview.datasets import make_views

FOLDER = Path(__file__).parent / "models_0_1_0"
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
KEYS = [name.removesuffix(".file") for name in EXPECTED if name.endswith(".file")]


@pytest.fixture(scope="module")
def views():
    return make_views(60, (5, 4), 3, random_state=0)


def load(key):
    return manyview.load_model(FOLDER / str(EXPECTED[f"{key}.file"]))


def test_every_file_is_tried():
    assert {str(EXPECTED[f"{key}.file"]) for key in KEYS} == {
        path.name for path in FOLDER.glob("*.mvm")
    }


@pytest.mark.parametrize("key", KEYS)
def test_an_old_model_predicts_as_it_did(key, views):
    model = load(key)
    assert np.array_equal(model.labels_, EXPECTED[f"{key}.labels"])
    if f"{key}.predicted" in EXPECTED:
        assert np.array_equal(model.predict(views), EXPECTED[f"{key}.predicted"])
    if f"{key}.embedded" in EXPECTED:
        # Recorded on another processor: float32 products round as it does.
        np.testing.assert_allclose(
            model.transform(views), EXPECTED[f"{key}.embedded"], rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("key", KEYS)
def test_an_old_model_is_saved_anew(key, views, tmp_path):
    model = load(key)
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert set(vars(again)) == set(vars(model))
    assert np.array_equal(again.labels_, model.labels_)
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(views), model.predict(views))
