"""Which commands there are, in the order ``manyview --help`` shows them."""

from typing import Annotated

import typer

from manyview import __version__
from manyview.cli.cluster_commands import choose_k, fit, methods, score
from manyview.cli.data_commands import convert, datasets, info, plan
from manyview.cli.demo import demo
from manyview.cli.experiment_commands import (
    ablation,
    audit,
    compare,
    process,
    reproduce,
    scaling,
    sensitivity,
)
from manyview.cli.growing_commands import drift, grow, refit, tree
from manyview.cli.model_commands import explain, outliers, predict, report

# A new command: a function in a file of its group, and its name here.
PANELS = {
    "Start": (demo,),
    "Cluster": (
        fit, predict, grow, refit, drift, explain, tree, outliers, choose_k, report,
        score, methods,
    ),
    "Data": (info, convert, datasets, plan),
    "Experiments": (compare, ablation, sensitivity, process, scaling, reproduce, audit),
}  # fmt: skip

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
