"""Numbers far from zero: what tells rows apart is not lost to their mean."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.baselines import BestViewKMeans, ConcatKMeans

METHODS = [S2MVTC, AnchorSpectral, SequenceS2MVTC]


def agree(a, b):
    return adjusted_rand_score(a, b) >= 0.999


def times_of_day(n_rows=300, kind=np.float64):
    """Two views of times in seconds since 1970, in three groups minutes apart."""
    rng = np.random.default_rng(5)
    labels = np.arange(n_rows) * 3 // n_rows
    start = 1_700_000_000 + 180 * labels[:, None]
    views = [start + rng.integers(0, 30, size=(n_rows, d)) for d in (1, 3)]
    return [x.astype(kind) for x in views], labels


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("kind", [np.float64, np.int64])
@pytest.mark.parametrize("method", METHODS)
def test_a_large_mean_takes_no_digits(method, kind, dtype):
    views, labels = times_of_day(kind=kind)
    model = method(3, random_state=0, dtype=dtype).fit(views)
    assert agree(labels, model.labels_)
    np.testing.assert_array_equal(model.predict(views), model.labels_)


@pytest.mark.parametrize("method", [ConcatKMeans, BestViewKMeans])
def test_a_large_mean_takes_no_digits_of_whole_numbers_in_k_means(method):
    views, labels = times_of_day(kind=np.int64)
    model = method(3, random_state=0).fit(views)
    assert agree(labels, model.labels_)
    np.testing.assert_array_equal(model.predict(views), model.labels_)


@pytest.mark.parametrize("place", [{"device": "cpu"}, {"memory_limit": "2GB"}])
def test_a_large_mean_takes_no_digits_elsewhere(place, tmp_path):
    views, labels = times_of_day(kind=np.int64)
    if "device" in place:
        torch = pytest.importorskip("torch", reason="torch is not installed")
        data = [torch.as_tensor(x) for x in views]
    else:
        data = [tmp_path / f"{v}.npy" for v in range(2)]
        for path, x in zip(data, views, strict=True):
            np.save(path, x)
    model = AnchorSpectral(3, random_state=0, dtype="float32", **place).fit(data)
    assert agree(labels, np.asarray(model.labels_))
    assert np.asarray(model.embedding_).dtype == np.float32
