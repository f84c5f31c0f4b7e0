"""The short form of ``reliability/faults.py``."""

import os

import numpy as np
import pytest

from reliability import faults
from reliability.kills import Story
from reliability.subjects import Convert, Fit
from reliability.warm import Warm

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that fork"
)
needs_mount = pytest.mark.skipif(
    not faults.can_mount(), reason="this user may not mount file systems"
)


@pytest.fixture(scope="module")
def warm():
    with Warm() as server:
        yield server


@pytest.fixture(params=[Fit, lambda f: Convert(f, streams=False, replaces=True)])
def story(request, warm, tmp_path):
    told = Story(request.param(tmp_path), warm, tmp_path / "s")
    told.undisturbed()
    return told


@needs_mount
@pytest.mark.slow
def test_full_disk(story):
    fault = faults.full_disk(story, 1, np.random.default_rng(0))
    assert fault.losses + story.losses == []
    assert fault.n_injected == 1


@pytest.mark.slow
def test_closed_folder(story):
    fault = faults.closed_folder(story)
    if not fault.n_injected:
        pytest.skip("no folder can be closed for this user")
    assert fault.losses + story.losses == []


def test_torn_tail(tmp_path):
    fault = faults.torn_tail(tmp_path)
    assert fault.losses == []
    assert fault.n_injected > 10


@pytest.mark.slow
def test_changed_data(tmp_path):
    fault = faults.changed_data(tmp_path, 4, np.random.default_rng(0))
    assert fault.losses == []
    assert fault.n_injected == 4
