"""Which commands there are, in the order ``manyview --help`` shows them."""

from __future__ import annotations

from typing import Annotated

import typer

from manyview.cli import (
    auditing,
    data,
    experiments,
    fitting,
    planning,
    reporting,
    scoring,
    start,
    using,
)

# A new command: a function in a file of its group, and its name here.
PANELS = {
    "Start": (start.demo,),
    "Cluster": (
        fitting.fit,
        using.predict,
        using.explain,
        using.choose_k,
        reporting.report,
        scoring.score,
        fitting.methods,
    ),
    "Data": (data.info, data.convert, data.datasets, planning.plan),
    "Experiments": (
        experiments.compare,
        experiments.ablation,
        experiments.sensitivity,
        experiments.process,
        experiments.scaling,
        experiments.reproduce,
        auditing.audit,
    ),
}

app = typer.Typer(
    name="manyview",
    help="Cluster things seen through many views: several feature sets per object "
    "in, one partition out.",
    epilog="Start with: manyview demo",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from manyview import __version__

        typer.echo(f"manyview {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


for _panel, _commands in PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
