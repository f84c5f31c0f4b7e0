"""The torch path on the CPU: the same numbers, tensors in and out, clear errors."""

import re

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.engine.contract import Result, lowered
from manyview.engine.device import DeviceEngine, find_device, rows_within
from manyview.engine.local import open_engine
from manyview.errors import DependencyError, DeviceError, InputError
from manyview.views.views import Views

torch = pytest.importorskip("torch", reason="torch is not installed")

MODELS = {
    "graph": lambda: S2MVTC(4, random_state=0),
    "sequence": lambda: SequenceS2MVTC(4, random_state=0),
    "both": lambda: SequenceS2MVTC(4, graph=True, min_duration=20, random_state=0),
    "published": lambda: SequenceS2MVTC(
        4,
        anchors="random",
        periodic=True,
        row_norm="zscore",
        rank_tol=0.0,
        lam=1e-3,
        assign="correlation",
        random_state=0,
    ),
    "spectral": lambda: AnchorSpectral(4, random_state=0),
}


@pytest.mark.filterwarnings("ignore::manyview.errors.OrderWarning")
@pytest.mark.parametrize("name", MODELS)
def test_tensors_give_what_arrays_give(three_views, name):
    views, _ = three_views
    host = MODELS[name]().fit(views)
    near = MODELS[name]().fit([torch.as_tensor(x) for x in views])
    assert isinstance(near.labels_, torch.Tensor)
    assert isinstance(near.embedding_, torch.Tensor)
    assert adjusted_rand_score(host.labels_, near.labels_.numpy()) >= 0.99
    # Vectors of one frequency may be turned among themselves; angles stay.
    first, second = host.embedding_, near.embedding_.numpy()
    size = np.abs(first @ first.T).max()
    np.testing.assert_allclose(second @ second.T, first @ first.T, atol=1e-3 * size)


@pytest.mark.parametrize("block_rows", [40, 300])
def test_missing_views_and_blocks_on_a_device(three_views, block_rows, monkeypatch):
    views, _ = three_views
    present = np.ones((300, 3), dtype=bool)
    present[::5, 1] = False
    near = [torch.as_tensor(x) for x in views]
    model = S2MVTC(4, random_state=0)
    monkeypatch.setattr("manyview.engine.device.HOST_BLOCK_ROWS", block_rows)
    with lowered(block_rows=block_rows):
        host = model.fit(Views(views, present=present)).labels_
        found = model.fit(Views(near, present=present)).labels_
    assert adjusted_rand_score(host, found.numpy()) >= 0.99


def test_predict_of_training_tensors_are_the_labels(three_views):
    near = [torch.as_tensor(x) for x in three_views[0]]
    model = S2MVTC(4, random_state=0).fit(near)
    np.testing.assert_array_equal(model.predict(near), model.labels_.numpy())


def test_arrays_on_the_cpu_stay_with_numpy(three_views):
    views = Views(three_views[0])
    assert find_device("cpu", views) is None
    assert find_device(None, views) is None
    model = S2MVTC(4, device="cpu", random_state=0).fit(three_views[0])
    assert isinstance(model.labels_, np.ndarray)


def test_arrays_on_a_device_come_back_as_arrays(three_views):
    engine = DeviceEngine(Views(three_views[0]), np.float32, torch.device("cpu"))
    engine.put("x", np.arange(300.0))
    assert isinstance(engine.read("x"), np.ndarray)
    assert isinstance(engine.take([3, 1]).views[0], torch.Tensor)
    engine.drop("x")
    assert engine.keeps(1e9, 1.0, 2)


def test_rows_stay_in_the_order_of_their_content(three_views):
    views, rows = three_views[0], np.random.default_rng(1).permutation(300)
    cpu, every = torch.device("cpu"), np.arange(300)
    engine = DeviceEngine(Views(views), np.float64, cpu, block_rows=70)
    shuffled = Views([views[v][rows] for v in (2, 0, 1)])
    other = DeviceEngine(shuffled, np.float64, cpu, block_rows=70)
    assert tuple([2, 0, 1][v] for v in other.view_order) == engine.view_order
    for mine, its in zip(
        engine.take(every).views, other.take(every).views, strict=True
    ):
        assert torch.equal(mine, its)
    found = engine.engine_rows(engine.caller_rows(every))
    np.testing.assert_array_equal(found, every)
    engine.put("x", np.arange(300.0))
    engine.run(lambda b, s, small: Result({"y": s["x"] + small}), 1.0, title="Add")
    np.testing.assert_array_equal(engine.read("y"), np.arange(300.0) + 1)


def test_a_limit_for_tensors_on_the_host_is_refused(three_views):
    near = [torch.as_tensor(x) for x in three_views[0]]
    with pytest.raises(InputError, match=r"memory_limit='2GB'.*device='cpu'"):
        S2MVTC(4, memory_limit="2GB").fit(near)


@pytest.mark.unchecked
def test_tensors_choose_the_device_engine(three_views):
    views = Views([torch.as_tensor(x) for x in three_views[0]])
    assert isinstance(open_engine(views, np.float64), DeviceEngine)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_missing_gpu_is_a_sentence(three_views):
    with pytest.raises(DeviceError, match=r"needs a CUDA GPU; torch .* sees 0"):
        S2MVTC(4, device="cuda").fit(three_views[0])


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is an Apple GPU")
def test_missing_apple_gpu_is_a_sentence(three_views):
    with pytest.raises(DeviceError, match="needs an Apple GPU"):
        S2MVTC(4, device="mps").fit(three_views[0])


def test_unknown_device_is_a_sentence(three_views):
    with pytest.raises(DeviceError, match="no device that torch knows"):
        S2MVTC(4, device="abacus").fit(three_views[0])


def test_missing_torch_is_a_sentence(three_views, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(DependencyError, match="needs torch"):
        S2MVTC(4, device="cuda").fit(three_views[0])


def test_data_that_does_not_fit_is_streamed_or_refused(three_views, monkeypatch):
    views = Views(three_views[0])
    monkeypatch.setattr("manyview.engine.device.free_memory", lambda device: 2**30)
    engine = DeviceEngine(views, np.float32, torch.device("cpu"))
    assert engine._resident and not engine.keeps(1e7, 1.0, 2)
    monkeypatch.setattr("manyview.engine.device.free_memory", lambda device: 2**20)
    with pytest.raises(DeviceError, match="smallest useful block"):
        DeviceEngine(views, np.float32, torch.device("cpu"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_refusal_says_is_needed_is_enough_and_more_than_there_is(dtype):
    widths, kind = [1300], np.dtype(dtype)
    with pytest.raises(DeviceError, match="smallest useful block") as caught:
        rows_within(2**28, widths, kind, "cuda")
    need = float(re.search(r"needs ([\d.]+) GiB", str(caught.value)).group(1))
    assert rows_within(int((need + 0.05) * 2**30), widths, kind, "cuda")
    with pytest.raises(DeviceError):
        rows_within(int((need - 0.05) * 2**30), widths, kind, "cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")
def test_cuda_gives_what_the_cpu_gives(three_views):
    views, _ = three_views
    host = S2MVTC(4, random_state=0).fit(views)
    near = S2MVTC(4, random_state=0, device="cuda").fit(views)
    assert isinstance(near.labels_, np.ndarray)
    assert adjusted_rand_score(host.labels_, near.labels_) >= 0.99
