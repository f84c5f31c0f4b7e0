"""What a cell asks for, done in this process as a user would do it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from manyview import load_model
from manyview.base import views_of
from manyview.cli.estimator_options import make_estimator
from manyview.engine.contract import lowered
from manyview.errors import ManyviewError
from manyview.experiments.measuring import peak_memory
from manyview.explain import explain
from manyview.running import progress

from .cells import AUTO, EXPLAIN, FIT, KILLED, PLACES, PREDICT, SAVED, Cell, about
from .inputs import N_CLUSTERS, bytes_in_memory

# What a fit may hold beside the caller's own arrays, and a worker in all.
LIMIT = 10**9
WORKER_MEMORY = 2 * 10**9
N_WORKERS = 2
# No fit of good rows may warn, here or on a worker.
STRICT: dict[str, Any] = {
    "action": "error",
    "category": RuntimeWarning,
    "module": "manyview|numpy|scipy|sklearn",
}
# Few rounds and starts of the compared methods: their labels must be the same, not
# good. The package's own stay at their defaults, whose roads are to be walked.
FEW: dict[str, dict[str, Any]] = {
    "BMVC": {"n_anchors": 100, "max_iter": 2, "n_init": 2},
    "FPMVSCAG": {"max_iter": 3, "n_init": 2},
    "FSMSC": {"max_iter": 3, "n_init": 2},
    "FMVACC": {"n_init": 1},
    "LMTC": {"max_iter": 3, "n_init": 2},
    "OPMC": {"max_iter": 5, "n_init": 2},
    "SFMC": {"n_anchors": 50, "max_iter": 2},
    "SMERAMVC": {"max_iter": 3, "n_init": 2},
    "BestViewKMeans": {"n_init": 2},
    "FastMICE": {"n_anchors": 100, "n_members": 3},
    "TURTLE": {"n_steps": 5, "n_inner_steps": 2, "batch_size": 1000},
}


@dataclass
class Done:
    """What a cell came to.

    Attributes
    ----------
    labels, predicted : array or None
        Of the fit, and of the same rows given to ``predict``.
    held, limit : int or None
        The most that was held of what the place limits, in bytes, and the limit.
    cpu : float
        Seconds that workers computed.
    refusal, passes : str or None, list of str
        What the library said, and the passes that were begun before.
    """

    labels: Any = None
    predicted: Any = None
    held: int | None = None
    limit: int | None = None
    cpu: float = 0.0
    refusal: str | None = None
    passes: list[str] = field(default_factory=list)


@dataclass
class Task:
    """A model and its rows, a folder of its own, how it dies and what it came to."""

    model: Any
    views: list[Any]
    scratch: Path
    die: Callable[[], None] | None = None
    done: Done = field(default_factory=Done)


def attempt(cell: Cell, views: list[Any], scratch: Path, **how: Any) -> Done:
    """The cell's labels, or its refusal with the passes that went before."""
    passes: list[str] = []

    def hear(title: str, done: int, total: int) -> None:
        if done == 0:
            passes.append(title)

    try:
        with progress.listen(hear):
            return perform(cell, views, scratch, **how)
    except ManyviewError as error:
        return Done(refusal=str(error), passes=passes)
    except AttributeError as error:
        if error.name != "predict":
            raise
        return Done(refusal=str(error), passes=passes)


def perform(
    cell: Cell,
    views: list[Any],
    scratch: Path,
    *,
    die: Callable[[], None] | None = None,
    alone: bool = True,
    settings: Mapping[str, dict[str, Any]] = FEW,
) -> Done:
    """Do what the cell asks for.

    `die` is called in the midst of a fit that is to be killed. Unless the process is
    the cell's `alone`, what it holds says nothing, and Dask's workers are threads.
    `settings` are those of the methods.
    """
    limit = None
    if "memory_limit" in PLACES[cell.place]:
        # A caller's own arrays count, and nothing can put them elsewhere.
        limit = LIMIT + bytes_in_memory(views)
    place = {
        "memory_limit": limit,
        "engine": "dask",
        "device": "cuda",
        "checkpoint": str(scratch / "checkpoint"),
    }
    asked = [*PLACES[cell.place], *(["checkpoint"] if cell.use == KILLED else [])]
    model = _model(cell, settings, {name: place[name] for name in asked})
    task = Task(model, views, scratch, die, Done(limit=limit))
    with _at(cell, task.done, alone):
        _USES[cell.use](task)
        task.done.labels = np.asarray(task.done.labels)
    return task.done


def refer(
    cell: Cell, views: list[Any], settings: Mapping[str, dict[str, Any]] = FEW
) -> Done:
    """The plain fit whose labels others must have, and its own prediction of them."""
    task = Task(_model(cell, settings, {}), views, Path())
    _fit(task)
    if about(cell.estimator)[0].tags.predicts:
        task.done.predicted = np.asarray(task.model.predict(views))
    return task.done


def _model(
    cell: Cell, settings: Mapping[str, dict[str, Any]], place: dict[str, Any]
) -> Any:
    clusters = "auto" if cell.use == AUTO else str(N_CLUSTERS)
    own = settings.get(cell.estimator, {})
    return make_estimator(cell.estimator, clusters, 0, own | place)


@contextmanager
def _at(cell: Cell, done: Done, alone: bool) -> Iterator[None]:
    """Where the cell runs; at the end, what was held of what is limited there."""
    streamed = cell.place == "GPU, streamed"
    with ExitStack() as stack:
        if streamed:
            stack.enter_context(lowered(resident_share=0.0))
        client = None
        if "engine" in PLACES[cell.place]:
            client = stack.enter_context(_cluster(cell, alone))
        yield
        if not alone:
            return
        if client is not None and not cell.needs_gpu:
            done.cpu = sum(client.run(time.process_time).values())
            done.limit = done.limit or WORKER_MEMORY
            done.held = max(client.run(peak_memory).values())
        elif streamed:
            import torch

            done.held = torch.cuda.max_memory_allocated()
        elif done.limit is not None:
            done.held = peak_memory()


@contextmanager
def _cluster(cell: Cell, alone: bool) -> Iterator[Any]:
    """Two workers of limited memory, or threads of this process."""
    from distributed import Client, LocalCluster

    limited = alone and not cell.needs_gpu
    with (
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            processes=alone,
            memory_limit=WORKER_MEMORY if limited else 0,
            dashboard_address=":0",
        ) as workers,
        Client(workers) as client,
    ):
        client.run(warnings.filterwarnings, **STRICT)
        yield client


def _fit(task: Task) -> None:
    task.done.labels = task.model.fit(task.views).labels_


def _killed(task: Task) -> None:
    folder = task.scratch / "checkpoint"
    death = progress.listen(Death(folder, task.die)) if task.die else nullcontext()
    with death:
        _fit(task)


class Death:
    """Dies at the first pass after the checkpoint has grown."""

    def __init__(self, folder: Path, die: Callable[[], None]) -> None:
        self.folder, self.die, self.before = folder, die, self.kept(folder)

    @staticmethod
    def kept(folder: Path) -> set[str]:
        """What the checkpoint holds besides the settings."""
        steps = ("data", "setup", "rounds", "kmeans")
        return {p.name for p in folder.glob("*.zip") if p.name.startswith(steps)}

    def __call__(self, title: str, done: int, total: int) -> None:
        if done == 0 and self.kept(self.folder) - self.before:
            self.die()


def _predict(task: Task) -> None:
    predict = task.model.predict  # a method that has none says so before any work
    _fit(task)
    rows = views_of(task.views)
    n = len(rows)
    pieces = (slice(0, n // 7), slice(n // 7, n // 2), slice(n // 2, n))
    found = [np.asarray(predict(rows[piece])) for piece in pieces]
    task.done.predicted = np.concatenate(found)


def _saved(task: Task) -> None:
    file = task.model.fit(task.views).save(task.scratch / "model.manyview")
    again = load_model(file)
    task.done.labels = again.labels_
    if about(type(again).__name__)[0].tags.predicts:
        task.done.predicted = np.asarray(again.predict(task.views))


def _explain(task: Task) -> None:
    _fit(task)
    found = explain(task.model, task.views)
    sizes = np.bincount(np.asarray(task.done.labels))
    if found.sizes.tolist() != sizes.tolist() or not found.effects:
        raise AssertionError(f"explain speaks of other clusters: {found}")


_USES: dict[str, Callable[[Task], None]] = {
    FIT: _fit,
    KILLED: _killed,
    PREDICT: _predict,
    SAVED: _saved,
    EXPLAIN: _explain,
    AUTO: _fit,
}
