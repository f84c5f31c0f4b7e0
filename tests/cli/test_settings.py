import pytest

from manyview.cli.settings import (
    make_estimator,
    parse_clusters,
    parse_settings,
    parse_value,
)
from manyview.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("1e-3", 1e-3), ("none", None), ("True", True), ("false", False),
        ("graph+sequence", "graph+sequence"), ("[1, 2]", [1, 2]), ("'3'", "3"),
        ("__import__('os')", "__import__('os')"), ("(" * 500, "(" * 500), ("", ""),
    ],
)  # fmt: skip
def test_values_are_literals_or_text(text: str, value: object) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_pairs() -> None:
    assert parse_settings(["lam=0.5", "init = a=b"]) == {"lam": 0.5, "init": "a=b"}


@pytest.mark.parametrize("pair", ["lam", "=3", "1x=2", "a b=3"])
def test_what_is_no_pair(pair: str) -> None:
    with pytest.raises(InputError, match="name=value"):
        parse_settings([pair])


def test_clusters() -> None:
    assert parse_clusters("7") == 7
    assert parse_clusters("auto") == "auto"


def test_the_estimator_gets_everything() -> None:
    model = make_estimator("s2mvtc", "5", 9, {"lam": 2.0})
    assert (model.n_clusters, model.random_state, model.lam) == (5, 9, 2.0)
