"""``--write-back``: copies of the files of a command with its clusters in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from manyview.cli import terminal

if TYPE_CHECKING:
    from manyview.files.run_folder import Run


class LabelsBack:
    """What the option asks for; nothing without a name for the column.

    Files that cannot take it are refused here, before any work.
    """

    def __init__(self, files: list[str], key: str | None) -> None:
        self._key, self._copies = key, {}
        if key is not None:
            from manyview.datasets.write_back import check_write_back, copy_name

            paths = check_write_back(files, key)
            self._copies = {path: copy_name(path, key) for path in paths}

    def write(self, folder: Path, run: Run) -> None:
        """Write the copies into the folder of the run."""
        if self._key is None:
            return
        from manyview.datasets.write_back import Clusters, write_back

        found = Clusters(run.labels, run.row_names, run.certainty, run.embedding)
        for path, name in self._copies.items():
            write_back(path, folder / name, self._key, found)

    def say(self, folder: Path) -> None:
        """Tell where the copies are."""
        for name in self._copies.values():
            terminal.say_written(folder / name, "Copy with the clusters")
