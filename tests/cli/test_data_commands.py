import json
from pathlib import Path

import numpy as np
import pytest

from manyview.datasets import known, load


def test_info_shows_views_and_classes(manyview, folder) -> None:
    code, out, err = manyview("info", "a.npy", "b.npy", "--labels", "y.txt")
    assert (code, err) == (0, "")
    assert "300 rows" in out and "a: 6 features" in out and "4 classes" in out


def test_info_as_json(manyview, folder) -> None:
    facts = json.loads(manyview("info", "a.npy", "c.npy", "--json").out)
    assert facts["rows"] == 300
    assert [v["features"] for v in facts["views"]] == [6, 4]


def test_convert_can_be_read_again(manyview, folder) -> None:
    code, out, _ = manyview("convert", "a.npy", "copy")
    assert code == 0 and "copy.manyview-data" in out
    np.testing.assert_array_equal(
        load("copy.manyview-data").arrays[0], np.load("a.npy")
    )
    again = manyview("convert", "a.npy", "copy")
    assert again.code == 2 and "--overwrite" in again.err
    assert manyview("convert", "a.npy", "copy", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["info", "none.mat"], "There is no file none.mat in"),
        (["convert", "a.npy", "nowhere/copy"], "There is no folder nowhere"),
        (["convert", "none.mat", "copy"], "There is no file none.mat in"),
    ],
)
def test_bad_input(args: list[str], message: str, manyview, folder: Path) -> None:
    code, out, err = manyview(*args)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_known_data_sets_are_listed(manyview, folder) -> None:
    code, out, err = manyview("datasets")
    assert code == 0
    assert all(entry.name in out for entry in known())
    assert err.startswith("MANYVIEW_DATA is not set. Set MANYVIEW_DATA to the folder")


def test_a_folder_that_is_not_there_is_said_to_be_missing(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANYVIEW_DATA", str(folder / "gone"))
    for args in (["datasets"], ["reproduce"], ["info", "CCV"]):
        assert f"MANYVIEW_DATA names {folder / 'gone'}, which is no folder." in (
            manyview(*args).err
        )
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    assert f"The folder {folder} has no known data set." in manyview("datasets").err


@pytest.mark.parametrize(
    "args", [["plan"], ["choose-k", "--to", "3"], ["explain", "run"]]
)
def test_commands_without_labels_know_data_sets_by_name(
    args, manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    group = np.arange(40) % 5
    views = [group[:, None] * 3.0 + rng.normal(size=(40, d)) for d in (120, 21)]
    np.savez(folder / "nutrimouse.npz", a=views[0], b=views[1], labels=group)
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    assert manyview("fit", "nutrimouse", "-k", "5", "-o", "run").code == 0
    code, out, err = manyview(*args, "nutrimouse")
    assert code == 0, err
    assert out


def test_a_found_data_set_that_is_another_one(
    manyview, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(folder / "CCV.npz", view0=np.ones((5, 2)), labels=np.arange(5))
    monkeypatch.setenv("MANYVIEW_DATA", str(folder))
    code, out, err = manyview("datasets", "--check")
    assert code == 0
    assert "problem" in out
    assert "is not CCV as it is known" in err


def test_plan_says_what_is_kept_and_how_often_rows_are_read(manyview, folder) -> None:
    code, out, err = manyview("plan", "a.npy", "b.npy", "--clusters", "4")
    assert (code, err) == (0, "")
    assert "300 rows" in out and "passes" in out and "B_bar" in out


def test_plan_refuses_a_limit_it_cannot_read(manyview, folder) -> None:
    code, _, err = manyview("plan", "a.npy", "--memory-limit", "much")
    assert code == 2 and "much" in err
