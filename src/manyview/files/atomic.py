"""Files and folders that appear whole or not at all.

They are written as a hidden neighbour, brought safely to the disk and renamed. The
next writer of the same target clears away what a killed one left behind. Neighbours
carry the names of their machine and process: those of other machines are left alone.
"""

import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from manyview.errors import FileError
from manyview.files.failures import FilesTold


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """A path to write to, which takes the target's name when the block succeeds."""
    target = target.resolve()  # a link stays one
    _require_file(target)
    _sweep(target)
    part = _neighbour(target)
    try:
        with _told(target):
            yield part
            _flush(part)
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def require_free(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """The file to write; a `FileError` before any work where it may not be."""
    target = Path(path).expanduser()
    _require_file(target)
    if target.exists() and not overwrite:
        raise FileError(
            f"{target} exists already and is not replaced. Choose another name, or ask "
            "for it: overwrite=True, on the command line --force."
        )
    with _told(target):
        os.scandir(target.parent).close()
    return target


def _require_file(target: Path) -> None:
    """Renaming would put a file in the place of /dev/null as well."""
    if target.exists() and not target.is_file():
        raise FileError(f"{target} is a folder or a device. Name a file.")


def write_text(target: Path, text: str) -> None:
    """A text file, whole or not at all."""
    with atomic_file(target) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """An empty folder, which takes the target's place when the block succeeds."""
    _sweep(target)
    folder = _neighbour(target)
    try:
        with _told(target):
            folder.mkdir()
            yield folder
            for file in folder.iterdir():
                _flush(file)
            _put_in_place(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _told(target: Path) -> FilesTold:
    advice = "Choose a folder with enough room that you may write to."
    return FilesTold(f"{target} was not written", advice)


def _prefix(target: Path) -> str:
    machine = re.sub(r"[^A-Za-z0-9-]", "-", platform.node())
    return f".{target.name}.{machine}."


def is_unfinished(path: Path, target: Path) -> bool:
    """Is this what some writer of the target has not finished, or never will?"""
    return path.name.startswith(f".{target.name}.")


def _neighbour(target: Path) -> Path:
    own = f"{os.getpid()}.{secrets.token_hex(4)}"
    return target.with_name(_prefix(target) + own)


def _put_in_place(folder: Path, target: Path) -> None:
    if not target.exists():
        folder.rename(target)
        return
    # The old folder waits inside a neighbour, from where `_sweep` brings it back
    # should we be killed between the two renames.
    aside = folder.with_name(folder.name + ".old")
    aside.mkdir()
    target.rename(aside / target.name)
    folder.rename(target)
    # Half removed it must not come back, so it loses its name first.
    (aside / target.name).rename(aside / "replaced")
    shutil.rmtree(aside, ignore_errors=True)


def _flush(path: Path) -> None:
    with path.open("r+b") as file:  # Windows flushes only what may be written
        os.fsync(file.fileno())


def _sweep(target: Path) -> None:
    """Clear what killed processes left of earlier attempts at this target."""
    pattern = re.compile(re.escape(_prefix(target)) + r"([0-9]+)\..*")
    for leftover in target.parent.glob(".*"):
        match = pattern.fullmatch(leftover.name)
        if match is None or psutil.pid_exists(int(match[1])):
            continue
        old = leftover / target.name
        if old.exists() and not target.exists():
            old.rename(target)
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)
