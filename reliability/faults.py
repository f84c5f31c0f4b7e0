"""Faults that are no kill: full disks, closed folders, changed files, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .kills import LONGEST, Story
from .record import Part, timed
from .subjects import Compare, Convert, Fit, Subject
from .warm import Warm


class Fault:
    """What was done how often, and what it cost."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.n_injected = 0
        self.losses: list[str] = []

    def expect_sentence(self, story: Story, work: Path, code: int | None) -> None:
        """The command must end with bad input's code and one line for people."""
        said = story.said(work)
        if code not in (0, 2) or "Traceback" in said:
            self.losses.append(f"{self.name}, {story.subject.name}: {code}, {said}")


def can_mount() -> bool:
    """May this user mount a file system of their own?"""
    with tempfile.TemporaryDirectory() as name, _disk(Path(name), 64) as mounted:
        return mounted


@contextmanager
def _disk(folder: Path, kilobytes: int) -> Iterator[bool]:
    """A small file system in memory at the folder; False where that is not allowed."""
    size = f"size={kilobytes}k"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    mounted = _tell(command)
    try:
        yield mounted
    finally:
        if mounted:
            _tell(["umount", "-l", str(folder)])


def _tell(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def full_disk(story: Story, n_times: int, rng: np.random.Generator) -> Fault:
    """The disk fills up at some point; with more room the result is the whole one."""
    fault = Fault("full disk")
    used = _kilobytes_used(story)
    for _ in range(n_times):
        work = story.folder / f"disk{story.n_folders + 1}"
        work.mkdir()
        story.n_folders += 1
        room = int(rng.integers(16, max(17, used)))
        with _disk(work, room + _room_for_begin(story.subject)):
            story.subject.begin(work)
            story.run(work)
            fault.expect_sentence(story, work, story.warm.wait(LONGEST))
            story.look(work, {})
            _tell(["mount", "-o", "remount,size=1g", str(work)])
            story.run(work)
            story.judge(work, story.warm.wait(LONGEST))
        fault.n_injected += 1
    return fault


def _kilobytes_used(story: Story) -> int:
    work = story.new_folder()
    story.run(work)
    story.warm.wait(LONGEST)
    sizes = [p.stat().st_size for p in work.rglob("*") if p.is_file()]
    return sum(sizes) // 1024


def _room_for_begin(subject: Subject) -> int:
    return 256 if isinstance(subject, Convert) else 0


def closed_folder(story: Story) -> Fault:
    """A folder that cannot be written to is refused in a sentence, before any work."""
    fault = Fault("folder that cannot be written")
    work = story.new_folder()
    with _read_only(work) as closed:
        if closed:
            story.run(work)
            code = story.warm.wait(LONGEST)
            fault.expect_sentence(story, work, code)
            if code == 0:
                fault.losses.append(f"{story.subject.name} wrote into a closed folder")
            fault.n_injected += 1
    return fault


@contextmanager
def _read_only(folder: Path) -> Iterator[bool]:
    if os.geteuid() != 0:  # the mode alone stops everybody but root
        folder.chmod(0o500)
        yield True
        folder.chmod(0o700)
        return
    with _disk(folder, 64) as mounted:
        yield mounted and _tell(["mount", "-o", "remount,ro", str(folder)])


def ctrl_c(story: Story, n_times: int, rng: np.random.Generator) -> Fault:
    """SIGINT at a random moment: exit code 130, and a restart finishes the work."""
    fault = Fault("Ctrl-C")
    while fault.n_injected < n_times:
        work = story.new_folder()
        story.run(work)
        code = story.warm.wait(rng.uniform(0.0, story.seconds))
        if code is None:
            os.kill(story.warm.pid, signal.SIGINT)
            code = story.warm.wait(LONGEST)
            fault.n_injected += code == 130
            if code not in (0, 130):
                said = story.said(work)
                fault.losses.append(f"Ctrl-C in {story.subject.name}: {code}, {said}")
            story.look(work, {})
            if code == 130:
                story.run(work)
                code = story.warm.wait(LONGEST)
        story.judge(work, code)
    return fault


def two_writers(story: Story, n_times: int, rng: np.random.Generator) -> Fault:
    """Two processes work in one result folder: every run once, none lost."""
    fault = Fault("two processes, one result folder")
    with Warm() as other:
        for _ in range(n_times):
            work = story.new_folder()
            story.run(work)
            time.sleep(rng.uniform(0.0, story.seconds / 2))
            log = story.folder / "other.log"
            other.start(story.subject.argv(work), log=log, watch=None)
            codes = [story.warm.wait(LONGEST), other.wait(LONGEST)]
            story.judge(work, max(c or 0 for c in codes))
            fault.n_injected += 1
    return fault


def torn_tail(folder: Path) -> Fault:
    """The last line of the results cut at every byte: the lines before it stay."""
    from manyview.experiments.results_file import Results

    fault = Fault("torn last line of results")
    results = Results(folder / "torn")
    records = [{"key": str(n), "text": "x" * n} for n in range(3)]
    for record in records:
        results.append(record)
    whole = results.path.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for end in range(start, len(whole) - 1):
        results.path.write_bytes(whole[:end])
        kept = set(results.read())
        results.append(records[2])
        if not {"0", "1"} <= kept or results.path.read_bytes() != whole:
            fault.losses.append(f"a result was lost by a cut at byte {end}")
        fault.n_injected += 1
    return fault


def changed_data(folder: Path, n_times: int, rng: np.random.Generator) -> Fault:
    """A mapped file is cut, rewritten, replaced or removed under a running fit."""
    from manyview import S2MVTC
    from manyview.datasets import load
    from manyview.engine.contract import lowered
    from manyview.errors import FileError
    from manyview.running import progress

    fault = Fault("data changed under a fit")
    x = rng.normal(size=(400, 12))
    model = S2MVTC(3, n_anchors=30, n_graph_anchors=60, max_iter=4)
    with lowered(block_rows=100):
        wanted = model.set_params(random_state=0).fit([x]).labels_.copy()
    path, other = folder / "x.npy", folder / "other.npy"

    def cut() -> None:
        os.truncate(path, int(rng.integers(0, path.stat().st_size)))

    def rewrite() -> None:
        with path.open("r+b") as file:
            file.seek(int(rng.integers(128, path.stat().st_size)))
            file.write(b"\x01")

    changes = (cut, rewrite, path.unlink, lambda: other.replace(path))
    for number in range(n_times):
        np.save(path, x)
        np.save(other, x[:3])
        change = changes[number % len(changes)]
        try:
            listener = _after(int(rng.integers(1, 12)), change)
            with lowered(block_rows=100), progress.listen(listener):
                labels = model.fit(load(path)).labels_
        except FileError:
            if number % len(changes) > 1:
                fault.losses.append("a file that was only renamed stopped a fit")
        else:
            if not np.array_equal(labels, wanted):
                fault.losses.append("a file changed under a fit changed its labels")
        fault.n_injected += 1
    return fault


def _after(n_passes: int, action: Callable[[], object]) -> Callable[..., None]:
    """A listener that acts when the nth pass begins."""
    left = n_passes

    def listener(title: str, done: int, total: int) -> None:
        nonlocal left
        left -= done == 0
        if left == 0 and done == 0:
            action()

    return listener


def measure(n_times: int, *, seed: int = 0) -> Part:
    """Every fault, `n_times` where the moment matters."""
    part = Part("faults")
    rng = np.random.default_rng(seed)
    with timed(part), tempfile.TemporaryDirectory() as name, Warm() as warm:
        folder = Path(name)
        kinds = [Fit(folder), Compare(folder)]
        kinds.append(Convert(folder, streams=False, replaces=True))
        stories = [Story(s, warm, folder / f"{i}") for i, s in enumerate(kinds)]
        for story in stories:
            story.undisturbed()
        mounts = can_mount()
        if not mounts:
            part.notes.append("No full disk: this user may not mount file systems.")
        for story in stories:
            if mounts:
                _add(part, full_disk(story, n_times, rng), story)
            if mounts or os.geteuid() != 0:
                _add(part, closed_folder(story), story)
        _add(part, ctrl_c(stories[0], n_times, rng), stories[0])
        _add(part, two_writers(stories[1], max(1, n_times // 10), rng), stories[1])
        _add(part, torn_tail(folder), None)
        _add(part, changed_data(folder, 4 * n_times, rng), None)
    return part


def _add(part: Part, fault: Fault, story: Story | None) -> None:
    if story is not None:
        fault.losses += story.losses
        story.losses = []
    where = "experiments" if story is None else story.subject.name
    if fault.name.startswith("data"):
        where = "fit"
    row = {"fault": fault.name, "where": where, "injected": fault.n_injected}
    part.rows.append(row | {"losses": len(fault.losses)})
    part.losses += fault.losses
