"""The pictures of the benchmark: their arithmetic, and that one command draws them."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")


@pytest.fixture
def pictures(script):
    return script("honest_pictures")


def entry(method, data, acc, **fields):
    values = {n: list(acc) for n in ("ACC", "NMI", "ARI")}
    what = {"method": method, "data": data, "setting": {}, "error": None}
    return what | {"scores": values} | fields


@pytest.fixture
def folder(tmp_path):
    entries = [
        entry("S2MVTC", "one", [0.6, 0.8]),
        entry("AnchorSpectral", "one", [0.5, 0.6]),
        entry("A", "one", [0.3, 0.3]),
        entry("A on our scaling", "one", [0.4, 0.5]),
        entry("B", "one", [0.2, 0.2]),
        entry("S2MVTC", "two", [0.5, 0.5]),
        entry("AnchorSpectral", "two", [0.6, 0.6]),
        entry("A", "two", [0.1, 0.1]),
        entry("A on our scaling", "two", [0.2, 0.2]),
        entry("B", "two", [], error="MemoryError"),
        entry("S2MVTC", "two", [0.9], setting={"lam": 1.0}),
    ]
    content = {"shuffled": entries}
    (tmp_path / "honest.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def test_the_critical_difference_is_that_of_the_published_tables(pictures):
    # J. Demšar, JMLR 7 (2006): four methods on fourteen data sets, q = 2.569.
    wanted = 2.569 * np.sqrt(4 * 5 / (6 * 14))
    assert pictures.critical_difference(4, 14) == pytest.approx(wanted, abs=1e-3)


def test_groups_that_may_be_level(pictures):
    ranks = [1.0, 1.5, 2.2, 4.0, 4.1]
    assert pictures.level_groups(ranks, 0.8) == [(0, 1), (1, 2), (3, 4)]
    assert pictures.level_groups(ranks, 9.0) == [(0, 4)]
    assert pictures.level_groups(ranks, 0.0) == []


def test_the_better_preparation_is_read_and_settings_are_left_out(pictures, folder):
    found = pictures.read(folder)
    names = {s.method for s in found}
    assert names == {"S2MVTC", "AnchorSpectral", "A on our scaling", "B"}
    assert len(found) == 8


def test_differences_are_paired_by_seed(pictures, folder):
    found = pictures.by(pictures.read(folder), lambda s: s.method)
    both = pictures.paired(found["S2MVTC"], found["AnchorSpectral"], "ACC")
    assert both["one"].mean == pytest.approx(0.15)
    # Student's t of one degree of freedom: 12.706 standard errors of 0.05.
    assert both["one"].half == pytest.approx(12.706 * 0.05, abs=1e-3)
    assert both["two"] == (pytest.approx(-0.1), pytest.approx(0.0))
    assert set(pictures.paired(found["S2MVTC"], found["B"], "ACC")) == {"one"}


def test_a_single_seed_has_no_interval(pictures):
    assert pictures.with_interval([0.2]) == (0.2, None)


def test_the_best_rival_is_neither_ours_nor_its_start(pictures, folder):
    assert pictures.best_rival(pictures.read(folder), "ACC") == "A on our scaling"


def test_one_command_draws_all(pictures, folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["honest_pictures.py", str(folder)])
    pictures.main()
    names = [f"honest-{n}-ACC.png" for n in ("ranks", "scores", "differences")]
    assert capsys.readouterr().out.split() == [str(folder / n) for n in names]
    assert all((folder / n).read_bytes().startswith(b"\x89PNG") for n in names)


def test_every_method_and_set_is_named(pictures, folder):
    summaries = pictures.read(folder)
    ranks = pictures.draw_ranks(summaries, "ACC")
    texts = " ".join(t.get_text() for t in ranks.axes[0].texts)
    assert all(s.method in texts for s in summaries)
    scores = pictures.draw_scores(summaries, "ACC")
    assert [t.get_text() for t in scores.axes[0].get_yticklabels()] == ["one", "two"]
    marks = {line.get_label(): line.get_xdata() for line in scores.axes[0].lines}
    np.testing.assert_allclose(marks["S2MVTC"], [0.7, 0.5])
    assert len(marks["B"]) == 1
