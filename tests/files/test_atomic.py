"""Files and folders written whole or not at all, and what killed writers leave."""

import os
import subprocess
import sys

import pytest

from manyview.errors import FileError
from manyview.files import atomic
from manyview.files.atomic import atomic_file, atomic_folder, require_free, write_text
from manyview.present import plot
from manyview.present.table import Table


def neighbour(target, pid, ending="00"):
    return target.with_name(f"{atomic._prefix(target)}{pid}.{ending}")


@pytest.fixture
def dead() -> int:
    """Number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def write(kind, target, text="new"):
    with kind(target) as part:
        file = part / "file" if kind is atomic_folder else part
        file.write_text(text)


@pytest.mark.parametrize("kind", [atomic_file, atomic_folder])
def test_nothing_is_seen_before_the_end_and_nothing_else_after(kind, tmp_path):
    target = tmp_path / "out"
    with kind(target) as part:
        assert not target.exists()
        (part / "file" if kind is atomic_folder else part).write_text("new")
    assert list(tmp_path.iterdir()) == [target]
    write(kind, target, "newer")
    file = target / "file" if kind is atomic_folder else target
    assert file.read_text() == "newer"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("kind", [atomic_file, atomic_folder])
@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), ZeroDivisionError()]
)
def test_a_failure_leaves_what_was_there(kind, fault, tmp_path):
    target = tmp_path / "out"
    write(kind, target, "old")
    kept = FileError if isinstance(fault, OSError) else ZeroDivisionError
    with pytest.raises(kept), kind(target):
        raise fault
    file = target / "file" if kind is atomic_folder else target
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_tables_and_figures_clear_away_what_killed_writers_left(tmp_path, dead):
    pytest.importorskip("matplotlib")
    table = Table("scores", "A table", ["method"])
    figure = plot.new_figure(2, 2, "A figure")
    names = ["scores.md", "scores.tex", "scores.csv", "a.png", "a.svg", "b.png"]
    for name in names:
        neighbour(tmp_path / name, dead).write_text("half")
    table.write(tmp_path)
    plot.save(figure, tmp_path / "a")
    plot.save(figure, tmp_path / "b", ["png"])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)


def test_the_sentence_names_place_and_reason(tmp_path):
    with pytest.raises(FileError, match=r"out was not written: No such file.*Choose"):
        write(atomic_file, tmp_path / "nowhere" / "out")


@pytest.mark.parametrize("kind", [atomic_file, atomic_folder])
def test_leftovers_of_killed_processes_are_cleared(kind, tmp_path, dead):
    target = tmp_path / "out"
    gone, alive = neighbour(target, dead), neighbour(target, os.getppid())
    elsewhere = tmp_path / f".out.another-machine.{dead}.00"
    for path in (gone, alive, elsewhere):
        path.mkdir() if kind is atomic_folder else path.write_text("half")
    write(kind, target)
    assert sorted(tmp_path.iterdir()) == sorted([alive, elsewhere, target])


def test_an_old_folder_set_aside_by_a_killed_process_returns(tmp_path, dead):
    target = tmp_path / "out"
    write(atomic_folder, target, "old")
    aside = neighbour(target, dead, "00.old")
    aside.mkdir()
    target.rename(aside / target.name)
    with pytest.raises(RuntimeError), atomic_folder(target):
        raise RuntimeError("this attempt fails too")
    assert (target / "file").read_text() == "old"


def test_an_old_folder_that_is_half_removed_does_not_return(
    tmp_path, dead, monkeypatch
):
    target = tmp_path / "out"
    write(atomic_folder, target, "old")
    monkeypatch.setattr(atomic.os, "getpid", lambda: dead)
    monkeypatch.setattr(atomic.shutil, "rmtree", lambda path, **options: None)
    write(atomic_folder, target, "new")
    monkeypatch.undo()
    (target / "file").unlink()
    target.rmdir()
    write(atomic_folder, target, "newest")
    assert (target / "file").read_text() == "newest"
    assert list(tmp_path.iterdir()) == [target]


def test_a_device_or_a_folder_is_never_replaced_by_a_file(tmp_path):
    device = tmp_path / "device"
    os.mkfifo(device)
    for target in (device, tmp_path):
        with pytest.raises(FileError, match="a folder or a device"):
            write(atomic_file, target)
        with pytest.raises(FileError, match="a folder or a device"):
            require_free(target, overwrite=True)
    assert device.is_fifo()


def test_what_a_link_names_is_written_and_the_link_stays(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "far" / "file.txt")
    for text in ("new", "newer"):
        write_text(link, text)
        assert link.is_symlink() and link.read_text() == text
    assert [p.name for p in (tmp_path / "far").iterdir()] == ["file.txt"]
