"""Dask with devices, memory limits and orders: the same labels, or refused by name."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from manyview import S2MVTC, AnchorSpectral, Views
from manyview.engine.contract import Result, lowered
from manyview.engine.dask import DaskEngine
from manyview.engine.dask_views import DaskViews
from manyview.engine.dask_workers import Devices
from manyview.engine.device import Seen
from manyview.engine.local import open_engine
from manyview.engine.worker_memory import the_file
from manyview.errors import DeviceError, InputError
from manyview.metrics import ari
from manyview.running import progress

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
cloudpickle = pytest.importorskip("cloudpickle", reason="Dask is not installed")

pytestmark = pytest.mark.slow

METHODS = {
    "S2MVTC": S2MVTC(4, n_anchors=60, n_graph_anchors=200, max_iter=2, random_state=0),
    "AnchorSpectral": AnchorSpectral(4, n_graph_anchors=200, random_state=0),
}


@pytest.fixture(scope="module")
def client():
    """A client of two single-threaded worker processes."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="2GB",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, 900)
    return [
        3 * rng.normal(size=(4, d))[groups] + 2 * rng.normal(size=(900, d))
        for d in (6, 9, 4)
    ]


@pytest.fixture(scope="module")
def local(views):
    """Labels of the local engine."""
    return {name: clone(m).fit_predict(views) for name, m in METHODS.items()}


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def torch_workers(torch, monkeypatch):
    """Workers asked for a GPU take torch on their processors."""
    name = "manyview.engine.local.workers_device"
    monkeypatch.setattr(name, lambda wanted, views: wanted and "cpu")


def chunked(views):
    return [da.from_array(x, chunks=(300, -1)) for x in views]


@pytest.mark.unchecked
def test_steps_run_on_the_device_of_the_worker(client, views, torch):
    def step(block, state, small):
        kind = type(block.views[0]).__module__, type(small[0]).__module__
        kept = {"x": block.views[0][:, 0] * small[0][0]}
        return Result(kept, {"sum": block.views[0].sum()}, (kind, kept["x"][:1]))

    place = {"device": "cpu", "view_order": (0, 1, 2)}
    engine = DaskEngine(Views(views), np.float32, client, **place)
    totals, notes = engine.run(step, (np.array([2.0]), "a"), title="Where")
    assert {kind for kind, _ in notes} == {("torch", "torch")}
    assert all(isinstance(first, torch.Tensor) for _, first in notes)
    assert totals["sum"].dtype == torch.float64
    np.testing.assert_allclose(totals["sum"], views[0].sum(), rtol=1e-4)
    found = engine.read("x")
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, 2 * views[0][:, 0], rtol=1e-6)
    engine.put("x", np.arange(900.0))
    np.testing.assert_array_equal(engine.read("x"), np.arange(900.0))
    rows = np.array([5, 800, 3])
    taken = engine.take(rows).views[1]
    assert isinstance(taken, torch.Tensor)
    own = views[1][engine.caller_rows(rows)]
    np.testing.assert_array_equal(taken.numpy(), own)


@pytest.mark.parametrize("name", METHODS)
def test_workers_on_devices_give_the_labels_of_the_local_engine(
    client, views, local, name, torch_workers
):
    model = clone(METHODS[name]).set_params(engine=client, device="cuda")
    found = model.fit(chunked(views)).labels_
    assert isinstance(found, da.Array)
    assert ari(local[name], found.compute()) >= 0.999
    assert ari(local[name], model.set_params(device=None).predict(views)) >= 0.999


@pytest.mark.parametrize("near", ["cpu", None])
@pytest.mark.parametrize("share", [1.0, 0.0])
def test_rows_stay_on_the_device_or_are_streamed(
    client, views, torch_workers, monkeypatch, share, near
):
    """The driver has a device of its own, or computes on the host."""

    def find(devices, client, name, limit):
        vars(devices).update(name=name, here=near)

    monkeypatch.setattr(Devices, "__init__", find)
    monkeypatch.setattr(Devices, "room", lambda devices: 2**40)
    present = np.ones((900, 3), bool)
    present[::7, 2] = False
    model = clone(METHODS["S2MVTC"])
    wanted = model.fit(Views(views, present=present)).labels_
    # A device has sparse views as dense ones.
    given = [views[0], sp.csr_array(views[1]), views[2]]
    model.set_params(engine=client, device="cuda")
    with lowered(resident_share=share):
        found = model.fit(Views(given, present=present)).labels_
    assert ari(wanted, found) >= 0.999


@pytest.mark.parametrize(
    ("limit", "free", "wanted"),
    [(None, 900, 300), (500, 900, 300), (250, 900, 200), (40, 900, 0)],
)
def test_processes_share_the_memory_of_a_device(monkeypatch, limit, free, wanted):
    """Two workers and the driver on one GPU; each holds 50 bytes there."""

    class Cluster:
        def run(self, function, name):
            return {w: Seen("gpu-a", free, 50) for w in "xy"}

    look = "manyview.engine.dask_workers.look_at"
    monkeypatch.setattr(look, lambda name: Seen("gpu-a", free, 50))
    devices = Devices(Cluster(), "cuda", limit)
    assert devices.room() == wanted and devices.here == "cuda"
    assert devices.hold(0.5 * wanted, 0.5) and not devices.hold(0.5 * wanted + 1, 0.5)


@pytest.mark.parametrize("device", ["mps", "abacus", "xpu:1"])
def test_devices_that_workers_cannot_have_are_refused_by_name(client, views, device):
    titles = []
    model = S2MVTC(4, engine=client, device=device)
    with (
        progress.listen(lambda title, done, total: titles.append(title)),
        pytest.raises(DeviceError, match=f"does not take device='{device}'"),
    ):
        model.fit(chunked(views))
    assert titles == []


def test_workers_without_a_gpu_say_so_before_any_work(client, views, torch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    titles = []
    model = S2MVTC(4, engine=client, device="cuda")
    with (
        progress.listen(lambda title, done, total: titles.append(title)),
        pytest.raises(DeviceError, match=r"worker of the Dask cluster.*CUDA GPU"),
    ):
        model.fit(chunked(views))
    assert titles == []


def test_the_processor_of_the_workers_is_no_device(client, views, local):
    model = clone(METHODS["AnchorSpectral"]).set_params(engine=client, device="cpu")
    assert ari(local["AnchorSpectral"], model.fit(views).labels_) >= 0.999


def test_tensors_are_cut_up_as_arrays(client, views, local, torch):
    data = [torch.as_tensor(x) for x in views]
    model = clone(METHODS["S2MVTC"]).set_params(engine=client)
    assert ari(local["S2MVTC"], np.asarray(model.fit(data).labels_)) >= 0.999


@pytest.mark.parametrize("given", [chunked, Views])
@pytest.mark.parametrize("name", METHODS)
def test_fields_beyond_a_limit_lie_in_files_of_the_workers(
    client, views, local, name, given
):
    model = clone(METHODS[name]).set_params(engine=client, memory_limit="1GB")
    with lowered(state_room=0):
        found = np.asarray(model.fit(given(views)).labels_)
    assert ari(local[name], found) >= 0.999
    filed = client.run(lambda: the_file().n_bytes)
    assert sum(filed.values()) > 0
    client.run(the_file.cache_clear)


def test_rows_that_no_limit_holds_are_refused_by_name(client):
    huge = da.zeros((10_000_000, 200), chunks=(100_000, -1))
    titles = []
    with (
        progress.listen(lambda title, done, total: titles.append(title)),
        pytest.raises(InputError, match=r"memory_limit=1\.00 GB is too little.*path"),
    ):
        S2MVTC(4, engine=client, memory_limit="1GB").fit([huge])
    assert titles == []


def test_paths_beyond_a_limit_are_read_again(
    client, views, local, tmp_path, monkeypatch
):
    for v, x in enumerate(views):
        np.save(tmp_path / f"{v}.npy", x)
    paths = [str(tmp_path / f"{v}.npy") for v in range(3)]
    monkeypatch.setattr("manyview.engine.dask_workers.HELD_SHARE", 0.0)
    model = clone(METHODS["S2MVTC"]).set_params(engine=client, memory_limit="1GB")
    found = model.fit(paths).labels_
    assert not model._passes.start.features.keep
    assert ari(local["S2MVTC"], found.compute()) >= 0.999


@pytest.mark.unchecked
def test_views_are_visited_in_the_order_asked_for(client, views):
    widths = [x.shape[1] for x in views]
    for data in (Views(views), DaskViews(chunked(views))):
        engine = open_engine(data, np.float64, engine=client, view_order=(2, 0, 1))
        seen = [x.shape[1] for x in engine.take(np.arange(3)).views]
        assert seen == [widths[v] for v in (2, 0, 1)]
        _, notes = engine.run(widths_step, title="Widths")
        assert all(note == seen for note in notes)


def widths_step(block, state, small):
    return Result(note=[x.shape[1] for x in block.views])


@pytest.mark.unchecked
@pytest.mark.parametrize("wrap", [Views, lambda views: DaskViews(chunked(views))])
def test_views_are_visited_in_the_order_of_their_content(client, views, wrap):
    turn = [2, 0, 1]
    orders = []
    for data in (views, [views[v] for v in turn]):
        engine = open_engine(wrap(data), np.float64, engine=client)
        orders.append(engine.view_order)
    assert orders[0] == tuple(turn[v] for v in orders[1])
    assert orders[0] == open_engine(Views(views), np.float64).view_order


@pytest.mark.parametrize("given", [chunked, Views])
def test_permuted_views_give_the_same_labels(client, views, given):
    model = clone(METHODS["S2MVTC"]).set_params(engine=client)
    first = np.asarray(model.fit(given(views)).labels_)
    second = np.asarray(model.fit(given(views[::-1])).labels_)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shuffled_rows_in_memory_give_the_same_labels(client, views, dtype):
    rows = np.random.default_rng(1).permutation(900)
    model = clone(METHODS["S2MVTC"]).set_params(engine=client, dtype=dtype)
    first = model.fit(Views(views))
    labels, embedding = first.labels_, first.embedding_
    second = model.fit(Views([x[rows] for x in views]))
    np.testing.assert_array_equal(labels[rows], second.labels_)
    np.testing.assert_array_equal(embedding[rows], second.embedding_)
