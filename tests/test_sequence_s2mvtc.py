"""S²MVTC along an order: its passes against the paper's algorithm, its promises."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags

from manyview import S2MVTC, SequenceS2MVTC
from manyview.datasets import make_views
from manyview.engine.contract import lowered
from manyview.errors import (
    DataWarning,
    DegenerateWarning,
    InputError,
    InputTypeError,
    OrderWarning,
)
from manyview.kmeans.passes import nearest
from manyview.stages import sequence_setup
from manyview.stages.sequence_settings import DEFAULTS, PUBLISHED, setting
from manyview.stages.start import PRINCIPAL_ROWS
from manyview.views.views import Views


def z_rows(B):
    return (B - B.mean(axis=1, keepdims=True)) / B.std(axis=1, ddof=1, keepdims=True)


def dense_features(X, A):
    D = cdist(X, A, "sqeuclidean")
    sigma = 2 * np.sqrt(D).min(axis=1).mean()
    Phi = np.exp(-D / (2 * sigma**2))
    return Phi - Phi.mean(axis=0)


def dense_low_pass(B, n_low):
    spectrum = np.fft.fft(B, axis=0)
    spectrum[n_low : len(B) - n_low + 1] = 0
    return np.fft.ifft(spectrum, axis=0).real


def dense_s2mvtc(
    Xs, anchors, starts, *, n_low, lam, beta, growth, max_iter, signs=False
):
    """Algorithm 3 with a solve and an FFT; B_bar, and the objective per round."""
    Phis = [dense_features(X, A) for X, A in zip(Xs, anchors, strict=True)]
    Bs = [Phi @ W for Phi, W in zip(Phis, starts, strict=True)]
    B_bar, objective = np.mean(Bs, axis=0) if not signs else np.hstack(Bs), []
    if signs:
        B_bar = np.sign(B_bar)
        there = (B_bar**2).sum(axis=1, keepdims=True)
        B_bar *= np.sqrt((B_bar.shape[1] - 1) / there)
        Bs = [B_bar] * len(Xs)
    Ys = Bs
    for t in range(max_iter):
        a = growth**t
        Us = [
            np.linalg.solve(Phi.T @ Phi + lam * np.eye(Phi.shape[1]), Phi.T @ B)
            for Phi, B in zip(Phis, Bs, strict=True)
        ]
        fits = [Phi @ U for Phi, U in zip(Phis, Us, strict=True)]
        Bs = [z_rows(beta * B_bar + a * Y + f) for Y, f in zip(Ys, fits, strict=True)]
        Ys = [dense_low_pass(B, n_low) for B in Bs]
        B_bar = z_rows(np.mean(Bs, axis=0))
        parts = [
            [f - B for f, B in zip(fits, Bs, strict=True)],
            [np.sqrt(lam) * U for U in Us],
            [np.sqrt(beta) * (B_bar - B) for B in Bs],
            [np.sqrt(a) * (B - Y) for B, Y in zip(Bs, Ys, strict=True)],
        ]
        objective.append(0.5 * sum((x**2).sum() for part in parts for x in part))
    return B_bar, np.array(objective)


@pytest.fixture
def starts(monkeypatch):
    """The start's weights, caught on their way: signs are free, so both share them."""
    caught = []
    make = sequence_setup.principal_start

    def spy(*args, **options):
        start = make(*args, **options)
        caught[:] = start.weights
        return start

    monkeypatch.setattr(sequence_setup, "principal_start", spy)
    return caught


def noise(n, widths, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 2))
    return [shared @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) for d in widths]


def published(n_clusters=3, **changes):
    """The published method with exact solves, on small data."""
    small = {"n_components": 8, "n_low": 5, "lam": None, "beta": 1.0}
    small |= {"smoothing_growth": 1.0, "anchors": "kmeans", "random_state": 0}
    model = SequenceS2MVTC.as_published("CCV")
    return model.set_params(n_clusters=n_clusters, **(small | changes))


def filters_instead(monkeypatch):
    """From three vectors on, rows are filtered instead of multiplied by F."""
    monkeypatch.setattr(sequence_setup, "MOST_BASIS_VECTORS", 3)


SHAPES = [
    # n, features per view, anchors, components, L
    (60, (3, 4), 12, 6, 4),
    (61, (5, 2), 15, 9, 7),
    (75, (4, 3, 6), 20, 16, 5),
    (97, (3,), 10, 4, 10),
    (40, (3, 4), 12, 6, 21),
    (41, (3, 4), 12, 6, 21),
    (64, (2, 2), 12, 20, 3),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("relative_lam", "beta", "growth"), [(1e-8, 0.1, 1.1), (1e-3, 1.0, 1.0)]
)
@pytest.mark.parametrize("block_rows", [2048, 13])
@pytest.mark.parametrize("start", ["directions", "signs"])
def test_passes_equal_the_dense_method(
    starts, shape, relative_lam, beta, growth, block_rows, start
):
    n, widths, m, k, n_low = shape
    Xs = noise(n, widths)
    anchors = [X[np.random.default_rng(1).choice(n, m, replace=False)] for X in Xs]
    Phi = dense_features(Xs[0], anchors[0])
    lam = relative_lam * np.linalg.norm(Phi, 2) ** 2
    model = published(
        anchors=anchors,
        n_components=k,
        start=start,
        n_low=n_low,
        lam=lam,
        beta=beta,
        smoothing_growth=growth,
    )
    with lowered(block_rows=block_rows):
        model.fit(Xs)
    visited = model._passes.view_order
    expected, objective = dense_s2mvtc(
        [Xs[v] for v in visited],
        [anchors[v] for v in visited],
        starts,
        n_low=n_low,
        lam=lam,
        beta=beta,
        growth=growth,
        max_iter=7,
        signs=start == "signs",
    )
    error = np.linalg.norm(model.embedding_ - expected) / np.linalg.norm(expected)
    assert error <= 1e-6
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.data
def test_passes_equal_the_dense_method_on_ccv(starts, load_npz, data_dir):
    Xs, _ = load_npz("CCV")
    Xs = [X[::2].astype(np.float64) for X in Xs]
    path = data_dir / "formats" / "CCV_anchor.mat"
    if not path.is_file():
        pytest.skip("the authors' anchors (formats/CCV_anchor.mat) are not there")
    anchors = [a.astype(np.float64) for a in loadmat(path)["Anchor"].ravel()]
    model = SequenceS2MVTC.as_published("CCV").set_params(assign="correlation")
    labels = model.set_params(anchors=anchors, random_state=0).fit(Xs).labels_
    visited = model._passes.view_order
    Xs, anchors = [Xs[v] for v in visited], [anchors[v] for v in visited]
    expected, _ = dense_s2mvtc(
        Xs, anchors, starts, n_low=18, lam=1e-5, beta=0.1, growth=1.1, max_iter=7
    )
    again, _ = nearest(expected, model._passes.centres)
    assert adjusted_rand_score(labels, again) >= 0.999


variants = st.fixed_dictionaries(
    {
        "graph_and_weight": st.sampled_from([(True, 0), (False, 1), (False, 0)]),
        "row_norm": st.sampled_from(["zscore", "unit"]),
        "periodic": st.booleans(),
        "kernel": st.sampled_from(["rbf", "linear"]),
        "scaling": st.sampled_from(["auto", "global", None]),
        "lam": st.sampled_from([1e-4, 1.0, 30.0]),
        "beta": st.sampled_from([0, 1e-3, 0.5, 10.0]),
        "rank_tol": st.sampled_from([0.0, 1e-9]),
    }
)


@settings(max_examples=60)
@given(variants, st.integers(12, 60), st.booleans(), st.integers(0, 10**6))
def test_objective_never_rises_after_the_first_round(setting, n, missing, seed):
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(size=(n, d)) for d in (3, 5, 2)]
    present = rng.random((n, 3)) < 0.7 if missing else np.ones((n, 3), dtype=bool)
    present[~present.any(axis=1), 0] = True
    graph, weight = setting.pop("graph_and_weight")
    model = SequenceS2MVTC(
        2,
        graph=graph,
        smoothing_weight=weight,
        n_components=None if graph else 6,
        n_low=4,
        max_iter=8,
        random_state=seed,
        n_init=1,
        **setting,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(Views(Xs, present=present))
    objective = np.array(model.objective_)
    assert len(objective) == model.n_iter_ == 8
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[0])).all()


def test_views_share_the_columns_of_the_first_signs(three_views, starts):
    model = SequenceS2MVTC(4, n_components=10, random_state=0)
    assert model.fit(three_views[0]).embedding_.shape == (300, 12)
    assert [w.shape[1] for w in starts] == [4, 4, 4]


def test_directions_that_are_rounding_have_no_side():
    Xs = [x[:, :1] @ np.ones((1, 3)) for x in noise(80, (3, 2))]
    model = SequenceS2MVTC(2, kernel="linear", random_state=0)
    first = model.fit(Xs, trace=np.arange(80)).trace_[0]["B_bar"]
    assert np.count_nonzero(np.abs(first).max(axis=0) > 1e-9) == 2


def test_eigenvectors_signs_do_not_move_a_sequence(three_views, monkeypatch):
    views, _ = three_views
    model = SequenceS2MVTC(4, min_duration=5, random_state=0)
    plain = model.fit(views).embedding_
    make = sequence_setup.principal_start

    def turned(*args, **options):
        start = make(*args, **options)
        flip = np.where(np.arange(start.weights[0].shape[1]) % 2, -1.0, 1.0)
        weights = tuple(w * flip for w in start.weights)
        return start._replace(
            weights=weights, offsets=tuple(o * flip for o in start.offsets)
        )

    monkeypatch.setattr(sequence_setup, "principal_start", turned)
    np.testing.assert_allclose(np.abs(model.fit(views).embedding_), np.abs(plain))


def test_an_order_with_an_index_follows_the_rows(three_views):
    pandas = pytest.importorskip("pandas")
    names = [f"r{i}" for i in range(len(three_views[0][0]))]
    tables = [pandas.DataFrame(x, index=names) for x in three_views[0]]
    time = pandas.Series(np.random.default_rng(0).permutation(len(names)), index=names)
    days = pandas.Series(np.arange(len(names)) % 2, index=names)
    model = SequenceS2MVTC(4, n_low=5, random_state=0)
    plain = model.fit(tables, order=time, groups=days).embedding_
    with pytest.warns(DataWarning, match="index of order stands in another order"):
        mixed = model.fit(tables, order=time[::-1], groups=days).embedding_
    np.testing.assert_array_equal(mixed, plain)
    with pytest.raises(InputError, match="index of groups names other rows"):
        model.fit(tables, groups=days.reset_index(drop=True))


def test_dates_and_a_duration_are_the_same_as_seconds(three_views):
    views, _ = three_views
    seconds = np.random.default_rng(0).permutation(len(views[0])) / 4
    dates = np.datetime64("2024-03-01T12:00") + (1e9 * seconds).astype("m8[ns]")
    plain = SequenceS2MVTC(4, min_duration=2.0, random_state=0)
    timed = SequenceS2MVTC(4, min_duration="2s", random_state=0)
    np.testing.assert_array_equal(
        timed.fit(views, order=dates).embedding_,
        plain.fit(views, order=seconds).embedding_,
    )


@pytest.mark.parametrize("weight", [1.0, 0.0])
def test_filter_too_wide_for_a_basis_gives_the_same(three_views, monkeypatch, weight):
    views, _ = three_views
    model = SequenceS2MVTC(4, smoothing_weight=weight, n_low=40, random_state=0)
    plain = model.fit(views).embedding_, model.objective_
    filters_instead(monkeypatch)
    wide = model.fit(views).embedding_, model.objective_
    np.testing.assert_allclose(wide[0], plain[0], atol=1e-7)
    np.testing.assert_allclose(wide[1], plain[1], rtol=1e-9)


@pytest.mark.parametrize(
    "changes", [{}, {"graph": True}, {"smoothing_weight": 0.0}, {"kernel": "linear"}]
)
@pytest.mark.parametrize("block_rows", [7, 64])
def test_block_size_does_not_matter(three_views, changes, block_rows):
    views, _ = three_views
    model = SequenceS2MVTC(4, random_state=0, **changes)
    labels = model.fit_predict(views)
    with lowered(block_rows=block_rows):
        other = model.fit_predict(views)
    assert adjusted_rand_score(labels, other) >= 0.999


def test_with_the_graph_an_order_is_worth_more_rounds(three_views):
    model = SequenceS2MVTC(4, graph=True, random_state=0).fit(three_views[0])
    assert model.n_iter_ == 7
    assert model.embedding_.shape == (300, 8)
    assert model.view_weights_.shape == (3,)


@pytest.mark.parametrize("filtered", [False, True])
def test_trace_keeps_the_rows_of_every_round(three_views, monkeypatch, filtered):
    views, _ = three_views
    if filtered:
        filters_instead(monkeypatch)
    model = published(4, n_components=6, scaling="auto")
    with lowered(block_rows=70):
        everything = model.fit(views, trace=np.arange(300)).trace_
        some = model.fit(views, trace=[250, 3, 140]).trace_
    assert len(some) == model.n_iter_
    for full, part in zip(everything, some, strict=True):
        assert set(part) == {"B0", "B1", "B2", "Y0", "Y1", "Y2", "B_bar"}
        for name in part:
            np.testing.assert_allclose(part[name], full[name][[3, 140, 250]])
        for v in range(3):
            low = dense_low_pass(full[f"B{v}"], 5)
            np.testing.assert_allclose(full[f"Y{v}"], low, atol=1e-8)
        mean = np.mean([full[f"B{v}"] for v in range(3)], axis=0)
        np.testing.assert_allclose(full["B_bar"], z_rows(mean), atol=1e-8)
    np.testing.assert_array_equal(everything[-1]["B_bar"], model.embedding_)


def test_rows_of_the_embedding_are_z_scored_or_of_one_length(three_views):
    model = published(4, n_components=64)
    embedding = model.fit(three_views[0]).embedding_
    assert embedding.shape == (300, 64)
    np.testing.assert_allclose(embedding.mean(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(embedding.std(axis=1, ddof=1), 1.0)
    embedding = model.set_params(row_norm="unit").fit(three_views[0]).embedding_
    np.testing.assert_allclose((embedding**2).sum(axis=1), 63.0)


@pytest.mark.parametrize("weight", [1.0, 0.0])
def test_linear_kernel_of_low_rank_works(weight):
    Xs = noise(120, (3, 2))
    model = SequenceS2MVTC(3, kernel="linear", smoothing_weight=weight, random_state=0)
    assert np.isfinite(model.fit(Xs).embedding_).all()
    assert set(model.labels_) == {0, 1, 2}


def test_without_a_weight_nothing_is_smoothed_reported_or_told(three_views, recwarn):
    views, labels = three_views
    model = SequenceS2MVTC(4, smoothing_weight=0.0, random_state=0).fit(views)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    assert not [w for w in recwarn if issubclass(w.category, OrderWarning)]
    assert not hasattr(model, "order_report_")
    assert not get_tags(model).multiview.order_dependent
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    assert not [w for w in recwarn if issubclass(w.category, OrderWarning)]


def test_the_report_goes_with_the_smoothing(three_views):
    views, _ = three_views
    with pytest.warns(OrderWarning, match="sorted by class"):
        model = SequenceS2MVTC(4, random_state=0).fit(views)
    assert get_tags(model).multiview.order_dependent
    assert 0.0 <= model.order_report_.index_nmi <= 1.0
    model.set_params(smoothing_weight=0).fit(views)
    assert not hasattr(model, "order_report_")


@pytest.mark.parametrize("given", ["order", "groups"])
def test_an_order_that_nothing_uses_is_refused(three_views, given):
    views, _ = three_views
    model = SequenceS2MVTC(4, smoothing_weight=0.0)
    with pytest.raises(InputError, match="smoothing_weight=0 does not use order"):
        model.fit(views, **{given: np.arange(300)})


@pytest.mark.parametrize("lam", [0.0, 1e-300, 1e300])
def test_extreme_ridge_weights_give_a_valid_answer(three_views, lam):
    model = SequenceS2MVTC(4, smoothing_weight=0.0, lam=lam, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(three_views[0])
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.objective_).all()


def test_one_row_and_one_cluster():
    model = SequenceS2MVTC(1, smoothing_weight=0.0)
    assert model.fit_predict([[[1.0, 2.0]]]).tolist() == [0]
    assert model.fit_predict(noise(20, (3, 2))).tolist() == [0] * 20


def test_duplicated_anchors_are_harmless(three_views):
    views, labels = three_views
    anchors = [np.repeat(x[:30], 2, axis=0) for x in views]
    model = SequenceS2MVTC(4, anchors=anchors, smoothing_weight=0.0, random_state=0)
    assert adjusted_rand_score(labels, model.fit_predict(views)) > 0.9


@pytest.mark.parametrize("name", PUBLISHED)
def test_as_published_is_the_papers_setting(name):
    model = SequenceS2MVTC.as_published(name)
    n_clusters, beta, lam, n_low = PUBLISHED[name]
    assert (model.n_clusters, model.beta) == (n_clusters, beta)
    assert (model.lam, model.n_low) == (lam, n_low)
    assert model.scaling is None and model.smoothing_growth == 1.1
    assert model.max_iter == 7 and setting(model, "n_components") == 64
    assert model.n_anchors is None and model.usual_anchors == 1000
    assert model.periodic and not model.graph and model.smoothing_weight == 1.0
    assert model.start == "directions" and model.rank_tol == 0.0
    assert model.row_norm == "zscore" and model.assign == "published"
    assert model.set_params(anchors="kmeans", random_state=1).anchors == "kmeans"


@pytest.mark.parametrize("name", PUBLISHED)
def test_both_estimators_lead_to_the_published_one(name):
    one, other = S2MVTC.as_published(name), SequenceS2MVTC.as_published(name)
    assert type(one) is type(other) is SequenceS2MVTC
    assert one.get_params() == other.get_params()


def test_unknown_published_data_set_is_a_sentence():
    for kind in (S2MVTC, SequenceS2MVTC):
        with pytest.raises(InputError, match=r"no data set named 'MNIST'; it has CCV"):
            kind.as_published("MNIST")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("n_clusters", 0, InputError),
        ("n_anchors", 0, InputError),
        ("anchors", "grid", InputError),
        ("anchors", 3, InputTypeError),
        ("graph", "yes", InputTypeError),
        ("periodic", 1.5, InputTypeError),
        ("kernel", "poly", InputError),
        ("scaling", "minmax", InputError),
        ("n_components", 0, InputError),
        ("n_low", 0, InputError),
        ("n_low", 2.5, InputTypeError),
        ("min_duration", -1.0, InputError),
        ("lam", -1e-9, InputError),
        ("beta", float("inf"), InputError),
        ("smoothing_weight", -1.0, InputError),
        ("max_iter", 0, InputError),
        ("start", "zeros", InputError),
        ("row_norm", "max", InputError),
        ("smoothing_growth", -1, InputError),
        ("rank_tol", -0.1, InputError),
        ("assign", "spectral", InputError),
        ("n_init", 0, InputError),
        ("random_state", "seed", InputError),
        ("dtype", "int32", InputError),
    ],
)
def test_bad_parameters_are_a_sentence_that_names_them(three_views, name, value, kind):
    with pytest.raises(kind, match=name):
        SequenceS2MVTC(4).set_params(**{name: value}).fit(three_views[0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"n_low": 8}, {"min_duration": 5.0}),
        ({"n_components": 12}, {"graph": True}),
        ({"start": "signs"}, {"graph": True}),
        ({"n_graph_anchors": 64}, {"graph": False}),
        ({"n_neighbors": 4}, {"graph": False}),
        ({"n_anchors": 9}, {"anchors": "given"}),
    ],
)
def test_no_parameter_silences_another(three_views, first, second):
    views, _ = three_views
    if second == {"anchors": "given"}:
        second = {"anchors": [x[:9] for x in views]}
    (silenced,) = first
    model = SequenceS2MVTC(4, **first, **second)
    for work in (model.fit, model.prepare):
        with pytest.raises(InputError, match=rf"{silenced}=.*(Leave|Give)"):
            work(views)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_low": 8},
        {"min_duration": 5.0},
        {"graph": True, "n_graph_anchors": 64, "n_neighbors": 4},
        {"n_components": 12, "start": "signs"},
    ],
)
def test_parameters_that_go_together_are_taken(three_views, changes):
    model = SequenceS2MVTC(4, random_state=0, max_iter=2, **changes)
    assert set(model.fit(three_views[0]).labels_) == {0, 1, 2, 3}


def test_few_rows_keep_what_they_have_unless_asked_for_more():
    views = noise(20, (3, 2))
    plain = SequenceS2MVTC(2, random_state=0).fit(views).embedding_
    model = SequenceS2MVTC(2, n_low=11, random_state=0)
    np.testing.assert_array_equal(plain, model.fit(views).embedding_)
    with pytest.raises(InputError, match=r"n_low=12 .* 1 <= n_low <= 11"):
        model.set_params(n_low=12).fit(views)


def test_enough_rows_are_drawn_for_the_principal_directions(monkeypatch):
    monkeypatch.setattr("manyview.stages.anchor_graph.KMEANS_SAMPLE", 1)
    monkeypatch.setitem(DEFAULTS, "n_graph_anchors", 2)
    asked = []
    draw = SequenceS2MVTC._draw

    def spy(self, engine, size, saved):
        asked.append(size)
        return draw(self, engine, size, saved)

    monkeypatch.setattr(SequenceS2MVTC, "_draw", spy)
    model = SequenceS2MVTC(3, anchors="random", n_anchors=5, random_state=0)
    assert set(model.fit(noise(40, (3, 2))).labels_) == {0, 1, 2}
    assert asked == [PRINCIPAL_ROWS]


CELLS = [
    {"lam": 1e-3, "beta": 0.1, "n_low": 6},
    {"lam": 10.0, "beta": 1.0, "n_low": 90},
    {"lam": 0.1, "beta": 10.0, "n_low": 3},
    {"lam": 1e-3, "beta": 0.0, "n_low": 60},
    {"lam": 1.0, "beta": 0.5, "n_low": 12},
]


@pytest.mark.parametrize(
    "common",
    [
        {"rank_tol": 0.0},
        {"rank_tol": 1e-3},
        {"rank_tol": 0.05, "kernel": "linear"},
        {"rank_tol": 1e-3, "graph": True},
        {"rank_tol": 1e-3, "start": "directions", "row_norm": "zscore"},
    ],
)
def test_one_preparation_serves_every_cell(three_views, monkeypatch, common):
    views, _ = three_views
    # 5 … 23 vectors are kept as a basis, 119 and more filtered.
    monkeypatch.setattr(sequence_setup, "MOST_BASIS_VECTORS", 30)
    model = SequenceS2MVTC(4, random_state=0, n_init=3, **common)
    wanted = [clone(model).set_params(**cell).fit(views) for cell in CELLS]
    pairs = list(zip(CELLS, wanted, strict=True))
    for order in ([*pairs, pairs[0]], [*pairs[::-1], pairs[-1]]):
        ready = model.set_params(lam=1e-3).prepare(views)
        for cell, alone in order:
            found = model.set_params(**cell).fit_prepared(views, ready)
            np.testing.assert_allclose(found.embedding_, alone.embedding_, atol=1e-6)
            np.testing.assert_allclose(found.objective_, alone.objective_, rtol=1e-6)
            np.testing.assert_array_equal(found.labels_, alone.labels_)


@pytest.mark.usefixtures("few_candidates")
def test_a_preparation_knows_how_many_clusters_were_found():
    views = make_views(200, (6, 5), 4, noise=0.5, random_state=0)
    common = {"smoothing_weight": 0.0, "random_state": 0, "n_init": 2}
    ready = SequenceS2MVTC("auto", **common).prepare(views)
    other = SequenceS2MVTC("auto", **common, beta=0.5)
    assert other.fit_prepared(views, ready).n_clusters_ == 4
    assert other.choice_.n_clusters == 4
    with pytest.raises(InputError, match="n_clusters='auto', this model has 5"):
        other.set_params(n_clusters=5).fit_prepared(views, ready)


def test_a_preparation_takes_an_order_and_groups(three_views):
    views, _ = three_views
    rng = np.random.default_rng(0)
    given = {"order": rng.permutation(300), "groups": rng.integers(0, 2, 300)}
    model = SequenceS2MVTC(4, n_low=6, random_state=0)
    ready = model.prepare(views)
    smoothed = model.fit_prepared(views, ready, **given).embedding_
    plain = model.fit_prepared(views, ready).embedding_
    assert np.abs(smoothed - plain).max() > 1e-3
    np.testing.assert_allclose(
        smoothed, model.fit(views, **given).embedding_, atol=1e-6
    )
