"""What a fit or a prediction is given: checked, and remembered where it is a fit.

One array goes through scikit-learn's own validation, so that ``check_estimator`` sees
what it expects; lists, dicts and `Views` go through ours.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from manyview.datasets.given import views_of
from manyview.errors import InputError, InputTypeError, ManyviewError, NotFittedError
from manyview.views.arguments import NamedParameters, check_count, check_no_view
from manyview.views.filling import fill_like_fit
from manyview.views.matching import match_names, require_widths
from manyview.views.parsing import check_table, is_single_table, lies_elsewhere
from manyview.views.views import Views


class TakesViews(NamedParameters):
    """The door of every estimator."""

    missing_views: ClassVar[bool]
    chooses_n_clusters: ClassVar[bool]
    n_clusters: Any
    n_clusters_: int
    labels_: Any
    n_views_: int

    def _views_to_fit(self, X: Any, y: Any = None) -> Views:
        """Checked views to fit on; sets the ``n_features_in_`` family."""
        check_no_view(y)
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

    def _views_to_predict(self, X: Any) -> Views:
        """Checked views for a fitted model: as many views and features as in fit."""
        self._check_fitted()
        columns = getattr(self, "feature_names_per_view_", None)
        given = self._to_views(X, reset=False)
        views: Views = match_names(given, self.view_names_, columns)
        require_widths(views, self.n_features_per_view_, plain=isinstance(X, list))
        filled: Views = fill_like_fit(self, views)
        return filled

    def _views_of_fit(self, X: Any) -> Views:
        """Checked views that the model was fitted on: as many rows as it has."""
        views = self._views_to_predict(X)
        if len(views) != len(self.labels_):
            raise InputError(
                f"The model was fitted on {len(self.labels_)} rows; {len(views)} were "
                "given. Give the views it was fitted on."
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
        if hasattr(self, "preparation_") and not (reset or isinstance(X, Views)):
            X = self.preparation_.transform(X)
        one = reset or self.n_views_ == 1
        if one and is_single_table(X) and not lies_elsewhere(X):
            table = self._validate_table(X, reset=reset)
            names = getattr(self, "feature_names_in_", None)
            X = Views(table, feature_names=None if names is None else [names])
        views = views_of(X) if lies_elsewhere(X) else Views.of(X)
        if reset:
            for name in ("preparation", "fill_values"):  # of these views, if any
                vars(self).pop(f"{name}_", None)
                if getattr(views, name, None) is not None:
                    setattr(self, f"{name}_", getattr(views, name))
            self.n_views_ = views.n_views
            self.view_names_ = views.names
            self.n_features_per_view_ = views.n_features
            self.feature_names_per_view_ = views.feature_names
            self.n_features_in_ = sum(views.n_features)
        return views

    def _validate_table(self, X: Any, *, reset: bool) -> Any:
        """One 2-D table through scikit-learn's validation, with our error types."""
        table = check_table(X)
        try:
            floats = [np.float64, np.float32]
            return validate_data(
                self, table, reset=reset, accept_sparse="csr", dtype=floats
            )
        except ManyviewError:
            raise
        except TypeError as error:
            raise InputTypeError(str(error)) from error
        except ValueError as error:
            if "NaN" in str(error) or "infinity" in str(error):
                Views(table).block(slice(0, len(table)))  # says where
            raise InputError(str(error)) from error

    def _check_n_clusters(self, n_samples: int) -> None:
        asks = isinstance(self.n_clusters, str) and self.n_clusters == "auto"
        if asks and self.chooses_n_clusters:
            return
        choice = ", or 'auto' for a number to be chosen" * self.chooses_n_clusters
        check_count(self.n_clusters, "n_clusters", choice=choice)
        if self.n_clusters > n_samples:
            raise InputError(
                f"n_clusters={self.n_clusters} is more than the {n_samples} rows "
                f"(n_samples={n_samples}). Ask for fewer clusters or give more rows."
            )
