import json

import pytest


@pytest.mark.slow
@pytest.mark.usefixtures("tasks_here")
def test_the_quick_benchmark_writes_its_page_and_figures(run, tmp_path):
    run("honest", "--quick", "--out", tmp_path, "--jobs", "2")
    content = json.loads((tmp_path / "honest.json").read_text(encoding="utf-8"))
    shuffled = {(r["data"], r["method"]): r for r in content["shuffled"]}
    both = ("ConcatKMeans", "ConcatKMeans on our scaling")
    assert set(shuffled) == {("small", name) for name in (*both, "S2MVTC")}
    assert [shuffled["small", m]["preparation"] for m in both] == ["authors", "own"]
    assert {r["method"] for r in content["better"]} == {"ConcatKMeans", "S2MVTC"}
    assert all(r["n_seeds"] == 2 for r in shuffled.values())
    assert shuffled["small", "ConcatKMeans"]["scores"]["ACC"] == [1.0, 1.0]
    assert {r["group"] for r in content["standing"]} == {"tuning half", "all"}
    settings = [r["setting"] for r in content["ordered"]]
    assert {"graph": False, "min_duration": 10} in settings
    page = (tmp_path / "honest.md").read_text(encoding="utf-8")
    assert "small in its true order" in page
    assert "without one part at a time" in page


@pytest.mark.parametrize(
    ("preparation", "names"),
    [
        ("authors", ["BMVC", "KNNLeiden"]),
        ("own", ["BMVC on our scaling"]),
        ("both", ["BMVC", "KNNLeiden", "BMVC on our scaling"]),
    ],
)
def test_named_methods_get_the_preparation_that_is_asked_for(
    preparation, names, script
):
    plan = script("honest").full_plan(["ORL"], ["BMVC", "KNNLeiden"], 3, preparation)
    assert plan.methods == names
