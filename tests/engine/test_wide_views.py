"""Views on disk within a memory limit: features kept, spilled or made again."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.engine.contract import lowered
from manyview.engine.local import RowState
from manyview.metrics import ari

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("rows_stay_on_disk")]

N_ROWS, N_ANCHORS = 1200, 60
LIMIT = 10**9
SMALL = {"n_anchors": N_ANCHORS, "n_init": 3, "random_state": 0}

MODELS = {
    "S2MVTC": S2MVTC(6, n_graph_anchors=150, max_iter=2, **SMALL),
    "given lam": S2MVTC(6, n_graph_anchors=150, lam=1.0, **SMALL),
    "sequence": SequenceS2MVTC(6, n_components=12, max_iter=2, **SMALL),
    "recordings": SequenceS2MVTC(
        6, n_components=12, max_iter=2, min_duration=40, **SMALL
    ),
}

# Room in memory for the state; seconds to make features again, against reading them.
ROADS = {
    "kept": (10**8, 1e-12),
    "spilled": (0, 1e-12),
    "partly spilled": (250_000, 1e-12),
    "remade": (0, 1e30),
    "partly remade": (250_000, 1e30),
}


@pytest.fixture(scope="module")
def arrays():
    """Rows of six groups in long runs, through two views of unlike width."""
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.integers(0, 6, N_ROWS // 50), 50)
    views = []
    for n_features in (60, 70):
        centres = rng.normal(size=(6, n_features))
        noise = 1.5 * rng.normal(size=(N_ROWS, n_features))
        views.append((centres[groups] + noise).astype(np.float32))
    return views


@pytest.fixture(scope="module")
def mapped(arrays, tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    for v, x in enumerate(arrays):
        np.save(folder / f"{v}.npy", x)
    return [np.load(folder / f"{v}.npy", mmap_mode="r") for v in range(len(arrays))]


@pytest.fixture(scope="module")
def in_memory(arrays):
    """Labels of fits in memory without a limit, by the model and its sizes."""
    found = {}

    def labels(name, sizes):
        key = name, tuple(sizes.items())
        if key not in found:
            with lowered(**sizes):
                found[key] = MODELS[name].fit(arrays).labels_
        return found[key]

    return labels


@pytest.fixture
def places(monkeypatch):
    """Names of the fields that lay in files and in memory after any pass."""
    found = {"files": set(), "memory": set()}
    original = RowState.end_pass

    def end_pass(self):
        original(self)
        found["files"].update(self._files)
        found["memory"].update(self._kept[0])

    monkeypatch.setattr(RowState, "end_pass", end_pass)
    return found


def is_of_features(name):
    return name.startswith(("Phi", "Psi", "D"))


@pytest.mark.parametrize("sampled_rows", [500, N_ROWS])
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("name", MODELS)
def test_labels_within_a_limit_are_those_in_memory(
    mapped, in_memory, places, monkeypatch, name, road, sampled_rows
):
    sizes = {"sampled_rows": sampled_rows, "block_rows": 100}
    wanted = in_memory(name, sizes)
    for names in places.values():
        names.clear()  # of the fit in memory, where no test before this one made it
    room, core_rate = ROADS[road]
    monkeypatch.setattr("manyview.engine.local.CORE_RATE", core_rate)
    monkeypatch.setattr("manyview.engine.local.worth_keeping", lambda *_: True)
    monkeypatch.setattr("manyview.engine.local.CORES", 2)
    model = MODELS[name].set_params(memory_limit=LIMIT)
    with lowered(**sizes, state_room=room):
        found = model.fit(mapped).labels_
    model.set_params(memory_limit=None)
    assert model._passes.start.features.keep == ("remade" not in road)
    assert any(map(is_of_features, places["files"])) == ("spilled" in road)
    assert any(map(is_of_features, places["memory"])) == (road == "kept")
    assert ("B_bar" in places["files"]) == (room == 0)
    assert bool(places["memory"]) == (room > 0)
    assert ari(wanted, found) >= 0.999


@pytest.mark.parametrize("limit", [LIMIT, None])
def test_rows_are_read_and_not_mapped_within_a_limit(mapped, monkeypatch, limit):
    opened = []
    original = np.memmap.__getitem__
    monkeypatch.setattr(
        np.memmap,
        "__getitem__",
        lambda self, rows: (opened.append(rows), original(self, rows))[1],
        raising=False,
    )
    with lowered(block_rows=500):
        AnchorSpectral(6, random_state=0, memory_limit=limit).fit(mapped)
    assert bool(opened) == (limit is None)
