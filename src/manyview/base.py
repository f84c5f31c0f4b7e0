"""`MultiViewClusterer`: what every method of the package promises.

A method stores its parameters in ``__init__``, asks `_begin` for checked
`Views` in ``fit``, does its mathematics with pure functions and hands its
labels to `_finish`. The single-array door goes through scikit-learn's own
validation, so that ``check_estimator`` sees what it expects; lists, dicts and
`Views` go through ours.
"""

from __future__ import annotations

import copy
import os
import sys
import warnings
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from sklearn.base import (
    BaseEstimator,
    ClusterMixin,
)
from sklearn.utils import Tags, TransformerTags
from sklearn.utils.validation import check_is_fitted, validate_data

from manyview.arrays.ops import to_host
from manyview.engine.contract import is_elsewhere, is_lazy, views_elsewhere
from manyview.errors import (
    DegenerateWarning,
    InputError,
    InputTypeError,
    ManyviewError,
    NotFittedError,
)
from manyview.files.model_file import write_model
from manyview.views.views import Views

FloatArray = np.ndarray[Any, Any]
IntArray = np.ndarray[Any, Any]

GIANT_SHARE = 0.99


@dataclass(slots=True)
class MultiviewTags:
    """What a multi-view method can do and depends on."""

    order_dependent: bool = False
    deterministic: bool = False
    missing_views: bool = False
    predicts: bool = False
    skipped_checks: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ManyviewTags(Tags):  # type: ignore[misc]
    """scikit-learn's tags and ours."""

    multiview: MultiviewTags = field(default_factory=MultiviewTags)


class MultiViewClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators: validation, tags, labels.

    Class attributes of a method: `citation` (paper), `order_dependent` (does
    the order of the rows matter), `deterministic` (the same labels whatever
    `random_state`), `missing_views` (may rows lack views),
    `chooses_n_clusters` (does it take ``n_clusters="auto"``), `parameter_grid`
    (the paper's grid, for oracle-tuned comparisons only), `skipped_checks` (names
    of checks in `manyview.checks` that cannot hold, each with the reason).
    """

    citation: ClassVar[str] = ""
    order_dependent: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    missing_views: ClassVar[bool] = False
    chooses_n_clusters: ClassVar[bool] = False
    parameter_grid: ClassVar[dict[str, list[Any]]] = {}
    skipped_checks: ClassVar[dict[str, str]] = {}

    n_clusters: Any
    n_clusters_: int
    labels_: IntArray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X`; `y` is ignored."""
        raise NotImplementedError

    def _begin(self, X: Any, y: Any = None) -> Views:
        """Checked views to fit on; sets the ``n_features_in_`` family."""
        views = self._to_views(X, reset=True)
        self._check_n_clusters(len(views))
        if not isinstance(self.n_clusters, str):
            self.n_clusters_ = int(self.n_clusters)
        if views.present is not None and not self.missing_views:
            raise InputError(
                f"{type(self).__name__} needs every view of every row, but the data "
                "has missing entries. Use S2MVTC, or drop the incomplete rows."
            )
        return views

    def _again(self, X: Any) -> Views:
        """Checked views for a fitted model: as many views and features as in fit."""
        self._check_fitted()
        views = self._to_views(X, reset=False)
        if views.n_features != self.n_features_per_view_:
            seen, known = list(views.n_features), list(self.n_features_per_view_)
            raise InputError(
                f"The model was fitted on views with {known} features; "
                f"got {seen}. Give the same views in the same order."
            )
        return views

    def _check_fitted(self) -> None:
        name = type(self).__name__
        message = f"This {name} instance is not fitted yet. Call 'fit' first."
        try:
            check_is_fitted(self, "labels_", msg=message)
        except Exception as error:
            raise NotFittedError(message) from error

    def _to_views(self, X: Any, *, reset: bool) -> Views:
        if is_single_table(X) and not is_elsewhere(X):
            table = self._validate_table(X, reset=reset)
            names = getattr(self, "feature_names_in_", None)
            X = Views(table, feature_names=None if names is None else [names])
        _refuse_split_list(X)
        views: Views = views_elsewhere(X) if is_elsewhere(X) else Views.of(X)
        if reset:
            self.n_views_ = views.n_views
            self.view_names_ = views.names
            self.n_features_per_view_ = views.n_features
            self.feature_names_per_view_ = views.feature_names
            self.n_features_in_ = sum(views.n_features)
        return views

    def _validate_table(self, X: Any, *, reset: bool) -> Any:
        """One 2-D table through scikit-learn's validation, with our error types."""
        try:
            return validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=_FLOATS
            )
        except ManyviewError:
            raise
        except TypeError as error:
            raise InputTypeError(str(error)) from error
        except ValueError as error:
            raise InputError(str(error)) from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to a file `manyview.load_model` reads; its path."""
        self._check_fitted()
        return write_model(self, path)

    def _check_n_clusters(self, n_samples: int) -> None:
        asks = isinstance(self.n_clusters, str) and self.n_clusters == "auto"
        if asks and self.chooses_n_clusters:
            return
        check_count(self.n_clusters, "n_clusters")
        if self.n_clusters > n_samples:
            raise InputError(
                f"n_clusters={self.n_clusters} is more than the {n_samples} rows "
                f"(n_samples={n_samples}). Ask for fewer clusters or give more rows."
            )

    def _finish(self, labels: Any) -> Self:
        """Store the labels; warn when one cluster has swallowed nearly all rows."""
        host = labels if is_lazy(labels) else to_host(labels)
        self.labels_ = labels if is_torch_array(labels) else host.astype(np.intp)
        largest = int(np.bincount(host).max())
        if self.n_clusters_ > 1 and largest > GIANT_SHARE * len(self.labels_):
            if len(self.labels_) > 1:
                warnings.warn(
                    f"{type(self).__name__} put {largest} of "
                    f"{len(self.labels_)} rows into one cluster. Look at the scaling "
                    "of the views, or try another method.",
                    DegenerateWarning,
                    stacklevel=3,
                )
        return self

    def _light(self) -> Self:
        """What new rows need of the fitted model: it may travel to many workers."""
        model = copy.copy(self)
        for name in ("labels_", "embedding_"):
            model.__dict__.pop(name, None)
        return model

    def __sklearn_clone__(self) -> Self:
        """A clone with the same client, which is a connection and has no copy."""
        engine = getattr(self, "engine", "local")
        if isinstance(engine, str):
            return super().__sklearn_clone__()  # type: ignore[no-any-return]
        plain = copy.copy(self)
        fresh: Self = super(MultiViewClusterer, plain).__sklearn_clone__()
        fresh.engine = engine
        return fresh

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look for the current client instead of holding one."""
        state: dict[str, Any] = dict(super().__getstate__())
        if not isinstance(state.get("engine", "local"), str):
            state["engine"] = "dask"
        return state

    def __sklearn_tags__(self) -> ManyviewTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = False
        if hasattr(self, "transform"):
            tags.transformer_tags = TransformerTags(["float64", "float32"])
        known = {f.name: getattr(tags, f.name) for f in fields(Tags)}
        return ManyviewTags(
            **known,
            multiview=MultiviewTags(
                order_dependent=self.order_dependent,
                deterministic=self.deterministic,
                missing_views=self.missing_views,
                predicts=hasattr(self, "predict"),
                skipped_checks=dict(self.skipped_checks),
            ),
        )


_FLOATS = [np.float64, np.float32]


def is_single_table(X: Any) -> bool:
    """One in-memory 2-D table, rather than a container of views."""
    if isinstance(X, (list, tuple)):
        return len(X) == 0 or (
            isinstance(X[0], (list, tuple))
            and (len(X[0]) == 0 or np.ndim(X[0][0]) == 0)
        )
    return isinstance(X, np.ndarray) or sp.issparse(X) or hasattr(X, "columns")


def _refuse_split_list(X: Any) -> None:
    """Stop a cross-validation that has taken the views of a list for its rows."""
    frame = sys._getframe(1) if isinstance(X, (list, tuple)) else None
    while frame is not None:
        if frame.f_code.co_name == "_fit_and_score":
            whole = frame.f_locals.get("X")
            if isinstance(whole, (list, tuple)) and not is_single_table(whole):
                raise InputError(
                    f"The cross-validation was given a plain list of {len(whole)} "
                    "views and splits it as if every view were a row. Wrap the list: "
                    "manyview.Views([...]) is split by rows."
                )
        frame = frame.f_back


def dense_views(views: Views, dtype: Any = None) -> list[FloatArray]:
    """Every view as one dense in-memory array, checked; for in-memory methods.

    Always in C order: sums over a row round differently in other layouts, and a
    method whose rounds stop unconverged turns that into other labels.
    """
    block = views.block(slice(0, len(views)), dtype)
    if not block.present.all():
        raise InputError(
            "This method needs every view of every row, but some rows of NaN mark "
            "missing views. Use S2MVTC, or drop the incomplete rows."
        )
    dense = (a.todense() if sp.issparse(a) else a for a in block.views)
    return [np.ascontiguousarray(a) for a in dense]


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


def check_count(value: Any, name: str, least: int = 1) -> None:
    """`value` must be a whole number of at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(
            f"{name} must be a whole number; got {value!r} "
            f"({type(value).__name__}). Give an integer of at least {least}."
        )
    if value < least:
        raise InputError(f"{name} must be at least {least}; got {value}.")


def check_number(value: Any, name: str, least: float = 0.0) -> None:
    """`value` must be a finite real number of at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise InputTypeError(
            f"{name} must be a number; got {value!r} ({type(value).__name__})."
        )
    if not np.isfinite(value) or value < least:
        raise InputError(f"{name} must be finite and at least {least:g}; got {value}.")


def check_dtype(value: Any, name: str = "dtype") -> None:
    """`value` must be None, float32 or float64."""
    try:
        known = value is None or np.dtype(value) in (np.float32, np.float64)
    except TypeError:
        known = False
    if not known:
        raise InputError(
            f"{name}={value!r} is no dtype to compute in. Give 'float32', 'float64', "
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


def check_rows(rows: Any, n_samples: int) -> IntArray:
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
