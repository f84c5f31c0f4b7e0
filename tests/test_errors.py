"""Every error of ours is also the built-in one a caller would expect."""

import inspect
import pickle
import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from sklearn.exceptions import NotFittedError as SklearnNotFittedError

from manyview import errors

CLASSES = [
    errors.NotFittedError,  # made when it is asked for
    *(
        c
        for name, c in inspect.getmembers(errors, inspect.isclass)
        if c.__module__ == errors.__name__ and name != "NotFittedError"
    ),
]


@pytest.mark.parametrize("kind", CLASSES)
def test_everything_has_one_of_our_bases_and_a_sentence(kind):
    assert issubclass(kind, (errors.ManyviewError, errors.ManyviewWarning))
    assert kind.__doc__.endswith(".")
    assert type(pickle.loads(pickle.dumps(kind("seen")))) is kind
    assert kind.__new__(kind, "seen").args == ("seen",)  # as tblib makes them again


def test_there_are_no_other_errors():
    with pytest.raises(AttributeError, match="no attribute 'NoSuchError'"):
        _ = errors.NoSuchError


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.InputError, ValueError),
        (errors.InputTypeError, TypeError),
        (errors.RowError, IndexError),
        (errors.UnsupportedError, AttributeError),
        (errors.FileError, OSError),
        (errors.DependencyError, ImportError),
        (errors.DeviceError, RuntimeError),
        (errors.ResourceError, MemoryError),
        (errors.NotFittedError, SklearnNotFittedError),
        (errors.OrderWarning, UserWarning),
        (errors.DegenerateWarning, UserWarning),
    ],
)
def test_both_ways_to_catch_an_error_work(kind, builtin):
    assert issubclass(kind, builtin)
    assert str(kind("what was seen")) == "what was seen"


def test_the_nearest_name_is_asked_for():
    assert errors.did_you_mean("n_cluster", ["n_clusters"]) == (
        "Did you mean n_clusters? "
    )
    assert errors.did_you_mean("zebra", ["alpha", "beta"]) == ""


PROJECT = Path(__file__).parents[1] / "pyproject.toml"
EXTRAS = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]


def bare(requirement):
    return requirement.partition(">")[0]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"all"}))
def test_what_an_extra_brings_can_be_installed_from_anywhere(extra):
    pip, install, *named = shlex.split(errors.install_command(extra).lower())
    assert (pip, install) == ("pip", "install")
    # The versions of an installation that is older than the file may differ.
    assert [bare(n) for n in named] == [bare(w.lower()) for w in EXTRAS[extra]]


def test_a_source_tree_that_is_not_installed_names_the_extra(monkeypatch):
    def nowhere(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(errors, "requires", nowhere)
    assert errors.install_command("plot") == 'pip install ".[plot]"'
