import csv
from pathlib import Path

import numpy as np
import pytest

from manyview import S2MVTC, datasets
from manyview.cli import main
from manyview.cli.demo import candidates, run_all, show_rows, write_demo
from manyview.datasets import load_digits_views
from manyview.files.run_folder import Run, read_meta, writing
from manyview.metrics import clustering_scores
from manyview.present import plot

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def few():
    """200 digits; the demo's code does not know how many there are."""
    return load_digits_views(random_state=0)[:200]


@pytest.fixture(scope="module")
def rows(few):
    return list(run_all(few, 0))


def test_every_view_all_views_and_ours_are_compared(few, rows) -> None:
    names = [row.name for row in rows]
    assert names[: few.n_views] == [f"k-means, {name}" for name in few.names]
    assert names[few.n_views :] == ["k-means, all views", "S2MVTC, all views"]
    for row in rows:
        assert row.scores == clustering_scores(few.labels, row.model.labels_)


def test_only_defaults_are_used(few) -> None:
    *_, (_, model, data) = candidates(few, 5)
    assert data is few
    default = S2MVTC(10, random_state=5).get_params()
    assert model.get_params() == default


def test_no_estimator_sees_the_labels(few) -> None:
    hidden = few[np.arange(len(few))]
    hidden.labels = np.roll(few.labels, 1)
    *_, ours = run_all(few, 0)
    *_, other = run_all(hidden, 0)
    np.testing.assert_array_equal(ours.model.labels_, other.model.labels_)


def test_what_is_written(few, rows, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    folder, drawn = write_demo(tmp_path / "demo", few, rows, 0, force=False)
    assert drawn
    assert (folder / "embedding.png").read_bytes().startswith(b"\x89PNG")
    with (folder / "scores.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [line["method"] for line in table] == [row.name for row in rows]
    assert float(table[-1]["ACC"]) == pytest.approx(rows[-1].scores["ACC"], abs=1e-4)
    assert read_meta(folder)["scores"] == pytest.approx(rows[-1].scores)
    write_demo(folder, few, rows, 0, force=False)


def test_the_run_of_another_command_is_kept(few, rows, tmp_path: Path) -> None:
    run = Run(np.zeros(3, int), "OPMC", {}, {}, {})
    folder = tmp_path / "demo"
    with writing(folder, run):
        pass
    with pytest.raises(OSError, match="--force"):
        write_demo(folder, few, rows, 0, force=False)
    assert read_meta(folder)["method"] == "OPMC"


def test_the_command_without_matplotlib(
    few, rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(plot, "is_available", lambda: False)
    monkeypatch.setattr("manyview.cli.demo.run_all", lambda views, seed: iter(rows))
    monkeypatch.setattr(datasets, "load_digits_views", lambda **_: few)
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "No picture was drawn" in out and 'pip install "matplotlib' in out
    assert not (tmp_path / "demo-output" / "embedding.png").exists()
    assert (tmp_path / "demo-output" / "scores.csv").exists()


def test_the_table_fits_a_narrow_terminal(rows, capsys) -> None:
    show_rows([row._replace(seconds=123.4) for row in rows])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80


def colour_shares(picture) -> list[float]:
    """Share of the pixels next to each colour of the plots, largest first."""
    palette = [[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in plot.COLOURS]
    away = np.abs(picture[:, :, None, :3] - np.array(palette)).max(axis=3)
    close = [float((away[:, :, i] < 0.1).mean()) for i in range(len(palette))]
    return sorted(close, reverse=True)


@pytest.mark.slow
def test_the_command_from_start_to_end(tmp_path: Path, capsys) -> None:
    """Its picture is that of the docs by the share of every colour: t-SNE may lie
    another way on another machine."""
    images = pytest.importorskip("matplotlib.image", reason="no matplotlib")
    folder = tmp_path / "demo"
    assert main(["demo", "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "1797 handwritten digits in shuffled order" in out
    assert str(folder / "embedding.png") in out
    assert {p.name for p in folder.iterdir()} == {
        "embedding.npy", "embedding.png", "labels.csv", "labels.npy", "run.json",
        "scores.csv",
    }  # fmt: skip
    made = images.imread(folder / "embedding.png")
    kept = images.imread(DOCS / "_static" / "digits.png")
    assert made.shape == kept.shape
    assert colour_shares(made) == pytest.approx(colour_shares(kept), abs=0.01)
