import numpy as np
import pytest

from manyview.experiments import sensitivity
from manyview.experiments.estimators import PUBLISHED, build
from manyview.present.figures import save
from manyview.stages import ridge


@pytest.mark.parametrize(
    "settings",
    [
        [{"lam": x, "beta": y} for x in (1e-3, 1.0) for y in (0.1, 10.0)],
        [{"n_anchors": m, "n_low": x} for m in (20, 30) for x in (2, 5)],
    ],
)
def test_a_cell_is_what_a_fit_of_its_own_gives(small, settings):
    views, shared = small.load(), {}
    for setting in settings:
        model = build(PUBLISHED, {"n_anchors": 30} | setting, 3, 0, "small")
        labels = sensitivity.fit_shared(model, views, shared)
        alone = build(PUBLISHED, {"n_anchors": 30} | setting, 3, 0, "small").fit(views)
        np.testing.assert_array_equal(labels, alone.labels_)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_cells_whose_grams_differ_in_precision_are_right_too(
    small, monkeypatch, kernel
):
    monkeypatch.setattr("manyview.stages.kernels.SAMPLED_ROWS", 10)
    views, shared = small.load(), {}
    for lam in (1e-9, 1.0, 1e-9, 10.0):
        setting = {"n_anchors": 30, "lam": lam, "kernel": kernel, "dtype": "float32"}
        model = build(PUBLISHED, setting, 3, 0, "small")
        labels = sensitivity.fit_shared(model, views, shared)
        quick = shared["setup"][1].first.features.centres[0] is not None
        assert quick == (lam >= 1.0)
        alone = build(PUBLISHED, setting, 3, 0, "small").fit(views)
        np.testing.assert_array_equal(labels, alone.labels_)


def test_set_up_passes_are_shared_by_the_cells_of_a_surface(small, monkeypatch):
    from manyview.engine.local import LocalEngine

    passes, run = [], LocalEngine.run

    def counted(self, step, *args, **options):
        passes.append(step.__name__)
        return run(self, step, *args, **options)

    monkeypatch.setattr(LocalEngine, "run", counted)
    views, shared = small.load(), {}
    for lam in (1e-3, 1.0, 10.0):
        model = build(PUBLISHED, {"n_anchors": 30, "lam": lam}, 3, 0, "small")
        sensitivity.fit_shared(model, views, shared)
    for name in sensitivity.SET_UP:
        assert passes.count(name) == 1, name
    assert passes.count("round_step") == 3 * 7


def test_factors_are_shared_by_the_cells_of_one_lam(small, monkeypatch):
    factored, factor = [], ridge.factor_gram

    def counted(gram, mean, lam, rank_tol, **how):
        factored.append(lam)
        return factor(gram, mean, lam, rank_tol, **how)

    monkeypatch.setattr(ridge, "factor_gram", counted)
    views, shared = small.load(), {}
    for lam, beta in ((1e-3, 0.1), (1e-3, 10.0), (1.0, 0.1), (1.0, 10.0)):
        setting = {"n_anchors": 30, "lam": lam, "beta": beta}
        model = build(PUBLISHED, setting, 3, 0, "small")
        sensitivity.fit_shared(model, views, shared)
    assert factored == [1e-3] * views.n_views + [1.0] * views.n_views


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
