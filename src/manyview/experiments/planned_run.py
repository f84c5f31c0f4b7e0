"""`Run`: one fit to be measured, and the key its result is found by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from manyview import __version__
from manyview.experiments.data_set import DataSet

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A method with a setting on a data set in a row order with a seed.

    Attributes
    ----------
    data : DataSet
    order : {"file", "sorted", "shuffled"}
    method : str
        Name that `estimators.build` knows.
    setting : dict
        Parameters that differ from the method's default.
    seed : int
    extras : dict
        What else the process shall do: ``fit`` parameters (``groups``),
        ``trace`` (number of rows to follow) or ``share`` (features are shared
        with the other runs of the process).
    """

    data: DataSet
    order: str
    method: str
    setting: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    extras: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """Equal for equal work on equal rows by the same version."""
        what = [self.method, self.setting, _checksum_of(self.data), self.order]
        content = [*what, self.seed, self.extras, __version__]
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def describe(self) -> Record:
        """The fields of a record that say what was run."""
        return {
            "key": self.key,
            "data": self.data.name,
            "checksum": _checksum_of(self.data),
            "order": self.order,
            "method": self.method,
            "setting": self.setting,
            "seed": self.seed,
            "extras": self.extras,
            "version": __version__,
        }


_checksums: dict[DataSet, str] = {}


def _checksum_of(data: DataSet) -> str:
    if data not in _checksums:
        _checksums[data] = data.checksum()
    return _checksums[data]


@dataclass(frozen=True)
class Task:
    """Runs that share one process, because they share data, order and method."""

    runs: tuple[Run, ...]

    @property
    def key(self) -> str:
        """Of the whole task."""
        joined = "".join(r.key for r in self.runs)
        return hashlib.sha256(joined.encode()).hexdigest()[:20]

    def to_json(self) -> Record:
        """What the process is told."""
        first = self.runs[0]
        return {
            "data": first.data.to_json(),
            "order": first.order,
            "method": first.method,
            "runs": [
                {"setting": r.setting, "seed": r.seed, "extras": r.extras, "key": r.key}
                for r in self.runs
            ],
        }


def group(runs: Iterable[Run]) -> list[Task]:
    """Seeds of one setting together; runs that share features all together."""
    groups: dict[str, list[Run]] = {}
    for r in runs:
        shared = r.extras.get("share")
        own = r.seed if shared else r.setting
        what = [r.data.to_json(), r.order, r.method, r.extras, own]
        groups.setdefault(json.dumps(what, sort_keys=True), []).append(r)
    return [Task(tuple({r.key: r for r in g}.values())) for g in groups.values()]
