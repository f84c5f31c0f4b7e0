"""The child's work, done in this process with its limits left out."""

import io
import json

import numpy as np
import pytest

from manyview.datasets.data_folder import open_data_folder
from manyview.datasets.isolated import child


@pytest.fixture
def job(tmp_path, parts, monkeypatch):
    monkeypatch.setattr(child, "limit_address_space", lambda n_bytes: None)
    monkeypatch.setattr(child, "_limit_processor_time", lambda seconds: None)
    np.savez(tmp_path / "d.npz", X=parts[0], y=parts[2])
    out = tmp_path / "out"
    out.mkdir()
    return {
        "task": "copy",
        "path": str(tmp_path / "d.npz"),
        "out": str(out),
        "stream": False,
        "time_limit": 60.0,
        "views": None,
        "labels": None,
        "memory_limit": 2**30,
    }


def test_a_job_writes_a_folder(job, parts, tmp_path):
    assert child.serve(job) == {"error": None, "message": None, "notes": ()}
    np.testing.assert_array_equal(open_data_folder(tmp_path / "out").views[0], parts[0])


def test_named_views_reach_the_reader(job):
    reply = child.serve(job | {"views": ["Z"]})
    assert reply["error"] == "FileError" and "no variable 'Z'" in reply["message"]


def test_limits_are_errors(job, monkeypatch):
    assert child.serve(job | {"memory_limit": 100})["error"] == "ResourceError"

    def greedy(path, request, stack):
        raise MemoryError

    monkeypatch.setattr(child, "read_file", greedy)
    reply = child.serve(job)
    assert reply["error"] == "ResourceError" and "ran out of" in reply["message"]


def test_a_folder_that_cannot_be_written(job):
    reply = child.serve(job | {"out": job["out"] + "/gone"})
    assert reply["error"] == "FileError" and "could not be copied" in reply["message"]


@pytest.mark.parametrize("name", ["d.csv", "d.h5"])
def test_parsers_are_loaded_before_the_limits(job, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"1,2\n" if name == "d.csv" else b"\x89HDF\r\n\x1a\n")
    child._import_parser(path)


def test_processor_time_is_capped_beyond_what_was_used(monkeypatch):
    resource = pytest.importorskip("resource")
    caps = {}
    monkeypatch.setattr(resource, "setrlimit", lambda k, pair: caps.update({k: pair}))
    child._limit_processor_time(50)
    assert caps[resource.RLIMIT_CORE] == (0, 0)
    used = caps[resource.RLIMIT_CPU][0] - 50
    assert 0 < used < 10_000


def test_one_reply_per_line(job, monkeypatch):
    replies = io.StringIO()
    monkeypatch.setattr(child, "_take_stdout", lambda: replies)
    lines = [json.dumps(job), json.dumps(job | {"path": "gone.npz"})]
    monkeypatch.setattr(child.sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
    child.main()
    first, second = map(json.loads, replies.getvalue().splitlines())
    assert first["error"] is None and second["error"] == "FileError"
