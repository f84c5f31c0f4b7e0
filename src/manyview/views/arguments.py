"""What users give besides views: parameters and seeds, checked and named."""

import os
from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from manyview import errors
from manyview.errors import InputError, InputTypeError, UnsupportedError, did_you_mean


class NamedParameters:
    """An estimator that says which parameter it does not know, and what it lacks."""

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Refuse unknown parameters before ``__init__`` does without a word on them."""
        if problem := _unknown(cls, params):
            raise InputTypeError(problem)
        try:
            signature(cls.__init__).bind(None, *args, **params)
        except TypeError as error:
            raise InputTypeError(
                f"{cls.__name__} takes n_clusters first and all else by name; got "
                f"{len(args)} values without names ({error}). Write for instance "
                f"{cls.__name__}(8, random_state=0)."
            ) from error
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; an unknown one is refused."""
        if problem := _unknown(
            type(self), (name.partition("__")[0] for name in params)
        ):
            raise InputError(problem)
        changed: Self = super().set_params(**params)  # type: ignore[misc]
        return changed

    if not TYPE_CHECKING:  # types are checked without it

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            if name in ("predict", "transform"):
                raise UnsupportedError(
                    f"{kind} cannot place new rows: it has no {name}. Use a method "
                    "that can; manyview.all_methods() tells by its tags."
                )
            if name == "partial_fit":
                raise UnsupportedError(
                    f"{kind} cannot take rows piece by piece: it has no partial_fit. "
                    "Use S2MVTC or AnchorSpectral, or fit all rows at once."
                )
            if name[-1] == "_" != name[0] and "labels_" not in self.__dict__:
                raise errors.NotFittedError(
                    f"This {kind} instance is not fitted yet, so it has no {name}. "
                    "Call 'fit' first."
                )
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def _unknown(cls: Any, names: Iterable[str]) -> str | None:
    """What to say of the first name that is no parameter of the estimator."""
    known: list[str] = cls._get_param_names()
    strange = next((name for name in names if name not in known), None)
    if strange is None:
        return None
    return (
        f"{cls.__name__} has no parameter {strange!r}. {did_you_mean(strange, known)}"
        f"Choose from its parameters: {', '.join(known)}."
    )


def check_no_view(y: Any) -> None:
    """The second argument of ``fit`` must not be a view that should be in the first."""
    shape = tuple(getattr(y, "shape", ()))
    if len(shape) == 2 and shape[1] > 1:
        raise InputError(
            f"The second argument of fit is y, which is ignored, but its shape {shape} "
            "is that of a view. Give all views in one list: fit([first, second])."
        )


def check_path(value: Any, name: str) -> Path:
    """`value` must be a path, ``~`` in it the user's home."""
    if not isinstance(value, (str, os.PathLike)):
        raise InputTypeError(
            f"{name} must be a path; got {type(value).__name__}. Give text, or a "
            "pathlib.Path."
        )
    return Path(value).expanduser()


def check_count(value: Any, name: str, least: int = 1, choice: str = "") -> None:
    """`value` must be a whole number of at least `least`; `choice` says what else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(
            f"{name} must be a whole number; got {value!r} ({type(value).__name__}). "
            f"Give an integer of at least {least}{choice}."
        )
    if value < least:
        raise InputError(f"{name} must be at least {least}; got {value}.")


def check_number(value: Any, name: str) -> None:
    """`value` must be a finite real number of at least 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise InputTypeError(
            f"{name} must be a number; got {value!r} ({type(value).__name__})."
        )
    if not np.isfinite(value) or value < 0:
        raise InputError(f"{name} must be finite and at least 0; got {value}.")


def check_dtype(value: Any) -> None:
    """`value` must be None, float32 or float64."""
    try:
        known = value is None or np.dtype(value) in (np.float32, np.float64)
    except TypeError:
        known = False
    if not known:
        raise InputError(
            f"dtype={value!r} is no dtype to compute in. Give 'float32', 'float64', "
            "or None to follow the data."
        )


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> None:
    """`value` must be one of the named choices."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        known = ", ".join(repr(c) for c in choices)
        raise InputError(f"{name}={value!r} is unknown; choose one of {known}.")


def check_flag(value: Any, name: str) -> None:
    """`value` must be True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(f"{name} must be True or False; got {value!r}.")


def check_anchors(n_anchors: Any, anchors: Any) -> None:
    """How many, or which: one of the two."""
    if n_anchors is not None:
        check_count(n_anchors, "n_anchors")
    if isinstance(anchors, str):
        check_choice(anchors, "anchors", ("kmeans", "random"))
        return
    if not isinstance(anchors, (list, tuple)):
        raise InputTypeError(
            "anchors must be 'kmeans', 'random' or a list of one array per view; got "
            f"{type(anchors).__name__}."
        )
    if n_anchors is not None:
        raise InputError(
            f"n_anchors={n_anchors} has no say where the anchors themselves are given. "
            "Leave n_anchors out, or give anchors='kmeans'."
        )


def check_rows(rows: Any, n_samples: int) -> np.ndarray[Any, Any]:
    """Sorted row numbers, each of which must exist."""
    ids = np.unique(np.asarray(rows))
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.size == 0:
        raise InputTypeError(
            f"Row numbers must be a non-empty list of integers; got {rows!r}."
        )
    if ids[0] < 0 or ids[-1] >= n_samples:
        raise InputError(
            f"Row numbers must lie in 0 … {n_samples - 1}; got {ids[0]} … {ids[-1]}."
        )
    return ids


def generator(random_state: Any) -> np.random.Generator:
    """NumPy generator from None, an int, a RandomState or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"random_state={random_state!r} cannot seed a generator. Give None, a "
            "non-negative integer or a NumPy generator."
        ) from error


def child_seed(rng: np.random.Generator) -> int:
    """A 31-bit seed for scikit-learn's estimators."""
    return int(rng.integers(2**31 - 1))
