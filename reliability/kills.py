"""SIGKILL from outside at random moments, and at every change of a file.

A story: a command is started and killed until it finishes. After every kill what
it has left is read; at its end the result is compared with an undisturbed one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .record import Part, timed
from .subjects import Broken, Convert, Found, Subject, all_subjects, leftovers, lost
from .warm import Warm, children_of, is_alive

LONGEST = 1800.0  # seconds a command may take before it counts as hanging
ORPHAN_SECONDS = 300.0  # a helper may still be importing


@dataclass
class Story:
    """One command and all that is done to it."""

    subject: Subject
    warm: Warm
    folder: Path
    wanted: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    n_kills: int = 0
    n_finished: int = 0
    states: set[str] = field(default_factory=set)
    losses: list[str] = field(default_factory=list)
    n_folders: int = 0

    def undisturbed(self) -> None:
        """The result to compare with, and how long it takes."""
        work = self.new_folder()
        start = time.monotonic()
        self.run(work)
        if self.warm.wait(LONGEST) != 0:
            raise RuntimeError(self.said(work))
        self.seconds = time.monotonic() - start
        self.wanted = self.subject.result(work)

    def new_folder(self) -> Path:
        self.n_folders += 1
        work = self.folder / f"{self.n_folders}"
        work.mkdir(parents=True)
        self.subject.begin(work)
        return work

    def run(self, work: Path, die_at: int = 0) -> None:
        watch = work if die_at else None
        argv = self.subject.argv(work)
        self.warm.start(argv, log=self._log(work), die_at=die_at, watch=watch)

    def said(self, work: Path) -> str:
        """The last words of the commands in this folder."""
        return self._log(work).read_text()[-400:]

    def _log(self, work: Path) -> Path:
        return self.folder / f"{work.name}.log"

    def look(self, work: Path, before: Found) -> Found:
        """What is finished now; whatever is damaged or gone is a loss."""
        try:
            now = self.subject.look(work)
        except Exception as error:
            self.losses.append(f"{self.subject.name}: {type(error).__name__} {error}")
            return before
        self.losses += [f"{self.subject.name}: {what}" for what in lost(before, now)]
        self.states.add(str(sorted((k, v) for k, v in now.items())))
        return now

    def judge(self, work: Path, code: int | None) -> None:
        """The end of a story: the result of an undisturbed run, and nothing else."""
        self.n_finished += 1
        name, refusal = self.subject.name, self.subject.refusal
        said = self.said(work)
        if code != 0 and not (code == 2 and refusal and refusal in said):
            self.losses.append(f"{name}: ended with {code} after restarts: {said}")
            return
        try:
            found = self.subject.result(work)
        except (Broken, OSError, ValueError) as error:
            self.losses.append(f"{name}: no result after restarts: {error}")
            return
        for key in sorted({*found, *self.wanted}):
            if found.get(key) != self.wanted.get(key):
                self.losses.append(f"{name}: {key} differs from an undisturbed run")
        rest = leftovers(work)
        if rest:
            self.losses.append(f"{name}: left behind: {', '.join(rest)}")

    def row(self, how: str) -> dict[str, Any]:
        return {
            "command": self.subject.name,
            "killed": how,
            "kills": self.n_kills,
            "runs finished": self.n_finished,
            "states hit": len(self.states),
            "losses": len(self.losses),
        }


def at_random(
    story: Story, n_kills: int, rng: np.random.Generator, seconds: float = np.inf
) -> None:
    """Kill at moments drawn evenly from the time an undisturbed run takes.

    No new story is begun after so many seconds.
    """
    end = time.monotonic() + seconds
    while story.n_kills < n_kills and time.monotonic() < end:
        work = story.new_folder()
        found, code = story.look(work, {}), None
        while code is None:
            story.run(work)
            code = story.warm.wait(rng.uniform(0.0, story.seconds))
            if code is None:
                code = _kill(story)
                found = story.look(work, found)
            if story.n_kills >= n_kills and code is None:
                story.run(work)
                code = story.warm.wait(LONGEST)
        story.judge(work, code)


def _kill(story: Story) -> int | None:
    """Kill the command and wait for its helpers; its code if it was quicker."""
    helpers = children_of(story.warm.pid)
    code = story.warm.kill()
    if code >= 0:
        return code
    story.n_kills += 1
    end = time.monotonic() + ORPHAN_SECONDS
    while any(map(is_alive, helpers)):
        if time.monotonic() > end:
            story.losses.append(f"{story.subject.name}: a helper outlived the command")
            break
        time.sleep(0.01)
    return None


def at_every_change(story: Story, most: int, seconds: float = np.inf) -> bool:
    """Kill just before the 1st, 2nd, … change of a file, each in a fresh folder.

    Where there are more than `most` changes, evenly spread ones are taken; after so
    many seconds no more are. Were all of them taken?
    """
    end = time.monotonic() + seconds
    if seconds <= 0:  # to count the changes takes several runs
        return False
    last = _count_changes(story)
    chosen = np.unique(np.linspace(1, last, min(last, most)).astype(int))
    for number in chosen.tolist():
        if time.monotonic() > end:
            return False
        work = story.new_folder()
        before = story.look(work, {})
        story.run(work, die_at=number)
        code = story.warm.wait(LONGEST)
        if code != 0:
            story.n_kills += 1
            story.look(work, before)
            story.run(work)
            code = story.warm.wait(LONGEST)
        story.judge(work, code)
    return True


def _count_changes(story: Story) -> int:
    """How many changes an undisturbed run makes, by doubling and halving."""

    def survives(number: int) -> bool:
        work = story.new_folder()
        story.run(work, die_at=number)
        return story.warm.wait(LONGEST) == 0

    low, high = 1, 2
    while not survives(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if survives(middle) else (middle, high)
    return low


def measure(
    n_kills: int, n_changes: int, *, seconds: float = np.inf, seed: int = 0
) -> Part:
    """`n_kills` of every command in all, and up to `n_changes` changes of files.

    The time is shared evenly; the table says how many kills fitted in.
    """
    part = Part("kills")
    rng = np.random.default_rng(seed)
    end = time.monotonic() + seconds
    with (
        timed(part),
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        Warm() as warm,
    ):
        subjects = all_subjects(Path(name))
        n_converts = sum(isinstance(s, Convert) for s in subjects)
        n_left = 2 * len(subjects)
        for number, subject in enumerate(subjects):
            share = -(-n_kills // (n_converts if isinstance(subject, Convert) else 1))
            first = Story(subject, warm, Path(name) / f"r{number}")
            first.undisturbed()
            at_random(first, share, rng, (end - time.monotonic()) / n_left)
            second = Story(subject, warm, Path(name) / f"c{number}", first.wanted)
            left = (end - time.monotonic()) / (n_left - 1)
            whole = at_every_change(second, n_changes, left)
            part.short |= first.n_kills < share or not whole
            n_left -= 2
            part.rows.append(first.row("at random moments"))
            part.rows.append(second.row("before a change of a file"))
            part.losses += first.losses + second.losses
    return part
