"""The options of the commands, those of several commands above all."""

from typing import Annotated

from typer import Argument, Option

Files = Annotated[
    list[str],
    Argument(
        metavar="FILE...",
        help="A data file, a folder, one file per view, or a known data set's name.",
    ),
]
ModelFile = Annotated[
    str, Argument(metavar="MODEL", help="A model file, or the folder of a run.")
]
ViewNames = Annotated[
    list[str] | None, Option(metavar="NAME", help="A view to use; may be repeated.")
]
LabelSource = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Variable, column or file with the known classes; 'none' for no classes. "
        "They are used for scores only.",
    ),
]
KnownRows = Annotated[
    str | None,
    Option(
        "--known",
        metavar="FILE",
        help="Clusters of some rows, which the fit keeps to: a label per row, -1 for "
        "unknown ones, or rows by name.",
    ),
]
MustLink = Annotated[
    str | None,
    Option(metavar="FILE", help="Pairs of rows that share a cluster, two in a line."),
]
CannotLink = Annotated[
    str | None, Option(metavar="FILE", help="Pairs of rows that do not, two in a line.")
]
ClusterSizes = Annotated[
    str | None,
    Option(metavar="equal", help="All clusters have the same number of rows."),
]
MinClusterSize = Annotated[
    int | None, Option(metavar="ROWS", help="No cluster has fewer rows.")
]
KnownClasses = Annotated[
    str | None,
    Option(
        "--labels",
        metavar="NAME",
        help="Variable, column or file with known classes, which are left out here; "
        "'none' for no classes.",
    ),
]
Join = Annotated[
    str | None,
    Option(
        metavar="HOW",
        help="Match files that name different rows: inner keeps the rows that all "
        "have, outer all rows, with missing views.",
    ),
]
Fill = Annotated[
    str | None,
    Option(
        metavar="mean",
        help="Replace single missing values by the mean of their feature.",
    ),
]
Method = Annotated[str, Option(metavar="NAME", help="See manyview methods.")]
Smoothing = Annotated[
    str | None,
    Option(
        metavar="HOW",
        help="What S2MVTC smooths along: graph, sequence (the order of the rows), "
        "graph+sequence or none.",
    ),
]
Settings = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any parameter of the method; may be repeated.",
    ),
]
Seed = Annotated[int, Option(min=0, help="Seed of all random choices.")]
OutFolder = Annotated[
    str, Option("--out", "-o", metavar="DIR", help="Folder for the results.")
]
Force = Annotated[bool, Option("--force", help="Replace an earlier run in DIR.")]
ForceFile = Annotated[bool, Option("--force", help="Replace a file of that name.")]
FigurePath = Annotated[
    str | None, Option(metavar="PATH", help="Draw it: PATH.png, PATH.svg.")
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Engine = Annotated[
    str, Option(metavar="WHERE", help="local, or dask for a Dask cluster.")
]
Scheduler = Annotated[
    str | None,
    Option(
        metavar="ADDRESS",
        help="Dask scheduler to use, such as tcp://host:8786. Its workers read FILE "
        "themselves: a converted folder, Zarr or Parquet.",
    ),
]
CheckpointFolder = Annotated[
    str | None,
    Option(metavar="DIR", help="Folder from which a fit that was stopped resumes."),
]
WriteBack = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Also write a copy of FILE (h5ad, h5mu, CSV, Parquet) that has the "
        "clusters in a column NAME.",
    ),
]
MemoryLimit = Annotated[
    str | None, Option(metavar="SIZE", help="Most memory a run may hold, such as 8GB.")
]
