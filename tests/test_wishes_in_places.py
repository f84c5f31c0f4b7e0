"""Every question to a fit has the same answer wherever its rows lie.

In memory, in files within a memory limit, on Dask workers, on a device, and as tensors
on a GPU: trees, refits, drift, pieces, known rows, outliers, numbers of clusters, rows
that lack views, pages and pictures, and cells.
"""

import re
import tempfile
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score as ari

from manyview import S2MVTC, choose_n_clusters, drift, hierarchy, sc
from manyview.arrays.ops import to_host
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import InputError
from manyview.views.parsing import is_dask

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::UserWarning:anndata", "ignore::UserWarning:mudata"
)
K = 4
N_ROWS = 360
SAME = 0.999  # ARI of what must be one partition


class Place(NamedTuple):
    """Somewhere rows can lie, and what a model is told of it."""

    put: Any
    params: dict[str, Any]

    def model(self, **more):
        params = {"random_state": 0, "n_init": 5, "n_graph_anchors": 120}
        return S2MVTC(K, **{**params, **self.params, **more})


HERE = Place(list, {})


@pytest.fixture(scope="module")
def views():
    made = make_views(N_ROWS, (6, 5, 7), K, random_state=0, view_quality=0.8)
    return [np.array(x, dtype=np.float64) for x in made.arrays], made.labels


@pytest.fixture(scope="module")
def here(views):
    """What is found in memory: every answer once for all places."""
    found: dict[tuple[str, int], dict[str, Any]] = {}

    def answer(question, exact_rows):
        key = (question, exact_rows)
        if key not in found:
            found[key] = QUESTIONS[question](HERE, views)
        return found[key]

    return answer


def on_disk(folder):
    """Puts arrays into files, and gives their paths."""
    count = iter(range(10**6))

    def put(arrays):
        own = folder / str(next(count))
        own.mkdir()
        paths = [own / f"view{i}.npy" for i in range(len(arrays))]
        for path, x in zip(paths, arrays, strict=True):
            np.save(path, x)
        return paths

    return put


@pytest.fixture(
    scope="module",
    params=["memory limit", "dask", "device", "cuda", "cuda tensors", "dask on cuda"],
)
def place(request, tmp_path_factory):
    if request.param == "memory limit":
        return Place(on_disk(tmp_path_factory.mktemp("rows")), {"memory_limit": "2GB"})
    if "cuda" in request.param or request.param == "device":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        if "cuda" in request.param and not torch.cuda.is_available():
            pytest.skip("there is no CUDA GPU here")
    if request.param == "device":
        return Place(list, {"device": "cpu"})
    if request.param == "cuda":
        return Place(list, {"device": "cuda"})
    if request.param == "cuda tensors":
        return Place(lambda xs: [torch.as_tensor(x, device="cuda") for x in xs], {})
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    params = {"engine": request.getfixturevalue("workers")}
    if request.param == "dask on cuda":
        params["device"] = "cuda"
    return Place(lambda xs: [da.from_array(x, chunks=(100, -1)) for x in xs], params)


def host(values):
    return np.asarray(values) if is_dask(values) else np.asarray(to_host(values))


def of_rows(arrays, rows):
    return [x[rows] for x in arrays]


def tree(place, views):
    """Nested levels, their distances, and the fit as one of the levels."""
    rows = place.put(views[0])
    model = place.model().fit(rows)
    found = hierarchy(model, rows)
    cuts = {f"cut({k})": host(found.cut(k)) for k in (2, K, 8)}
    assert (cuts[f"cut({K})"] == host(model.labels_)).all()
    below = 0.999 * float(found.linkage[-1, 2])
    return cuts | {"below the top": host(found.cut(distance=below))}


def refitted(place, views):
    """Grown data under the same numbers."""
    model = place.model().fit(place.put(of_rows(views[0], slice(0, 240))))
    before = host(model.labels_)
    model.refit(place.put(views[0]))
    after = host(model.labels_)
    assert (after[:240] == before).mean() > 0.9
    told = [(e.kind, e.before, e.after, e.rows) for e in model.changes_.events]
    return {"numbers": after, "told": told, "overlap": model.changes_.overlap.tolist()}


def drifted(place, views):
    """Views that no longer fit, and those that do; rounding decides of no row."""
    made = make_views(N_ROWS, (6, 5, 7), K, random_state=0)
    arrays = [np.array(x, dtype=np.float64) for x in made.arrays]
    model = place.model().fit(place.put(of_rows(arrays, slice(0, 240))))
    new = of_rows(arrays, slice(240, None))
    worn = [new[0], 1.6 * new[1], new[2]]
    calm, alarm = drift(model, place.put(new)), drift(model, place.put(worn))
    assert not calm.drifted and alarm.drifted
    # Which number a cluster has may differ from place to place.
    told = [calm.views, alarm.views, len(alarm.clusters), sorted(alarm.sizes)]
    return {"told": told, "near": np.vstack([np.sort(alarm.gaps, 0), calm.p_views])}


def fed(place, views):
    """Rows in pieces."""
    model = place.model()
    for rows in np.array_split(np.arange(N_ROWS), 3):
        model.partial_fit(place.put(of_rows(views[0], rows)))
    assert len(host(model.embedding_)) == N_ROWS
    return {"numbers": host(model.labels_), "told": model.changes_.sentence}


def informed(place, views):
    """Labels of some rows, and links between others."""
    arrays, classes = views
    rows = np.random.default_rng(0).permutation(N_ROWS)[:60]
    labels = np.full(N_ROWS, -1)
    labels[rows[:40]] = classes[rows[:40]]
    labels[rows[0]] = (labels[rows[0]] + 1) % K  # a wrong one
    model = place.model().fit(place.put(arrays), partial_labels=labels)
    found = host(model.labels_)
    known = labels >= 0
    assert (found[known] == labels[known]).all() and rows[0] in model.conflicts_
    pairs = rows[40:].reshape(10, 2)
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    links = {"must_link": pairs[same], "cannot_link": pairs[~same]}
    tied = host(place.model().fit(place.put(arrays), **links).labels_)
    assert ((tied[pairs[:, 0]] == tied[pairs[:, 1]]) == same).all()
    conflicts = sorted(np.asarray(model.conflicts_).tolist())
    return {"with labels": found, "with links": tied, "conflicts": conflicts}


def strange(place, views):
    """Scores of every row in every view, and the rows that are set aside."""
    arrays = [np.array(x) for x in views[0]]
    arrays[1][17] += 30.0
    rows = place.put(arrays)
    model = place.model().fit(rows)
    found = model.find_outliers(rows, label_outliers=0.01)
    assert model.outlier_score_ is found.by_view and found.labels[17] == -1
    aside = np.flatnonzero(found.labels == -1).tolist()
    return {"scores": found.by_view, "set aside": aside}


def counted(place, views):
    """How many clusters, against chance."""
    rows = place.put(of_rows(views[0][:2], slice(0, 100)))
    found = choose_n_clusters(rows, range(2, 5), random_state=0, **place.params)
    criteria = np.concatenate([found.gap, found.stability, found.silhouette])
    told = (found.n_clusters, found.best_guess, found.certainty)
    return {"told": told, "near": criteria}


def mosaic(place, views):
    """No row has all views; rows of NaN are those that lack one."""
    arrays = [np.array(x) for x in views[0]]
    lacks = np.random.default_rng(1).integers(len(arrays), size=N_ROWS)
    for v, x in enumerate(arrays):
        x[lacks == v] = np.nan
    model = place.model().fit(place.put(arrays))
    return {"numbers": host(model.labels_)}


def shown(place, views):
    """What a notebook shows of the model: sizes, influence, a map; and one picture."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    model = place.model().fit(place.put(views[0]))
    page = model._repr_html_()
    told = [page.count("<circle"), *re.findall(r">([\d.%]+)</td>", page)]
    assert f"{N_ROWS} rows, 3 views, {K} clusters" in page and len(told) > 10
    return {"told": told, "axes": len(model.plot(layout="pca").axes)}


def reported(place, views):
    """The page of a report."""
    pytest.importorskip("plotly", reason="plotly is not installed")
    rows = place.put(views[0])
    model = place.model().fit(rows)
    with tempfile.TemporaryDirectory() as folder:
        page = model.report(f"{folder}/report.html", rows, layout="pca")
        text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html") or text.startswith("<!DOCTYPE html")
    return {"told": text.count("<table")}


def of_cells(place, views):
    """Clusters of cells; their rows lie in memory, the work is done elsewhere."""
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    cells = anndata.AnnData(views[0][0])
    cells.obsm["X_other"] = views[0][1]
    model = place.model()
    sc.cluster(cells, K, views=["X", "obsm/X_other"], estimator=model)
    parts = [*cells.obs, *cells.obsm, *cells.obsp, *cells.uns]
    return {"numbers": cells.obs["manyview"].cat.codes.to_numpy(), "told": parts}


QUESTIONS = {
    "tree": tree,
    "refit": refitted,
    "drift": drifted,
    "pieces": fed,
    "known rows": informed,
    "outliers": strange,
    "how many": counted,
    "mosaic": mosaic,
    "notebook": shown,
    "report": reported,
    "cells": of_cells,
}
# Beyond so many rows drawn ones stand for all; some questions do not hang on that.
ROADS = {"few rows": 8192, "many rows": 150}
ONCE = ("how many", "report", "cells")
ASKED = [(q, r) for q in QUESTIONS for r in ROADS if q not in ONCE or "few" in r]


@pytest.mark.parametrize(("question", "road"), ASKED)
def test_the_answer_is_the_same_in_every_place(
    question, road, place, views, here, monkeypatch
):
    monkeypatch.setattr("manyview.stages.no_clusters.N_CLOUDS", 2)
    if question == "report" and "engine" in place.params:
        with pytest.raises(InputError, match="A report looks at the views where it"):
            reported(place, views)
        return
    with lowered(exact_rows=ROADS[road]):
        found = QUESTIONS[question](place, views)
        wanted = here(question, ROADS[road])
    for name, expected in wanted.items():
        if name in ("near", "scores"):
            np.testing.assert_allclose(found[name], expected, atol=1e-3, err_msg=name)
        elif isinstance(expected, np.ndarray):
            assert ari(expected, found[name]) >= SAME, name
        else:
            assert found[name] == expected, name
