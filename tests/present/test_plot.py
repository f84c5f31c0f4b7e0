import builtins
from pathlib import Path

import numpy as np
import pytest

from manyview.errors import DependencyError, InputError
from manyview.present import plot
from manyview.running import progress


@pytest.fixture
def embedding() -> np.ndarray:
    rng = np.random.default_rng(0)
    groups = np.arange(90) % 3
    return rng.normal(size=(90, 5)) + 8.0 * np.eye(5)[groups]


def test_principal_components_are_the_leading_ones(embedding: np.ndarray) -> None:
    flat = plot.flatten(embedding, method="pca")
    away = embedding - embedding.mean(axis=0)
    spread = np.linalg.svd(away, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(flat.points, axis=0), spread[:2])
    assert flat.how == "principal components"


def test_one_component_lies_on_a_line() -> None:
    flat = plot.flatten(np.arange(4.0)[:, None], method="pca")
    assert flat.points.shape == (4, 2)
    np.testing.assert_array_equal(flat.points[:, 1], 0)


def test_many_rows_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot, "MOST_POINTS", 10)
    rows = np.random.default_rng(1).normal(size=(30, 3))
    flat = plot.flatten(rows, method="pca", random_state=3)
    assert len(flat.points) == len(set(flat.rows)) == 10
    again = plot.flatten(rows, method="pca", random_state=3)
    np.testing.assert_array_equal(flat.rows, again.rows)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    figure = plot.draw_embedding(flat, {"All": np.zeros(30)}, title="Thirty rows")
    assert "10 rows drawn from 30" in figure.get_supxlabel()


def test_few_rows_are_all_shown() -> None:
    np.testing.assert_array_equal(plot.choose_rows(5, most=5), np.arange(5))


def test_drawn_rows_do_not_repeat_and_come_from_everywhere() -> None:
    rows = plot.choose_rows(1000, most=100)
    assert len(rows) == 100 and (np.diff(rows) > 0).all()
    assert 400 < rows.mean() < 600
    np.testing.assert_array_equal(rows, plot.choose_rows(1000, most=100))


@pytest.mark.slow
def test_tsne_keeps_groups_together(embedding: np.ndarray) -> None:
    pytest.importorskip("openTSNE", reason="openTSNE is not installed")
    flat = plot.flatten(embedding, random_state=0)
    assert flat.how == "t-SNE"
    centres = np.stack([flat.points[i::3].mean(axis=0) for i in range(3)])
    away = np.linalg.norm(flat.points[:, None] - centres, axis=2)
    np.testing.assert_array_equal(away.argmin(axis=1), np.arange(90) % 3)


def test_maps_made_side_by_side_are_those_made_alone_and_tell_their_progress(
    embedding: np.ndarray,
) -> None:
    pytest.importorskip("openTSNE", reason="openTSNE is not installed")
    heard = []
    parts = [embedding, embedding[:, :3], embedding[:0]]
    with progress.listen(lambda *what: heard.append(what)):
        maps = plot.flatten_all(parts)
    total = 3 * plot.STEPS
    assert heard == [("Maps", done, total) for done in range(total + 1)]
    assert [m.how for m in maps] == ["t-SNE", "t-SNE", "principal components"]
    for part, flat in zip(parts, maps, strict=True):
        np.testing.assert_array_equal(plot.flatten(part).points, flat.points)


def test_unknown_layout(embedding: np.ndarray) -> None:
    with pytest.raises(InputError, match="choose one of 'auto', 'tsne', 'pca'"):
        plot.flatten(embedding, method="umap")


def test_a_figure_has_titles_names_and_every_row(
    embedding: np.ndarray, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    flat = plot.flatten(embedding, method="pca")
    names = np.array(["$cost", "b_1", "c"])[np.arange(90) % 3]
    groupings = {"Found": np.arange(90) % 3, "Known": names}
    figure = plot.draw_embedding(flat, groupings, title="Data, shuffled, seed 0")
    assert figure.get_suptitle() == "Data, shuffled, seed 0"
    assert [axis.get_title() for axis in figure.axes] == ["Found", "Known"]
    for axis in figure.axes:
        assert sum(len(c.get_offsets()) for c in axis.collections) == 90
    assert {t.get_text() for t in figure.axes[1].texts} == {"$cost", "b_1", "c"}
    png, svg = plot.save(figure, tmp_path / "new" / "v1.0")
    assert (png.name, svg.name) == ("v1.0.png", "v1.0.svg")
    assert png.read_bytes().startswith(b"\x89PNG") and b"<svg" in svg.read_bytes()


def test_panels_give_matching_groups_the_same_look() -> None:
    found = np.repeat([0, 1, 2], 10)
    known = np.array(["c", "a", "b", "d"])[np.where(np.arange(30) < 28, found, 3)]
    assert plot.match_groups(found, known) == [1, 2, 0, 3]  # a, b, c and d
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    flat = plot.Map(np.zeros((30, 2)), np.arange(30), "hand")
    figure = plot.draw_embedding(flat, {"Found": found, "Known": known}, title="")
    first, second = (
        [tuple(c.get_facecolor()[0]) for c in axis.collections] for axis in figure.axes
    )
    assert [second[i] for i in (2, 0, 1)] == first and second[3] not in first


def test_long_titles_are_wrapped() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    title = plot.new_figure(4.0, 3.0, "one two\n" + 20 * "many words ").get_suptitle()
    assert title.startswith("one two\nmany") and max(map(len, title.split("\n"))) <= 40


def test_groups_differ_in_colour_or_marker() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    axis = plot.new_figure(3, 3, "Eighty groups").subplots()
    plot.scatter_groups(axis, np.zeros((80, 2)), np.arange(80), size=5)
    looks = {
        (tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes())
        for c in axis.collections
    }
    assert len(looks) == 80


def test_missing_matplotlib_is_explained(
    embedding: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    flat = plot.flatten(embedding, method="pca")
    with pytest.raises(DependencyError, match='pip install "matplotlib'):
        plot.draw_embedding(flat, {"Found": np.zeros(90)}, title="")
