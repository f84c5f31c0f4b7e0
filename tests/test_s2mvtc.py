"""S²MVTC without an order: its rounds, its promises, and what its parameters do."""

import re
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, load_model
from manyview.engine.contract import lowered
from manyview.engine.threads import single_threaded_blas
from manyview.errors import DegenerateWarning, InputError, InputTypeError, ManyviewError
from manyview.running import progress
from manyview.views.views import Views


def noise(n, widths, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 2))
    return [shared @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) for d in widths]


def test_a_fit_of_many_rows_leaves_linear_algebra_one_thread():
    """Woken threads wait for each other where other programs keep the cores."""
    users = []

    def hear(title, done, total):
        users.append(single_threaded_blas._users)

    with lowered(exact_rows=100), progress.listen(hear):
        S2MVTC(3, random_state=0).fit(noise(400, (5, 6)))
    assert min(users) > 0
    assert single_threaded_blas._users == 0


variants = st.fixed_dictionaries(
    {
        "scaling": st.sampled_from(["auto", "global", None]),
        "lam": st.sampled_from([1e-4, 1.0, 30.0]),
        "beta": st.sampled_from([0, 1e-3, 0.5, 10.0]),
        "smoothing_weight": st.sampled_from([0, 0.1, 1.0]),
    }
)


@settings(max_examples=40)
@given(variants, st.integers(12, 60), st.booleans(), st.integers(0, 10**6))
def test_objective_never_rises_after_the_first_round(setting, n, missing, seed):
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(size=(n, d)) for d in (3, 5, 2)]
    present = rng.random((n, 3)) < 0.7 if missing else np.ones((n, 3), dtype=bool)
    present[~present.any(axis=1), 0] = True
    model = S2MVTC(2, max_iter=8, random_state=seed, n_init=1, **setting)
    with warnings.catch_warnings(), mock.patch("manyview.s2mvtc.RANK_TOL", 0.0):
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(Views(Xs, present=present))
    objective = np.array(model.objective_)
    assert len(objective) == model.n_iter_ == 8
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[0])).all()


def test_one_round_is_enough_without_an_order(three_views):
    assert S2MVTC(4, random_state=0).fit(three_views[0]).n_iter_ == 1


@pytest.mark.parametrize("changes", [{}, {"smoothing_weight": 0.0}, {"max_iter": 3}])
@pytest.mark.parametrize("block_rows", [7, 64])
def test_block_size_does_not_matter(three_views, changes, block_rows):
    views, _ = three_views
    model = S2MVTC(4, random_state=0, **changes)
    labels = model.fit_predict(views)
    with lowered(block_rows=block_rows):
        other = model.fit_predict(views)
    assert adjusted_rand_score(labels, other) >= 0.999


def test_same_seed_gives_the_same_numbers(three_views):
    views, _ = three_views
    first = S2MVTC(4, random_state=3).fit(views)
    second = S2MVTC(4, random_state=3).fit(views)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)


def test_y_is_ignored(three_views):
    views, labels = three_views
    model = S2MVTC(4, random_state=0)
    plain = model.fit(views).labels_
    np.testing.assert_array_equal(model.fit(views, labels).labels_, plain)


def test_trace_keeps_the_rows_of_every_round(three_views):
    views, _ = three_views
    model = S2MVTC(4, max_iter=3, random_state=0)
    with lowered(block_rows=70):
        everything = model.fit(views, trace=np.arange(300)).trace_
        some = model.fit(views, trace=[250, 3, 140]).trace_
    assert len(some) == model.n_iter_ == 3
    for full, part in zip(everything, some, strict=True):
        assert set(part) == {"B0", "B1", "B2", "Y0", "Y1", "Y2", "B_bar"}
        for name in part:
            np.testing.assert_allclose(part[name], full[name][[3, 140, 250]])
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_embedding_has_the_type_of_the_data_or_the_one_asked_for(three_views, dtype):
    views = [x.astype(dtype) for x in three_views[0]]
    assert S2MVTC(4, random_state=0).fit(views).embedding_.dtype == dtype
    asked = S2MVTC(4, random_state=0, dtype="float32").fit(views)
    assert asked.embedding_.dtype == np.float32


@pytest.mark.parametrize("lam", [0.0, 1e-300, 1e300])
def test_extreme_ridge_weights_give_a_valid_answer(three_views, lam):
    model = S2MVTC(4, lam=lam, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateWarning)
        model.fit(three_views[0])
    assert np.isfinite(model.embedding_).all() and np.isfinite(model.objective_).all()


def test_one_row_and_one_cluster():
    assert S2MVTC(1).fit_predict([[[1.0, 2.0]]]).tolist() == [0]
    labels = S2MVTC(1).fit_predict(noise(20, (3, 2)))
    assert labels.tolist() == [0] * 20


def test_duplicated_anchors_are_harmless(three_views):
    views, labels = three_views
    anchors = [np.repeat(x[:30], 2, axis=0) for x in views]
    model = S2MVTC(4, anchors=anchors, random_state=0)
    assert adjusted_rand_score(labels, model.fit_predict(views)) > 0.9


def test_given_anchors_are_used_as_they_are(three_views):
    views, _ = three_views
    anchors = [x[:9] for x in views]
    model = S2MVTC(4, anchors=anchors, random_state=0).fit(views)
    assert [a.shape for a in model.anchors_] == [(9, 6), (9, 10), (9, 4)]


@pytest.mark.parametrize("kind", [S2MVTC, SequenceS2MVTC])
def test_few_distinct_rows_are_told_from_rounding(kind):
    """More anchors than distinct rows, some of them zero: widths come from spacing."""
    rng = np.random.default_rng(8)
    group = np.sort(rng.permutation(np.arange(60) % 3))
    views = []
    for d in (4, 6, 3):
        centres = 12.0 * np.linalg.qr(rng.normal(size=(d, 3)))[0].T
        rows = np.rint(centres[group] + rng.normal(size=(60, d))) > 2
        views.append(rows.astype(np.float32))
    model = kind(3, random_state=0).fit(views)
    assert all(k.width > 0.1 for k in model._passes.start.features.kernels)
    assert np.isfinite(model.embedding_).all()


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


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("n_clusters", 0, InputError),
        ("n_clusters", 2.0, InputTypeError),
        ("n_clusters", True, InputTypeError),
        ("n_anchors", 0, InputError),
        ("anchors", "grid", InputError),
        ("anchors", 3, InputTypeError),
        ("scaling", "minmax", InputError),
        ("lam", -1e-9, InputError),
        ("lam", float("nan"), InputError),
        ("lam", "much", InputTypeError),
        ("beta", float("inf"), InputError),
        ("beta", -1, InputError),
        ("smoothing_weight", -0.1, InputError),
        ("smoothing_weight", "much", InputTypeError),
        ("n_graph_anchors", 0, InputError),
        ("n_neighbors", 0, InputError),
        ("n_neighbors", 1.5, InputTypeError),
        ("max_iter", 0, InputError),
        ("n_init", 0, InputError),
        ("random_state", "seed", InputError),
        ("random_state", -1, InputError),
        ("dtype", "int32", InputError),
    ],
)
def test_bad_parameters_are_a_sentence_that_names_them(three_views, name, value, kind):
    with pytest.raises(kind, match=name):
        S2MVTC(4).set_params(**{name: value}).fit(three_views[0])


def documented(kind):
    """Names with a line of their own in the Parameters section of a class."""
    (section,) = re.findall(r"Parameters\n    -+\n(.*?)\n\n", kind.__doc__, re.S)
    lines = re.findall(r"^    (\w+(?:, \w+)*) :\s+\S", section, re.M)
    return [name for line in lines for name in line.split(", ")]


def test_it_has_18_parameters_each_with_its_line():
    names = documented(S2MVTC)
    assert len(names) == len(set(names)) <= 18
    assert set(names) == set(S2MVTC().get_params())


@pytest.mark.parametrize("kind", [SequenceS2MVTC, AnchorSpectral])
def test_parameters_are_documented(kind):
    names = documented(kind)
    assert len(names) == len(set(names))
    assert set(names) == set(kind().get_params())


def test_parameters_of_one_name_have_one_default_where_it_runs():
    shared = {"scaling", "n_init", "random_state", "dtype", "engine", "device"}
    shared |= {"n_clusters", "memory_limit", "checkpoint", "verbose"}
    kinds = (S2MVTC, SequenceS2MVTC, AnchorSpectral)
    plain, *others = ({k: kind().get_params()[k] for k in shared} for kind in kinds)
    assert all(other == plain for other in others)


def test_anchors_that_are_given_have_their_number(three_views):
    views, _ = three_views
    model = S2MVTC(4, anchors=[x[:9] for x in views], n_anchors=9)
    with pytest.raises(InputError, match=r"n_anchors=9 has no say.*Leave n_anchors"):
        model.fit(views)


@pytest.mark.parametrize("missing", ["order", "groups"])
def test_it_knows_no_order(three_views, missing):
    with pytest.raises(TypeError, match=missing):
        S2MVTC(4).fit(three_views[0], **{missing: np.arange(300)})


@pytest.fixture(scope="module")
def plain():
    """Embeddings of models of which no parameter has been changed."""
    return {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_anchors", 20),
        ("anchors", "random"),
        ("scaling", None),
        ("n_graph_anchors", 60),
        ("n_neighbors", 3),
        ("lam", 3.0),
        ("beta", 5.0),
        ("smoothing_weight", 5.0),
        ("max_iter", 2),
        ("random_state", 1),
        ("dtype", "float32"),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"lam": 1.0, "beta": 0.5, "max_iter": 3}])
def test_every_parameter_has_a_say(three_views, plain, name, value, changes):
    views, _ = three_views
    model = S2MVTC(4, **({"random_state": 0} | changes))
    key = tuple(changes)
    if key not in plain:
        plain[key] = model.fit(views).embedding_
    other = model.set_params(**{name: value}).fit(views).embedding_
    assert not np.array_equal(plain[key], other)


def clear_and_noisy_view():
    rng = np.random.default_rng(5)
    labels = np.arange(300) % 3
    clear = 4.0 * np.eye(3)[labels] + rng.normal(size=(300, 3))
    return [clear, rng.normal(size=(300, 6))]


def weights_of_the_round(model):
    """Of the first round, by the caller's views."""
    return np.array(model._passes.rounds[0].of_views)[
        np.argsort(model._passes.view_order)
    ]


def test_a_view_that_cannot_fit_the_start_weighs_less_in_the_round():
    model = S2MVTC(3, random_state=0).fit(clear_and_noisy_view())
    clear, noisy = weights_of_the_round(model) / model.view_weights_
    assert noisy < 0.3 * clear


def test_with_a_ridge_weight_given_views_weigh_as_in_the_graph():
    model = S2MVTC(3, lam=1.0, random_state=0).fit(clear_and_noisy_view())
    np.testing.assert_allclose(weights_of_the_round(model), 2 * model.view_weights_)
    assert not model._passes.rounds[0].by_length


def test_rows_enter_the_consensus_at_the_length_of_their_fit():
    views = clear_and_noisy_view()
    model = S2MVTC(3, random_state=0).fit(views, trace=np.arange(300))
    found = model.trace_[0]
    weights = weights_of_the_round(model)
    apart = sum(w * found[f"B{v}"] for v, w in enumerate(weights))
    apart /= np.linalg.norm(apart, axis=1, keepdims=True)
    B_bar = found["B_bar"] / np.linalg.norm(found["B_bar"], axis=1, keepdims=True)
    towards = [
        np.abs(np.sum(B * found["B0"], axis=1)).mean() / np.linalg.norm(found["B0"][0])
        for B in (B_bar, apart)
    ]
    assert towards[0] > towards[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_rows_are_clustered_from_sampled_grams(three_views, dtype):
    views, truth = three_views
    plain = S2MVTC(4, n_anchors=40, dtype=dtype, random_state=0)
    order = np.random.default_rng(0).permutation(len(truth))
    with lowered(sampled_rows=150):
        with lowered(block_rows=80):
            model = clone(plain).fit(views)
        other = plain.fit([x[order] for x in views])
        fresh = model.predict([x[:50] for x in views])
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert adjusted_rand_score(model.labels_[order], other.labels_) > 0.999
    assert np.array_equal(fresh, model.labels_[:50])
    assert model._passes.rounds[0].features.sampled


def test_many_rows_of_words_take_any_order_storage_and_way(tmp_path):
    rng = np.random.default_rng(0)
    share = rng.gamma(0.2, size=(4, 700))
    topics = rng.integers(4, size=900)
    counts = rng.multinomial(60, (share.T / share.sum(axis=1)).T[topics]).astype(float)
    dense = np.eye(4)[topics] + rng.normal(size=(900, 4))
    words, order = csr_array(counts), rng.permutation(900)
    with lowered(exact_rows=300):
        model = S2MVTC(4, random_state=0).fit([words, dense])
        assert model.anchors_[0].shape[1] < 700
        assert adjusted_rand_score(topics, model.labels_) == 1.0
        again = S2MVTC(4, random_state=0).fit([words[order], dense[order]])
        np.testing.assert_array_equal(again.labels_, model.labels_[order])
        np.testing.assert_array_equal(again.embedding_, model.embedding_[order])
        stored = S2MVTC(4, random_state=0).fit([counts, dense])
        assert adjusted_rand_score(stored.labels_, model.labels_) == 1.0
    model.save(tmp_path / "model.manyview")
    for own in (model, load_model(tmp_path / "model.manyview")):
        np.testing.assert_array_equal(own.predict([words, dense]), model.labels_)
