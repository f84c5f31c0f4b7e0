"""The Dask engine on real worker processes: same labels, faults, traffic, clones."""

import pickle
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from manyview import S2MVTC, AnchorSpectral, Views
from manyview.baselines import ConcatKMeans
from manyview.cli import main
from manyview.datasets import convert
from manyview.engine.contract import Result, lowered
from manyview.engine.local import open_engine
from manyview.errors import DeviceError, FileError, InputError, InputTypeError
from manyview.files.run_folder import read_meta
from manyview.metrics import ari
from manyview.running import progress

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

cloudpickle = pytest.importorskip("cloudpickle", reason="Dask is not installed")

pytestmark = pytest.mark.slow

METHODS = {
    "S2MVTC": S2MVTC(4, n_anchors=60, n_graph_anchors=200, max_iter=3, random_state=0),
    "AnchorSpectral": AnchorSpectral(4, n_graph_anchors=200, random_state=0),
    "ConcatKMeans": ConcatKMeans(4, random_state=0),
}


@pytest.fixture(scope="module")
def client():
    """A client of two single-threaded worker processes of 1 GB."""
    # Workers cannot import this file: its functions travel with their code.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit="1GB",
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


def known(views):
    return [da.from_array(x, chunks=(300, -1)) for x in views]


def uneven(views):
    rows = [(400, 7, 493), (100, 550, 250), (900,)]
    pairs = zip(views, rows, strict=True)
    return {f"v{len(r)}{r[0]}": da.from_array(x, chunks=(r, 2)) for x, r in pairs}


def unknown(views):
    pairs = zip(views, (300, 450, 200), strict=True)
    lazy = [da.from_array(x, chunks=(k, -1)) for x, k in pairs]
    return [x[~da.isnan(x[:, 0])] for x in lazy]


def frames(views):
    dd = pytest.importorskip("dask.dataframe", reason="Dask has no DataFrames here")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    tables = [pandas.DataFrame(x).rename(columns=str) for x in views]
    return [dd.from_pandas(table, npartitions=3) for table in tables]


@pytest.mark.parametrize("chunked", [known, uneven, unknown, frames])
@pytest.mark.parametrize("name", METHODS)
def test_same_labels_as_the_local_engine(client, views, local, name, chunked):
    data = chunked(views)
    model = clone(METHODS[name]).set_params(engine=client).fit(data)
    assert isinstance(model.labels_, da.Array)
    first = next(iter(data.values())) if isinstance(data, dict) else data[0]
    counted = chunked in (known, uneven)
    assert model.labels_.chunks[0] == (first.chunks[0] if counted else (300,) * 3)
    assert ari(local[name], model.labels_.compute()) >= 0.999
    predicted = model.predict(data)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), model.labels_.compute())


def test_embedding_is_lazy_and_that_of_the_local_engine(client, views):
    reference = clone(METHODS["S2MVTC"]).fit(views)
    model = clone(METHODS["S2MVTC"]).set_params(engine="dask").fit(known(views))
    assert isinstance(model.embedding_, da.Array)
    np.testing.assert_allclose(
        model.embedding_.compute(), reference.embedding_, atol=1e-6
    )
    new = model.transform(known(views))
    assert isinstance(new, da.Array)
    np.testing.assert_allclose(new.compute(), reference.embedding_, atol=1e-6)


def test_arrays_in_memory_stay_arrays(client, views, local):
    model = clone(METHODS["S2MVTC"]).set_params(engine=client).fit(views)
    assert isinstance(model.labels_, np.ndarray)
    assert ari(local["S2MVTC"], model.labels_) >= 0.999


@pytest.mark.usefixtures("few_candidates")
def test_number_of_clusters_is_chosen_from_rows_on_workers(client, views):
    model = AnchorSpectral("auto", n_graph_anchors=200, random_state=0, engine=client)
    model.fit(known(views))
    here = AnchorSpectral("auto", n_graph_anchors=200, random_state=0).fit(views)
    assert model.n_clusters_ == here.n_clusters_


@pytest.mark.parametrize("kind", ["store", "zarr", "parquet"])
def test_paths_are_read_by_the_workers(client, views, local, tmp_path, kind):
    model = clone(METHODS["S2MVTC"]).set_params(engine=client)
    path = WRITERS[kind](views, tmp_path)
    assert ari(local["S2MVTC"], model.fit(path).labels_.compute()) >= 0.999


def write_store(views, folder):
    return convert(Views(views), folder / "data")


def write_zarr(views, folder):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(str(folder / "data.zarr"), mode="w")
    for v, x in enumerate(views):
        array = group.create_array(f"view{v}", shape=x.shape, dtype=x.dtype)
        array[:] = x
    return str(folder / "data.zarr")


def write_parquet(views, folder):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    paths = []
    for v, x in enumerate(views):
        columns = {f"c{j}": x[:, j] for j in range(x.shape[1])}
        paths.append(str(folder / f"view{v}.parquet"))
        pq.write_table(table(columns), paths[-1], row_group_size=150 + 100 * v)
    return paths


WRITERS = {"store": write_store, "zarr": write_zarr, "parquet": write_parquet}


def test_rows_too_large_for_the_workers_are_read_again(
    client, views, local, tmp_path, monkeypatch
):
    monkeypatch.setattr("manyview.engine.dask_workers.HELD_SHARE", 0.0)
    model = clone(METHODS["S2MVTC"]).set_params(engine=client)
    labels = model.fit(write_store(views, tmp_path)).labels_
    assert not model._passes.start.features.keep
    assert ari(local["S2MVTC"], labels.compute()) >= 0.999


def test_a_killed_worker_is_replaced_by_replaying_its_blocks(
    client, views, local, tmp_path
):
    loads, marker = tmp_path / "loads", tmp_path / "killed"
    data = [noisy_source(x, v, str(loads)) for v, x in enumerate(views)]
    client.register_plugin(assassin(str(marker), "Round 2", 2), name="assassin")
    try:
        model = clone(METHODS["S2MVTC"]).set_params(engine=client).fit(data)
        labels = model.labels_.compute()
    finally:
        client.unregister_worker_plugin("assassin")
    assert marker.exists()
    loaded = loads.read_text().split()
    assert sorted(set(loaded)) == sorted(f"{v}:{i}" for v in range(3) for i in range(6))
    assert len(loaded) > len(set(loaded))
    assert ari(local["S2MVTC"], labels) >= 0.999
    client.wait_for_workers(2)


def noisy_source(x, v, path):
    """Rows from a function that writes down when it is called."""

    def load(block_id=None):
        with open(path, "a") as file:  # noqa: PTH123 - travels to the workers
            file.write(f"{v}:{block_id[0]}\n")
        return x[150 * block_id[0] : 150 * (block_id[0] + 1)]

    chunks = ((150,) * 6, (x.shape[1],))
    return da.map_blocks(load, chunks=chunks, dtype=x.dtype, meta=np.empty((0, 0)))


def assassin(marker, step, number):
    """A plugin that kills its worker when it starts the nth task of a step."""

    class Assassin(distributed.WorkerPlugin):
        def __init__(self):
            self.seen = 0

        def transition(self, key, start, finish, **more):
            import os
            import signal

            if str(key).startswith(step) and finish == "executing":
                self.seen += 1
                if self.seen == number and not os.path.exists(marker):  # noqa: PTH110
                    os.close(os.open(marker, os.O_CREAT))
                    os.kill(os.getpid(), signal.SIGKILL)

    return Assassin()


def count_bytes():
    """Make a worker count what its sockets send and receive."""
    from distributed.comm import tcp
    from distributed.utils import nbytes

    if hasattr(tcp, "counted"):
        return
    tcp.counted = 0
    write, from_frames = tcp.TCP.write, tcp.from_frames

    async def counted_write(self, *args, **more):
        sent = await write(self, *args, **more)
        tcp.counted += sent
        return sent

    async def counted_frames(frames, **more):
        tcp.counted += sum(map(nbytes, frames))
        return await from_frames(frames, **more)

    tcp.TCP.write, tcp.from_frames = counted_write, counted_frames


def counted():
    from distributed.comm import tcp

    return tcp.counted


def test_bytes_per_round_are_bounded(client):
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 20, 4000)
    views = [
        3 * rng.normal(size=(20, d))[groups] + rng.normal(size=(4000, d))
        for d in (12, 15, 10)
    ]
    client.run(count_bytes)
    seen = {}

    def listener(title, done, total):
        if title.startswith(("Round", "Gathering")) and done == 0:
            seen.setdefault(title, sum(client.run(counted).values()))

    model = S2MVTC(
        20,
        n_anchors=300,
        n_graph_anchors=600,
        max_iter=5,
        random_state=0,
        engine=client,
    )
    with progress.listen(listener):
        # Small partitions behind large ones would tempt an idle worker to steal.
        rows = (900, 900, 100, 50, 50, 900, 900, 200)
        model.fit([da.from_array(x, chunks=(rows, -1)) for x in views])
    per_round = (seen["Round 5"] - seen["Round 2"]) / 3
    small = model._passes.rounds[-1]
    matrices = [*small.fits, *small.smooth]
    rows = sum(len(m) for m in matrices)  # views × (r + rank)
    bound = 3 * 2 * rows * small.fits[0].shape[1] * 8
    per_block = 16_000
    assert 0 < per_round < bound + per_block * 8
    # Without the bound's own size the test would be about the constant.
    assert bound > 4 * per_block * 8


@pytest.fixture
def opened(client, views):
    """An engine of small blocks on the workers."""
    with lowered(block_rows=64):
        return open_engine(Views(views), np.float32, engine=client)


@pytest.mark.unchecked
def test_small_values_arrive_whole_and_sums_are_float64(opened, views):
    def step(block, state, small):
        part = block.views[0].sum(axis=0)
        return Result(stats={"sum": part}, note=(block.start, small))

    total, notes = opened.run(step, {"a": 1}, title="Sums")
    assert total["sum"].dtype == np.float64
    first = views[opened.view_order[0]]
    np.testing.assert_allclose(total["sum"], first.sum(axis=0), rtol=1e-4)
    assert [start for start, _ in notes] == sorted(start for start, _ in notes)
    assert all(small == {"a": 1} for _, small in notes)


def test_whole_numbers_far_from_zero_keep_their_digits(client):
    groups = np.random.default_rng(0).integers(0, 3, 300)
    times = 1_700_000_000 + 180 * groups[:, None] + np.arange(300)[:, None] % 30
    model = AnchorSpectral(3, random_state=0, engine=client).fit(known([times, times]))
    assert ari(groups, model.labels_.compute()) == 1.0
    assert ari(groups, model.predict(known([times, times])).compute()) == 1.0


@pytest.mark.unchecked
def test_state_is_put_read_taken_and_dropped(opened, views):
    engine = opened
    engine.put("x", np.arange(900.0))
    engine.run(lambda b, s, small: Result(state={"x": s["x"] + 1}), title="Add")
    np.testing.assert_array_equal(engine.read("x"), np.arange(900.0) + 1)
    engine.drop("x")
    _, notes = engine.run(lambda b, s, small: Result(note=sorted(s)), title="Names")
    assert all(note == [] for note in notes)
    rows = np.array([899, 0, 450, 3])
    block, own = engine.take(rows), engine.caller_rows(rows)
    second = views[engine.view_order[1]][own]
    np.testing.assert_array_equal(block.views[1], second)
    np.testing.assert_array_equal(engine.engine_rows(own), rows)


@pytest.mark.unchecked
@pytest.mark.parametrize("odd", [100, 700])
def test_blocks_that_make_different_fields_are_an_error(opened, odd):
    """Within a partition, and between partitions of two workers."""

    def step(block, state, small):
        here = block.start <= small < block.start + len(block)
        return Result(state={"odd" if here else "x": np.zeros(len(block))})

    with pytest.raises(AssertionError, match="different fields"):
        opened.run(step, odd, title="Odd")

    def by_half(block, state, small):
        return Result(state={"late" if block.start >= 450 else "x": np.ones(1)})

    with pytest.raises(AssertionError, match="different fields"):
        opened.run(by_half, title="Halves")


@pytest.mark.unchecked
def test_superseded_state_is_freed(opened):
    engine = opened
    for name in "xxyy":
        old = {"y": "x"} if name == "y" and "x" in engine._owners else {}
        engine.run(
            lambda b, s, small: Result({small[0]: np.zeros(len(b))}, replaces=small[1]),
            (name, old),
            title="Zeros",
        )
    assert len(engine._kept) == 1 and list(engine._owners) == ["y"]


@pytest.mark.parametrize("holds", [lambda c: c, lambda c: "dask"])
def test_estimator_with_a_client_is_cloned_pickled_and_searched(client, views, holds):
    place = holds(client)
    model = ConcatKMeans(4, random_state=0, engine=place)
    assert model.get_params()["engine"] is place
    twin = clone(model)
    assert twin is not model and twin.engine is place
    assert pickle.loads(pickle.dumps(model)).engine == "dask"
    search = GridSearchCV(
        model,
        {"n_clusters": [3, 4]},
        cv=2,
        scoring=lambda m, X, y=None: -m.inertia_,
    )
    search.fit(Views(views))
    assert search.best_estimator_.engine is place
    assert search.best_params_ == {"n_clusters": 4}


def test_client_that_dies_resumes_from_its_checkpoint(client, views, local, tmp_path):
    data = write_store(views, tmp_path)
    script = f"""
        import os, signal
        from distributed import Client
        from manyview import S2MVTC
        from manyview.running import progress

        def stop(title, done, total):
            if title == "Round 3":
                os.kill(os.getpid(), signal.SIGKILL)

        if __name__ == "__main__":
            model = S2MVTC(4, n_anchors=60, n_graph_anchors=200, max_iter=3,
                           random_state=0, checkpoint={str(tmp_path / "saved")!r})
            with Client({client.scheduler.address!r}) as place, progress.listen(stop):
                model.set_params(engine=place).fit({str(data)!r})
    """
    (tmp_path / "fit.py").write_text(textwrap.dedent(script))
    ended = subprocess.run([sys.executable, str(tmp_path / "fit.py")], check=False)
    assert ended.returncode == -signal.SIGKILL
    titles = []
    model = clone(METHODS["S2MVTC"])
    model.set_params(engine=client, checkpoint=tmp_path / "saved")
    with progress.listen(lambda title, done, total: titles.append(title)):
        model.fit(data)
    assert "Round 3" in titles and not {"Round 1", "Round 2"} & set(titles)
    assert ari(local["S2MVTC"], model.labels_.compute()) >= 0.999


def test_command_line_fits_on_a_cluster(client, views, local, tmp_path, capsys):
    data, out = write_store(views, tmp_path), tmp_path / "run"
    place = ["--engine", "dask", "--scheduler", client.scheduler.address]
    setting = ["--method", "concat-kmeans", "-k", "4", "--out", str(out)]
    assert main(["fit", str(data), *setting, *place]) == 0
    assert ari(local["ConcatKMeans"], np.load(out / "labels.npy")) >= 0.999
    capsys.readouterr()


def fit_twice(client, files, out, *options):
    """Labels and records of the command on the cluster and here."""
    setting = ["--method", "concat-kmeans", "-k", "4", *options]
    place = ["--engine", "dask", "--scheduler", client.scheduler.address]
    runs = []
    for name, where in (("far", place), ("near", [])):
        command = ["fit", *map(str, files), *setting, *where, "--out"]
        assert main([*command, str(out / name)]) == 0
        runs.append((read_meta(out / name), np.load(out / name / "labels.npy")))
    return runs


def widths(record):
    return [view["features"] for view in record["data"]["views"]]


def test_command_line_chooses_views_and_labels_on_a_cluster(
    client, views, tmp_path, capsys
):
    classes = np.arange(900) % 3
    data = convert(Views(views, labels=classes), tmp_path / "data")
    np.save(tmp_path / "classes.npy", classes[::-1])
    names = ["--view", "view2", "--view", "view0"]
    (far, labels), (near, others) = fit_twice(client, [data], tmp_path / "a", *names)
    assert widths(far) == widths(near) == [4, 6]
    assert ari(labels, others) >= 0.999
    assert far["scores"] == pytest.approx(near["scores"])
    given = ["--labels", str(tmp_path / "classes.npy")]
    (far, _), (near, _) = fit_twice(client, [data], tmp_path / "b", *given)
    assert far["scores"] == pytest.approx(near["scores"])
    (far, _), _ = fit_twice(client, [data], tmp_path / "c", "--labels", "none")
    assert far["scores"] is None
    capsys.readouterr()


def test_command_line_leaves_a_column_of_labels_out_on_a_cluster(
    client, views, tmp_path, capsys
):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    columns = {f"c{j}": views[0][:, j] for j in range(6)}
    columns["kind"] = (np.arange(900) % 3).astype(float)
    pq.write_table(table(columns), tmp_path / "x.parquet", row_group_size=200)
    np.save(tmp_path / "y.npy", views[1])
    files = [tmp_path / "x.parquet", tmp_path / "y.npy"]
    (far, _), (near, _) = fit_twice(client, files, tmp_path, "--labels", "kind")
    assert widths(far) == widths(near) == [6, 9]
    assert far["scores"] == pytest.approx(near["scores"])


def test_command_line_fills_gaps_on_a_cluster(client, views, tmp_path, capsys):
    holed = [x.copy() for x in views]
    holed[1][np.arange(0, 900, 40), 3] = np.nan
    data = convert(Views(holed), tmp_path / "data")
    (_, labels), (_, others) = fit_twice(client, [data], tmp_path, "--fill", "mean")
    assert ari(labels, others) >= 0.999
    place = ["--engine", "dask", "--scheduler", client.scheduler.address]
    command = ["fit", str(data), "-k", "4", *place, "--out", str(tmp_path / "no")]
    assert main(command) != 0
    assert "NaN" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--view", "nope"], "no view 'nope'"),
        (["--labels", "nope"], "'nope'"),
        (["--fill", "median"], "median"),
    ],
)
def test_command_line_refuses_what_a_cluster_cannot_have(
    client, views, tmp_path, capsys, options, words
):
    data = write_store(views, tmp_path)
    place = ["--engine", "dask", "--scheduler", client.scheduler.address]
    out = ["--out", str(tmp_path / "run")]
    assert main(["fit", str(data), "-k", "4", *place, *options, *out]) != 0
    assert words in capsys.readouterr().err


def test_errors_of_a_step_keep_their_words(client, views):
    spoilt = [x.copy() for x in views]
    spoilt[1][777, 2] = np.inf
    model = clone(METHODS["ConcatKMeans"]).set_params(engine=client)
    with pytest.raises(InputError, match=r"view1.*infinity"):
        model.fit(known(spoilt))


@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        (lambda v: [da.zeros((9, 2)), da.zeros((8, 2))], InputError, "different num"),
        (lambda v: [da.zeros(9)], InputError, "2-D"),
        (
            lambda v: [da.from_array(np.full((9, 2), "a"))],
            InputTypeError,
            "not numeric",
        ),
        (lambda v: "nowhere.zarr", FileError, "every worker"),
    ],
)
def test_input_that_cannot_be_used(client, views, data, error, match):
    with pytest.raises(error, match=match):
        ConcatKMeans(2, engine=client).fit(data(views))


def test_dask_arrays_need_the_dask_engine(client, views):
    with pytest.raises(InputError, match="engine='dask'"):
        ConcatKMeans(2).fit(known(views))


def test_engine_without_a_cluster_or_of_another_kind(views):
    script = """
        import numpy as np
        from manyview.baselines import ConcatKMeans
        from manyview.errors import DeviceError, InputTypeError
        for engine, error in (("dask", DeviceError), (3, InputTypeError)):
            try:
                ConcatKMeans(2, engine=engine).fit([np.eye(4)])
            except error as found:
                print(found)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "found no Dask client" in run.stdout
    assert "engine=3 is no engine" in run.stdout


def test_a_lost_scheduler_ends_the_fit_with_a_clear_error(views):
    cluster = distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address=":0"
    )
    place = distributed.Client(cluster, set_as_default=False)

    def close(title, done, total):
        if title == "Clustering":
            cluster.close()

    with progress.listen(close), pytest.raises(DeviceError, match="scheduler"):
        ConcatKMeans(4, random_state=0, engine=place).fit(views)
    place.close()


def test_only_the_engine_imports_dask():
    source = Path(sys.modules["manyview"].__file__).parent
    importing = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(
            re.match(r"\s*(import|from) (dask|distributed)\b", line)
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    own = ["engine/dask.py", "engine/dask_views.py", "engine/dask_workers.py"]
    assert sorted(importing) == own
