"""The method on one page against the library, stage by stage and as a whole."""

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from examples import the_method_on_one_page as page
from manyview import S2MVTC
from manyview.arrays.ops import nearest_points, z_score
from manyview.datasets import load_digits_views, make_views
from manyview.engine.contract import lowered
from manyview.engine.local import open_engine
from manyview.stages import anchor_graph
from manyview.stages.anchors import features, make_kernels
from manyview.stages.ridge import SHARES, Target, choose_weight, factor_gram, solve
from manyview.stages.sampling import choose_scalings, draw
from manyview.stages.scaling import Scaling, apply_scaling
from manyview.views.views import Views

C = 3
PLAIN = Scaling("none")


def clear_views(n_samples=300, n_features=(6, 9), n_clusters=C, seed=0):
    data = make_views(
        n_samples, n_features, n_clusters, random_state=seed, dtype=np.float64
    )
    return [data.view(name) for name in data.names], data.labels


def engine_of(*views):
    return open_engine(Views(list(views)), np.float64)


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_it_is_one_page_that_hides_nothing():
    text = Path(page.__file__).read_text("utf-8")
    assert len(text.splitlines()) <= 100
    imported = {
        node.module.partition(".")[0]
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
    }
    assert imported == {"scipy", "sklearn"}


def make_view(kind, rng):
    if kind == "root":
        return rng.poisson(0.5, size=(200, 8)).astype(float) + np.eye(200, 8)
    if kind == "cosine":
        return rng.normal(size=(200, 8)) * np.arange(8, 0, -1)
    return rng.normal(size=(200, 8)) @ rng.normal(size=(8, 8)) + 5


@pytest.mark.parametrize("kind", ["root", "cosine", "standard"])
def test_scaling(kind):
    X = make_view(kind, np.random.default_rng(0))
    X = X[X.any(axis=1)]
    drawn = draw(engine_of(X), len(X), 0)
    (scaling,) = choose_scalings(drawn, "auto", C)
    assert scaling.kind == kind
    same(page.scale(X, C), apply_scaling(X, scaling))


def test_a_constant_feature_says_nothing():
    X = make_view("standard", np.random.default_rng(1))
    X[:, 2] = 7.0
    assert not page.scale(X, C)[:, 2].any()


def test_features():
    rng = np.random.default_rng(2)
    X, A = rng.normal(size=(80, 4)), rng.normal(size=(12, 4))
    (kernel,) = make_kernels(engine_of(X), "rbf", (PLAIN,), (A,))
    Phi = features(X, PLAIN, kernel)
    same(page.features(X, A), Phi - Phi.mean(axis=0))


@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
def test_ridge_and_its_weight(noise):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4))
    Phi = page.features(X, X[:20])
    B = np.sin(X[:, :2]) + noise * rng.normal(size=(90, 2)) + 1.0
    about = B - B.mean(axis=0)
    gram = Phi.T @ Phi
    made = factor_gram(gram, np.zeros(20), 1.0, 0.0)
    target = Target(Phi.T @ about, float(np.sum(about**2)), 90.0)
    best, explained = choose_weight(made, target)
    R2, lam, fit = page.ridge(Phi, B)
    same(max(R2, 0.02), explained)
    same(fit, Phi @ solve(best, target.products))
    same(np.linalg.inv(solve(best, np.eye(20))), gram + lam * np.eye(20))
    assert np.isclose(lam, np.array(SHARES) * np.trace(gram) / 20).sum() == 1


def test_ties():
    rng = np.random.default_rng(4)
    X, A = rng.normal(size=(50, 3)), rng.normal(size=(15, 3))
    index, weights = anchor_graph.linear_weights(*nearest_points(X, A, 6), 5)
    Z = np.zeros((50, 15))
    np.put_along_axis(Z, index, weights, axis=1)
    same(page.ties(X, A), Z)


def library_graph(views, monkeypatch):
    """The library's graph of prepared views; the page then takes the same anchors."""
    engine = engine_of(*views)
    scalings = (PLAIN,) * len(views)
    drawn = draw(engine, engine.n_samples, 0)
    graph = anchor_graph.build_graph(
        drawn,
        scalings,
        n_samples=engine.n_samples,
        n_clusters=C,
        n_anchors=512,
        n_neighbors=5,
        seed=0,
    )
    anchors = {
        v: [np.asarray(p.anchors) for p in graph.pieces if p.view == v]
        for v in range(len(views))
    }

    def find_anchors(X, m, seed):
        v = next(v for v, view in enumerate(views) if X is view)
        assert len(anchors[v][seed]) == m
        return anchors[v][seed]

    monkeypatch.setattr(page, "find_anchors", find_anchors)
    return engine, anchor_graph.fit_spectrum(engine, graph, C)


def test_graph(monkeypatch):
    views, _ = clear_views(n_features=(3, 4), seed=5)
    views = [X + 4 * np.random.default_rng(6).normal(size=X.shape) for X in views]
    engine, spectrum = library_graph(views, monkeypatch)
    anchor_graph.put_basis(engine, spectrum)
    F, rough, weights = page.graph(views, C, 512 // len(views), 0)
    same(weights, spectrum.weights)
    same(1 - rough, spectrum.values**2)
    expected = engine.read("F")
    # An eigenvector's sign is its own business.
    same(F * np.sign(np.sum(F * expected, axis=0)), expected)


@pytest.mark.parametrize("n_samples", [60, 200, 1500, 40_000])
@pytest.mark.parametrize("n_clusters", [2, 10])
def test_resolutions(n_samples, n_clusters, monkeypatch):
    share = 1024
    sizes = anchor_graph.resolutions(n_samples, n_clusters, share)
    asked = []
    monkeypatch.setattr(page, "find_anchors", lambda X, m, seed: asked.append(int(m)))
    monkeypatch.setattr(page, "ties", lambda X, A: np.ones((1, 1)))
    with pytest.raises(ValueError, match="broadcast"):
        page.graph([np.zeros((n_samples, 1))], n_clusters, share, 0)
    assert asked == sizes * int(np.clip(share // sum(sizes), 1, 6))


def test_the_start_and_the_round(monkeypatch):
    views, _ = clear_views(seed=7)
    prepared = [page.scale(X, C) for X in views]
    F, rough, w = page.graph(prepared, C, 2048, 0)
    monkeypatch.setattr(page, "graph", lambda *given: (F, rough, w))
    anchors = [X[:40] for X in prepared]
    _, B_bar = page.s2mvtc(views, C, anchors=anchors, beta=0.3, a=0.2)

    scale = anchor_graph.frequency_weights(np.sqrt(1 - rough), C)
    start = z_score(F * scale, centre=False)
    total = np.zeros_like(start)
    for X, A, weight in zip(prepared, anchors, w, strict=True):
        explained, _, fit = page.ridge(page.features(X, A), start)
        total += weight * explained * (0.3 * start + 0.2 * F @ (F.T @ start) + fit)
    same(B_bar * np.sqrt(F.shape[1] - 1), z_score(total, centre=False))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clear_clusters(seed):
    views, labels = clear_views(400, (8, 12, 5), 4, seed)
    with lowered(exact_rows=0):  # the page ends as a fit of many rows does
        model = S2MVTC(4, random_state=seed).fit(views)
    found, _ = page.s2mvtc(views, 4, seed=seed)
    assert adjusted_rand_score(model.labels_, found) >= 0.95
    assert adjusted_rand_score(labels, found) >= 0.95


def similarity(B):
    B = B / np.linalg.norm(B, axis=1, keepdims=True)
    return (B @ B.T).ravel()


@pytest.mark.slow
def test_the_same_anchors_give_the_same_embedding():
    data = load_digits_views()[:600]
    views = [data.view(name).astype(float) for name in data.names[:3]]
    with lowered(exact_rows=0):
        model = S2MVTC(10, random_state=0).fit(views)
    found, B_bar = page.s2mvtc(views, 10, anchors=model.anchors_)
    alike = np.corrcoef(similarity(B_bar), similarity(model.embedding_))[0, 1]
    assert alike > 0.98
    assert adjusted_rand_score(model.labels_, found) >= 0.95


@pytest.mark.slow
def test_it_runs_as_it_stands(capsys):
    runpy.run_path(page.__file__, run_name="__main__")
    scores = ast.literal_eval(capsys.readouterr().out)
    assert scores["ACC"] > 0.75
    assert scores["NMI"] > 0.8
