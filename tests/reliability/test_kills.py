"""The short form of ``reliability/kills.py``."""

import os

import numpy as np
import pytest

from reliability.kills import Story, at_every_change, at_random
from reliability.subjects import Broken, Compare, Convert, Fit, lost
from reliability.warm import Warm

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that fork"
)
SUBJECTS = {
    "fit": Fit,
    "compare": Compare,
    "convert": lambda folder: Convert(folder, streams=False, replaces=True),
}


@pytest.fixture(scope="module")
def warm():
    with Warm() as server:
        yield server


@pytest.fixture(scope="module")
def stories(warm, tmp_path_factory):
    """A story of each command whose undisturbed run is known, made when asked for."""
    made = {}

    def story(name):
        folder = tmp_path_factory.mktemp(name)
        if name not in made:
            first = Story(SUBJECTS[name](folder), warm, folder / "first")
            first.undisturbed()
            made[name] = first
        known = made[name]
        return Story(known.subject, warm, folder / "s", known.wanted, known.seconds)

    return story


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_random_kills(stories, name):
    story = stories(name)
    at_random(story, 2, np.random.default_rng(0))
    assert story.losses == []
    assert story.n_kills >= 2 and story.n_finished >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit", "convert"])
def test_kills_before_a_change_of_a_file(stories, name):
    story = stories(name)
    at_every_change(story, 3)
    assert story.losses == []
    assert story.n_kills >= 2


def test_without_time_nothing_is_started(tmp_path):
    story = Story(None, None, tmp_path)
    assert at_every_change(story, 3, seconds=0.0) is False
    at_random(story, 3, np.random.default_rng(0), seconds=0.0)
    assert story.n_kills == story.n_folders == 0


def test_what_is_lost_is_seen():
    assert lost({"rounds": 3, "a": "x"}, {"rounds": 4, "a": "x", "b": "y"}) == []
    assert lost({"rounds": 3}, {}) == ["rounds was finished and is gone"]
    assert lost({"rounds": 3}, {"rounds": 2}) == ["rounds went back from 3 to 2"]
    assert lost({"a": "x"}, {"a": "y"}) == ["a was finished and has changed"]


def test_a_command_killed_at_its_very_end_may_refuse_to_do_its_work_twice(tmp_path):
    class Done:
        name, refusal = "convert", "exists already"

        def result(self, work):
            return {"rows": b"all"}

    for said, code, n_losses in (
        ("Error: it exists already.", 2, 0),
        ("Error: no room.", 2, 1),
        ("", -11, 1),
    ):
        story = Story(Done(), None, tmp_path, {"rows": b"all"})
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work.log").write_text(said)
        story.judge(tmp_path / "work", code)
        assert len(story.losses) == n_losses


def test_a_half_written_file_is_seen(tmp_path):
    fit = Fit(tmp_path)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "rounds-1.zip").write_bytes(b"PK half")
    with pytest.raises(Broken, match=r"rounds-1\.zip is half-written"):
        fit.look(tmp_path)
