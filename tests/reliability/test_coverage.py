"""The coverage part: files below the goal are listed, the total judged."""

from reliability.coverage import _add_rows
from reliability.record import Part


def about(lines, branches):
    return {
        "covered_lines": lines,
        "num_statements": 100,
        "covered_branches": branches,
        "num_branches": 50,
    }


def test_weak_files_and_a_weak_total_are_said():
    files = {
        "src/manyview/good.py": {"summary": about(99, 50)},
        "src/manyview/weak.py": {"summary": about(90, 50)},
    }
    part = Part("coverage")
    _add_rows(part, {"files": files, "totals": about(96, 40)})
    assert [row["file"] for row in part.rows] == ["manyview/weak.py", "all of src"]
    assert part.rows[-1]["lines"] == "96.0 %"
    assert part.losses == ["80.0 % of branches is below 95 %"]
