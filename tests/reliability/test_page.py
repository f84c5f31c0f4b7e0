"""The page on reliability: what it names exists, and it is what its command writes."""

import ast
from pathlib import Path

import pytest

from reliability import page, record
from reliability.promises import PROMISES
from reliability.record import Part

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: p.text[:40])
def test_every_test_that_is_named_exists(promise):
    assert promise.tests or promise.figure
    for name in promise.tests:
        file, _, function = name.partition("::")
        tree = ast.parse((TESTS / file).read_text("utf-8"))
        found = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert function in found


def test_the_page_is_what_the_command_writes(tmp_path):
    page.write(page=tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text("utf-8") == page.PAGE.read_text("utf-8")


def test_results_come_back_and_losses_are_shown(tmp_path):
    with record.timed(Part("kills")) as part:
        part.rows.append(
            {"command": "fit", "killed": "at random", "kills": 3, "losses": 1}
        )
    part.losses.append("fit: a round was lost")
    record.save(part, tmp_path)
    assert record.load("kills", tmp_path) == [part]
    page.write(tmp_path, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text("utf-8")
    assert "| fit | at random | 3 | 1 |" in text
    assert "3 kills, 1 losses" in text
    assert "* fit: a round was lost" in text
    assert "not measured yet" in text
    assert record.load("load", tmp_path) == []


def test_a_scaled_run_does_not_take_the_place_of_a_full_one(tmp_path):
    for full, count, date in ((True, 300, "2026-01-01"), (False, 30, "2026-01-02")):
        row = {"command": "fit", "kills": count, "losses": 0}
        about = {"machine": {"date": date}, "full": full}
        record.save(Part("kills", rows=[row], **about), tmp_path)
    assert [part.full for part in record.load("kills", tmp_path)] == [False, True]
    page.write(tmp_path, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text("utf-8")
    wanted = "300 kills, 0 losses (full counts)<br>30 kills, 0 losses (scaled counts)"
    assert wanted in text
    assert text.index("2026-01-02, scaled counts") < text.index("2026-01-01, full")
