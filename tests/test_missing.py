"""Rows that lack some views: nothing looks at them there, the rest carries on."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views
from manyview.datasets import load, make_views
from manyview.errors import DegenerateWarning, InputError
from manyview.metrics import clustering_scores

METHODS = [
    S2MVTC(4, random_state=0),
    SequenceS2MVTC(4, smoothing_weight=0.0, random_state=0),
    AnchorSpectral(4, random_state=0),
]

# Without the graph every view starts from its own directions, which only rows with
# all views tie together: such rows cannot make up for the hidden ones.
THROUGH_GRAPH = [METHODS[0], METHODS[2]]


def hide(n_samples, n_views, share, seed=0):
    """A mask that hides a share of the entries and leaves every row a view."""
    rng = np.random.default_rng(seed)
    present = rng.random((n_samples, n_views)) >= share
    lost = ~present.any(axis=1)
    present[lost, rng.integers(n_views, size=lost.sum())] = True
    return present


@pytest.fixture(scope="module")
def data():
    return make_views(240, (6, 9, 7), 4, random_state=1)


@pytest.mark.parametrize("estimator", THROUGH_GRAPH, ids=repr)
def test_clear_clusters_survive_a_third_hidden(estimator, data):
    present = hide(240, 3, 0.3)
    model = estimator.fit(Views(list(data.arrays), present=present))
    assert adjusted_rand_score(data.labels, model.labels_) > 0.85


@pytest.mark.parametrize("estimator", METHODS, ids=repr)
def test_what_is_hidden_does_not_matter(estimator, data):
    present = hide(240, 3, 0.3)
    odd = [x.copy() for x in data.arrays]
    for v, x in enumerate(odd):
        x[~present[:, v]] = 1e9 * (v + 1)
    odd[1][~present[:, 1]] = np.nan
    plain = estimator.fit(Views(list(data.arrays), present=present)).labels_
    assert np.array_equal(estimator.fit(Views(odd, present=present)).labels_, plain)


def scalings_of(model):
    """The views' scalings in the caller's order."""
    passes = model._passes
    return [passes.start.features.scalings[v] for v in np.argsort(passes.view_order)]


def test_hidden_rows_change_no_other_views_scaling(data):
    present = np.ones((240, 3), dtype=bool)
    present[::3, 0] = False
    whole = S2MVTC(4, random_state=0).fit(data)
    holed = S2MVTC(4, random_state=0).fit(Views(list(data.arrays), present=present))
    before, after = (scalings_of(m) for m in (whole, holed))
    for v in (1, 2):
        assert before[v].kind == after[v].kind
        for name in ("shift", "scale"):
            first, second = getattr(before[v], name), getattr(after[v], name)
            assert (first is None) == (second is None)
            if first is not None:
                # Sums go along the content of whole rows: another order, same sums.
                np.testing.assert_allclose(second, first, rtol=1e-13)
    kept = data.arrays[0][present[:, 0]]
    assert np.allclose(after[0].shift, kept.mean(axis=0), atol=1e-5)


def test_the_embedding_of_a_row_uses_the_views_it_has(data):
    model = S2MVTC(4, random_state=0).fit(data)
    row = data[:1]
    odd = [x.copy() for x in row.arrays]
    odd[2] += 50.0
    mask = np.array([[True, True, False]])
    hidden = model.transform(Views(list(row.arrays), present=mask))
    assert np.array_equal(model.transform(Views(odd, present=mask)), hidden)
    assert not np.array_equal(model.transform(row), hidden)


@pytest.mark.parametrize("estimator", THROUGH_GRAPH, ids=repr)
def test_predict_with_hidden_views(estimator, data):
    model = estimator.fit(data[:160])
    new = data[160:]
    found = model.predict(Views(list(new.arrays), present=hide(80, 3, 0.3)))
    assert adjusted_rand_score(data.labels[160:], found) > 0.85


def test_training_rows_with_hidden_views_keep_their_labels(data):
    holed = Views(list(data.arrays), present=hide(240, 3, 0.3))
    model = S2MVTC(4, random_state=0).fit(holed)
    assert np.array_equal(model.predict(holed), model.labels_)


def test_sparse_views_may_miss_rows(data):
    counts = [csr_array(np.maximum(x, 0.0)) for x in data.arrays]
    present = hide(240, 3, 0.2)
    labels = S2MVTC(4, random_state=0).fit(Views(counts, present=present)).labels_
    assert adjusted_rand_score(data.labels, labels) > 0.7


@pytest.mark.parametrize("estimator", METHODS, ids=repr)
def test_a_view_without_any_row_gets_a_sentence(estimator, data):
    views = [*data.arrays, np.full((240, 3), np.nan)]
    with pytest.raises(InputError, match="'view3' is missing in all rows but 0"):
        estimator.fit(views)


def test_a_row_without_any_view_gets_a_sentence(data):
    views = [x.copy() for x in data.arrays]
    for x in views:
        x[7] = np.nan
    with pytest.raises(InputError, match="Row 7 has no view at all"):
        AnchorSpectral(4).fit(views)
    model = AnchorSpectral(4, random_state=0).fit(data)
    with pytest.raises(InputError, match="Row 7 has no view at all"):
        model.predict(views)


def test_single_gaps_are_refused_with_the_remedy(data):
    views = [x.copy() for x in data.arrays]
    views[1][3, 2] = np.nan
    with pytest.raises(InputError, match=r"NaN in row 3.*filled"):
        AnchorSpectral(4).fit(views)
    filled = Views(views).filled()
    known = np.delete(views[1][:, 2], 3)
    assert filled.arrays[1][3, 2] == pytest.approx(known.mean(), rel=1e-5)
    assert np.isnan(views[1][3, 2]), "the input must stay as it is"
    assert filled.arrays[0] is views[0]
    AnchorSpectral(4, random_state=0).fit(filled)


def test_filling_leaves_missing_rows_and_can_use_other_means():
    first = Views([np.array([[1.0, 2.0], [3.0, 6.0]])])
    gaps = Views([np.array([[np.nan, 5.0], [np.nan, np.nan]])])
    filled = gaps.filled(like=first)
    assert filled.arrays[0][0].tolist() == [2.0, 5.0]
    assert np.isnan(filled.arrays[0][1]).all()
    with pytest.raises(InputError, match="only way"):
        gaps.filled("median")


def test_leaving_out_a_view_keeps_names_and_mask(data):
    present = hide(240, 3, 0.3)
    views = Views(dict(zip("abc", data.arrays, strict=True)), present=present)
    rest = views.without(1)
    assert rest.names == ("a", "c")
    assert np.array_equal(rest.present, present[:, [0, 2]])
    there = rest.rows_with_any(50)
    assert np.array_equal(there, np.flatnonzero(present[:, [0, 2]].any(axis=1)))


@pytest.mark.data
@pytest.mark.slow
def test_handwritten_with_a_third_hidden(data_dir):
    views = load(data_dir / "Handwritten.npz")
    model = S2MVTC(10, random_state=0)
    whole = clustering_scores(views.labels, model.fit(views).labels_)["ACC"]
    found = []
    for seed in range(2):
        present = hide(len(views), views.n_views, 0.3, seed)
        labels = model.fit(Views(list(views.arrays), present=present)).labels_
        found.append(clustering_scores(views.labels, labels)["ACC"])
    assert np.mean(found) > whole - 0.08


@pytest.mark.data
@pytest.mark.slow
def test_the_leukaemia_cohort_runs_whole(data_dir):
    path = data_dir / "formats" / "cll.h5mu"
    if not path.is_file():
        pytest.skip("formats/cll.h5mu is not in the folder named by MANYVIEW_DATA")
    views = load(path)
    assert views.present is not None and not views.present.all()
    model = S2MVTC(3, random_state=0).fit(views.filled())
    assert model.labels_.shape == (200,)


def texts_and_images(n_samples=240, empty=0.6):
    """Word counts, most of them of texts without a word, beside features of images."""
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.arange(n_samples) % 3)
    topics = np.full((3, 30), 0.05)
    for c in range(3):
        topics[c, 10 * c : 10 * c + 10] = 0.8
    words = rng.poisson(topics[labels]).astype(float)
    image = rng.normal(size=(n_samples, 5))
    image[:, :3] += 2.2 * np.eye(3)[labels]
    words[rng.random(n_samples) < empty] = 0.0
    return words, image, labels


@pytest.mark.parametrize("method", [S2MVTC, AnchorSpectral])
def test_empty_texts_are_missing_and_no_cluster_of_their_own(method):
    words, image, labels = texts_and_images()
    model = method(3, random_state=0).fit([words, image])
    assert adjusted_rand_score(labels, model.labels_) > 0.8
    assert np.array_equal(model.predict([words, image]), model.labels_)
    sparse = method(3, random_state=0).fit([csr_array(words), image])
    assert adjusted_rand_score(labels, sparse.labels_) > 0.8


def test_a_view_of_zeros_alone_is_no_error():
    _, image, labels = texts_and_images()
    with pytest.warns(DegenerateWarning, match=r"All rows are the same.* in 'view0'"):
        model = S2MVTC(3, random_state=0).fit([np.zeros((240, 4)), image])
    assert adjusted_rand_score(labels, model.labels_) > 0.4
