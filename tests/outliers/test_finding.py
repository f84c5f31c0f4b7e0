"""Planted rows are found, in any order and place, and no more are set aside."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from manyview import S2MVTC, AnchorSpectral, Views, load_model
from manyview.baselines import BMVC, FSMSC
from manyview.datasets import make_views
from manyview.errors import InputError, InputTypeError, ManyviewError, NotFittedError
from manyview.outliers.finding import set_aside

N_ROWS = 400


@pytest.fixture(scope="module")
def planted():
    """Views with 5 % strange rows, half of them by noise, half by exchanged views."""
    full = make_views(N_ROWS, (10, 15, 8), 4, random_state=1)
    views = [np.array(x, dtype=np.float64) for x in full.arrays]
    rng = np.random.default_rng(0)
    strange = rng.permutation(N_ROWS)[:20]
    for row in strange[:10]:
        v = rng.integers(3)
        views[v][row] = rng.uniform(views[v].min(axis=0), views[v].max(axis=0))
    for row in strange[10:]:
        other = np.flatnonzero(full.labels != full.labels[row])[0]
        views[0][row] = full.arrays[0][other] + rng.normal(size=10)
    which = np.zeros(N_ROWS, dtype=bool)
    which[strange] = True
    return views, which, strange[10:]


@pytest.fixture(scope="module")
def model(planted):
    return S2MVTC(4, random_state=0).fit(planted[0])


@pytest.fixture(scope="module")
def found(model, planted):
    return model.find_outliers(planted[0], label_outliers=0.05)


def test_planted_rows_score_higher(found, planted):
    assert roc_auc_score(planted[1], found.score) >= 0.95
    assert planted[1][found.strangest(20)].mean() >= 0.5


def test_the_score_names_the_view(found, planted):
    rows = planted[2]  # whose view 0 is that of another cluster
    assert (found.by_view[rows].argmax(axis=1) == 0).mean() >= 0.9
    assert (found.disagreement[rows, 0] > found.far[rows, 0]).mean() >= 0.9
    assert "neighbours are elsewhere" in str(found) and "far from other" in str(found)


def test_no_more_are_set_aside_than_asked(model, planted, found):
    assert 0 < (found.labels == -1).sum() <= 20
    kept = found.labels >= 0
    assert np.array_equal(found.labels[kept], model.labels_[kept])
    assert found.score[~kept].min() > found.score[kept].max()
    assert (model.find_outliers(planted[0]).labels == model.labels_).all()


@pytest.mark.parametrize(
    ("score", "share", "expected"),
    [
        ([0, 3, 2, 1], 0.25, [1]),
        ([0, 3, 2, 1], 0.49, [1]),
        ([0, 3, 3, 1], 0.25, []),  # one of two equals would depend on the order
        ([0, 0, 0, 1], 0.75, [3]),  # ordinary rows are not set aside
        ([5, 3, 2, 1], 0.0, []),
    ],
)
def test_which_rows_are_set_aside(score, share, expected):
    found = set_aside(np.array(score, dtype=float), share)
    assert np.flatnonzero(found).tolist() == expected


def test_the_order_of_rows_and_views_plays_no_part(found, planted):
    shuffle = np.random.default_rng(3).permutation(N_ROWS)
    mixed = [x[shuffle] for x in planted[0][::-1]]
    again = S2MVTC(4, random_state=0).fit(mixed)
    other = again.find_outliers(mixed, label_outliers=0.05)
    assert np.array_equal(other.by_view, found.by_view[shuffle][:, ::-1])
    assert np.array_equal(other.labels == -1, (found.labels == -1)[shuffle])


@pytest.mark.slow
@pytest.mark.usefixtures("rows_stay_on_disk")
def test_the_same_on_disk_and_as_tensors(model, found, planted, tmp_path):
    for v, x in enumerate(planted[0]):
        np.save(tmp_path / f"{v}.npy", x)
    files = [np.load(tmp_path / f"{v}.npy", mmap_mode="r") for v in range(3)]
    on_disk = S2MVTC(4, random_state=0, memory_limit="2GB").fit(files)
    assert on_disk.find_outliers(files).by_view == pytest.approx(found.by_view)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = [torch.as_tensor(x) for x in planted[0]]
    other = S2MVTC(4, random_state=0).fit(tensors).find_outliers(tensors)
    assert other.by_view == pytest.approx(found.by_view, abs=1e-6)


@pytest.mark.slow
def test_the_same_on_dask(found, planted):
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as client:
        parts = [da.from_array(x, chunks=(150, -1)) for x in planted[0]]
        model = S2MVTC(4, random_state=0, engine=client).fit(parts)
        other = model.find_outliers(parts, label_outliers=0.05)
        assert roc_auc_score(planted[1], other.score) >= 0.95
        assert np.corrcoef(other.score, found.score)[0, 1] > 0.99


def test_rows_without_a_view_have_no_score_there(planted):
    present = np.ones((N_ROWS, 3), dtype=bool)
    present[::5, 1] = False
    views = Views(planted[0], present=present)
    found = S2MVTC(4, random_state=0).fit(views).find_outliers(views)
    assert np.array_equal(np.isnan(found.by_view), ~present)
    assert np.isfinite(found.score).all()


@pytest.mark.parametrize("method", [AnchorSpectral, BMVC, FSMSC])
def test_every_method_can_look(method, planted):
    views, which, _ = planted
    found = method(4, random_state=0).fit(views).find_outliers(views)
    assert roc_auc_score(which, found.score) >= 0.9


def test_sparse_views_score_as_dense_ones(planted):
    dense = [np.maximum(x, 0.0) for x in planted[0]]
    sparse = [csr_array(x) for x in dense]
    model = AnchorSpectral(4, scaling=None, random_state=0).fit(dense)
    scores = [model.find_outliers(x).by_view for x in (dense, sparse)]
    assert scores[1] == pytest.approx(scores[0], abs=1e-6)


@pytest.fixture(scope="module")
def texts():
    """Counts of few of many words, and 20 rows that have them all."""
    rng = np.random.default_rng(2)
    topic = rng.integers(0, 4, N_ROWS)
    often = 0.1 + 2.0 * (topic[:, None] == np.arange(60) // 5)
    views = [rng.poisson(often[:, :n]).astype(float) for n in (60, 40)]
    which = np.zeros(N_ROWS, dtype=bool)
    which[rng.permutation(N_ROWS)[:20]] = True
    for x in views:
        x[which] = rng.uniform(0.0, x.max(axis=0), size=(20, x.shape[1]))
    return views, which


def test_a_group_of_noise_is_found_among_angles(texts):
    """Rows that fill all features point the same way: by angle they are neighbours."""
    views, which = texts
    model = AnchorSpectral(4, random_state=0).fit(views)
    found = model.find_outliers(views)
    assert roc_auc_score(which, found.score) >= 0.95
    assert roc_auc_score(which, found.far.max(axis=1)) < 0.5
    assert "of unusual size" in str(found.table(20))
    larger = [views[0] * 1000.0, views[1] / 7.0]
    again = AnchorSpectral(4, random_state=0).fit(larger).find_outliers(larger)
    assert again.size == pytest.approx(found.size, abs=1e-6)
    sparse = [csr_array(x) for x in views]
    assert model.find_outliers(sparse).size == pytest.approx(found.size, abs=1e-6)
    shuffle = np.random.default_rng(5).permutation(N_ROWS)
    mixed = [x[shuffle] for x in views]
    other = AnchorSpectral(4, random_state=0).fit(mixed).find_outliers(mixed)
    assert np.array_equal(other.by_view, found.by_view[shuffle])


def test_noise_that_no_distance_gives_away_contradicts_the_other_views():
    """In wide views all rows are equally far from each other, and noise is, too."""
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 4, N_ROWS)
    centres = [rng.normal(size=(4, d)) for d in (150, 6, 5)]
    scales = (1.0, 3.0, 3.0)
    views = [
        s * c[labels] + rng.normal(size=(N_ROWS, c.shape[1]))
        for s, c in zip(scales, centres, strict=True)
    ]
    which = np.zeros(N_ROWS, dtype=bool)
    which[rng.permutation(N_ROWS)[:20]] = True
    views[0][which] = rng.permuted(views[0], axis=0)[which]  # every feature ordinary
    found = AnchorSpectral(4, random_state=0).fit(views).find_outliers(views)
    assert roc_auc_score(which, found.score) >= 0.95
    assert roc_auc_score(which, found.contradiction[:, 0]) >= 0.95
    assert (found.by_view[which].argmax(axis=1) == 0).mean() >= 0.9
    assert "other views contradict" in str(found.table(20))


def test_standardised_views_have_no_size(found, planted):
    assert (found.size == 0).all()


def test_empty_rows_have_finite_scores(texts):
    views = [np.array(x) for x in texts[0]]
    for x in views:
        x[3] = 0.0
    found = AnchorSpectral(4, scaling="unit", random_state=0).fit(views)
    score = found.find_outliers(views).score
    assert np.isfinite(score).all() and score[3] > np.quantile(score, 0.99)


def test_rows_that_are_all_the_same_are_no_outliers():
    x = np.repeat(np.eye(3), 40, axis=0)
    found = S2MVTC(3, random_state=0).fit([x, x]).find_outliers([x, x])
    assert (found.score == 0).all()


def test_scores_belong_to_their_fit(planted, tmp_path):
    model = S2MVTC(4, random_state=0).fit(planted[0])
    assert not hasattr(model, "outlier_score_")
    found = model.find_outliers(planted[0])
    assert model.outlier_score_ is found.by_view
    kept = load_model(model.save(tmp_path / "model"))
    assert np.array_equal(kept.outlier_score_, found.by_view)
    model.fit([x[:100] for x in planted[0]])
    assert not hasattr(model, "outlier_score_")


def test_what_cannot_be_done_is_said(model, planted):
    views = planted[0]
    with pytest.raises(NotFittedError):
        S2MVTC(4).find_outliers(views)
    with pytest.raises(InputError, match=r"fitted on 400 rows; 100 were given"):
        model.find_outliers([x[:100] for x in views])
    with pytest.raises(ManyviewError, match="features"):
        model.find_outliers(views[:2])
    with pytest.raises(InputTypeError, match="label_outliers"):
        model.find_outliers(views, label_outliers="few")
    for share in (-0.1, 0.5, 5):
        with pytest.raises(InputError, match="label_outliers"):
            model.find_outliers(views, label_outliers=share)


def test_the_strangest_rows_are_drawn(found, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    axis = found.figure(n_rows=5).axes[0]
    assert [t.get_text() for t in axis.get_yticklabels()] == [
        str(row) for row in found.strangest(5)
    ]
    assert [p.suffix for p in found.plot(tmp_path / "strange")] == [".png", ".svg"]
    assert "<table" in found._repr_html_()
