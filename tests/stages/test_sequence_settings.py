"""What the parameters of SequenceS2MVTC may be, and that none is silenced."""

import numpy as np
import pytest

from manyview import SequenceS2MVTC
from manyview.errors import InputError, InputTypeError
from manyview.stages.sequence_settings import (
    DEFAULTS,
    PUBLISHED,
    check_sequence_settings,
    published,
    setting,
)


@pytest.mark.parametrize("name", ["graph", "periodic"])
def test_a_flag_is_true_or_false(three_views, name):
    views, _ = three_views
    model = SequenceS2MVTC(3, **{name: np.array([True, False])})
    with pytest.raises(InputTypeError, match=f"{name} must be True or False"):
        model.fit(views)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_setting_is_a_possible_one(name):
    model = SequenceS2MVTC(**published(name))
    check_sequence_settings(model)
    assert (model.n_clusters, model.beta, model.lam, model.n_low) == PUBLISHED[name]
    assert model.periodic and model.smoothing_growth == 1.1


def test_another_data_set_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"'MNIST'; it has CCV, Caltech102"):
        published("MNIST")


def test_what_is_not_given_is_the_papers():
    model = SequenceS2MVTC(n_low=9)
    assert setting(model, "n_low") == 9
    for name in set(DEFAULTS) - {"n_low"}:
        assert setting(model, name) == DEFAULTS[name]


@pytest.mark.parametrize(
    ("graph", "given"),
    [
        (True, {"n_components": 8}),
        (True, {"start": "signs"}),
        (False, {"n_graph_anchors": 100}),
        (False, {"n_neighbors": 3}),
    ],
)
def test_a_parameter_without_a_say_is_refused_by_name(graph, given):
    (name,) = given
    with pytest.raises(InputError, match=f"^{name}=.* has no say with graph={graph}"):
        check_sequence_settings(SequenceS2MVTC(graph=graph, **given))
    check_sequence_settings(SequenceS2MVTC(graph=not graph, **given))


def test_two_cut_offs_are_refused():
    with pytest.raises(InputError, match=r"n_low=4 and min_duration=2\.0 both"):
        check_sequence_settings(SequenceS2MVTC(n_low=4, min_duration=2.0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "cosine"),
        ("row_norm", "z"),
        ("assign", "ward"),
        ("scaling", "minmax"),
        ("start", "random"),
        ("max_iter", 0),
        ("n_low", 0),
        ("n_neighbors", -1),
        ("beta", -0.1),
        ("rank_tol", float("nan")),
        ("lam", -1.0),
        ("min_duration", -2.0),
        ("dtype", "float16"),
    ],
)
def test_impossible_values_are_refused_by_name(name, value):
    with pytest.raises((InputError, InputTypeError), match=name):
        check_sequence_settings(SequenceS2MVTC(**{name: value}))
