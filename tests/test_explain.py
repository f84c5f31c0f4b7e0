"""Why: noise views, copies, typical rows and telling features."""

from functools import wraps

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views
from manyview.baselines import SMERAMVC, ConcatKMeans
from manyview.datasets import make_views
from manyview.errors import InputError
from manyview.explain import explain
from manyview.stages import sequence


@pytest.fixture(scope="module")
def data():
    quality = [1, 1, 0, 1]
    return make_views(300, (6, 8, 7, 5), 4, view_quality=quality, random_state=5)


@pytest.fixture(scope="module")
def model(data):
    return S2MVTC(4, random_state=0).fit(data)


@pytest.fixture(scope="module")
def found(model, data):
    return explain(model, data, leave_out=False)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [S2MVTC, AnchorSpectral])
def test_a_noise_view_has_the_least_influence(kind, seed):
    data = make_views(
        250, (6, 8, 7, 5), 4, view_quality=[1, 1, 0, 1], random_state=seed
    )
    shares = kind(4, random_state=0).fit(data).view_influence_
    assert shares.argmin() == 2 and shares[2] < 0.5 * shares.mean()
    assert shares.sum() == pytest.approx(1.0)


def test_influence_without_a_graph():
    data = make_views(250, (6, 8, 7), 3, view_quality=[1, 0, 1], random_state=0)
    model = SequenceS2MVTC(3, random_state=0, smoothing_weight=0.0).fit(data)
    assert model.view_influence_.argmin() == 1
    assert model.cluster_influence_.shape == (3, 3)


def test_a_second_copy_of_a_view_changes_little(data, model):
    twice = S2MVTC(4, random_state=0).fit([*data.arrays, data.arrays[0]])
    assert adjusted_rand_score(model.labels_, twice.labels_) >= 0.95


def test_the_explanation_agrees_with_the_fit(found, model):
    assert np.abs(found.view_influence - model.view_influence_).max() < 0.05
    assert found.sizes.tolist() == np.bincount(model.labels_).tolist()
    assert np.array_equal(found.certainty, model.certainty_)


def test_views_that_tell_the_same_agree(found):
    matrix = found.view_agreement
    assert np.array_equal(matrix, matrix.T) and (np.diag(matrix) == 1).all()
    clear = matrix[np.ix_([0, 1, 3], [0, 1, 3])]
    assert clear.min() > 0.5 and np.abs(matrix[2, [0, 1, 3]]).max() < 0.1


def test_leaving_out_the_telling_view_changes_most():
    data = make_views(150, (6, 5, 5), 3, view_quality=[1, 0, 0.2], random_state=0)
    model = AnchorSpectral(3, random_state=0).fit(data)
    change = explain(model, data).left_out
    assert change.argmax() == 0 and change[0] > 0.3 > change[1]


def test_rows_that_had_one_view_alone_are_left_out_with_it():
    data = make_views(120, (5, 5), 3, random_state=0)
    present = np.ones((120, 2), dtype=bool)
    present[:10, 0] = False
    views = Views(list(data.arrays), present=present)
    model = AnchorSpectral(3, random_state=0).fit(views)
    assert explain(model, views).left_out.shape == (2,)


def test_a_model_with_a_checkpoint_is_explained_as_any_other(tmp_path, monkeypatch):
    data = make_views(150, (6, 5), 3, random_state=0)
    plain = AnchorSpectral(3, random_state=0).fit(data)
    kept = AnchorSpectral(3, random_state=0, checkpoint=tmp_path / "saved").fit(data)
    wanted = explain(plain, data).left_out
    np.testing.assert_allclose(explain(kept, data).left_out, wanted)
    monkeypatch.setattr("manyview.explain.MOST_ROWS", 100)
    assert explain(kept, data).left_out.shape == (2,)


@pytest.fixture(scope="module")
def recordings():
    """Two noisy recordings in four parts each, their rows shuffled."""
    rng = np.random.default_rng(0)
    part, recording = np.tile(np.repeat(np.arange(4), 40), 2), np.repeat([0, 1], 160)
    x = [rng.normal(size=(4, 5))[part] + rng.normal(size=(320, 5)) for _ in range(2)]
    mixed = rng.permutation(320)
    given = {"order": np.tile(np.arange(160), 2)[mixed], "groups": recording[mixed]}
    return [v[mixed] for v in x], given


def test_fits_without_a_view_go_along_the_order_of_the_fit(recordings, monkeypatch):
    views, given = recordings
    model = SequenceS2MVTC(4, min_duration=20, random_state=0).fit(views, **given)
    fits, fit = [], SequenceS2MVTC.fit

    @wraps(fit)
    def listened(self, X, y=None, **more):
        fits.append({name: key.tolist() for name, key in more.items()})
        return fit(self, X, y, **more)

    monkeypatch.setattr(SequenceS2MVTC, "fit", listened)
    change = explain(model, views, **given).left_out
    assert fits == [{name: key.tolist() for name, key in given.items()}] * 2
    without = SequenceS2MVTC(4, min_duration=20, random_state=0)
    labels = fit(without, views[1:], **given).labels_
    assert change[0] == pytest.approx(1 - adjusted_rand_score(model.labels_, labels))


def test_a_method_of_the_row_order_alone_is_explained_by_some_rows(monkeypatch):
    """It has no `order=` to be told where they stood among all."""
    data = make_views(150, (6, 5), 3, random_state=0)
    model = SMERAMVC(3, random_state=0, n_init=1, max_iter=1).fit(data)
    monkeypatch.setattr("manyview.explain.MOST_ROWS", 100)
    assert explain(model, data).left_out.shape == (2,)


def test_of_some_rows_durations_are_counted_in_all(recordings, monkeypatch):
    views, given = recordings
    in_order = np.lexsort((given["order"], given["groups"]))
    views = [x[in_order] for x in views]
    model = SequenceS2MVTC(4, min_duration=20, random_state=0).fit(views)
    monkeypatch.setattr("manyview.explain.MOST_ROWS", 100)
    cut = []

    def counted(duration, key, group, rows):
        cut.append(in_rows(duration, key, group, rows))
        return cut[-1]

    in_rows = sequence._duration_in_rows
    monkeypatch.setattr(sequence, "_duration_in_rows", counted)
    explain(model, views)
    assert len(cut) == 3 and max(cut) <= 10  # 20 rows of all are 6 of these


def test_a_missing_order_and_one_too_many_are_named(recordings, data, model):
    views, given = recordings
    along = SequenceS2MVTC(4, min_duration=20, random_state=0).fit(views, **given)
    with pytest.raises(InputError, match=r"fitted with order=.*leave_out=False"):
        explain(along, views, groups=given["groups"])
    assert explain(along, views, leave_out=False).left_out is None
    with pytest.raises(InputError, match="S2MVTC does not use order="):
        explain(model, data, order=np.arange(300))
    with pytest.raises(InputError, match="groups must have one entry per row"):
        explain(along, views, order=given["order"], groups=[1, 2])


def test_typical_and_doubtful_rows(found, model):
    for j in range(4):
        rows = np.flatnonzero(model.labels_ == j)
        assert set(found.typical[j]) | set(found.doubtful[j]) <= set(rows)
        sure = model.certainty_
        assert sure[found.typical[j]].min() >= np.median(sure[rows])
        assert sure[found.doubtful[j]].max() <= np.median(sure[rows])


def test_telling_features_are_found_by_name():
    rng = np.random.default_rng(0)
    group = np.arange(90) % 3
    clear = rng.normal(size=(90, 4))
    clear[:, 2] += 8.0 * group
    other = rng.normal(size=(90, 2))
    names = [["a", "b", "tall", "d"], None]
    views = Views([clear, other], feature_names=names, names=["size", "rest"])
    model = ConcatKMeans(3, random_state=0).fit(views)
    model.labels_ = group
    found = explain(model, views, leave_out=False, n_features=1)
    ends = [e for e in found.effects if e.cluster != 1]
    assert [(e.view, e.feature) for e in ends] == [("size", "tall")] * 2
    first = found.effects[0]
    inside, outside = clear[group == 0, 2], clear[group != 0, 2]
    spread = inside.var() * 30 + outside.var() * 60
    expected = (inside.mean() - outside.mean()) / np.sqrt(spread / 88)
    assert first.size == pytest.approx(expected)
    assert first.inside == pytest.approx(inside.mean())
    assert found.certainty is None and found.typical[0].size == 0


def test_sparse_views_and_hidden_rows_give_the_same_features():
    rng = np.random.default_rng(1)
    counts = rng.poisson(1.0, size=(60, 5)).astype(float)
    counts[::2, 1] += 6.0
    present = np.ones((60, 2), dtype=bool)
    present[5:9, 0] = False
    model = AnchorSpectral(2, random_state=0)
    dense = Views([counts, counts[:, :2]], present=present)
    sparse = Views([csr_array(counts), csr_array(counts[:, :2])], present=present)
    first = explain(model.fit(dense), dense, leave_out=False).effects
    labels = model.labels_
    model.fit(sparse).labels_ = labels
    second = explain(model, sparse, leave_out=False).effects
    for one, two in zip(first, second, strict=True):
        assert one[:3] == two[:3] and one.size == pytest.approx(two.size)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("factor", [1e-20, 1e20, 1e30])
def test_units_of_the_features_do_not_matter(make, factor):
    data = make_views(90, (5, 4), 3, random_state=0)
    model = AnchorSpectral(3, random_state=0).fit(data)
    wanted, labels = explain(model, data, leave_out=False).effects, model.labels_
    other = [make((x * np.float64(factor)).astype(np.float32)) for x in data.arrays]
    model.fit(other).labels_ = labels
    found = explain(model, other, leave_out=False).effects
    for one, two in zip(wanted, found, strict=True):
        assert one[0] == two[0] and one.size == pytest.approx(two.size, rel=1e-3)


def test_constant_features_set_nothing_apart():
    x = np.column_stack([np.arange(20) // 10 * 5.0, np.full(20, 3.0)])
    x[:, 0] += np.linspace(0, 1, 20)
    model = AnchorSpectral(2, random_state=0).fit([x])
    found = explain(model, [x], leave_out=False)
    assert {e.feature for e in found.effects} == {"feature 0"}


def test_tables_name_views_clusters_and_rows(data):
    named = Views(
        dict(zip(["one", "two", "noise", "four"], data.arrays, strict=True)),
        row_names=[f"row {i}" for i in range(300)],
    )
    model = AnchorSpectral(4, random_state=0).fit(named)
    found = explain(model, named, leave_out=False)
    text = str(found)
    assert "noise" in text and "row " in text and "feature" in text
    assert [t.name for t in found.tables()] == [
        "views", "agreement", "clusters", "features",
    ]  # fmt: skip


def test_other_rows_than_in_the_fit_get_a_sentence(model, data):
    with pytest.raises(InputError, match="300 rows; 100 were given"):
        explain(model, data[:100])


def test_weights_of_every_row_are_taken_in_the_mean(three_views):
    from manyview.baselines import WNN

    views = three_views[0]
    model = WNN(4, random_state=0).fit(views)
    assert np.asarray(model.view_weights_).shape == (300, 3)
    found = explain(model, views, leave_out=False)
    assert found.view_influence.shape == (3,)
    assert found.view_influence.sum() == pytest.approx(1.0)
