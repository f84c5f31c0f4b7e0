import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from manyview.datasets.isolated import sandbox as sandbox_module
from manyview.datasets.isolated.sandbox import Sandbox
from manyview.datasets.raw_data import Request
from manyview.errors import FileError, ResourceError
from tests.datasets.conftest import assert_parts


@pytest.fixture(autouse=True)
def own_temp(tmp_path, monkeypatch):
    """Temporary folders go where the test can count them."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(sandbox_module.tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def mat(tmp_path, parts):
    a, b, y = parts
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"X1": a, "X2": b, "y": y.astype(float)})
    return path


def crash_on_read(path: Path) -> None:
    """Change the type code of the first matrix: one byte that kills the parser."""
    content = bytearray(path.read_bytes())
    at = content.index(struct.pack("<II", 9, 12 * 3 * 8))
    content[at] = 20
    path.write_bytes(content)


def test_data_comes_back_exactly(sandbox, mat, parts):
    raw = sandbox.read(mat, Request())
    assert_parts(raw, parts)
    raw.views[0][0, 0] = 7  # private: writable, nobody else sees it
    assert_parts(sandbox.read(mat, Request()), parts)


def test_a_crash_is_a_sentence_and_the_next_file_is_read(sandbox, mat, parts):
    good = mat.read_bytes()
    crash_on_read(mat)
    before = sandbox.n_deaths
    with pytest.raises(FileError, match=r"d\.mat could not be read: the parser"):
        sandbox.read(mat, Request())
    assert sandbox.n_deaths == before + 1
    mat.write_bytes(good)
    assert_parts(sandbox.read(mat, Request()), parts)


def test_errors_keep_their_kind(sandbox, tmp_path):
    np.savez(tmp_path / "d.npz", X=np.ones((1000, 1000)))
    with pytest.raises(ResourceError, match="limit of 1 MB"):
        sandbox.read(tmp_path / "d.npz", Request(memory_limit=10**6))
    (tmp_path / "e.npz").write_bytes(b"PK\x03\x04nonsense")
    with pytest.raises(FileError, match=r"e\.npz could not be read as npz"):
        sandbox.read(tmp_path / "e.npz", Request())


def test_damage_that_shows_only_while_copying(sandbox, tmp_path):
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        data = np.random.default_rng(0).normal(size=(64, 8))
        made = file.create_dataset("X", data=data, chunks=(8, 8), compression="gzip")
        place = made.id.get_chunk_info(5).byte_offset
    content = bytearray(path.read_bytes())
    content[place : place + 40] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"d\.h5 could not be copied"):
        sandbox.read(path, Request())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux caps memory this way")
def test_memory_beyond_the_limit_ends_in_a_sentence(tmp_path):
    """Whatever slips through the checks before allocation meets the cap."""
    job = {"path": str(tmp_path / "d.csv"), "out": str(tmp_path), "stream": False}
    job |= {"time_limit": 60, "views": None, "labels": None, "memory_limit": 10**6}
    job |= {"task": "copy"}
    (tmp_path / "d.csv").write_text("1,2\n3,4\n")
    script = f"""
    from manyview.datasets.isolated import child
    def greedy(path, request, stack):
        return bytearray(2**30)
    child.read_file = greedy
    print(child.serve({job!r}))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
    )
    assert "'error': 'ResourceError'" in done.stdout, done.stderr


def test_the_time_limit_stops_a_reader(mat):
    with Sandbox(time_limit=0.001) as impatient:
        with pytest.raises(FileError, match=r"after 0\.001 seconds.*time_limit"):
            impatient.read(mat, Request())
        assert impatient.n_deaths == 1


def test_no_child_outlives_its_sandbox(mat):
    with Sandbox() as short:
        short.read(mat, Request())
        pid = short._child.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


SCRIPT = """
from manyview.datasets import load
data = load({path!r})
print(len(data), data.n_features, len(set(data.labels)))
"""


@pytest.mark.parametrize("way", ["stdin", "script", "-c"])
def test_it_works_without_a_main_guard(tmp_path, mat, way):
    code = SCRIPT.format(path=str(mat))
    (tmp_path / "script.py").write_text(code)
    (tmp_path / "numpy.py").write_text("raise SystemExit('a stranger was imported')")
    command = {
        "stdin": ["-"],
        "script": [str(tmp_path / "script.py")],
        "-c": ["-c", code],
    }
    if way == "script":
        (tmp_path / "numpy.py").unlink()  # beside a script it shadows ours anyway
    done = subprocess.run(
        [sys.executable, *(["-P"] if way != "script" else []), *command[way]],
        input=code if way == "stdin" else None,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout.split("\n")[0] == "12 (3, 5) 3", done.stderr


def test_an_interpreter_that_hides_itself(mat, monkeypatch):
    monkeypatch.setattr(sandbox_module.sys, "executable", "")
    with Sandbox() as lost, pytest.raises(FileError, match=r"sys\.executable"):
        lost.read(mat, Request())
