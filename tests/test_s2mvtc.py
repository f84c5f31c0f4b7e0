"""S²MVTC: the passes against a dense transcription of the paper; its promises."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from manyview.errors import DegenerateWarning, InputError, InputTypeError, ManyviewError
from manyview.kmeans.passes import nearest
from manyview.s2mvtc import S2MVTC
from manyview.stages import sequence as smoothing
from manyview.stages import set_up
from manyview.stages.sequence_settings import PUBLISHED
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
    make = set_up.principal_start

    def spy(*args, **options):
        start = make(*args, **options)
        caught[:] = start.weights
        return start

    monkeypatch.setattr(set_up, "principal_start", spy)
    return caught


def noise(n, widths, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 2))
    return [shared @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) for d in widths]


def published(n_clusters=3, **changes):
    """The published method with exact solves, on small data."""
    setting = {
        "smoothing": "sequence",
        "periodic": True,
        "row_norm": "zscore",
        "max_iter": 7,
        "scaling": None,
        "start": "directions",
        "rank_tol": 0.0,
        "assign": "correlation",
        "n_components": 8,
        "n_low": 5,
        "random_state": 0,
    }
    return S2MVTC(n_clusters, **(setting | changes))


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
@pytest.mark.parametrize("block_rows", [None, 13])
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
        block_rows=block_rows,
    ).fit(Xs)
    setting = {"n_low": n_low, "lam": lam, "beta": beta, "growth": growth}
    expected, objective = dense_s2mvtc(
        Xs, anchors, starts, max_iter=7, signs=start == "signs", **setting
    )
    error = np.linalg.norm(model.embedding_ - expected) / np.linalg.norm(expected)
    assert error <= 1e-6
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.data
def test_passes_equal_the_dense_method_on_ccv(starts, load_npz, data_dir):
    Xs, _ = load_npz("CCV")
    Xs = [X.astype(np.float64) for X in Xs]
    path = data_dir / "formats" / "CCV_anchor.mat"
    if not path.is_file():
        pytest.skip("the authors' anchors (formats/CCV_anchor.mat) are not there")
    anchors = [a.astype(np.float64) for a in loadmat(path)["Anchor"].ravel()]
    model = S2MVTC.as_published("CCV").set_params(anchors=anchors, random_state=0)
    labels = model.fit(Xs).labels_
    expected, _ = dense_s2mvtc(
        Xs, anchors, starts, n_low=18, lam=1e-5, beta=0.1, growth=1.1, max_iter=7
    )
    again, _ = nearest(expected, model._centres)
    assert adjusted_rand_score(labels, again) >= 0.999


variants = st.fixed_dictionaries(
    {
        "smoothing": st.sampled_from(["graph", "sequence", None]),
        "row_norm": st.sampled_from(["zscore", "unit"]),
        "periodic": st.booleans(),
        "consensus": st.booleans(),
        "kernel": st.sampled_from(["rbf", "linear"]),
        "scaling": st.sampled_from(["auto", "global", None]),
        "lam": st.sampled_from([1e-4, 1.0, 30.0]),
        "beta": st.sampled_from([1e-3, 0.5, 10.0]),
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
    model = S2MVTC(
        2, n_components=6, n_low=4, max_iter=8, random_state=seed, n_init=1, **setting
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(Views(Xs, present=present))
    objective = np.array(model.objective_)
    assert len(objective) == model.n_iter_ == 8
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[0])).all()


@pytest.mark.parametrize(("kind", "rounds"), [("graph", 1), ("graph+sequence", 7)])
def test_an_order_is_worth_more_rounds(kind, rounds):
    assert S2MVTC(4, smoothing=kind).n_rounds == rounds


def test_views_share_the_columns_of_the_first_signs(three_views, starts):
    model = S2MVTC(4, smoothing="sequence", n_components=10, random_state=0)
    assert model.fit(three_views[0]).embedding_.shape == (300, 12)
    assert [w.shape[1] for w in starts] == [4, 4, 4]


def test_directions_that_are_rounding_have_no_side():
    Xs = [x[:, :1] @ np.ones((1, 3)) for x in noise(80, (3, 2))]
    model = S2MVTC(2, kernel="linear", smoothing="sequence", random_state=0)
    first = model.fit(Xs, trace=np.arange(80)).trace_[0]["B_bar"]
    assert np.count_nonzero(np.abs(first).max(axis=0) > 1e-9) == 2


def test_eigenvectors_signs_do_not_move_a_sequence(three_views, monkeypatch):
    views, _ = three_views
    model = S2MVTC(4, smoothing="sequence", min_duration=5, random_state=0)
    plain = model.fit(views).embedding_
    make = set_up.principal_start

    def turned(*args, **options):
        start = make(*args, **options)
        flip = np.where(np.arange(start.weights[0].shape[1]) % 2, -1.0, 1.0)
        weights = tuple(w * flip for w in start.weights)
        return start._replace(
            weights=weights, offsets=tuple(o * flip for o in start.offsets)
        )

    monkeypatch.setattr(set_up, "principal_start", turned)
    np.testing.assert_allclose(np.abs(model.fit(views).embedding_), np.abs(plain))


@pytest.mark.parametrize("kind", ["sequence", None])
def test_filter_too_wide_for_a_basis_gives_the_same(three_views, monkeypatch, kind):
    views, _ = three_views
    model = S2MVTC(4, smoothing=kind, n_low=40, random_state=0)
    plain = model.fit(views).embedding_, model.objective_
    monkeypatch.setattr(smoothing, "MOST_BASIS_VECTORS", 3)
    wide = model.fit(views).embedding_, model.objective_
    np.testing.assert_allclose(wide[0], plain[0], atol=1e-7)
    np.testing.assert_allclose(wide[1], plain[1], rtol=1e-9)


@pytest.mark.parametrize(
    "setting",
    [{}, {"smoothing": None}, {"smoothing": "sequence"}, {"kernel": "linear"}],
)
@pytest.mark.parametrize("block_rows", [7, 64])
def test_block_size_does_not_matter(three_views, setting, block_rows):
    views, _ = three_views
    model = S2MVTC(4, random_state=0, **setting)
    labels = model.fit_predict(views)
    other = model.set_params(block_rows=block_rows).fit_predict(views)
    assert adjusted_rand_score(labels, other) >= 0.999


def test_same_seed_gives_the_same_numbers(three_views):
    views, _ = three_views
    first = S2MVTC(4, random_state=3).fit(views)
    second = S2MVTC(4, random_state=3).fit(views)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)


def test_without_smoothing_it_finds_clear_groups(three_views):
    views, labels = three_views
    model = S2MVTC(4, smoothing=None, random_state=0)
    assert adjusted_rand_score(labels, model.fit_predict(views)) > 0.9


def test_y_is_ignored(three_views):
    views, labels = three_views
    model = S2MVTC(4, random_state=0)
    plain = model.fit(views).labels_
    np.testing.assert_array_equal(model.fit(views, labels).labels_, plain)


@pytest.mark.parametrize("wide", [False, True])
def test_trace_keeps_the_rows_of_every_round(three_views, monkeypatch, wide):
    views, _ = three_views
    if wide:
        monkeypatch.setattr(smoothing, "MOST_BASIS_VECTORS", 3)
    model = published(4, n_components=6, scaling="auto", block_rows=70)
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


def test_trace_changes_nothing_and_is_not_kept_unasked(three_views):
    views, _ = three_views
    plain = S2MVTC(4, random_state=0).fit(views)
    traced = S2MVTC(4, random_state=0).fit(views, trace=[0])
    np.testing.assert_array_equal(plain.embedding_, traced.embedding_)
    assert not hasattr(plain, "trace_")


@pytest.mark.parametrize("rows", [[300], [-1], [], [0.5], "all"])
def test_trace_of_rows_that_are_not_there_is_a_sentence(three_views, rows):
    with pytest.raises(ManyviewError, match="Row numbers must"):
        S2MVTC(4).fit(three_views[0], trace=rows)


def test_rows_of_the_embedding_are_z_scored_or_of_one_length(three_views):
    model = published(4, n_components=64)
    embedding = model.fit(three_views[0]).embedding_
    assert embedding.shape == (300, 64)
    np.testing.assert_allclose(embedding.mean(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(embedding.std(axis=1, ddof=1), 1.0)
    embedding = model.set_params(row_norm="unit").fit(three_views[0]).embedding_
    np.testing.assert_allclose((embedding**2).sum(axis=1), 63.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_embedding_has_the_type_of_the_data_or_the_one_asked_for(three_views, dtype):
    views = [x.astype(dtype) for x in three_views[0]]
    assert S2MVTC(4, random_state=0).fit(views).embedding_.dtype == dtype
    asked = S2MVTC(4, random_state=0, dtype="float32").fit(views)
    assert asked.embedding_.dtype == np.float32


@pytest.mark.parametrize("kind", ["sequence", None])
def test_linear_kernel_of_low_rank_works(kind):
    Xs = noise(120, (3, 2))
    model = S2MVTC(3, kernel="linear", smoothing=kind, random_state=0).fit(Xs)
    assert np.isfinite(model.embedding_).all()
    assert set(model.labels_) == {0, 1, 2}


@pytest.mark.parametrize("lam", [0.0, 1e-300, 1e300])
def test_extreme_ridge_weights_give_a_valid_answer(three_views, lam):
    model = S2MVTC(4, smoothing=None, lam=lam, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(three_views[0])
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.objective_).all()


def test_one_row_and_one_cluster():
    assert S2MVTC(1, smoothing=None).fit_predict([[[1.0, 2.0]]]).tolist() == [0]
    labels = S2MVTC(1, smoothing=None).fit_predict(noise(20, (3, 2)))
    assert labels.tolist() == [0] * 20


def test_duplicated_anchors_are_harmless(three_views):
    views, labels = three_views
    anchors = [np.repeat(x[:30], 2, axis=0) for x in views]
    model = S2MVTC(4, anchors=anchors, smoothing=None, random_state=0)
    assert adjusted_rand_score(labels, model.fit_predict(views)) > 0.9


def test_given_anchors_are_used_as_they_are(three_views):
    views, _ = three_views
    anchors = [x[:9] for x in views]
    model = S2MVTC(4, anchors=anchors, n_anchors=3, random_state=0).fit(views)
    assert [a.shape for a in model.anchors_] == [(9, 6), (9, 10), (9, 4)]


def test_missing_views_are_not_looked_at(three_views):
    views, labels = three_views
    present = np.ones((300, 3), dtype=bool)
    present[::5, 1] = False
    other = [views[0], np.where(present[:, 1:2], views[1], 1e3), views[2]]
    by_nan = [views[0], np.where(present[:, 1:2], views[1], np.nan), views[2]]
    model = S2MVTC(4, random_state=0)
    plain = model.fit_predict(Views(views, present=present))
    np.testing.assert_array_equal(
        model.fit_predict(Views(other, present=present)), plain
    )
    np.testing.assert_array_equal(model.fit_predict(by_nan), plain)
    assert adjusted_rand_score(labels, plain) > 0.8


@pytest.mark.parametrize("name", PUBLISHED)
def test_as_published_is_the_papers_setting(name):
    model = S2MVTC.as_published(name)
    n_clusters, beta, lam, n_low = PUBLISHED[name]
    assert (model.n_clusters, model.beta) == (n_clusters, beta)
    assert (model.lam, model.n_low) == (lam, n_low)
    assert model.scaling is None and model.smoothing_growth == 1.1
    assert model.max_iter == 7 and model.n_anchors == 1000 and model.n_components == 64
    assert model.smoothing == "sequence" and model.periodic
    assert model.start == "directions"
    assert model.set_params(anchors="kmeans", random_state=1).anchors == "kmeans"


def test_unknown_published_data_set_is_a_sentence():
    with pytest.raises(InputError, match=r"no data set named 'MNIST'; it has CCV"):
        S2MVTC.as_published("MNIST")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("n_clusters", 0, InputError),
        ("n_clusters", 2.0, InputTypeError),
        ("n_clusters", True, InputTypeError),
        ("n_anchors", 0, InputError),
        ("anchors", "grid", InputError),
        ("kernel", "poly", InputError),
        ("scaling", "minmax", InputError),
        ("n_components", 0, InputError),
        ("n_low", 0, InputError),
        ("min_duration", -1.0, InputError),
        ("lam", -1e-9, InputError),
        ("lam", float("nan"), InputError),
        ("lam", "much", InputTypeError),
        ("beta", float("inf"), InputError),
        ("max_iter", 0, InputError),
        ("smoothing", "tensor", InputError),
        ("start", "zeros", InputError),
        ("smoothing_growth", -1, InputError),
        ("rank_tol", -0.1, InputError),
        ("assign", "spectral", InputError),
        ("n_init", 0, InputError),
        ("random_state", "seed", InputError),
        ("random_state", -1, InputError),
        ("dtype", "int32", InputError),
        ("block_rows", 0, InputError),
        ("block_rows", -5, InputError),
    ],
)
def test_bad_parameters_are_a_sentence_that_names_them(three_views, name, value, kind):
    with pytest.raises(kind, match=name):
        S2MVTC(4).set_params(**{name: value}).fit(three_views[0])


def clear_and_noisy_view():
    rng = np.random.default_rng(5)
    labels = np.arange(300) % 3
    clear = 4.0 * np.eye(3)[labels] + rng.normal(size=(300, 3))
    return [clear, rng.normal(size=(300, 6))]


def test_a_view_that_cannot_fit_the_start_weighs_less_in_the_round():
    model = S2MVTC(3, random_state=0).fit(clear_and_noisy_view())
    clear, noisy = np.array(model._passes.rounds[0].worth) / model.view_weights_
    assert noisy < 0.3 * clear


def test_with_a_ridge_weight_given_views_weigh_as_in_the_graph():
    model = S2MVTC(3, lam=1.0, random_state=0).fit(clear_and_noisy_view())
    worth = model._passes.rounds[0].worth
    np.testing.assert_allclose(worth, 2 * model.view_weights_)
    assert not model._passes.rounds[0].by_length


def test_rows_enter_the_consensus_at_the_length_of_their_fit():
    views = clear_and_noisy_view()
    model = S2MVTC(3, random_state=0).fit(views, trace=np.arange(300))
    step, found = model._passes.rounds[0], model.trace_[0]
    apart = sum(w * found[f"B{v}"] for v, w in enumerate(step.worth))
    apart /= np.linalg.norm(apart, axis=1, keepdims=True)
    B_bar = found["B_bar"] / np.linalg.norm(found["B_bar"], axis=1, keepdims=True)
    towards = [
        np.abs(np.sum(B * found["B0"], axis=1)).mean() / np.linalg.norm(found["B0"][0])
        for B in (B_bar, apart)
    ]
    assert towards[0] > towards[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_rows_are_clustered_from_sampled_grams(three_views, monkeypatch, dtype):
    views, truth = three_views
    for where in ("draw", "graph", "set_up", "features"):
        monkeypatch.setattr(f"manyview.{where}.SAMPLED_ROWS", 150)
    plain = S2MVTC(4, n_anchors=40, dtype=dtype, random_state=0)
    model = clone(plain).set_params(block_rows=80).fit(views)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    order = np.random.default_rng(0).permutation(len(truth))
    other = plain.fit([x[order] for x in views])
    assert adjusted_rand_score(model.labels_[order], other.labels_) > 0.999
    fresh = model.predict([x[:50] for x in views])
    assert np.array_equal(fresh, model.labels_[:50])


def test_enough_rows_are_drawn_for_the_principal_directions(monkeypatch):
    monkeypatch.setattr("manyview.stages.anchor_graph.KMEANS_SAMPLE", 1)
    model = S2MVTC(3, anchors="random", n_graph_anchors=2)
    model.n_clusters_, model.n_views_ = 3, 2
    assert model._sample_size(5, 10**6) == PRINCIPAL_ROWS
    assert model._sample_size(5, 40) == 40
