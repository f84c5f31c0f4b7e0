"""The anchor graph against a dense reference, and what must not change it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from manyview.arrays.ops import smallest
from manyview.engine.contract import lowered
from manyview.engine.local import LocalEngine
from manyview.stages import anchor_graph as graph
from manyview.stages.sampling import draw
from manyview.stages.scaling import Scaling, make_scaling
from manyview.views.views import Block, Views


def engine_of(views, block_rows=None):
    """Rows in the order of their content, views as they stand."""
    order = range(views.n_views)
    return LocalEngine(views, np.float64, block_rows=block_rows, view_order=order)


def make(views, *, n_clusters=4, n_anchors=120, seed=0, block_rows=64):
    views = Views.of(views)
    engine = engine_of(views, block_rows)
    drawn = draw(engine, len(views), seed)
    scalings = tuple(make_scaling(m, "standard") for m in drawn.moments)
    made = graph.build_graph(
        drawn,
        scalings,
        n_samples=len(views),
        n_clusters=n_clusters,
        n_anchors=n_anchors,
        n_neighbors=5,
        seed=seed,
    )
    return engine, made, graph.fit_spectrum(engine, made, n_clusters)


def dense_ties(engine, made):
    columns, weights = engine.read("columns"), engine.read("weights")
    out = np.zeros((engine.n_samples, sum(made.sizes)))
    for i, (c, w) in enumerate(zip(columns, weights, strict=True)):
        np.add.at(out[i], c, w)
    return out


def test_weights_fall_linearly_to_the_first_anchor_left_out():
    d = np.array([[4.0, 1.0, 9.0, 2.0, 16.0]])
    index, w = graph.linear_weights(*smallest(d, 4), 3)
    assert index.tolist() == [[1, 3, 0]]
    expected = np.array([9 - 1, 9 - 2, 9 - 4]) / (8 + 7 + 5)
    np.testing.assert_allclose(w, [expected])


def test_weights_of_ties_are_even():
    _, w = graph.linear_weights(*smallest(np.full((1, 6), 3.0), 5), 4)
    np.testing.assert_allclose(w, 0.25)


def test_fewer_anchors_than_neighbours():
    index, w = graph.linear_weights(*smallest(np.array([[1.0, 2.0]]), 2), 5)
    assert index.shape == w.shape == (1, 2)
    np.testing.assert_allclose(w.sum(), 1.0)


def test_basis_is_the_leading_left_singular_vectors(three_views):
    views, _ = three_views
    engine, made, spectrum = make(views)
    Z = dense_ties(engine, made)
    graph.put_basis(engine, spectrum)
    F = engine.read("F")
    gap = np.linalg.norm(F.T @ F - np.eye(F.shape[1]), 2)
    owner = np.repeat([p.view for p in made.pieces], made.sizes)
    share = np.repeat(graph.piece_shares(made), made.sizes)
    H = Z * np.sqrt(spectrum.weights[owner] * share / Z.sum(axis=0))
    u, s, _ = np.linalg.svd(H, full_matrices=False)
    np.testing.assert_allclose(spectrum.values, s[: F.shape[1]], rtol=1e-6)
    overlap = np.linalg.svd(u[:, : F.shape[1]].T @ F, compute_uv=False)
    np.testing.assert_allclose(overlap, 1.0, atol=1e-4)
    assert gap < 1e-5


def test_every_row_has_the_same_total_weight(three_views):
    views, _ = three_views
    hidden = [np.array(v, dtype=float) for v in views]
    hidden[0][::3] = np.nan
    engine, made, _ = make(hidden)
    total = engine.read("weights").sum(axis=1)
    np.testing.assert_allclose(total, len(made.pieces), rtol=1e-5)


def test_all_anchors_stay_within_the_limit(three_views):
    views, _ = three_views
    for limit in (12, 50, 333):
        _, made, _ = make(views, n_anchors=limit)
        assert sum(made.sizes) <= limit


@pytest.mark.parametrize("size", [30, 700])
def test_leading_vectors_of_both_solvers(size):
    rng = np.random.default_rng(size)
    half = rng.normal(size=(size, size))
    gram = half @ half.T
    values, vectors = graph.leading(gram, 5)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(gram)[::-1][:5], rtol=1e-6)
    np.testing.assert_allclose(gram @ vectors, vectors * values, rtol=1e-4, atol=1e-3)
    assert (np.sum(vectors**3, axis=0) >= 0).all()


def test_directions_of_no_size_are_left_out():
    values, vectors = graph.leading(np.diag([3.0, 2.0, 0.0, 0.0]), 4)
    assert values.tolist() == [3.0, 2.0]
    assert vectors.shape == (4, 2)


def test_a_clustered_view_weighs_more_than_noise():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    good = 8 * rng.normal(size=(4, 6))[labels] + rng.normal(size=(400, 6))
    _, _, spectrum = make([good, rng.normal(size=(400, 6))])
    assert spectrum.weights[0] > 1.2 * spectrum.weights[1]


def test_block_size_does_not_matter(three_views):
    views, _ = three_views
    tables = [make(views, block_rows=b)[2].table for b in (17, 300)]
    # Vectors of the same frequency may turn among themselves.
    first, second = (table @ table.T for table in tables)
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_many_rows_take_their_gram_from_a_sample(three_views):
    views = Views(three_views[0])
    engine = engine_of(views, 70)
    with lowered(sampled_rows=150):
        drawn = draw(engine, 100, 0)
        options = {"n_clusters": 4, "n_anchors": 60, "n_neighbors": 5, "seed": 0}
        scalings = tuple(make_scaling(m, "standard") for m in drawn.moments)
        spectrum = graph.fit_graph(engine, drawn, scalings, **options)
    assert not spectrum.graph.exact
    assert 100 < engine.read("sampled").sum() < 200
    F = engine.read("F")
    np.testing.assert_allclose(F.T @ F, np.eye(F.shape[1]), atol=1e-9)
    again = engine_of(views)
    graph.spread_basis(again, spectrum)
    np.testing.assert_allclose(again.read("F"), F, atol=1e-9)
    labels = KMeans(4, n_init=5, random_state=0).fit_predict(F[:, :4])
    assert adjusted_rand_score(three_views[1], labels) > 0.95


def test_sparse_and_dense_views_agree(three_views):
    views, _ = three_views
    positive = [np.abs(v) for v in views]
    as_sparse = [sp.csr_array(v) for v in positive]
    values = []
    for given in (positive, as_sparse):
        engine = engine_of(Views.of(given))
        # The same rows in the same order: sparse views are hashed uncentred.
        drawn = draw(engine, engine.n_samples, 0)
        rows = engine.engine_rows(np.arange(engine.n_samples))
        drawn = drawn._replace(rows=rows, block=engine.take(rows))
        scalings = tuple(make_scaling(m, "unit") for m in drawn.moments)
        made = graph.build_graph(
            drawn,
            scalings,
            n_samples=300,
            n_clusters=4,
            n_anchors=60,
            n_neighbors=5,
            seed=0,
        )
        values.append(graph.fit_spectrum(engine, made, 4).values)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("n_samples", "n_clusters", "share", "expected"),
    [
        (6773, 20, 1365, [1040, 260, 65]),
        (400, 40, 1024, [133]),
        (694, 27, 341, [231, 57]),
        (5, 2, 4, [4]),
        (5, 8, 1365, [5]),
    ],
)
def test_resolutions_are_quarters_with_two_anchors_per_cluster(
    n_samples, n_clusters, share, expected
):
    assert graph.resolutions(n_samples, n_clusters, share) == expected


def test_finer_pieces_count_more_and_every_view_counts_once(three_views):
    views, _ = three_views
    _, made, _ = make(views, n_clusters=2, n_anchors=900)
    owner = np.array([p.view for p in made.pieces])
    shares = graph.piece_shares(made)
    assert len(set(made.sizes)) > 1
    np.testing.assert_allclose(np.bincount(owner, weights=shares), 1.0)
    order = np.argsort(made.sizes)
    assert (np.diff(shares[order]) >= -1e-12).all()
    assert shares[order[0]] < shares[order[-1]]


def test_frequencies_are_measured_by_the_first_one_beyond_the_clusters():
    rough = np.array([0.0, 0.1, 0.4, 0.6, 0.8])
    found = graph.frequency_weights(np.sqrt(1 - rough), 2)
    np.testing.assert_allclose(found, np.exp(-rough / 0.4))
    coarser = graph.frequency_weights(np.sqrt(1 - rough / 2), 2)
    np.testing.assert_allclose(found, coarser)


def test_frequencies_of_separate_pieces_stay():
    values = np.array([1.0, 1.0, 1.0, 0.5])
    found = graph.frequency_weights(values, 2)
    np.testing.assert_allclose(found, [1.0, 1.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_beside_sparse_rows_are_those_of_anchors_as_they_were_found(dtype):
    rows = np.random.default_rng(3).random((70, 40)) * (np.arange(40) % 3 == 0)
    anchors = np.random.default_rng(4).random((9, 40))
    piece = graph.turned_piece(0, anchors, dtype)
    assert piece.anchors.dtype == dtype and piece.anchors.flags.f_contiguous
    block = Block(0, (sp.csr_array(rows.astype(dtype)),), np.ones((70, 1), bool))
    plain, found = (
        graph.ties(block, graph.Graph((Scaling("none"),), (p,), 3, False))
        for p in (graph.Piece(0, anchors), piece)
    )
    np.testing.assert_array_equal(found[0], plain[0])
    np.testing.assert_array_equal(found[1], plain[1])
