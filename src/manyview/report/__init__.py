"""One self-contained page about a fit: maps, clusters, views, scores, settings.

`write_report` is behind ``model.report(...)``, `write_run_report` behind
``manyview report RUN``. The page holds its data, its style and plotly's script;
it loads nothing and works without a network.
"""

from manyview.report.writing import write_report, write_run_report

__all__ = ["write_report", "write_run_report"]
