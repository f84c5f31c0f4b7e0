import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets.layout import arrange, tidy_labels
from manyview.datasets.raw_data import Request
from manyview.errors import FileError

from .conftest import assert_parts


@pytest.mark.parametrize("cell", ["X", "data", "fea", "anything"])
@pytest.mark.parametrize("label", ["Y", "y", "gt", "truth", "truelabel", "labels"])
def test_a_cell_and_its_labels(parts, cell, label):
    a, b, y = parts
    assert_parts(arrange({cell: [a, b], label: y[:, None]}, Request()), parts)


def test_samples_on_columns_are_turned_by_the_labels(parts):
    a, b, y = parts
    raw = arrange({"data": [a.T, b.T], "truelabel": [y, y[None]]}, Request())
    assert_parts(raw, parts)


def test_samples_on_columns_are_turned_without_labels(parts):
    a, b, _ = parts
    raw = arrange({"X": [a.T, b.T]}, Request())
    assert [v.shape for v in raw.views] == [a.shape, b.shape]


def test_measured_numbers_that_are_no_view_are_said_to_be_left_out(parts):
    a, b, y = parts
    found = {"a": a, "b": b, "speed": a[:, 0].copy(), "id": np.arange(len(a)), "y": y}
    (note,) = arrange(found, Request()).notes
    assert "speed was left out" in note and "id" not in note
    assert arrange(found, Request(views=("a", "b"))).notes == ()
    assert arrange({**found, "y": a[:, 1]}, Request(labels="speed")).labels is not None
    assert arrange({"a": a, "y": a[:, 0]}, Request(labels="y")).notes == ()


def test_square_views_stay_as_they_are():
    square = np.arange(16.0).reshape(4, 4)
    raw = arrange({"X": [square, square + 1], "y": np.arange(4)}, Request())
    np.testing.assert_array_equal(raw.views[0], square)


def test_numbered_matrices_go_by_number(parts):
    a, b, y = parts
    views = {f"X{i}": (a if i == 2 else b) for i in (10, 2)}
    assert_parts(arrange({**views, "gt": y}, Request()), parts)


def test_sparse_views_become_rows_of_csr(parts):
    a, b, y = parts
    found = {"X": [sp.csc_array(a.T), sp.csc_array(b.T)], "y": y}
    raw = arrange(found, Request())
    assert all(v.format == "csr" for v in raw.views)
    np.testing.assert_array_equal(raw.views[1].toarray(), b)


def test_plain_matrices_with_common_rows_are_views(parts):
    a, b, y = parts
    raw = arrange({"image": a, "text": b, "label": y}, Request())
    assert raw.names == ["image", "text"]
    assert_parts(raw, parts)


def test_a_mask_named_present_is_kept(parts):
    a, b, _ = parts
    mask = np.ones((12, 2), bool)
    mask[3, 1] = False
    raw = arrange({"X1": a, "X2": b, "present": mask.astype(np.uint8)}, Request())
    np.testing.assert_array_equal(raw.present, mask)


def test_ambiguous_views_are_listed_with_the_way_out(parts):
    a, b, y = parts
    found = {"image": a, "centres": np.ones((4, 3)), "text": b, "y": y}
    with pytest.raises(FileError, match=r"centres \(4 × 3\).*views=.*--view"):
        arrange(found, Request())
    assert_parts(arrange(found, Request(views=("image", "text"))), parts)


def test_two_cells_are_ambiguous_unless_one_has_a_usual_name(parts):
    a, b, y = parts
    with pytest.raises(FileError, match="left, right could be"):
        arrange({"left": [a, b], "right": [b, a], "y": y}, Request())
    assert_parts(arrange({"left": [b, b], "X": [a, b], "y": y}, Request()), parts)


def test_labels_that_disagree_are_ambiguous(parts):
    a, b, y = parts
    found = {"X": [a, b], "gt": y, "truth": y[::-1]}
    with pytest.raises(FileError, match=r"gt, truth.*labels=.*--labels"):
        arrange(found, Request())
    assert_parts(arrange(found, Request(labels="gt")), parts)
    assert arrange(found, Request(labels=False)).labels is None


def test_labels_with_a_gap_are_one_candidate(parts):
    a, b, y = parts
    y = np.where(np.arange(12) == 3, np.nan, y)
    found = arrange({"X": [a, b], "labels": y}, Request())
    np.testing.assert_array_equal(found.labels, y)


def test_labels_of_another_length_are_an_error(parts):
    a, b, y = parts
    with pytest.raises(FileError, match=r"'y' have 11 entries.*12 rows"):
        arrange({"X": [a, b], "y": y[:-1]}, Request())


def test_names_that_are_not_there(parts):
    a, b, y = parts
    found = {"X": [a, b], "y": y}
    with pytest.raises(FileError, match=r"no variable 'Z'.*Found: X"):
        arrange(found, Request(views=("Z",)))
    with pytest.raises(FileError, match=r"no labels named 'Z'.*Found: X"):
        arrange(found, Request(labels="Z"))
    with pytest.raises(FileError, match="cannot be labels"):
        arrange(found, Request(labels="X"))
    with pytest.raises(FileError, match="cannot be a view"):
        arrange(found, Request(views=("y",)))


def test_views_without_a_common_side():
    with pytest.raises(FileError, match="neither on rows nor on columns"):
        arrange({"X": [np.ones((3, 4)), np.ones((5, 6))]}, Request())


def test_nothing_numeric_is_said_with_what_was_skipped():
    with pytest.raises(FileError, match=r"No view was found.*f \(function\)"):
        arrange({}, Request(), {"f": "function"})


def test_whole_labels_become_integers_and_others_stay():
    assert tidy_labels(np.array([1.0, 2.0])).dtype == np.int64
    assert tidy_labels(np.array([True, False])).dtype == np.int64
    assert tidy_labels(np.array([0.5, 2.0])).dtype == np.float64
    assert tidy_labels(np.array(["a", "b"])).dtype.kind == "U"
    assert np.isnan(tidy_labels(np.array([np.nan, 2.0]))[0])


def test_long_listings_are_cut():
    found = {
        f"m{chr(97 + i)}{chr(97 + j)}": np.ones((2 + i, 3 + j))
        for i in range(6)
        for j in range(6)
    }
    with pytest.raises(FileError, match="and 6 more"):
        arrange(found, Request())


def test_matrices_without_labels_must_share_a_side(parts):
    a, b, _ = parts
    assert len(arrange({"image": a, "text": b}, Request()).views) == 2
    turned = arrange({"image": a.T, "text": b.T}, Request())
    assert [v.shape for v in turned.views] == [a.shape, b.shape]
