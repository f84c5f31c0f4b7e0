"""Where a fit runs: every combination works, or is refused by name before any work."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.engine.local import open_engine
from manyview.errors import InputError, ManyviewError
from manyview.metrics import ari
from manyview.running import progress
from manyview.views.views import Views

SMALL = {"n_init": 2, "random_state": 0}
ROUNDS = {"n_anchors": 60, "max_iter": 2}
QUICK = {
    S2MVTC: {"n_graph_anchors": 100, **ROUNDS, **SMALL},
    SequenceS2MVTC: {**ROUNDS, **SMALL},
    AnchorSpectral: {"n_graph_anchors": 100, **SMALL},
}
pytestmark = pytest.mark.usefixtures("rows_stay_on_disk")
ESTIMATORS = list(QUICK)
KINDS = ("arrays", "mapped", "tensors")


@pytest.fixture
def passes():
    """Titles of the passes that are begun."""
    titles = []
    with progress.listen(lambda title, done, total: titles.append(title)):
        yield titles


def given_as(kind, views, folder):
    if kind == "tensors":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        return [torch.as_tensor(x) for x in views]
    if kind == "arrays":
        return views
    for v, x in enumerate(views):
        np.save(folder / f"{v}.npy", x)
    return [np.load(folder / f"{v}.npy", mmap_mode="r") for v in range(len(views))]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_here_everything_goes_together_but_limits_and_tensors(
    three_views, estimator, kind, tmp_path, passes
):
    views = three_views[0]
    start = estimator(4, **QUICK[estimator])
    wanted = clone(start).fit(views).labels_
    data = given_as(kind, views, tmp_path)
    places = itertools.product((None, "cpu"), (None, "2GB"), (None, "saved"))
    for number, (device, limit, saved) in enumerate(places):
        checkpoint = saved and tmp_path / f"{saved}{number}"
        place = {"device": device, "memory_limit": limit, "checkpoint": checkpoint}
        model = clone(start).set_params(**place)
        passes.clear()
        if kind == "tensors" and limit is not None:
            with pytest.raises(InputError, match=r"memory_limit='2GB'.*device='cpu'"):
                model.fit(data)
            assert passes == []
        else:
            found = np.asarray(model.fit(data).labels_)
            assert ari(wanted, found) >= 0.999


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_clusters", [4, "auto"])
@pytest.mark.parametrize(
    "place",
    [
        {"device": "abacus"},
        {"device": 1.5},
        {"memory_limit": "much"},
        {"memory_limit": 1000},
        {"engine": 3},
        {"engine": "cloud"},
    ],
)
def test_a_place_that_is_none_is_refused_before_any_work(
    three_views, estimator, n_clusters, place, passes
):
    (name,) = place
    with pytest.raises(ManyviewError, match=name):
        estimator(n_clusters, **place).fit(three_views[0])
    assert passes == []


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_clusters", [4, "auto"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("device", "mps"), ("device", "abacus"), ("memory_limit", "much")],
)
def test_places_that_no_worker_has_are_refused_before_any_work(
    three_views, estimator, n_clusters, name, value, passes, monkeypatch
):
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("manyview.engine.local.find_client", lambda engine: object())
    model = estimator(n_clusters, engine="dask", **{name: value})
    with pytest.raises(ManyviewError, match=f"{name}='{value}'"):
        model.fit(three_views[0])
    assert passes == []


def test_limit_within_which_nothing_goes_is_refused(three_views):
    with pytest.raises(InputError, match="memory_limit=1000 is too little"):
        open_engine(Views(three_views[0]), np.float64, memory_limit=1000)
