"""What the order of the rows alone explains, and that it is said."""

import numpy as np
import pytest

from manyview import S2MVTC, SequenceS2MVTC
from manyview.errors import OrderWarning
from manyview.stages.order_report import order_report
from manyview.stages.sequence import make_sequence


def rows(n):
    return make_sequence(n, n_low=3, min_duration=None, periodic=False)


def test_labels_in_equal_pieces_are_the_order_itself():
    report = order_report(np.repeat([2, 0, 1], 20), rows(60), 3)
    assert report.index_nmi == pytest.approx(1.0)
    assert report.changes == 2
    # 59 pairs, and 40 of the 59 others of a row have another label.
    assert report.expected_changes == pytest.approx(40)


def test_two_rows_of_two_labels_change_in_any_order():
    for labels, expected in (([1, 0], 1.0), ([0], 0.0)):
        n = len(labels)
        stand = make_sequence(n, n_low=1, min_duration=None, periodic=False)
        assert order_report(np.array(labels), stand, n).expected_changes == expected


def test_labels_in_random_order_are_not():
    labels = np.random.default_rng(0).integers(0, 4, 4000)
    report = order_report(labels, rows(4000), 4)
    assert report.index_nmi < 0.01
    assert report.changes == pytest.approx(report.expected_changes, rel=0.05)


def test_changes_between_recordings_do_not_count():
    groups = np.repeat([0, 1], 30)
    sequence = make_sequence(
        60, groups=groups, n_low=3, min_duration=None, periodic=False
    )
    assert order_report(groups, sequence, 2).changes == 0


def test_sequence_smoothing_warns_and_keeps_the_evidence(three_views):
    views, _ = three_views
    with pytest.warns(OrderWarning, match="sorted by class"):
        model = SequenceS2MVTC(4, n_low=8, random_state=0).fit(views)
    assert 0.0 <= model.order_report_.index_nmi <= 1.0
    assert model.__sklearn_tags__().multiview.order_dependent


def test_the_default_neither_warns_nor_reports(three_views, recwarn):
    views, _ = three_views
    model = S2MVTC(4, random_state=0).fit(views)
    assert not [w for w in recwarn if issubclass(w.category, OrderWarning)]
    assert not hasattr(model, "order_report_")
    assert not model.__sklearn_tags__().multiview.order_dependent


@pytest.mark.parametrize("given", ["order", "groups"])
def test_an_order_that_nothing_uses_is_refused(three_views, given):
    views, _ = three_views
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{given}'"):
        S2MVTC(4).fit(views, **{given: np.arange(300)})


def test_without_smoothing_there_is_no_order_to_speak_of(three_views, recwarn):
    views, _ = three_views
    model = SequenceS2MVTC(4, smoothing_weight=0.0, random_state=0).fit(views)
    assert not [w for w in recwarn if issubclass(w.category, OrderWarning)]
    assert not hasattr(model, "order_report_")
