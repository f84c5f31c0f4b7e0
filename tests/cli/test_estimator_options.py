import numpy as np
import pytest

from manyview.baselines import ConcatKMeans
from manyview.cli.estimator_options import (
    choose_smoothing,
    make_estimator,
    parse_clusters,
    parse_settings,
    parse_value,
)
from manyview.errors import InputError

KMEANS = ("--method", "concat-kmeans", "-k", 4, "--out", "run")


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


@pytest.mark.parametrize(
    ("how", "name", "settings"),
    [
        (None, "s2mvtc", {}),
        ("graph", "S2MVTC", {}),
        ("sequence", "SequenceS2MVTC", {}),
        ("graph+sequence", "SequenceS2MVTC", {"graph": True}),
        ("none", "SequenceS2MVTC", {"smoothing_weight": 0.0}),
    ],
)
def test_smoothing_chooses_the_method(how, name, settings) -> None:
    assert choose_smoothing("s2mvtc", how) == (name, settings)
    model = make_estimator(name, "5", 0, settings)
    assert settings.items() <= model.get_params().items()


def test_unknown_smoothing() -> None:
    with pytest.raises(InputError, match="choose one of 'graph', 'sequence', 'graph"):
        choose_smoothing("S2MVTC", "sideways")


def test_settings_of_the_method_along_an_order() -> None:
    given = parse_settings(["graph=true", "n_low=16", "beta=2"])
    model = make_estimator("sequence-s2mvtc", "5", 9, given)
    assert (model.graph, model.n_low, model.beta) == (True, 16, 2)


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        (("--engine", "spark"), "choose local or dask"),
        (("--engine", "dask"), "go together"),
        (("--scheduler", "tcp://127.0.0.1:1"), "go together"),
        (("--engine", "dask", "--scheduler", "nowhere:1:2"), "No Dask scheduler"),
    ],
)
def test_options_that_do_not_fit(manyview, folder, options, seen) -> None:
    if "nowhere:1:2" in options:
        pytest.importorskip("distributed", reason="Dask is not installed")
    code, _, err = manyview("fit", "a.npy", *KMEANS, *options)
    assert code != 0
    assert seen in " ".join(err.split())
    assert not (folder / "run").exists()


def test_a_method_without_engines_says_so(manyview, folder) -> None:
    code, _, err = manyview(
        "fit", "a.npy", "--method", "bmvc", "-k", 4, "-o", "run", "--checkpoint", "c"
    )
    assert code != 0
    assert "no parameter 'checkpoint'" in " ".join(err.split())


def test_checkpoint_is_kept_and_used(manyview, folder) -> None:
    options = ("a.npy", "b.npy", *KMEANS, "--checkpoint", "saved", "--force")
    assert manyview("fit", *options).code == 0
    assert (folder / "saved" / "fit.json").is_file()
    assert manyview("fit", *options).code == 0
    views = [np.load("a.npy"), np.load("b.npy")]
    expected = ConcatKMeans(4, random_state=0).fit_predict(views)
    np.testing.assert_array_equal(np.load("run/labels.npy"), expected)
    code, _, err = manyview("fit", *options, "--seed", 1)
    assert code != 0
    assert "random_state=0, this fit has 1" in " ".join(err.split())
