"""What views say of every row without it: left out exactly, worth what it tells."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from manyview.engine.local import LocalEngine
from manyview.stages.anchors import (
    Features,
    Kernel,
    fit_features,
    plain_features,
    sum_grams,
)
from manyview.stages.held_out import (
    MOST_PRODUCTS,
    RIDGES,
    Seen,
    _columns,
    _fitted,
    _side_by_side,
    held_out,
    in_columns,
    see_all,
    see_straight,
)
from manyview.stages.sampling import draw
from manyview.stages.scaling import Scaling
from manyview.stages.whole_rows import see
from manyview.views.views import Block, Views


def seen(x, there=None):
    """Rows as they are, along their principal directions."""
    there = np.ones(len(x), dtype=bool) if there is None else there
    present = there[:, None]
    kernels = (Kernel("linear", np.eye(x.shape[1]), 0.0),)
    features = Features((Scaling("none"),), kernels, (np.zeros(x.shape[1]),))
    features = features._replace(reduces=(None,))
    nodes = np.arange(len(x))
    return see(Block(0, (x,), present), nodes, features, 0, x.shape[1])


def heard(views, labels):
    """What the views say of all rows, by fits to these labels of three clusters."""
    columns = in_columns([views], np.arange(len(labels)))
    return held_out(columns, labels, 3).scores(labels)


def test_rows_stay_in_their_own_precision():
    """Twice the digits say nothing more of rows that have half of them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 12)) * np.linspace(3.0, 0.1, 12)
    labels = np.argmax(x[:, :3], axis=1)
    said = {}
    for kind in (np.float32, np.float64):
        rows = x.astype(kind)
        straight = see_straight(rows, np.ones(300, dtype=bool), 5)
        views = [seen(rows), straight]
        assert {own.points.dtype for own in views} == {np.dtype(kind)}
        columns = in_columns([views], np.arange(300))
        assert {own.points.dtype for _, own in columns} == {np.dtype(kind)}
        said[kind] = held_out(columns, labels, 3).scores(labels)
    # What the scores of a fit are worth is sought with two digits.
    pair = [scores / np.linalg.norm(scores) for scores in said.values()]
    np.testing.assert_allclose(*pair, atol=2e-3)
    assert np.mean(pair[0].argmax(axis=1) == pair[1].argmax(axis=1)) > 0.99


@pytest.mark.parametrize("n_clear", [0, 5])
def test_which_of_level_directions_come_first_says_nothing(n_clear, monkeypatch):
    """Rows far from all others have directions of one size; only some find room."""
    monkeypatch.setattr("manyview.stages.held_out.MOST_TOGETHER", 40)
    rng = np.random.default_rng(2)
    own, there = np.arange(90) % 3, np.ones(90, dtype=bool)
    sizes = np.append(np.linspace(3.0, 2.0, n_clear), np.ones(30))
    found = []
    for turn in (np.eye(30), np.linalg.qr(rng.normal(size=(30, 30)))[0]):
        views = []
        for v in (0, 1):
            x = np.random.default_rng(v).normal(size=(90, n_clear + 30))
            x = np.linalg.qr(x - x.mean(axis=0))[0] * sizes
            x[:, n_clear:] = x[:, n_clear:] @ turn
            views.append(Seen(x, there, np.zeros(x.shape[1]), np.eye(x.shape[1])))
        found.append(heard(views, own))
    assert np.isfinite(found).all()
    if n_clear:  # else all are level, and some have to be taken
        np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    own = np.arange(90) % 3
    return rng.normal(size=(3, 5))[own] + rng.normal(size=(90, 5)), own


def test_scores_are_those_of_fits_without_the_row(rows):
    x, own = rows
    there = np.arange(90) >= 10
    indicators = np.eye(3)[own]
    one = seen(x, there)
    fit = _fitted(_columns(one.points, one.there, {}), indicators)
    scores = fit.scores(indicators)
    squares = (one.points**2).sum(axis=0)
    weights = 1.0 / fit.columns.shrunk[fit.number] - squares
    np.testing.assert_allclose(weights, weights[0])
    assert weights[0] / squares.mean() == pytest.approx(
        RIDGES[np.argmin(np.abs(RIDGES - weights[0] / squares.mean()))]
    )
    # The middle that rows are taken from stays as it is with all of them.
    points, given = x[there] - x[there].mean(axis=0), indicators[there]
    for i in (0, 7, 33):
        others = np.arange(80) != i
        model = Ridge(weights[0], fit_intercept=False)
        ones = np.ones((80, 1)) * 1e6  # an intercept that no ridge holds back
        model.fit(np.hstack([points, ones])[others], given[others])
        expected = model.predict(np.hstack([points, ones])[[i]]) - given.mean(axis=0)
        np.testing.assert_allclose(scores[10 + i], fit.worth * expected[0], rtol=1e-6)
    assert (scores[:10] == 0).all()


def test_a_view_of_noise_says_nothing_and_a_wrong_label_does_not_speak_for_itself(rows):
    x, own = rows
    x = x + 4.0 * np.eye(5)[own]
    noise = np.random.default_rng(1).normal(size=(90, 40))
    wrong = own.copy()
    wrong[:6] = (own[:6] + 1) % 3
    said = heard([seen(x), seen(noise)], wrong)
    assert (said.argmax(axis=1) == own).mean() > 0.97
    alone = heard([seen(noise)], wrong)
    assert np.abs(alone).mean() < 0.1 * np.abs(said).mean()


def test_the_same_fits_are_worth_what_other_labels_tell(rows):
    x, own = rows
    first = held_out(in_columns([[seen(x)]], np.arange(90)), own, 3)
    fits = [said.fits[0][1] for said in (first, first.heard(own))]
    assert fits[1].worth == pytest.approx(fits[0].worth, rel=0.1)
    chance = first.heard(np.arange(90) // 3 % 3).fits[0][1]
    assert chance.worth < 0.5 * fits[0].worth and chance.number == fits[0].number
    assert held_out([], own, 3).heard(own).fits == []


def test_side_by_side_views_are_of_one_size_and_orthogonal(rows):
    x, _ = rows
    views = [seen(x), seen(1e4 * x[:, :2] ** 2)]
    points, there, *_, turns = _side_by_side(dict(enumerate(views)))
    gram = points.T @ points
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8 * gram.max())
    assert np.trace(gram) == pytest.approx(2 * len(x)) and there.all()
    turned = sum(one.points @ turns[v] for v, one in enumerate(views))
    np.testing.assert_allclose(turned, points)


def test_views_without_columns_or_rows_say_nothing(rows):
    _, own = rows
    nothing = Seen(np.zeros((90, 0)), np.ones(90, dtype=bool), np.zeros(0), np.zeros(0))
    absent = seen(np.ones((90, 2)), np.zeros(90, dtype=bool))
    assert (heard([nothing, absent], own) == 0).all()
    first = np.zeros(1, dtype=int)
    assert in_columns([[nothing, absent, seen(np.eye(90)[:, :2])]], first) == []


def test_each_row_is_judged_by_its_own_views(rows):
    x, own = rows
    there = np.arange(90) % 2 == 0
    said = heard([seen(x + 6.0 * np.eye(5)[own], there)], own)
    assert (said[~there] == 0).all()
    assert (said[there].argmax(axis=1) == own[there]).all()


@pytest.mark.parametrize("lam", [None, 1e3])
def test_all_rows_are_seen_along_the_directions_of_their_grams(lam):
    rng = np.random.default_rng(0)
    present = np.ones((200, 2), dtype=bool)
    present[:30, 1] = False
    views = Views([rng.normal(size=(200, 6)), rng.normal(size=(200, 4))])
    views = Views(views.arrays, present=present)
    engine = LocalEngine(views, np.float64)
    drawn, scalings = draw(engine, 200, 0), (Scaling("none"),) * 2
    anchors = tuple(drawn.view(v)[:60] for v in range(2))
    how = {"kernel": "rbf", "lam": lam, "n_rounds": 1}
    plain = plain_features(engine, drawn, scalings, anchors, **how)
    plain = plain._replace(keep=True)
    features, ridges = fit_features(plain, sum_grams(engine, plain), lam, 1e-3)
    assert (ridges[0].reduce is None) == (lam is None)
    found = see_all(engine, drawn, features, ridges)
    for v, own in enumerate(found):
        width = own.points.shape[1]
        slow = see(drawn.block, np.arange(200), features, v, width)
        assert (own.there == slow.there).all()
        np.testing.assert_allclose(np.abs(own.points), np.abs(slow.points), atol=1e-6)


def test_some_of_the_rows_get_columns_of_their_own(rows):
    x, _ = rows
    nodes = np.arange(0, 90, 2)
    ((_, some),) = in_columns([[seen(x)]], nodes)
    gram = some.points.T @ some.points
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8 * gram.max())
    np.testing.assert_allclose(some.points.mean(axis=0), 0.0, atol=1e-9)
    expected = x[nodes] - x[nodes].mean(axis=0)
    np.testing.assert_allclose(some.points @ some.points.T, expected @ expected.T)


def test_rows_on_a_device_are_seen_as_those_of_the_host(rows):
    torch = pytest.importorskip("torch")
    x, _ = rows
    there, nodes = np.arange(90) % 9 > 0, np.arange(0, 90, 2)
    kernels = (Kernel("linear", np.eye(5), 0.0),)
    features = Features((Scaling("none"),), kernels, (np.zeros(5),), (None,))
    block = Block(0, (x,), there[:, None])
    host = see(block, nodes, features, 0, 3)
    own = Features(features.scalings, (Kernel("linear", torch.eye(5).double(), 0.0),))
    own = own._replace(means=(torch.zeros(5),), reduces=(None,))
    block = Block(0, (torch.as_tensor(x),), there[:, None])
    device = see(block, nodes, own, 0, 3)
    assert host.points.shape == (45, 3)
    for one, other in zip(host, device, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("width", [7, MOST_PRODUCTS + 1])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_prepared_rows_are_seen_along_their_principal_directions(width, make):
    """Narrow or wider than what is multiplied, dense or sparse, some rows absent."""
    rng = np.random.default_rng(0)
    x = np.zeros((60, width))
    x[:, :7] = 3.0 + rng.normal(size=(60, 7)) * [9.0, 7.0, 5.0, 1.0, 1.0, 1.0, 1.0]
    there = np.arange(60) >= 10
    found = see_straight(make(x), there, 3)
    centred = x[there] - x[there].mean(axis=0)
    lengths = np.linalg.svd(centred, compute_uv=False)[:3]
    np.testing.assert_allclose(np.linalg.norm(found.points, axis=0), lengths)
    np.testing.assert_allclose(found.points[there], centred @ found.directions)
    np.testing.assert_allclose(found.mean, x[there].mean(axis=0))
    assert (found.points[:10] == 0).all()


def test_a_view_that_nobody_has_or_that_never_changes_has_no_directions():
    for there in (np.zeros(9, dtype=bool), np.ones(9, dtype=bool)):
        assert see_straight(np.ones((9, 4)), there, 3).points.shape == (9, 0)


def test_kinds_of_columns_weigh_the_same(rows):
    x, own = rows
    one, two = [seen(x)], [seen(x[:, :2])]
    parts = [heard(kind, own) for kind in (one, two)]
    columns = in_columns([one, two], np.arange(90))
    both = held_out(columns, own, 3).scores(own)
    np.testing.assert_allclose(both, (parts[0] + parts[1]) / 2.0)


def test_weights_score_other_rows_as_fits_to_all_rows_do(rows):
    x, own = rows
    nothing = Seen(np.zeros((90, 0)), np.ones(90, dtype=bool), np.zeros(0), np.zeros(0))
    views = [seen(x), nothing, seen(x[:, :2] ** 2)]
    found = held_out(in_columns([views], np.arange(90)), own, 3)
    weights, expected = found.weights(own, views), np.zeros((90, 3))
    for share, fit in found.fits:
        points, shrunk = fit.columns.points, fit.columns.shrunk[fit.number]
        fits = shrunk[:, None] * (points.T @ (np.eye(3)[own] - 1 / 3))
        expected += share * fit.worth * (points @ fits)
    scores = sum(one.points @ w for one, w in zip(views, weights, strict=True))
    np.testing.assert_allclose(scores, expected, atol=1e-10)
