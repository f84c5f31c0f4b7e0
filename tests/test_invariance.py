"""The order rule: the default does not know where a row or a view stands.

In memory a shuffled table is the same computation, bit for bit.
"""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views
from manyview.engine.content_order import (
    content_order,
    hash_block,
    hash_orders,
    odd_numbers,
)
from manyview.engine.contract import lowered
from manyview.engine.local import LocalEngine
from manyview.views.views import Block

METHODS = [S2MVTC, AnchorSpectral]
N_ROWS = 400
FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])
KINDS = pytest.mark.parametrize("kind", ["dense", "sparse", "missing", "both"])
SMALL = {"n_graph_anchors": 200, "n_init": 2, "random_state": 3}
# Every kind of model that promises not to know an order.
MODELS = {
    "drawn": lambda given: S2MVTC(5, **SMALL),
    "given": lambda given: S2MVTC(5, anchors=given, **SMALL),
    "random": lambda given: S2MVTC(5, anchors="random", lam=0.1, max_iter=3, **SMALL),
    "spectral": lambda given: AnchorSpectral(5, **SMALL),
    "unordered": lambda given: SequenceS2MVTC(
        5, anchors=given, smoothing_weight=0.0, max_iter=2, n_init=2, random_state=3
    ),
}
MADE = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def same(a, b):
    return adjusted_rand_score(a, b) >= 0.999


@pytest.fixture(scope="module")
def overlapping():
    """Three views of five overlapping clusters: not a trivial partition."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 5, N_ROWS)
    return [
        2.0 * rng.normal(size=(5, d))[labels] + rng.normal(size=(N_ROWS, d))
        for d in (4, 7, 12)
    ]


def of_kind(views, kind, dtype):
    """The views as sparse matrices, with missing entries, or both."""
    made, present = [x.astype(dtype) for x in views], None
    if kind in ("sparse", "both"):
        made = [sp.csr_array(np.maximum(x, 0.0)) for x in made]
    if kind in ("missing", "both"):
        rng = np.random.default_rng(3)
        present = rng.random((len(views[0]), len(views))) > 0.3
        present[~present.any(axis=1), 1] = True
    return Views(made, present=present)


def in_rows(views, rows):
    present = None if views.present is None else views.present[rows]
    return Views([x[rows] for x in views.arrays], present=present)


def in_views(views, order):
    present = None if views.present is None else views.present[:, order]
    return Views([views.arrays[v] for v in order], present=present)


def some_rows(views, n_rows=60):
    """Anchors for `anchors=`: random rows, in input units."""
    chosen = np.random.default_rng(5).permutation(len(views))[:n_rows]
    return [x[chosen] for x in views.arrays]


def assert_identical(found, labels, embedding):
    np.testing.assert_array_equal(found.labels_, labels)
    np.testing.assert_array_equal(found.embedding_, embedding)


@pytest.fixture(scope="module")
def unturned(overlapping):
    """A model of rows and views as they stand, fitted once for all that turns them."""
    found = {}

    def fitted(make, kind, dtype):
        key = make, kind, dtype
        if key not in found:
            views = of_kind(overlapping, kind, dtype)
            with lowered(block_rows=128):
                found[key] = make(some_rows(views)).fit(views)
        return found[key]

    return fitted


@MADE
@KINDS
@FLOATS
def test_shuffled_rows_are_the_same_fit_bit_for_bit(
    make, kind, dtype, overlapping, unturned
):
    views, whole = of_kind(overlapping, kind, dtype), unturned(make, kind, dtype)
    anchors = some_rows(views)
    p = np.random.default_rng(0).permutation(N_ROWS)
    with lowered(block_rows=128):
        shuffled = make(anchors).fit(in_rows(views, p))
    assert len(np.unique(whole.labels_)) == 5 and whole.embedding_.dtype == dtype
    assert_identical(shuffled, whole.labels_[p], whole.embedding_[p])
    np.testing.assert_array_equal(shuffled.view_influence_, whole.view_influence_)


@MADE
@KINDS
@FLOATS
def test_permuted_views_are_the_same_fit_bit_for_bit(
    make, kind, dtype, overlapping, unturned
):
    views, order = of_kind(overlapping, kind, dtype), [2, 0, 1]
    anchors, first = some_rows(views), unturned(make, kind, dtype)
    with lowered(block_rows=128):
        second = make([anchors[v] for v in order]).fit(in_views(views, order))
    assert_identical(second, first.labels_, first.embedding_)
    for name in ("view_weights_", "view_influence_"):
        if hasattr(first, name):
            assert len(set(getattr(first, name))) > 1, "or the order could not be told"
            np.testing.assert_array_equal(
                getattr(second, name), getattr(first, name)[order]
            )
    by_cluster = first.cluster_influence_[:, order]
    np.testing.assert_array_equal(second.cluster_influence_, by_cluster)
    if hasattr(first, "anchors_"):
        widths = [a.shape[1] for a in second.anchors_]
        assert widths == [overlapping[v].shape[1] for v in order]
        for v, own in enumerate(order):
            np.testing.assert_array_equal(second.anchors_[v], first.anchors_[own])


@MADE
@FLOATS
def test_many_rows_are_sampled_by_content_too(make, dtype, overlapping):
    """Beyond `sampled_rows` Grams and graphs come from a sample of the rows."""
    views = of_kind(overlapping, "dense", dtype)
    anchors = some_rows(views)
    p = np.random.default_rng(0).permutation(N_ROWS)
    with lowered(block_rows=90, sampled_rows=300):
        whole = make(anchors).fit(views)
        shuffled = make(anchors).fit(in_rows(views, p))
    assert_identical(shuffled, whole.labels_[p], whole.embedding_[p])


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"graph": True, "n_graph_anchors": 200},
        {"n_low": 40},
        {"row_norm": "zscore", "start": "directions"},
    ],
    ids=str,
)
@KINDS
@FLOATS
def test_rows_shuffled_with_their_order_and_views_turned_are_the_same_sequence(
    setting, kind, dtype, overlapping, monkeypatch
):
    if "n_low" in setting:  # too wide a basis to keep
        monkeypatch.setattr("manyview.stages.sequence_setup.MOST_BASIS_VECTORS", 10)
    views = of_kind(overlapping, kind, dtype)
    rng = np.random.default_rng(1)
    p, key, groups = (rng.permutation(N_ROWS) for _ in range(3))
    groups = groups % 3
    with lowered(block_rows=128):
        model = SequenceS2MVTC(5, max_iter=3, n_init=2, random_state=3, **setting)
        whole = model.fit(views, order=key, groups=groups)
        labels, embedding = whole.labels_, whole.embedding_
        model = SequenceS2MVTC(5, max_iter=3, n_init=2, random_state=3, **setting)
        turned = in_views(in_rows(views, p), [1, 2, 0])
        model.fit(turned, order=key[p], groups=groups[p])
        assert_identical(model, labels[p], embedding[p])


@pytest.mark.parametrize("estimator", [S2MVTC, SequenceS2MVTC])
def test_traces_follow_the_callers_rows_and_views(estimator, overlapping):
    views, order = of_kind(overlapping, "missing", np.float64), [1, 2, 0]
    p = np.random.default_rng(4).permutation(N_ROWS)
    back = np.argsort(p)
    rows = np.array([3, 40, 350])
    key = {"order": np.arange(N_ROWS)} if estimator is SequenceS2MVTC else {}
    shuffled_key = {name: values[p] for name, values in key.items()}

    def fitted(views, trace, **key):
        with lowered(block_rows=128):
            model = estimator(5, max_iter=2, n_init=2, random_state=3)
            return model.fit(views, trace=trace, **key)

    whole = fitted(views, rows, **key)
    assert len(whole.trace_) == 2
    np.testing.assert_array_equal(whole.trace_[-1]["B_bar"], whole.embedding_[rows])
    elsewhere = np.sort(back[rows])  # traces are sorted by the caller's numbers
    shuffled = fitted(in_rows(views, p), back[rows], **shuffled_key)
    places = np.searchsorted(rows, p[elsewhere])
    turned = fitted(in_views(views, order), rows, **key)
    names = {f"{x}{v}": f"{x}{own}" for x in "BY" for v, own in enumerate(order)}
    for first, second, third in zip(
        whole.trace_, shuffled.trace_, turned.trace_, strict=True
    ):
        assert first.keys() == {"B_bar", *names}
        for name, values in first.items():
            np.testing.assert_array_equal(second[name], values[places])
        for name, values in third.items():
            np.testing.assert_array_equal(values, first[names.get(name, name)])
    for v in range(3):
        lacking = ~views.present[rows, v]
        assert not whole.trace_[-1][f"B{v}"][lacking].any()


@pytest.mark.parametrize("method", METHODS)
def test_names_of_views_change_nothing(method, overlapping):
    first = method(5, **SMALL).fit(overlapping)
    named = {"c": overlapping[2], "a": overlapping[0], "b": overlapping[1]}
    second = method(5, **SMALL).fit(named)
    assert_identical(second, first.labels_, first.embedding_)


@pytest.mark.parametrize("method", METHODS)
@FLOATS
def test_how_a_table_lies_in_memory_changes_nothing(method, dtype, overlapping):
    views = [x.astype(dtype) for x in overlapping]
    first = method(5, **SMALL).fit(views)
    turned = [np.asfortranarray(x) for x in views]
    strided = [np.repeat(x, 2, axis=0)[::2] for x in views]
    for other in (turned, strided):
        second = method(5, **SMALL).fit(other)
        assert_identical(second, first.labels_, first.embedding_)


@pytest.mark.parametrize("method", METHODS)
def test_how_sparse_rows_are_stored_changes_nothing(method, overlapping):
    x, other = np.maximum(overlapping[2], 0.0), overlapping[0]
    plain = sp.csr_array(x)
    rows, columns = (i.ravel() for i in np.indices(x.shape))
    full = sp.csr_array((x.ravel(), (rows, columns)), shape=x.shape)
    assert full.nnz > plain.nnz, "zeros are stored"
    first = method(5, **SMALL).fit([plain, other])
    second = method(5, **SMALL).fit([full, other])
    assert_identical(second, first.labels_, first.embedding_)


@pytest.mark.parametrize("method", METHODS)
@FLOATS
def test_shuffled_tensors_are_the_same_fit_bit_for_bit(method, dtype, overlapping):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = [torch.as_tensor(x.astype(dtype)) for x in overlapping]
    p = np.random.default_rng(0).permutation(N_ROWS)
    whole = method(5, **SMALL).fit(tensors)
    labels, embedding = np.asarray(whole.labels_), np.asarray(whole.embedding_)
    shuffled = method(5, **SMALL).fit([x[p] for x in tensors])
    assert_identical(shuffled, labels[p], embedding[p])
    turned = method(5, **SMALL).fit(tensors[::-1])
    assert_identical(turned, labels, embedding)


def few_values(seed):
    """Distinct rows of two views as wide as each other; many hold (a, b) and (b, a)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 300)
    x = [rng.normal(size=(3, 3))[labels] + rng.normal(size=(300, 3)) for _ in range(2)]
    rows = np.unique(np.round(np.concatenate(x, axis=1)), axis=0)
    both = {tuple(r) for r in rows.tolist()}
    assert any((*r[3:], *r[:3]) in both and r[:3] != r[3:] for r in both)
    return [rows[:, :3], rows[:, 3:]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 3, 5])
def test_rows_that_hold_their_views_the_other_way_round_are_others(method, seed):
    views = few_values(seed)
    p = np.random.default_rng(seed).permutation(len(views[0]))
    whole = method(3, **SMALL).fit(views)
    shuffled = method(3, **SMALL).fit([x[p] for x in views])
    assert_identical(shuffled, whole.labels_[p], whole.embedding_[p])
    turned = method(3, **SMALL).fit(views[::-1])
    assert_identical(turned, whole.labels_, whole.embedding_)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_equal_content_are_interchangeable(method, overlapping):
    views = [np.repeat(x[:200], 3, axis=0) for x in overlapping]
    p = np.random.default_rng(2).permutation(600)
    whole = method(5, **SMALL).fit(views)
    shuffled = method(5, **SMALL).fit([x[p] for x in views])
    np.testing.assert_array_equal(shuffled.labels_, whole.labels_[p])
    np.testing.assert_allclose(shuffled.embedding_, whole.embedding_[p], atol=1e-12)
    np.testing.assert_array_equal(whole.labels_.reshape(200, 3).std(axis=1), 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_scaling_one_view_changes_nothing(method, overlapping):
    first = method(5, **SMALL).fit(overlapping).labels_
    scaled = [overlapping[0] * 1e3, *overlapping[1:]]
    assert same(first, method(5, **SMALL).fit(scaled).labels_)


@pytest.mark.parametrize("method", METHODS)
def test_block_size_changes_nothing(method, overlapping):
    found = []
    for block_rows in (64, 333):
        with lowered(block_rows=block_rows):
            found.append(method(5, **SMALL).fit(overlapping).labels_)
    assert same(*found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [None, "1GB"])
def test_shuffled_files_give_the_same_clusters(method, limit, overlapping, tmp_path):
    """Many rows on disk are read as they stand: drawn ones are taken by content."""
    p = np.random.default_rng(0).permutation(N_ROWS)
    found = []
    for name, rows in (("whole", np.arange(N_ROWS)), ("shuffled", p)):
        views = []
        for v, x in enumerate(overlapping):
            path = tmp_path / f"{name}{v}.npy"
            np.save(path, x[rows])
            views.append(np.load(path, mmap_mode="r"))
        with lowered(block_rows=128, read_share=0.0):
            model = method(5, memory_limit=limit, **SMALL).fit(views)
        found.append(model.labels_)
    assert same(found[0][p], found[1])


def on_disk(views, folder):
    """The views as mapped files."""
    for v, x in enumerate(views):
        np.save(folder / f"{v}.npy", x)
    return [np.load(folder / f"{v}.npy", mmap_mode="r") for v in range(len(views))]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [None, "1GB"])
@FLOATS
def test_few_rows_of_shuffled_files_are_the_same_computation(
    method, limit, dtype, overlapping, tmp_path
):
    """Mapped, column by column, in chunks, and rows that lack a view."""
    views = [x.astype(dtype) for x in overlapping]
    views[1][::9] = np.nan
    p = np.random.default_rng(0).permutation(N_ROWS)
    files = [x[p] for x in views]
    files[0] = np.asfortranarray(files[0])
    files = on_disk(files, tmp_path)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        files[2] = file.create_dataset("x", data=files[2], chunks=(50, 2))
        with lowered(block_rows=128):
            here = method(5, **SMALL).fit(views)
            there = method(5, memory_limit=limit, **SMALL).fit(files[::-1])
    assert_identical(there, here.labels_[p], here.embedding_[p])


@pytest.mark.parametrize("limit", [None, 10**9])
@pytest.mark.parametrize(
    ("rows", "share", "are_read"), [(40, 0.1, True), (39, 0.1, False), (40, 0, False)]
)
def test_few_rows_of_files_come_by_content_if_they_take_little(
    rows, share, are_read, limit, tmp_path
):
    x = np.random.default_rng(0).normal(size=(40, 3))
    views = Views(on_disk([x], tmp_path))
    with lowered(exact_rows=rows, read_share=share):
        engine = LocalEngine(views, np.float64, memory_limit=limit)
    inside = engine.engine_rows(np.arange(40))
    assert np.array_equal(inside, np.arange(40)) != are_read
    np.testing.assert_array_equal(engine.take(inside).views[0], x)
    assert engine.views.in_memory == are_read


@FLOATS
@pytest.mark.parametrize("most", [1e-9, 1e-5], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_one_up_to_rounding_are_so_from_files(
    dtype, most, seed, tmp_path
):
    """In each view half of the rows, of which some are so in both; clusters overlap.

    From files means are rounded otherwise, and with them the prepared rows.
    """
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 5, 600)
    views = [0.7 * rng.normal(size=(5, d))[own] for d in (4, 7)]
    views = [x + rng.normal(size=x.shape) for x in views]
    for x in views:
        for rows in rng.permutation(600)[:300].reshape(10, 30):
            spread = 10.0 ** rng.uniform(-16, np.log10(most), (30, 1))
            x[rows] = x[rows[0]] * (1 + spread * rng.normal(size=x[rows].shape))
    views, p = [x.astype(dtype) for x in views], rng.permutation(600)
    here = S2MVTC(5, random_state=3).fit(views).labels_
    files = on_disk([x[p] for x in views], tmp_path)
    with lowered(block_rows=128, read_share=0.0):
        there = S2MVTC(5, random_state=3, memory_limit="1GB").fit(files).labels_
    assert same(here[p], there)


def engine_hashes(views, dtype, present=None):
    block = Views(views, present=present).block(slice(0, views[0].shape[0]), dtype)
    return hash_block(block, [odd_numbers(x.shape[1]) for x in views])


@FLOATS
def test_hashes_tell_signs_rows_and_missing_views_apart(dtype):
    row = np.random.default_rng(0).normal(size=6).astype(dtype)
    signs = 1 - 2 * ((np.arange(64)[:, None] >> np.arange(6)) & 1)
    rows = (row * signs).astype(dtype)
    hashes = engine_hashes([rows, rows[::-1]], dtype)
    assert hashes.shape == (64, 2) and len(np.unique(hashes[:, 0])) == 64
    # Views of equal width have the same hash for the same row: no view is the first.
    np.testing.assert_array_equal(hashes[:, 1], hashes[::-1, 0])
    zeros = np.zeros((2, 6), dtype=dtype)
    present = np.array([[True, True], [False, True]])
    first, second = engine_hashes([zeros, rows[:2]], dtype, present)[:, 0]
    assert second == 0 and first != 0


@FLOATS
def test_hashes_of_stored_and_negative_zeros_are_those_of_zeros(dtype):
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.5)).astype(dtype)
    plain = engine_hashes([x], dtype)
    negative = np.where(x == 0, dtype(-0.0), x)
    np.testing.assert_array_equal(engine_hashes([negative], dtype), plain)
    np.testing.assert_array_equal(engine_hashes([sp.csr_array(x)], dtype), plain)
    rows, columns = (i.ravel() for i in np.indices(x.shape))
    stored = sp.csr_array((negative.ravel(), (rows, columns)), shape=x.shape)
    np.testing.assert_array_equal(engine_hashes([stored], dtype), plain)


def test_tensors_have_the_hashes_and_the_order_of_arrays():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    rng = np.random.default_rng(2)
    views = [rng.normal(size=(50, 3)), rng.normal(size=(50, 8))]
    present = rng.random((50, 2)) > 0.2
    odd = [odd_numbers(3), odd_numbers(8)]
    tensors = tuple(torch.as_tensor(x) for x in views)
    hashes = hash_block(Block(0, tuple(views), present), odd)
    other = hash_block(Block(0, tensors, present), odd)
    np.testing.assert_array_equal(other.numpy(), hashes)
    for first, second in zip(hash_orders(hashes), hash_orders(other), strict=True):
        np.testing.assert_array_equal(second.numpy(), first)


@given(
    arrays(np.int8, (9, 4), elements=st.integers(-1, 1), unique=False),
    st.permutations(range(9)),
    st.booleans(),
)
def test_content_orders_rows_and_views_the_same_wherever_they_stand(x, rows, turn):
    """Two views as wide as each other, of few values: the hardest case to tell."""
    views = [x[:, :2].astype(float), x[:, 2:].astype(float)]
    order = [1, 0] if turn else [0, 1]
    first_rows, first_views = content_order(Views(views), np.float64, 4)
    other = [views[v][list(rows)] for v in order]
    second_rows, second_views = content_order(Views(other), np.float64, 4)
    ordered = [views[v][first_rows] for v in first_views]
    again = [other[v][second_rows] for v in second_views]
    symmetric = sorted(x.tolist()) == sorted(np.roll(x, 2, axis=1).tolist())
    if symmetric:  # turned views are the same table: either comes first
        again_rows = sorted(np.concatenate(again, axis=1).tolist())
        assert again_rows == sorted(np.concatenate(ordered, axis=1).tolist())
        return
    for own, found in zip(ordered, again, strict=True):
        np.testing.assert_array_equal(found, own)


def test_rows_on_disk_stand_as_they_are(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    np.save(tmp_path / "x.npy", x)
    views = Views([np.load(tmp_path / "x.npy", mmap_mode="r"), x])
    rows, order = content_order(views, np.float64, 16)
    assert rows is None and order.tolist() == [0, 1]


def test_results_go_back_to_the_callers_order():
    x = np.random.default_rng(0).normal(size=(40, 3))
    engine = LocalEngine(Views([x]), np.float64, block_rows=7)
    numbers = np.arange(40)
    inside = engine.engine_rows(numbers)
    assert not np.array_equal(inside, numbers)
    np.testing.assert_array_equal(engine.caller_rows(inside), numbers)
    np.testing.assert_array_equal(engine.take(inside).views[0], x)
    engine.put("place", numbers)
    np.testing.assert_array_equal(engine.read("place"), numbers)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["CCV", "Handwritten"])
@pytest.mark.parametrize("model", ["drawn", "given", "spectral"])
@FLOATS
def test_real_data_in_any_order(name, model, dtype, load_npz):
    make = MODELS[model]
    views, labels = load_npz(name)
    views, labels = [x[::5] for x in views], labels[::5]
    whole = Views([x.astype(dtype) for x in views])
    anchors = some_rows(whole, 200)
    n_clusters = len(np.unique(labels))
    order = np.random.default_rng(9).permutation(len(views))
    p = np.random.default_rng(2).permutation(len(labels))
    given = [anchors[v] for v in order]
    turned = make(given).set_params(n_clusters=n_clusters)
    with lowered(block_rows=256):
        first = make(anchors).set_params(n_clusters=n_clusters).fit(whole)
        turned.fit(in_rows(in_views(whole, list(order)), p))
    # Equal rows may stand in each other's places, and a matrix product may round a row
    # by its place in a block.
    rows = np.concatenate(whole.arrays, axis=1)[p]
    _, kind, n_copies = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    alone = n_copies[kind.ravel()] == 1
    expected = first.embedding_[p]
    np.testing.assert_array_equal(turned.labels_, first.labels_[p])
    np.testing.assert_array_equal(turned.embedding_[alone], expected[alone])
    np.testing.assert_allclose(turned.embedding_, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.data
@pytest.mark.slow
@FLOATS
def test_ccv_is_the_same_from_shuffled_files(dtype, load_npz, tmp_path):
    """Some of its rows are one up to rounding, most of them in the first half."""
    views, labels = load_npz("CCV")
    views, labels = [x[:3400].astype(dtype) for x in views], labels[:3400]
    p = np.random.default_rng(2).permutation(len(labels))
    how = {"n_clusters": len(np.unique(labels)), "random_state": 0}
    here = S2MVTC(**how).fit(views).labels_
    files = on_disk([x[p] for x in views], tmp_path)
    with lowered(read_share=0.0):
        there = S2MVTC(memory_limit="1GB", **how).fit(files).labels_
    assert same(here[p], there)


@pytest.mark.data
@FLOATS
def test_every_row_as_an_anchor_gives_the_same_from_shuffled_files(
    dtype, load_npz, tmp_path
):
    """No row of 3Sources is away from all anchors but by the rounding of wide rows."""
    views, labels = load_npz("3Sources")
    views = [x.astype(dtype) for x in views]
    p = np.random.default_rng(2).permutation(len(labels))
    model = S2MVTC(6, anchors=views, random_state=0)
    here = model.fit(views).labels_
    files = on_disk([x[p] for x in views], tmp_path)
    with lowered(read_share=0.0):
        there = model.set_params(memory_limit="1GB").fit(files).labels_
    assert same(here[p], there)
