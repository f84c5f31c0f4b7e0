from collections import Counter

import numpy as np
import pytest

from manyview.engine.contract import sizes
from manyview.experiments import sensitivity
from manyview.experiments.estimators import PUBLISHED, build
from manyview.present.plot import save
from manyview.running import progress


def cell(setting):
    """The estimator of a cell of a surface."""
    return build(PUBLISHED, {"n_anchors": 30} | setting, 3, 0, "small")


@pytest.mark.parametrize(
    "settings",
    [
        [{"lam": x, "beta": y} for x in (1e-3, 1.0) for y in (0.1, 10.0)],
        [{"n_anchors": m, "n_low": x} for m in (20, 30) for x in (2, 5)],
        [{"lam": x, "kernel": "linear"} for x in (1.0, 1e-9, 10.0, 1e-9)],
        [{"lam": x, "dtype": "float32"} for x in (1e-9, 1.0, 1e-9, 10.0)],
    ],
)
def test_a_cell_is_what_a_fit_of_its_own_gives(small, settings):
    views, shared = small.load(), {}
    for setting in settings:
        model = cell(setting)
        sensitivity.fit_shared(model, views, shared)
        alone = cell(setting).fit(views)
        np.testing.assert_array_equal(model.labels_, alone.labels_)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_cells_whose_grams_differ_in_precision_are_right_too(
    small, monkeypatch, kernel
):
    monkeypatch.setattr(sizes, "sampled_rows", 10)
    views, shared, quick = small.load(), {}, []
    for lam in (10.0, 1e-9, 1.0, 1e-9):
        setting = {"lam": lam, "kernel": kernel, "dtype": "float32"}
        model = cell(setting)
        sensitivity.fit_shared(model, views, shared)
        ((_, ready),) = shared.values()
        quick.append(ready.features.centres[0] is not None)
        alone = cell(setting).fit(views)
        np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert quick == [True, False, False, False]


def test_the_cells_of_one_number_of_anchors_share_their_set_up(small):
    views, shared, passes = small.load(), {}, []

    def hear(title, done, total):
        if done == 0:
            passes[-1].append(title)

    with progress.listen(hear):
        for m, lam in ((30, 1e-3), (30, 1.0), (20, 1.0)):
            passes.append([])
            setting = {"n_anchors": m, "lam": lam}
            sensitivity.fit_shared(cell(setting), views, shared)
    first, second, other = map(Counter, passes)
    assert sum(n for title, n in second.items() if title.startswith("Round")) == 7
    assert second < first
    assert other == first
    assert list(shared) == [(20, 0)]


def test_the_default_surfaces_are_the_papers(small):
    runs = sensitivity.runs([small])
    settings = [r.setting for r in runs]
    assert len(settings) == 7 * 7 + 6 * 6
    assert {s["lam"] for s in settings if "lam" in s} == {10.0**p for p in range(-4, 3)}
    assert {s["n_low"] for s in settings if "n_low" in s} == {10, 16, 22, 28, 34, 40}
    assert len({r.key for r in runs}) == len(runs)


@pytest.fixture
def surface(record):
    return [
        record("S2MVTC as published", 0, x * y, setting={"beta": y, "lam": x})
        for x in (0.1, 1.0)
        for y in (0.01, 0.1, 1.0)
        if (x, y) != (0.1, 0.01)
    ]


def test_tables_have_a_cell_per_setting(surface):
    acc, nmi = sensitivity.tables(surface)
    assert acc.columns == ["lam \\ beta", "0.01", "0.1", "1"]
    assert [[c.text for c in row] for row in acc.rows] == [
        ["0.1", "–", "0.010", "0.100"],
        ["1", "0.010", "0.100", "1.000"],
    ]
    assert nmi.name.endswith("NMI")


def test_figures_are_written_as_png_and_svg(surface, tmp_path):
    pytest.importorskip("matplotlib")
    ((name, figure),) = sensitivity.figures(surface).items()
    assert "CCV, rows as in the file, seed 0" in figure.get_suptitle()
    paths = save(figure, tmp_path / name)
    assert [p.suffix for p in paths] == [".png", ".svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
