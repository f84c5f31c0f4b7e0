"""What a command leaves behind: a run, and copies of its files with the clusters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyview.cli import terminal

if TYPE_CHECKING:
    from manyview.files.run_folder import Run


class RunOutput:
    """Where a run goes, how long its parts took, and what is told of it.

    A folder that cannot be written is refused here, before any work, and so are files
    that cannot take the column of ``--write-back``.
    """

    def __init__(
        self, out: str, files: list[str], key: str | None = None, *, force: bool
    ) -> None:
        from manyview.files.run_folder import check_target

        check_target(out, force=force)
        self._out, self._force, self._key = out, force, key
        self._copies: dict[Path, str] = {}
        self.timings: dict[str, float] = {}
        if key is not None:
            from manyview.datasets.write_back import check_write_back, copy_name

            paths = check_write_back(files, key)
            self._copies = {path: copy_name(path, key) for path in paths}

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """The seconds of the work inside, for the record of the run."""
        start = time.perf_counter()
        yield
        self.timings[what] = time.perf_counter() - start

    def write(self, run: Run, model: Any = None) -> None:
        """Write the run, its model if there is one, and the copies, all or nothing."""
        from manyview.files.run_folder import MODEL, writing

        with writing(self._out, run, force=self._force) as folder:
            if model is not None:
                model.save(folder / MODEL)
            if self._key is not None:
                from manyview.datasets.write_back import Clusters, write_back

                parts = (run.labels, run.row_names, run.certainty, run.embedding)
                for path, name in self._copies.items():
                    write_back(path, folder / name, self._key, Clusters(*parts))

    def say(self, run: Run, what: str) -> None:
        """Tell the scores, where there are any, and where everything was written."""
        if run.scores is not None:
            terminal.show_scores(run.scores)
        folder = Path(self._out).expanduser().absolute()
        terminal.say_written(folder, what)
        for name in self._copies.values():
            terminal.say_written(folder / name, "Copy with the clusters")
