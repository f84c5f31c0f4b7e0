"""One piece of the matrix in a process of its own: ``python -m …child JOB.json``.

The job names a cell or its plain fit, a folder for the data and one for scratch; the
answer is written as JSON beside it, labels as arrays. A cell that is to be killed is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from manyview.errors import ManyviewWarning
from manyview.experiments.measuring import peak_memory

from .cells import Cell
from .inputs import open_input, prepare
from .work import STRICT, Done, attempt, refer


def main(path: str) -> None:
    """Do the job; an error is an answer, too."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    warnings.simplefilter("ignore", ManyviewWarning)
    warnings.filterwarnings(**STRICT)
    try:
        answer = _do(job)
    except Exception:
        answer = {"error": traceback.format_exc(limit=-4)}
    Path(job["answer"]).write_text(json.dumps(answer), encoding="utf-8")


def _do(job: dict[str, Any]) -> dict[str, Any]:
    cell = Cell(**job["cell"])
    data = Path(job["data"])
    if job["kind"] == "data":
        prepare(data, cell.input, cell.rows)
        return {}
    views = open_input(prepare(data, cell.input, cell.rows), cell.input)
    if job["kind"] == "plain":
        done = refer(cell, views)
    else:
        die = _die if job["kind"] == "killed" else None
        done = attempt(cell, views, Path(job["scratch"]), die=die)
    answer = {
        "refusal": done.refusal,
        "passes": done.passes,
        "held": done.held,
        "limit": done.limit,
        "peak": peak_memory(),
        "cpu": time.process_time() + done.cpu,
    }
    save_labels(Path(job["labels"]), done)
    return answer


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def save_labels(path: Path, done: Done) -> None:
    """Labels and prediction, as far as there are any."""
    found = {"labels": done.labels, "predicted": done.predicted}
    kept = {k: np.asarray(v, np.int32) for k, v in found.items() if v is not None}
    part = path.with_name(f"{path.name}.part.npz")
    np.savez(part, **kept)
    part.replace(path)


def load_done(path: Path, answer: dict[str, Any]) -> Done:
    """What a child has found."""
    with np.load(path) as stored:
        arrays = dict(stored)
    fields = ("refusal", "passes", "held", "limit")
    return Done(**arrays, **{name: answer.get(name) for name in fields})


if __name__ == "__main__":
    main(sys.argv[1])
