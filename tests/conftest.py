"""Fixtures shared by all tests: real data where present, small data, array kinds."""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from scipy.sparse import csr_array

from manyview.engine import local
from manyview.engine.contract import lowered
from tests import checking

# Before any estimator's module is loaded and takes the function's name for its own.
local.open_engine = checking.open_engine

Loaded = tuple[list[np.ndarray | csr_array], np.ndarray]

# No deadline: no test measures time. Fixed examples: a red run can be repeated.
settings.register_profile("manyview", deadline=None, derandomize=True)
# Of changed code it is enough to know that it was noticed.
seen = settings.get_profile("manyview")
brief = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", parent=seen, phases=brief, max_examples=50)
settings.load_profile("manyview")

NAMESPACES = {
    "numpy": "array_api_compat.numpy",
    "strict": "array_api_strict",
    "torch": "array_api_compat.torch",
}


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    reason = "looks at an engine itself, or at what a pass costs: no checking engine"
    config.addinivalue_line("markers", f"unchecked: {reason}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests go first: at the end one process alone would do them."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def checked_passes(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every engine that is opened holds its steps to the contract."""
    is_on = request.node.get_closest_marker("unchecked") is None
    monkeypatch.setattr(checking, "is_on", is_on)


@pytest.fixture(autouse=True, scope="module")
def no_scheduler_of_others() -> None:
    """A module begins without the scheduler of a Dask client that is gone.

    Clients that overlap put back each other's setting: whichever is closed last can
    leave dask.config naming a scheduler that nobody has, and every `compute` of the
    process fails from then on.
    """
    dask = sys.modules.get("dask")
    client = sys.modules.get("distributed.client")
    if dask is None or client is None or client._get_global_client() is not None:
        return
    dask.config.set(scheduler=None)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real data sets; the test is skipped where there is none."""
    named = os.environ.get("MANYVIEW_DATA")
    if not named:
        pytest.skip("MANYVIEW_DATA is not set: no real data sets to test with")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"MANYVIEW_DATA names {named}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def load_npz(data_dir: Path) -> Callable[[str], Loaded]:
    """Read views and labels of a named set; skip where its file is missing."""

    def load(name: str) -> Loaded:
        path = data_dir / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"{path.name} is not in the folder named by MANYVIEW_DATA")
        with np.load(path, allow_pickle=False) as stored:
            return read_views(stored), stored["labels"]

    return load


def read_views(stored: np.lib.npyio.NpzFile) -> list[np.ndarray | csr_array]:
    """Dense views are ``view0``; sparse ones are CSR in ``view0_data`` and so on."""
    views = []
    while True:
        name = f"view{len(views)}"
        if name in stored:
            views.append(stored[name])
        elif f"{name}_data" in stored:
            parts = [stored[f"{name}_{part}"] for part in ("data", "indices", "indptr")]
            shape = tuple(stored[f"{name}_shape"])
            views.append(csr_array(tuple(parts), shape=shape))
        else:
            return views


@pytest.fixture
def rows_stay_on_disk():
    """Few rows of files are read again in every pass, as many are."""
    with lowered(read_share=0.0):
        yield


@pytest.fixture(params=NAMESPACES)
def xp(request: pytest.FixtureRequest):
    """Array namespaces that must all give the same numbers."""
    if request.param == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
    return importlib.import_module(NAMESPACES[request.param])


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``n_clusters="auto"`` tries on 200 rows is 2 to 7, against four clouds."""
    monkeypatch.setattr("manyview.selection.CANDIDATES", range(2, 8))
    monkeypatch.setattr("manyview.stages.embedded_sample.SAMPLE_ROWS", 200)
    monkeypatch.setattr("manyview.stages.no_clusters.N_CLOUDS", 2)


@pytest.fixture
def three_views() -> tuple[list[np.ndarray], np.ndarray]:
    """300 shuffled rows in 4 groups, seen through three views of unlike shape."""
    rng = np.random.default_rng(7)
    labels = rng.permutation(np.arange(300) % 4)
    views = []
    for n_features, noise in ((6, 0.6), (10, 0.8), (4, 0.5)):
        centres = 2.5 * rng.normal(size=(4, n_features))
        views.append(centres[labels] + noise * rng.normal(size=(300, n_features)))
    return views, labels


@pytest.fixture(scope="module")
def workers():
    """A client of two Dask workers in this process."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    asked = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
    with (
        distributed.LocalCluster(**asked, processes=False, dashboard_address=":0") as c,
        distributed.Client(c) as client,
    ):
        yield client


@pytest.fixture
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of the experiments run in this process, each run recorded as it ends."""

    from manyview.experiments import task_worker

    async def run(self, runs):
        open_runs = {r.key: r for r in runs}
        told = {"memory_limit": None, "runs": [*map(self._told, runs)]}
        for message in task_worker.work(told):
            said = json.loads(json.dumps(message))
            if said.pop("event") == "end":
                self._record(open_runs.pop(said["key"]), said)

    monkeypatch.setattr("manyview.experiments.execute._Execution._run", run)


@pytest.fixture(params=["memory limit", "device", "dask", "mapped"])
def elsewhere(request, views, tmp_path):
    """The arrays of the module's views in another place, and parameters for it."""
    arrays = list(views.arrays)
    if request.param == "memory limit":
        return arrays, {"memory_limit": "1GB"}
    if request.param == "device":
        pytest.importorskip("torch", reason="torch is not installed")
        return arrays, {"device": "cpu"}
    if request.param == "dask":
        return arrays, {"engine": request.getfixturevalue("workers")}
    paths = [tmp_path / f"{v}.npy" for v in range(len(arrays))]
    for path, x in zip(paths, arrays, strict=True):
        np.save(path, x)
    return [np.load(path, mmap_mode="r") for path in paths], {}
