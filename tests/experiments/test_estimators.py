"""Names of runs and the estimators they stand for."""

import pytest

from manyview.errors import InputError
from manyview.experiments.estimators import (
    BY_AUTHORS,
    PUBLISHED,
    build,
    full_name,
    names_by_authors,
)


def test_the_authors_way_is_their_protocol():
    for name in names_by_authors():
        assert build(name, {}, 3, 0, "small").protocol == "authors"
        own = build(name.removesuffix(BY_AUTHORS), {}, 3, 0, "small")
        assert own.protocol == "manyview"


def test_seeds_move_the_rounding_of_a_method_without_chance():
    assert build("SFMC", {}, 3, 5, "small").perturbation == 1e-15
    assert build("SFMC", {"perturbation": 0.0}, 3, 5, "small").perturbation == 0.0


def test_as_published_starts_as_published():
    assert build(PUBLISHED, {}, 3, 0, "small").assign == "published"


def test_a_part_of_a_set_of_the_paper_takes_its_setting():
    for data, lam, n_low in (("AwA-5view", 0.03, 9), ("CCV", 1e-5, 18)):
        model = build(PUBLISHED, {}, 3, 0, data)
        assert (model.lam, model.n_low) == (lam, n_low)
    assert build(PUBLISHED, {}, 3, 0, "Wikipedia").lam == 1e-5


def test_names_are_understood_in_any_spelling():
    assert full_name(PUBLISHED) == PUBLISHED
    assert full_name("fpmvs-cag") == "FPMVSCAG"
    assert full_name("fsmsc" + BY_AUTHORS) == "FSMSC" + BY_AUTHORS
    with pytest.raises(InputError, match=r"FastMICE runs in one way only.*Leave out"):
        full_name("FastMICE" + BY_AUTHORS)
    with pytest.raises(InputError, match="no method named"):
        full_name("FSMS as its author runs it")
