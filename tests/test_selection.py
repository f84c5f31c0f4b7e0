"""How many clusters: criteria, verdicts, and the honest answer to noise."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral, Views, choose_n_clusters
from manyview.baselines import ConcatKMeans
from manyview.datasets import load, make_views
from manyview.engine.local import open_engine
from manyview.errors import (
    DegenerateWarning,
    InputError,
    InputTypeError,
    ManyviewError,
)
from manyview.selection import (
    Choice,
    decide,
    finest_peak,
    judge,
    neighbour_score,
)
from manyview.stages.cluster_criteria import spectral_gap


@pytest.mark.parametrize("k", [2, 3, 5, 8, 12, 16])
def test_clear_clusters_are_counted(k):
    found = choose_n_clusters(
        make_views(400, (10, 20, 15), k, random_state=k),
        range(2, 19),
        random_state=0,
    )
    assert found.n_clusters is not None
    assert abs(found.n_clusters - k) <= 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_noise_has_no_clusters(kind, seed):
    rng = np.random.default_rng(seed)
    views = [getattr(rng, kind)(size=(300, d)) for d in (4, 9)]
    found = choose_n_clusters(views, range(2, 13), random_state=0)
    assert found.n_clusters is None
    assert found.certainty in ("none", "no clear answer")
    assert found.sentence.startswith("No ")


def test_a_stretched_cloud_has_no_clusters():
    """Halves agree on where to cut a stick, which is no cluster all the same."""
    rng = np.random.default_rng(1)
    hidden = 10.0 * rng.uniform(size=(300, 1))
    views = [hidden @ rng.normal(size=(1, d)) for d in (6, 9)]
    views = [x + 0.5 * rng.normal(size=x.shape) for x in views]
    found = choose_n_clusters(views, range(2, 5), random_state=0)
    criteria = (found.gap, found.stability, found.silhouette)
    assert decide(found.candidates, *criteria).n_clusters is not None
    assert (found.n_clusters, found.certainty) == (None, "none")
    assert "No clusters" in found.sentence and str(found.best_guess) in found.sentence


def test_clusters_stand_out_from_clouds():
    views = make_views(300, (6, 8), 3, view_quality=0.75, random_state=1)
    found = choose_n_clusters(views, range(2, 7), random_state=0)
    assert found.n_clusters == 3 and found.beyond_chance > 5


def test_what_is_no_better_than_chance_is_no_answer():
    counts, high = np.arange(2, 5), np.array([0.1, 0.9, 0.2])
    clear = decide(counts, high, high, high)
    assert judge(clear, 3.0)._replace(beyond_chance=None) == clear
    none = judge(clear, 2.9)
    assert (none.n_clusters, none.best_guess, none.certainty) == (None, 3, "none")
    with pytest.warns(DegenerateWarning, match="No clusters"):
        assert none.settle() == 3


def test_rows_in_another_order_give_the_same_answer():
    views = make_views(200, (6, 8), 4, random_state=0)
    shuffled = views[np.random.default_rng(1).permutation(200)]
    first, second = (
        choose_n_clusters(v, range(2, 8), random_state=0) for v in (views, shuffled)
    )
    assert first.n_clusters == second.n_clusters == 4
    assert np.allclose(first.gap, second.gap, atol=1e-3)


@pytest.mark.usefixtures("few_candidates")
def test_auto_settles_the_number_and_says_what_it_found():
    views = make_views(200, (6, 8), 4, random_state=0)
    for kind in (S2MVTC, AnchorSpectral):
        model = kind("auto", random_state=0).fit(views)
        assert model.n_clusters == "auto" and model.n_clusters_ == 4
        assert isinstance(model.choice_, Choice)
        assert len(np.unique(model.labels_)) == 4
        assert np.array_equal(model.predict(views), model.labels_)


@pytest.mark.usefixtures("few_candidates")
def test_auto_asks_the_engine_of_the_fit(monkeypatch):
    views = make_views(200, (6, 8), 4, random_state=0)
    opened = []

    def second_engine(given, *args, **place):
        opened.append(len(given))
        return open_engine(given, *args, **place)

    for module in ("selection", "stages.embedded_sample"):
        monkeypatch.setattr(f"manyview.{module}.open_engine", second_engine)
    monkeypatch.setattr("manyview.stages.embedded_sample.SAMPLE_ROWS", 150)
    model = AnchorSpectral("auto", random_state=0, memory_limit="2GB").fit(views)
    assert model.n_clusters_ == 4
    assert max(opened) == 150  # of the sample alone


def test_paths_are_taken_as_by_fit(tmp_path):
    views = make_views(60, (3, 4), 3, random_state=0)
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for path, x in zip(paths, views.arrays, strict=True):
        np.save(path, x)
    found, expected = (
        choose_n_clusters(v, range(2, 5), random_state=0) for v in (paths, views)
    )
    assert found.best_guess == expected.best_guess
    assert found.score == pytest.approx(expected.score)


@pytest.mark.parametrize("place", [{"memory_limit": "none"}, {"device": "lpt1"}])
def test_the_place_of_the_rows_is_heard_of(place):
    views = make_views(40, (3, 3), 2, random_state=0)
    with pytest.raises(ManyviewError, match=next(iter(place))):
        choose_n_clusters(views, **place)


@pytest.mark.usefixtures("few_candidates")
def test_auto_on_noise_warns_and_goes_on():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(200, 5)), rng.normal(size=(200, 4))]
    with pytest.warns(DegenerateWarning, match="No cl"):
        model = AnchorSpectral("auto", random_state=0).fit(views)
    assert model.n_clusters_ == model.choice_.best_guess


def test_other_methods_and_words_do_not_take_auto():
    views = make_views(40, (3, 3), 2, random_state=0)
    with pytest.raises(InputTypeError, match="n_clusters must be a whole number"):
        ConcatKMeans("auto").fit(views)
    with pytest.raises(InputTypeError, match="n_clusters must be a whole number"):
        S2MVTC("many").fit(views)


@pytest.mark.parametrize("wrong", [[], [1, 2], [2, 300], [2.5]])
def test_bad_candidates_get_a_sentence(wrong):
    views = make_views(60, (3, 3), 2, random_state=0)
    with pytest.raises((InputError, InputTypeError), match=r"clusters"):
        choose_n_clusters(views, wrong)


def test_missing_views_and_sparse_views_can_be_counted():
    views = make_views(240, (6, 8, 5), 3, random_state=0)
    present = np.random.default_rng(0).random((240, 3)) > 0.2
    present[~present.any(axis=1), 0] = True
    holed = Views(list(views.arrays), present=present)
    assert choose_n_clusters(holed, range(2, 8), random_state=0).best_guess == 3


def test_the_gap_by_hand():
    values = np.array([1.0, 0.9, 0.8, 0.2])
    assert spectral_gap(values, 3) == pytest.approx(1 - 0.15 / 0.8)
    assert spectral_gap(values, 2) == pytest.approx(1 - 0.1 / 0.2)
    assert spectral_gap(np.array([1.0]), 2) == 0.0, "no second vector, nothing to see"


def test_of_groups_of_groups_the_finer_level_is_taken():
    assert finest_peak(np.array([3.0, 2.0, 2.2, 2.8, 2.0])) == 3
    assert finest_peak(np.array([3.0, 2.9, 2.95, 2.0])) == 0, "no dip before it"
    assert finest_peak(np.array([3.0, 1.0, 2.0, 1.0])) == 0, "not nearly as high"


def test_verdicts():
    counts = np.arange(2, 5)
    high, low = np.array([0.1, 0.9, 0.2]), np.array([0.1, 0.2, 0.1])
    clear = decide(counts, high, high, high)
    assert (clear.n_clusters, clear.certainty) == (3, "clear")
    assert decide(counts, low, high, high).n_clusters is None
    assert decide(counts, high, low, high).n_clusters is None
    other = high[::-1]
    assert decide(counts, 0.5 * high, np.ones(3), other).certainty == "likely"


def test_an_answer_at_the_edge_says_so():
    counts = np.arange(2, 5)
    rising = np.array([0.1, 0.5, 0.9])
    found = decide(counts, rising, rising, rising)
    assert found.n_clusters == 4 and "there may be more" in found.sentence


def test_the_smallest_and_the_only_number_tried_say_so():
    falling = np.array([0.9, 0.5, 0.1])
    found = decide(np.arange(5, 8), falling, falling, falling)
    assert found.edge == "smallest" and "there may be fewer" in found.sentence
    least = decide(np.arange(2, 5), falling, falling, falling)
    assert least.edge is None and least.certainty == "clear", "none is below two"
    alone = decide(np.array([8]), falling[:1], falling[:1], falling[:1])
    assert "only number tried" in alone.sentence


def test_the_edge_of_the_numbers_tried_is_never_clear():
    rising = np.array([0.1, 0.5, 0.9])
    found = decide(np.arange(2, 5), rising, rising, rising)
    assert found.certainty == "likely"
    with pytest.warns(DegenerateWarning, match="largest number tried"):
        assert found.settle() == 4


def test_a_tie_is_not_clear():
    """Criteria behind scores of 2.95 for two clusters and nearly as much for three."""
    gap = np.array([0.90, 0.88, 0.3, 0.2])
    stability = np.array([1.0, 1.0, 0.5, 0.4])
    silhouette = np.array([0.8, 0.81, 0.3, 0.0])
    found = decide(np.arange(2, 6), gap, stability, silhouette)
    assert (found.n_clusters, found.certainty, found.tied) == (2, "tie", [3])
    assert "2 or 3 clusters (tie)" in found.sentence
    with pytest.warns(DegenerateWarning, match="2 or 3 clusters"):
        assert found.settle() == 2


def test_groups_of_which_two_stand_close_tie():
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [7.0, 0.0], [10.0, 10.0]], 100, axis=0)
    views = [centres + rng.normal(size=centres.shape) for _ in range(2)]
    found = choose_n_clusters(views, range(2, 6), random_state=0)
    assert found.certainty == "tie" and {found.n_clusters, *found.tied} == {2, 3}


def test_table_and_figure(tmp_path):
    counts = np.arange(2, 5)
    high = np.array([0.1, 0.9, 0.2])
    found = decide(counts, high, high, high)
    table = found.table()
    assert [row[0].text for row in table.rows] == ["2", "3", "4"]
    assert [row[0].mark for row in table.rows] == [None, "best", None]
    pytest.importorskip("matplotlib")
    assert [p.suffix for p in found.plot(tmp_path / "k")] == [".png", ".svg"]
    assert all(p.stat().st_size > 1000 for p in tmp_path.iterdir())


def test_the_scorer_prefers_the_better_partition():
    views = make_views(150, (5, 6), 3, random_state=0)

    class Fixed:
        def __init__(self, labels):
            self.labels = labels

        def predict(self, X):
            return self.labels

    good = neighbour_score(Fixed(views.labels), views)
    mixed = np.random.default_rng(0).permutation(views.labels)
    assert good > 0.8 and abs(neighbour_score(Fixed(mixed), views)) < 0.1


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["Handwritten", "HW2sources", "SNAREseq"])
def test_real_classes_are_counted(name, data_dir):
    views = load(data_dir / f"{name}.npz")
    found = choose_n_clusters(views, random_state=0)
    assert found.n_clusters is not None
    assert abs(found.n_clusters - len(np.unique(views.labels))) <= 2
