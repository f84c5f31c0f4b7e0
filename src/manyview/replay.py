"""`ReplayClusterer`: methods whose fit is a list of passes.

New rows go through the same passes with the same small values, so `predict` and
`transform` are replays, row by row; on the training rows they give back what the
fit gave.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_torch_array
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manyview.arrays.ops import to_host
from manyview.base import FloatArray, IntArray, MultiViewClusterer, is_single_table
from manyview.engine.contract import (
    Engine,
    is_elsewhere,
    is_lazy,
    open_engine,
    views_elsewhere,
)
from manyview.engine.plan import Plan
from manyview.errors import InputError
from manyview.kmeans import passes as assign
from manyview.running.callbacks import CallbackSupportMixin
from manyview.stages.costs import Cost, plan_of
from manyview.stages.influence import ROWS as INFLUENCE_ROWS
from manyview.stages.influence import measure_influence
from manyview.stages.sampling import Draw
from manyview.stages.scaling import Scaling
from manyview.views.views import Views


class ReplayClusterer(
    CallbackSupportMixin,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    MultiViewClusterer,
):
    """A method whose fit is a list of passes: new rows go through the same ones.

    A subclass gives `_replay(engine)`, which leaves the embedding in the
    engine's state, and stores its centres in `_centres`.
    """

    chooses_n_clusters: ClassVar[bool] = True
    scaling: Any
    random_state: Any
    engine: Any
    device: str | None
    memory_limit: Any
    block_rows: int | None
    embedding_: FloatArray
    _centres: assign.Centres

    def predict(self, X: Any) -> IntArray:
        """Cluster of every row of new views, row by row."""
        views = self._again(X)
        self._warn_of_new_rows()
        found: IntArray = views.each(self._light()._labels_of, np.intp, None)
        return found

    def transform(self, X: Any) -> FloatArray:
        """Consensus embedding of every row of new views, row by row."""
        views = self._again(X)
        self._warn_of_new_rows()
        width = self._n_features_out
        values = views.each(self._light()._embedding_of, self._dtype, width)
        return self._named_rows(values, views)

    def _warn_of_new_rows(self) -> None:
        """Nothing to say of a method whose passes know no order."""

    def _labels_of(self, views: Views) -> IntArray:
        engine = self._embed(views)
        engine.run(assign.assign_step, self._centres, title="Labels", views=False)
        found: IntArray = engine.read(assign.LABELS)
        return found if is_torch_array(found) else found.astype(np.intp, copy=False)

    def _embedding_of(self, views: Views) -> FloatArray:
        found: FloatArray = self._embed(views).read(assign.FIELD)
        return found

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit, and give back `embedding_`."""
        as_given = is_elsewhere(X) or is_single_table(X)
        views = X if as_given else Views.of(X)
        found = self.fit(views, y, **fit_params).embedding_
        as_it_is = is_lazy(found) or is_torch_array(found)
        return self._named_rows(found if as_it_is else np.asarray(found), views)

    @property
    def certainty_(self) -> FloatArray:
        """How clearly every row of the fit belongs to its cluster, 0 to 1.

        (d₂ − d₁)/d₂ for the distances of its embedding to the nearest and the
        second centre.
        """
        self._check_fitted()
        return assign.certainty(to_host(self.embedding_), self._centres)

    def report(
        self, path: str | os.PathLike[str], views: Any, labels: Any = None, **more: Any
    ) -> Path:
        """Write one page about the fit, for any browser; see `manyview.report`."""
        from manyview.report import write_report

        return write_report(self, path, views, labels, **more)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _named_rows(self, values: FloatArray, views: Any) -> FloatArray:
        """With the names of the rows, where a pandas table is asked for."""
        names = getattr(views, "row_names", None)
        own = getattr(self, "_sklearn_output_config", {})
        wanted = own.get("transform", get_config()["transform_output"])
        if names is None or wanted != "pandas":
            return values
        import pandas

        named: FloatArray = pandas.DataFrame(values, index=names)
        return named

    def _settle_n_clusters(self, views: Views) -> None:
        """Choose the number of clusters where that is asked for."""
        if self.n_clusters == "auto":
            from manyview.selection import choose_n_clusters

            self.choice_ = choose_n_clusters(
                views,
                scaling=self.scaling,
                random_state=self.random_state,
                engine=self.engine,
            )
            self.n_clusters_ = self.choice_.settle()

    def _check_drawn(self, drawn: Draw) -> None:
        """Every view must have rows to learn it from."""
        for v, name in enumerate(self.view_names_):
            if drawn.view(v).shape[0] == 0:
                count = int(drawn.moments[v].n_rows)
                raise InputError(
                    f"View {name!r} is missing in all rows but {count}, too few to "
                    "learn anything from. Leave the view out."
                )

    def _weigh_views(
        self,
        engine: Engine,
        drawn: Draw,
        scalings: tuple[Scaling, ...],
        weights: FloatArray,
    ) -> None:
        """How much each view shaped the clusters, overall and of each cluster."""
        own = to_host(assign.pick(engine, assign.LABELS, drawn.rows[:INFLUENCE_ROWS]))
        found = measure_influence(drawn.block, scalings, own, weights, self.n_clusters_)
        self.view_influence_, self.cluster_influence_ = found

    def _embed(self, views: Views) -> Engine:
        engine = open_engine(views, self._dtype, device=self.device)
        self._replay(engine)
        return engine

    def plan(self, X: Any) -> Plan:
        """What a fit would keep, spill and read, how long and how large; print it."""
        views: Views = views_elsewhere(X) if is_elsewhere(X) else Views.of(X)
        return plan_of(self, views)

    def _cost(self, n_samples: int, n_features: tuple[int, ...], itemsize: int) -> Cost:
        raise NotImplementedError

    def _open(self, views: Views) -> Engine:
        """The engine that the parameters ask for."""
        return open_engine(
            views,
            self._dtype,
            engine=self.engine,
            device=self.device,
            memory_limit=self.memory_limit,
            block_rows=self.block_rows,
        )

    def _replay(self, engine: Engine) -> None:
        raise NotImplementedError
