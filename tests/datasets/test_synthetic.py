import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from manyview.datasets import like, load, make_views
from manyview.datasets.synthetic import BLOCK_ROWS, GeneratedView
from manyview.errors import FileError, InputError


def test_shape_type_and_mark():
    data = make_views(500, (4, 7), 3, random_state=0)
    assert len(data) == 500 and data.n_features == (4, 7)
    assert all(a.dtype == np.float32 for a in data.arrays)
    assert data.origin == "generated" and data.names[0].startswith("generated")
    assert sorted(set(data.labels)) == [0, 1, 2]


def test_same_seed_same_data_other_seed_other_data():
    one, two, other = (make_views(50, (3,), 2, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.arrays[0], two.arrays[0])
    assert not np.array_equal(one.arrays[0], other.arrays[0])
    rng = np.random.default_rng(1)
    make_views(50, (3,), 2, random_state=rng)
    assert rng.bit_generator.state != np.random.default_rng(1).bit_generator.state


def test_on_disk_as_in_memory(tmp_path):
    size = BLOCK_ROWS + 100
    here = make_views(size, (3, 2), 4, random_state=3, origin="generated here")
    there = make_views(
        size, (3, 2), 4, random_state=3, out=tmp_path / "big", origin="generated here"
    )
    assert isinstance(there.arrays[0], np.memmap)
    for a, b in zip(here.arrays, there.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(here.labels, there.labels)
    assert load(tmp_path / "big.manyview-data").origin == here.origin


def test_any_slice_is_the_same_slice():
    labels = np.zeros(2 * BLOCK_ROWS + 5, dtype=int)
    view = GeneratedView(labels, 2, 1, 1.0, 1.0, 0, 0, np.dtype(np.float32))
    rows = slice(BLOCK_ROWS - 3, 2 * BLOCK_ROWS + 2)
    np.testing.assert_array_equal(view[rows], view[:][rows])


def test_imbalance_is_largest_over_smallest():
    labels = make_views(10_000, (1,), 5, imbalance=8, random_state=0).labels
    sizes = np.bincount(labels)
    assert sizes.sum() == 10_000
    assert sizes.max() / sizes.min() == pytest.approx(8, rel=0.05)
    even = np.bincount(make_views(1000, (1,), 5, random_state=0).labels)
    assert even.max() - even.min() <= 1


def test_quality_decides_what_a_view_knows():
    data = make_views(400, (10, 10), 4, view_quality=(1.5, 0.0), random_state=0)

    def score(view):
        found = KMeans(4, n_init=5, random_state=0).fit_predict(view)
        return adjusted_rand_score(data.labels, found)

    assert score(data.arrays[0]) > 0.9
    assert score(data.arrays[1]) < 0.05


def test_noise_is_the_spread_within_clusters():
    data = make_views(4000, (3,), 2, noise=2.5, random_state=0)
    inside = data.arrays[0][data.labels == 0]
    assert inside.std(axis=0) == pytest.approx([2.5] * 3, rel=0.1)


def test_like_has_the_real_shape():
    data = like("ORL", random_state=0)
    assert len(data) == 400 and data.n_features == (512, 59, 864, 254)
    assert len(set(data.labels)) == 40
    assert data.origin == "generated like ORL"
    with pytest.raises(FileError, match="nor a known data set"):
        like("no such set")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_clusters": 0},
        {"n_clusters": 11},
        {"n_features": ()},
        {"n_features": (3, 0)},
        {"imbalance": 0.5},
        {"noise": -1},
        {"view_quality": (1, 2, 3)},
        {"view_quality": -1},
        {"random_state": -1},
    ],
)
def test_impossible_requests(wrong):
    with pytest.raises(InputError):
        make_views(**({"n_samples": 10, "n_features": (2, 2), "n_clusters": 2} | wrong))
