import numpy as np
import pytest

from manyview.experiments import learning_process
from manyview.experiments.execute import execute
from manyview.experiments.results_file import Results


@pytest.mark.usefixtures("tasks_here")
def test_a_traced_run_is_drawn_view_by_view_and_round_by_round(small, tmp_path):
    pytest.importorskip("matplotlib")
    results = Results(tmp_path)
    runs = learning_process.runs([small], order="shuffled", n_rows=30)
    records = execute(runs, results)
    assert records[0]["status"] == "ok", records[0]
    with np.load(tmp_path / "arrays" / f"{runs[0].key}.npz") as trace:
        assert trace["rows"].shape == (30,)
        assert trace["round7_B_bar"].shape[0] == 30
        # Rows are numbers of the file, whatever the shuffle.
        labels = small.load().labels[trace["rows"]]
        assert len(set(zip(labels, trace["found"], strict=True))) < 30
    figures = learning_process.figures(records, results, [small])
    figure = figures["process-small-shuffled"]
    titles = [a.get_title() for a in figure.axes if a.get_title()]
    assert titles == [
        "view 1\nbefore smoothing", "view 1\nafter smoothing",
        "view 2\nbefore smoothing", "view 2\nafter smoothing", "consensus",
    ]  # fmt: skip
    assert len(figure.axes) == 4 * 5


def test_failed_runs_are_left_out(record, tmp_path, small):
    failed = record(status="failed", error="x")
    assert learning_process.figures([failed], Results(tmp_path), [small]) == {}
