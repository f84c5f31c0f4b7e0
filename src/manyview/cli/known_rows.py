"""What is known beforehand: of some rows, and of the sizes of the clusters.

``--known``, ``--must-link``, ``--cannot-link``, ``--cluster-sizes`` and
``--min-cluster-size``.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyview.cli import terminal
from manyview.cli.read_input import from_anywhere, read_labels
from manyview.errors import FileError, InputError
from manyview.files.failures import FilesTold

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer
    from manyview.views.views import Views

_UNKNOWN = ("", "-1", "-1.0", "?", "nan", "na")  # as people write it, in small letters
_MOST_SHOWN = 5  # rows in one line of a terminal


class KnownRows:
    """What the options ask for, for ``fit`` and for the record of the run.

    A method that cannot keep to it is refused here, before the data are read.
    """

    def __init__(
        self,
        model: MultiViewClusterer,
        labels: str | None,
        must_link: str | None,
        cannot_link: str | None,
        **sizes: Any,
    ) -> None:
        self._labels = labels
        pairs = {"must_link": must_link, "cannot_link": cannot_link}
        self._pairs = {name: path for name, path in pairs.items() if path is not None}
        self._classes: list[str] = []
        asked = self._pairs or labels is not None
        taken = inspect.signature(model.fit).parameters
        self._sizes = {name: x for name, x in sizes.items() if x is not None}
        for name in self._sizes.keys() - taken.keys():
            raise InputError(
                f"{type(model).__name__} finds clusters of any size. Leave "
                f"--{name.replace('_', '-')} out, or use S2MVTC or AnchorSpectral."
            )
        if asked and "partial_labels" not in taken:
            raise InputError(
                f"{type(model).__name__} cannot keep to what is known of some rows. "
                "Leave --known, --must-link and --cannot-link out, or use S2MVTC."
            )

    def of(self, views: Views) -> dict[str, Any]:
        """The arguments of ``fit`` that these rows need; none where none is known."""
        names = views.row_names
        names = None if names is None else [str(n) for n in names]
        given: dict[str, Any] = {
            option: _pairs(path, names) for option, path in self._pairs.items()
        } | self._sizes
        if self._labels is not None:
            found = _by_name(self._labels, names, len(views))
            given["partial_labels"], self._classes = _numbered(found)
        return given

    def record(self, model: Any) -> dict[str, Any]:
        """For the record: sizes, files, classes by number, and rows in conflict."""
        if not self._pairs and self._labels is None:
            return {"sizes": self._sizes} if self._sizes else {}
        files = {"partial_labels": self._labels, **self._pairs}
        known = {
            n: from_anywhere(path) for n, path in files.items() if path is not None
        }
        rows = model.conflicts_.tolist()
        return {"known": {**known, "classes": self._classes, "conflicts": rows}}

    def say(self, model: Any) -> None:
        """Tell the rows that the data would place elsewhere."""
        if not self._pairs and self._labels is None:
            return
        rows = [str(row) for row in model.conflicts_]
        some = ", ".join(rows[:_MOST_SHOWN]) + (
            ", …" if len(rows) > _MOST_SHOWN else ""
        )
        where = f" (rows {some}; all in the record)" if rows else ""
        terminal.say(
            f"Known rows that the data would place elsewhere: {len(rows)}{where}"
        )


def _by_name(source: str, names: list[str] | None, n_samples: int) -> list[str]:
    """One label per row, as text: by the rows' names or numbers where there are any."""
    file = read_labels(source)
    labels = [str(label).strip() for label in file.labels]
    if file.names is None or names == file.names:
        return labels
    counted = [str(i) for i in range(n_samples)]
    if names is None and not set(file.names) <= set(counted):
        return labels
    names = names or counted
    place = {name: i for i, name in enumerate(names)}
    if not place.keys() >= set(file.names):
        strange = next(name for name in file.names if name not in place)
        if len(labels) == len(names):
            return labels
        raise FileError(
            f"{source} has a label of {strange!r}, which is no row of the data, for "
            f"instance {names[0]!r}. Name rows as the data do, or give one label per "
            "row in their order."
        )
    found = [""] * len(names)
    for name, label in zip(file.names, labels, strict=True):
        found[place[name]] = label
    return found


def _numbered(labels: Sequence[str]) -> tuple[Any, list[str]]:
    """Labels as numbers, −1 for unknown ones, and what the numbers stand for."""
    import numpy as np

    known = sorted({x for x in labels if x.lower() not in _UNKNOWN})
    if all(x.isdecimal() for x in known):
        number = {x: int(x) for x in known}
        classes = []
    else:
        number, classes = {x: i for i, x in enumerate(known)}, known
    return np.array([number.get(x, -1) for x in labels], dtype=np.intp), classes


def _pairs(source: str, names: list[str] | None) -> Any:
    """Pairs of row numbers, from an .npy file or from text with two columns."""
    import numpy as np

    path = Path(source).expanduser()
    if path.suffix.lower() == ".npy":
        from manyview.files.npy_file import map_array

        return map_array(path)
    advice = "Give pairs of rows as UTF-8 text, two in a line, or as .npy."
    with FilesTold(f"{path} could not be read", advice, UnicodeDecodeError):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    text = [line for line in lines if line.strip()]
    split = "," if text and "," in text[0] else None
    table = [line.split() for line in text] if split is None else list(csv.reader(text))
    place = {name: str(i) for i, name in enumerate(names or [])}
    pairs = []
    for number, line in enumerate(table, start=1):
        row = [place.get(cell.strip(), cell.strip()) for cell in line]
        if len(row) != 2 or not all(cell.isdecimal() for cell in row):
            raise FileError(
                f"Line {number} of {path.name} is {text[number - 1]!r}, not two rows. "
                "Give two row numbers, from 0 on, or two names of rows in each line."
            )
        pairs.append([int(cell) for cell in row])
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)
