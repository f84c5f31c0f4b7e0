"""One self-contained page about a fit: maps, clusters, views, scores, settings.

`write_report` is behind ``model.report(...)``, `write_run_report` behind
``manyview report RUN``. The page holds its data, its style and plotly's script;
it loads nothing and works without a network.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from manyview.base import MultiViewClusterer
from manyview.errors import required
from manyview.files.atomic import require_free, write_text
from manyview.growing import Hierarchy
from manyview.order_audit import MANY_ALIKE, OrderAudit, alike_beyond_chance
from manyview.present.page import fill_template
from manyview.report.maps import draw_maps
from manyview.report.page_data import chart_data
from manyview.report.page_tables import all_tables
from manyview.report.shown_page import ShownPage
from manyview.report.subject import Subject, of_model, of_run
from manyview.running.progress import shown
from manyview.views.views import Views

__all__ = ["write_report", "write_run_report"]


def write_report(
    model: MultiViewClusterer,
    path: str | os.PathLike[str],
    views: Any,
    labels: Any = None,
    *,
    audit: OrderAudit | None = None,
    tree: Hierarchy | None = None,
    timings: Mapping[str, float] | None = None,
    layout: str = "auto",
    overwrite: bool = False,
) -> Path:
    """Write one self-contained page about a fitted model; its path.

    Parameters
    ----------
    model : fitted estimator
        What the page is about.
    path : path
        The HTML file.
    views : Views, or list or dict of arrays (n_samples, n_features_v)
        The views it was fitted on.
    labels : array (n_samples,), optional
        Known classes to compare with; default those of the views.
    audit : OrderAudit, optional
        What `manyview.audit_order` found.
    tree : Hierarchy, optional
        What `manyview.hierarchy` made of the model and these views.
    timings : mapping of str to float, optional
        Seconds of the steps that led to the model.
    layout : {"auto", "tsne", "pca"}
        How rows are laid out in the plane; see `manyview.plot.flatten`.
    overwrite : bool
        Replace a file of that name.

    Examples
    --------
    >>> import tempfile
    >>> from manyview import S2MVTC
    >>> from manyview.datasets import make_views
    >>> views = make_views(60, (4, 4), 3, random_state=0)
    >>> model = S2MVTC(3, random_state=0).fit(views)
    >>> path = model.report(tempfile.mkdtemp() + "/report.html", views, layout="pca")
    >>> path.name
    'report.html'
    """
    target = require_free(path, overwrite=overwrite)
    script = plotly_script()
    subject = of_model(model, views, labels, audit=audit, tree=tree, timings=timings)
    with shown(bool(getattr(model, "verbose", False)), "Drawing the maps"):
        write_text(target, render(subject, script, layout=layout))
    return ShownPage(target)


def write_run_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    views: Views | None = None,
    *,
    audit: OrderAudit | None = None,
    tree: Hierarchy | None = None,
    layout: str = "auto",
    overwrite: bool = False,
) -> Path:
    """Write the page of a run that ``manyview fit`` left in a folder; its path.

    Without the views, the page does without maps of the views, features and
    known classes.
    """
    target = require_free(path, overwrite=overwrite)
    script = plotly_script()
    subject = of_run(folder, views, audit=audit, tree=tree)
    write_text(target, render(subject, script, layout=layout))
    return target


def render(subject: Subject, script: str, *, layout: str = "auto") -> str:
    """The page as text; `script` is plotly's."""
    start = time.perf_counter()
    maps = draw_maps(subject, layout)
    timings = {**subject.timings, "maps of this page": time.perf_counter() - start}
    data = chart_data(subject, maps)
    certainty = subject.certainty
    alike = alike_beyond_chance(subject.labels) if subject.n_samples > 1 else 0.0
    return fill_template(
        "report/report.html",
        title=f"Clusters of {subject.source}",
        subject=subject,
        maps=maps,
        data=data,
        tables=all_tables(subject, data, timings, alike),
        median_certainty=None if certainty is None else np.median(certainty),
        neighbours_alike=alike > MANY_ALIKE,
        plotly=Markup(script),
    )


def plotly_script() -> str:
    """plotly's JavaScript, as its Python package carries it."""
    with required("Reports need plotly", "report"):
        from plotly.offline import get_plotlyjs
    return str(get_plotlyjs()).replace("</script", "<\\/script")
