"""What a run leaves on disk: one folder, written whole or not at all.

labels.npy      cluster of every row
labels.csv      row name, cluster and certainty where it is known, for spreadsheets
embedding.npy   consensus embedding, where the method has one
model.manyview  the fitted model, where a fit wrote the run
run.json        settings, data, versions, timings and scores
report.html     the page that ``manyview report`` adds
"""

import csv
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manyview.errors import FileError, InputError
from manyview.files.atomic import atomic_folder
from manyview.files.failures import FilesTold
from manyview.files.json_value import json_value

FORMAT = 1  # of run.json: the first; another one is refused
META = "run.json"
MODEL = "model.manyview"
REPORT = "report.html"
_LIBRARIES = ("manyview", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Run:
    """The outcome of one fit, ready to be written.

    `settings` are the parameters of the estimator named `method`, `data` says what
    was clustered, `timings` are seconds of every stage, `scores` against known
    labels; `certainty` of every row is 0 to 1. Rows without `row_names` are numbered
    from 0.
    """

    labels: np.ndarray[Any, Any]
    method: str
    settings: Mapping[str, Any]
    data: Mapping[str, Any]
    timings: Mapping[str, float]
    embedding: np.ndarray[Any, Any] | None = None
    row_names: Sequence[Any] | None = None
    scores: Mapping[str, float] | None = None
    certainty: np.ndarray[Any, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def check_target(out: str | os.PathLike[str], *, force: bool = False) -> Path:
    """The folder to write, refused now rather than after hours of work.

    An existing folder is replaced only with `force`, and only if it holds
    nothing but an earlier run.
    """
    target = Path(out).expanduser().absolute()
    if target == Path.cwd():
        raise FileError(
            "A run cannot take the place of the current folder. Name a folder of its "
            "own, such as runs/first."
        )
    if target.exists() and not target.is_dir():
        raise FileError(f"{out} is a file, not a folder. Choose another name.")
    there = next(p for p in (target, *target.parents) if p.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise FileError(
            f"{out} cannot be written: {there} is not a folder you may write to. "
            "Choose another place."
        )
    if target.is_dir() and any(target.iterdir()):
        _require_replaceable(target, force)
    return target


def _require_replaceable(target: Path, force: bool) -> None:
    if not (target / META).is_file():
        raise FileError(
            f"{target} is not empty and holds no earlier run. Choose another folder."
        )
    if not force:
        raise FileError(
            f"{target} holds an earlier run already. Choose another folder, or "
            "replace the run with --force."
        )
    known = {META, REPORT, *map(str, read_meta(target).get("files", []))}
    foreign = [p.name for p in target.iterdir() if p.name not in known]
    if foreign:
        raise FileError(
            f"{target} holds files that no run has written ({', '.join(foreign[:5])}); "
            "it is not replaced. Move them away or choose another folder."
        )


def read_meta(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a run's ``run.json``."""
    path = Path(folder) / META
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise FileError(
            f"{folder} is no run: its record {META} could not be read ({why}). Give a "
            "folder written by manyview fit."
        ) from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise FileError(
            f"{path} is not the record of a run in format {FORMAT}. Run manyview fit "
            "again with this release."
        )
    return meta


@contextmanager
def writing(
    out: str | os.PathLike[str], run: Run, *, force: bool = False
) -> Iterator[Path]:
    """A temporary folder with the run's files; it becomes `out` when all went well.

    More files may be put there inside the ``with`` block.
    """
    target = check_target(out, force=force)
    meta = _meta(run)
    advice = "Choose another place to write to."
    with FilesTold(f"{target.parent} could not be made", advice):
        target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(target) as folder:
        np.save(folder / "labels.npy", run.labels, allow_pickle=False)
        _write_labels(folder / "labels.csv", run)
        if run.embedding is not None:
            np.save(folder / "embedding.npy", run.embedding, allow_pickle=False)
        yield folder
        meta["files"] = sorted(p.name for p in folder.iterdir())
        text = json.dumps(meta, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / META).write_text(text + "\n", encoding="utf-8")


def _write_labels(path: Path, run: Run) -> None:
    names = range(len(run.labels)) if run.row_names is None else run.row_names
    if len(names) != len(run.labels):
        raise InputError(
            f"There are {len(names)} row names for {len(run.labels)} rows. Give one "
            "per row."
        )
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        columns = {"row": names, "cluster": run.labels.tolist()}
        if run.certainty is not None:
            columns["certainty"] = [f"{sure:.4f}" for sure in run.certainty.tolist()]
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))


def _meta(run: Run) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "method": run.method,
        "settings": json_value(run.settings),
        "data": json_value(run.data),
        "cluster_sizes": json_value(np.bincount(run.labels)),
        "scores": json_value(run.scores),
        "certainty": _certainty(run.certainty),
        "timings": json_value(run.timings),
        **json_value(run.extra),
        "versions": versions(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _certainty(sure: np.ndarray[Any, Any] | None) -> dict[str, float] | None:
    """The least certain row and the middle one."""
    if sure is None:
        return None
    return {"least": float(np.min(sure)), "median": float(np.median(sure))}


def versions() -> dict[str, str]:
    """Versions of Python, this package and what its numbers rest on."""
    found = {name: version(name) for name in _LIBRARIES}
    return {"python": platform.python_version(), **found, "system": platform.platform()}
