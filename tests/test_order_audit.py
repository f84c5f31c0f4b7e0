import numpy as np
import pytest
from sklearn.cluster import KMeans

from manyview import audit_order
from manyview.baselines import ConcatKMeans
from manyview.datasets import make_views
from manyview.errors import InputError, InputTypeError
from manyview.metrics import nmi
from manyview.order_audit import (
    AGREEMENT,
    GIVEN,
    INDEX,
    NOISE,
    SEED,
    SHUFFLED,
    OrderAudit,
    _trust,
    alike_beyond_chance,
)
from manyview.present.table import Table
from manyview.s2mvtc import S2MVTC
from manyview.sequence_s2mvtc import SequenceS2MVTC


def as_published(n_low=4):
    model = SequenceS2MVTC.as_published("CCV")
    return model.set_params(n_low=n_low, n_anchors=60)


@pytest.fixture(scope="module")
def sorted_weak():
    """Weak features, rows sorted by class: only the order tells the classes."""
    data = make_views(400, (6, 6), 4, view_quality=0.15, random_state=0)
    return data[np.argsort(data.labels, kind="stable")]


def test_sorted_rows_make_an_order_dependent_result_untrustworthy(sorted_weak):
    found = audit_order(sorted_weak, 4, estimator=as_published())
    assert found.trustworthy is False
    assert found.dependence == "strong"
    assert "cannot be trusted: row index alone" in found.sentence
    assert found.sentence.startswith("SequenceS2MVTC(")
    assert "n_low=4" in found.sentence
    assert found.scores["row index alone"]["NMI"] > 0.9
    rows = {row[0].text: row for row in found.table.rows}
    assert len(rows) == 5
    assert rows["as given"][1].text == "1.000"


def test_without_labels_only_the_dependence_is_told(sorted_weak):
    found = audit_order(list(sorted_weak.arrays), 4, estimator=as_published())
    assert found.trustworthy is None
    assert found.dependence == "strong"
    assert found.table.columns == ["run", "ARI with the run as given"]


def test_an_order_free_method_is_trusted_on_sorted_rows(sorted_weak):
    found = audit_order(sorted_weak, 4, estimator=ConcatKMeans())
    assert found.dependence == "almost none"
    assert found.trustworthy is True
    assert "cannot have made the result. But row index alone" in found.sentence


def test_what_is_fitted_by_default_is_audited_by_default(sorted_weak):
    """A file sorted by class does not speak against a method that reads no order."""
    found = audit_order(sorted_weak[::4], 4)
    assert found.labels[GIVEN].tolist() == (
        S2MVTC(4, random_state=0).fit_predict(sorted_weak[::4]).tolist()
    )
    assert found.sentence.startswith("S2MVTC hardly depends on the row order of")
    assert found.trustworthy is True and found.dependence == "almost none"
    assert list(found.scores) == [GIVEN, SEED, SHUFFLED, NOISE, INDEX]


def test_a_real_sequence_is_trusted():
    rng = np.random.default_rng(0)
    # Classes come back again and again, so position says nothing about them.
    labels = np.repeat(rng.permutation(np.arange(60) % 3), 20)
    centres = rng.normal(size=(3, 5))
    views = [centres[labels] + 1.0 * rng.normal(size=(1200, 5)) for _ in range(2)]
    model = SequenceS2MVTC(min_duration=10, n_anchors=100)
    found = audit_order(views, 3, labels, estimator=model)
    assert found.trustworthy is True
    assert found.sentence.startswith(
        "SequenceS2MVTC(min_duration=10, n_anchors=100) depends s"
    )
    assert "The order helps but does not make the result" in found.sentence
    assert "if the order itself is real" in found.sentence


def test_durations_of_an_audited_method_are_in_units_of_the_order(sorted_weak):
    """Two rows a second: twenty seconds are forty rows."""
    rows = SequenceS2MVTC(min_duration=40, n_anchors=50)
    timed = SequenceS2MVTC(min_duration="20s", n_anchors=50)
    moments = np.datetime64("2024-01-01") + 500 * np.arange(400).astype("m8[ms]")
    plain = audit_order(sorted_weak, 4, estimator=rows)
    assert audit_order(sorted_weak, 4, estimator=timed, order=moments).scores == (
        plain.scores
    )
    back = audit_order(sorted_weak, 4, estimator=timed, order=moments.tolist())
    assert back.scores == plain.scores


def test_an_order_key_is_the_same_as_sorted_rows(sorted_weak):
    back = np.random.default_rng(1).permutation(400)
    mixed = sorted_weak[back]
    kept = audit_order(sorted_weak, 4, estimator=as_published())
    keyed = audit_order(mixed, 4, estimator=as_published(), order=back)
    assert keyed.scores == kept.scores
    np.testing.assert_array_equal(
        keyed.labels["as given"], kept.labels["as given"][back]
    )


def test_neighbours_alike_beyond_chance():
    assert alike_beyond_chance(np.repeat([0, 1], 500)) > 0.99
    rng = np.random.default_rng(0)
    assert abs(alike_beyond_chance(rng.integers(0, 4, 20_000))) < 0.02


def test_rows_without_a_class_are_not_scored(sorted_weak):
    classes = sorted_weak.labels.astype(float)
    classes[::5] = np.nan
    found = audit_order(sorted_weak, 4, labels=classes, estimator=as_published())
    given, there = found.labels["as given"], ~np.isnan(classes)
    assert found.scores["as given"]["NMI"] == nmi(classes[there], given[there])
    nothing = np.full(400, np.nan)
    found = audit_order(sorted_weak, 4, labels=nothing, estimator=as_published())
    assert "NMI" not in found.scores["as given"] and found.trustworthy is None


def test_wrong_labels_and_keys_are_refused(sorted_weak):
    with pytest.raises(InputError, match="labels must have one entry per row"):
        audit_order(sorted_weak, 4, labels=[0, 1])
    with pytest.raises(InputError, match="order must have one entry per row"):
        audit_order(sorted_weak, 4, order=[0, 1])
    with pytest.raises(InputTypeError, match="n_clusters must be a whole number"):
        audit_order(sorted_weak, "auto")
    with pytest.raises(InputTypeError, match="estimator must be a method of this"):
        audit_order(sorted_weak, 4, estimator=KMeans())
    with pytest.raises(InputError, match="One row has no order"):
        audit_order(sorted_weak[:1], 1)


@pytest.mark.parametrize(
    ("given", "index", "words", "trusted"),
    [
        (0.5, 0.1, "helps but does not make", True),
        (0.5, 0.45, "cannot be trusted", False),
    ],
)
@pytest.mark.parametrize("dependence", ["strong", "some", "almost none"])
def test_the_verdict_does_not_contradict_the_dependence(
    dependence, given, index, words, trusted
):
    scores = {GIVEN: {"NMI": given}, INDEX: {"NMI": index}, NOISE: {"NMI": 0.0}}
    found, reason = _trust(dependence, scores)
    if dependence == "almost none":
        assert found is True
        assert reason.startswith("The order of the rows cannot have made the result.")
        assert ("beware of methods that read the order" in reason) is (not trusted)
    else:
        assert found is trusted and words in reason
    without = {run: {} for run in scores}
    assert _trust(dependence, without)[0] is None


def test_it_is_drawn(sorted_weak, tmp_path):
    pytest.importorskip("matplotlib")
    found = audit_order(sorted_weak, 4, estimator=ConcatKMeans())
    paths = found.plot(tmp_path / "audit")
    assert [p.name for p in paths] == ["audit.png", "audit.svg"]
    assert "400 rows" in found.figure().get_suptitle()


# Enough scan lines of IndianPines; the others are shorter.
MOST_ROWS = 6000


def known_classes(load_npz, name):
    views, labels = load_npz(name)
    views, labels = [x[:MOST_ROWS] for x in views], labels[:MOST_ROWS]
    return views, len(np.unique(labels)), labels


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "trusted"),
    [("ProteinFold", False), ("Handwritten", False), ("IndianPines", True)],
)
def test_sorted_files_are_not_trusted_and_real_sequences_are(load_npz, name, trusted):
    views, n_clusters, labels = known_classes(load_npz, name)
    model = SequenceS2MVTC(min_duration=20, n_anchors=200)
    found = audit_order(views, n_clusters, labels, estimator=model)
    assert found.trustworthy is trusted


@pytest.mark.slow
@pytest.mark.data
def test_ccv_without_labels_tells_the_published_method_from_the_default(load_npz):
    views, n_clusters, _ = known_classes(load_npz, "CCV")
    views = [x[::6] for x in views]
    published = SequenceS2MVTC.as_published("CCV")
    assert audit_order(views, n_clusters, estimator=published).dependence == "strong"
    found = audit_order(views, n_clusters, estimator=S2MVTC())
    assert found.dependence == "almost none"
    assert found.trustworthy is None


def test_the_figure_writes_nothing_below_nought_over_the_names_of_the_runs():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    scores = {GIVEN: 1.0, SHUFFLED: -0.002, INDEX: -0.2}
    table = {run: {AGREEMENT: value} for run, value in scores.items()}
    figure = OrderAudit("", None, "some", Table("t", "", []), {}, table, "").figure()
    (axis,) = figure.axes
    assert [t.get_text() for t in axis.texts] == ["1.00", "0.00", "-0.20"]
    assert min(bar.get_width() for bar in axis.patches) == 0.0


def test_an_estimator_with_a_checkpoint_is_audited_as_any_other(tmp_path):
    data = make_views(120, (5, 4), 3, random_state=0)
    fitted = S2MVTC(3, random_state=0, checkpoint=tmp_path / "saved").fit(data)
    found = audit_order(data, 3, estimator=fitted)
    wanted = audit_order(data, 3, estimator=S2MVTC(3))
    assert found.scores == wanted.scores
