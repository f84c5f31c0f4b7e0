"""Every error of ours is also the built-in one a caller would expect."""

import inspect
import pickle

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


def test_there_are_no_other_errors():
    with pytest.raises(AttributeError, match="no attribute 'NoSuchError'"):
        _ = errors.NoSuchError


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.InputError, ValueError),
        (errors.InputTypeError, TypeError),
        (errors.RowError, IndexError),
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
