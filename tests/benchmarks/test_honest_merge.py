"""A method that ran apart joins the benchmark."""

import json
import sys

import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")


@pytest.fixture
def honest_merge(script):
    return script("honest_merge")


def content(method, acc, agreement):
    entry = {"data": "one", "method": method, "setting": {}, "error": None}
    row = {"group": "all", "method": method, "agreement": agreement}
    scores = {"scores": {"ACC": acc, "NMI": acc, "ARI": acc}}
    return {
        "groups": {"all": ["one"]},
        "shuffled": [entry | scores],
        "standing": [row],
        "better": [row],
    }


def test_ranks_are_made_anew_and_agreement_is_kept(honest_merge, tmp_path, monkeypatch):
    for name, parts in (("old", ("A", [0.4], 0.7)), ("new", ("B", [0.5, 0.7], 0.9))):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "honest.json"
        path.write_text(json.dumps(content(*parts)), encoding="utf-8")
    command = ["honest_merge.py", str(tmp_path / "old"), str(tmp_path / "new")]
    monkeypatch.setattr(sys, "argv", command)
    honest_merge.main()
    text = (tmp_path / "old" / "honest.json").read_text(encoding="utf-8")
    found = {r["method"]: r for r in json.loads(text)["standing"]}
    assert [found[m]["ranks"]["ACC"] for m in "AB"] == [2.0, 1.0]
    assert [found[m]["agreement"] for m in "AB"] == [0.7, 0.9]
    assert found["B"]["means"]["ACC"] == pytest.approx(0.6)
    page = (tmp_path / "old" / "honest.md").read_text(encoding="utf-8")
    assert "| B | **0.600** |" in page


def test_the_same_run_is_taken_from_the_newer(honest_merge):
    both = honest_merge.joined(content("A", [0.4], 0.7), content("A", [0.8], 0.2))
    assert [e["scores"]["ACC"] for e in both["shuffled"]] == [[0.8]]
    assert both["standing"][0]["agreement"] == 0.2
