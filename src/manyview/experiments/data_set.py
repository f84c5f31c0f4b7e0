"""What a run works on: a known or given data set, part of one, or generated rows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets import load, make_views, registry
from manyview.errors import InputError
from manyview.files.npy_file import file_checksum
from manyview.metrics import has_class
from manyview.views.arguments import check_choice
from manyview.views.views import Views

ORDERS = ("file", "sorted", "shuffled")


@dataclass(frozen=True)
class DataSet:
    """A data set in a form that can be written down."""

    name: str  # in tables
    source: str  # path, known name or, where generated, options of make_views as JSON
    kind: str = "stored"  # or "generated"
    drop_classes: tuple[int, ...] = ()  # whose rows are left out
    first_classes: int | None = None  # that are kept, in the order of their labels
    unscored_classes: tuple[int, ...] = ()  # clustered with the rest, but not scored

    @classmethod
    def of(cls, source: str | Path) -> DataSet:
        """The data set a user names: a known one or a file."""
        entry = None if Path(source).exists() else registry.find(str(source))
        name = entry.name if entry else Path(source).name.split(".")[0]
        return cls(name, entry.name if entry else str(Path(source).absolute()))

    @classmethod
    def generated(cls, name: str, **options: Any) -> DataSet:
        """Rows that `make_views` makes."""
        return cls(name, json.dumps(options, sort_keys=True), kind="generated")

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> DataSet:
        """The data set whose fields JSON has kept."""
        lists = {name: tuple(v) for name, v in fields.items() if isinstance(v, list)}
        return cls(**fields | lists)

    def path(self) -> Path | None:
        """The file or folder behind a stored data set."""
        if self.kind == "generated":
            return None
        given = Path(self.source)
        entry = None if given.exists() else registry.find(self.source)
        return registry.locate(entry) if entry else given

    def checksum(self) -> str:
        """Of the rows a run would see: the files and what is left out of them."""
        path = self.path()
        content = self.source if path is None else _checksum(path)
        parts = [content, list(self.drop_classes), self.first_classes]
        parts += [list(self.unscored_classes)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def load(self) -> Views:
        """The rows, in the order of the file."""
        if self.kind == "generated":
            return make_views(**json.loads(self.source))
        views = load(self.source)
        if not self.drop_classes and self.first_classes is None:
            return views
        if views.labels is None:
            raise InputError(
                f"{self.name} has no classes to choose from. Use the set as it is, or "
                "give it labels."
            )
        first = np.unique(views.labels)[: self.first_classes]
        keep = np.setdiff1d(first, self.drop_classes)
        return views[np.flatnonzero(np.isin(views.labels, keep))]

    def is_scored(self, labels: Any) -> Any:
        """Which rows count when labels are compared, and for the number of classes."""
        return ~np.isin(labels, self.unscored_classes) & has_class(labels)


def _checksum(path: Path) -> str:
    """Of a file, or of all files of a data folder."""
    if path.is_file():
        return file_checksum(path)
    parts = sorted(p for p in path.rglob("*") if p.is_file())
    named = [(str(p.relative_to(path)), file_checksum(p)) for p in parts]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def told_apart(sets: Iterable[DataSet]) -> list[DataSet]:
    """The sets once each; files that share a name are called by their whole path."""
    once = list(dict.fromkeys(sets))
    names = Counter(s.name for s in once)
    longer = {s: s.source.strip("/").replace("/", "-") for s in once}
    return [replace(s, name=longer[s]) if names[s.name] > 1 else s for s in once]


def found() -> list[DataSet]:
    """Every known data set whose file is there."""
    there = (e for e in registry.known() if e.classes and registry.search(e))
    return [DataSet(e.name, e.name) for e in there]


def row_order(order: str, labels: Any, n_samples: int, seed: int) -> Any:
    """Row numbers in the asked order; a shuffle is another one for every seed."""
    check_choice(order, "order", ORDERS)
    if order == "file":
        return np.arange(n_samples)
    if order == "shuffled":
        return np.random.default_rng([seed, 1]).permutation(n_samples)
    if labels is None:
        raise InputError(
            f"order={order!r} needs labels, and the data has none. Choose another."
        )
    return np.argsort(labels, kind="stable")
