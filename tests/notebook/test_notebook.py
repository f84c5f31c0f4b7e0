"""A notebook as users write it, run by a real kernel: what stands below its cells."""

import base64
import re

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("plotly", reason="plotly is not installed")

pytestmark = pytest.mark.slow

CELLS = {
    "data": """
        from manyview import S2MVTC, audit_order, choose_n_clusters, plot
        from manyview.datasets import make_views
        from manyview.explain import explain

        views = make_views(240, (6, 8), 3, random_state=0)
    """,
    "fit": """
        from manyview.running import progress

        progress.PATIENCE = progress.REFRESH = 0.0  # so short a fit would show nothing
        model = S2MVTC(3, n_graph_anchors=120, verbose=True, random_state=0)
        labels = model.fit_predict(views)
    """,
    "stopped": """
        from contextlib import suppress

        with suppress(KeyboardInterrupt), progress.shown(True, "Counting"):
            with progress.task("Sheep", 9) as advance:
                advance()
                raise KeyboardInterrupt
    """,
    "map": """
        flat = plot.flatten(model.embedding_, method="pca")
        plot.draw_embedding(flat, {"Clusters": labels}, title="240 rows")
    """,
    "choice": "choose_n_clusters(views, range(2, 6), random_state=0)",
    "criteria": "_.figure()",
    "explanation": "explain(model, views, leave_out=False)",
    "audit": "audit_order(views, 3, estimator=model)",
    "plan": "model.plan(views)",
    "table": "explain(model, views, leave_out=False).tables()[0]",
    "model": "model",
    "unfitted": "S2MVTC(3)",
    "plot": "model.plot(layout='pca')",
    "report": """
        model.report("report.html", views, layout="pca")
    """,
}


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Outputs below every cell, by its name."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook()
    for source in CELLS.values():
        text = re.sub(r"^ {8}", "", source, flags=re.M).strip()
        notebook.cells.append(nbformat.v4.new_code_cell(text))
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=place).execute()
    nbformat.write(notebook, folder / "executed.ipynb")
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def shown(outputs, kind):
    """The last output: the fits of an audit of a verbose model tell theirs before."""
    return outputs[-1]["data"][kind]


def test_nothing_is_said_unasked(cells):
    """No warning of any library, no line on standard error."""
    assert cells["data"] == []
    streams = [o for outputs in cells.values() for o in outputs if "text" in o]
    assert streams == []


def test_progress_ends_in_one_line(cells):
    assert "Drawing the maps: done in" in cells["report"][0]["data"]["text/plain"]
    assert len(cells["fit"]) == len(cells["stopped"]) == 1
    text = shown(cells["fit"], "text/html")
    assert re.fullmatch(r"<small>Fitting S2MVTC: done in \d+\.\d s</small>", text)
    assert "stopped after" in shown(cells["stopped"], "text/plain")


@pytest.mark.parametrize("name", ["map", "criteria", "plot"])
def test_figures_show_without_a_set_up(cells, name):
    picture = base64.b64decode(shown(cells[name], "image/png"))
    assert picture.startswith(b"\x89PNG") and len(picture) > 5_000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("choice", ["3 clusters", "<strong>3</strong>", "silhouette"]),
        ("explanation", ["How much each view shaped", "Features that set each"]),
        ("audit", ["the row order of", "rows shuffled"]),
        ("plan", ["240 rows", "kept in memory"]),
        ("table", ['left">view</th>', 'right">influence</th>']),
        (
            "model",
            [
                "S2MVTC: 240 rows, 2 views, 3 clusters",
                "median certainty",
                "<svg",
                "Influence of the views",
                "generated0",
                "n_graph_anchors=120",
            ],
        ),
    ],
)
def test_results_are_pages_not_tuples(cells, name, words):
    text = shown(cells[name], "text/html")
    assert [word for word in words if word not in text] == []
    assert "<script" not in text


def test_the_page_is_written(cells):
    assert "report.html" in shown(cells["report"], "text/plain")


def test_the_page_appears_below_the_cell(cells):
    text = shown(cells["report"], "text/html")
    assert text.startswith("<iframe srcdoc=") and "Clusters of" in text


def test_what_is_not_fitted_is_a_diagram_of_settings(cells):
    assert "S2MVTC" in shown(cells["unfitted"], "text/html")
    assert "<svg" not in shown(cells["unfitted"], "text/html").partition("</style>")[0]
