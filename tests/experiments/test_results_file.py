import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from manyview.errors import FileError
from manyview.experiments.planned_run import Run, Task
from manyview.experiments.results_file import Results

WRITER = """
import sys
from manyview.experiments.results_file import Results
results = Results(sys.argv[1])
for i in range(200):
    results.append({"key": f"{sys.argv[2]}-{i}", "text": "x" * 300})
"""


def test_appended_records_are_read_back_latest_first_of_a_key_wins(tmp_path):
    results = Results(tmp_path / "new")
    results.append({"key": "a", "value": 1})
    results.append({"key": "b", "value": 2})
    results.append({"key": "a", "value": 3})
    found = results.read()
    assert {k: r["value"] for k, r in found.items()} == {"a": 3, "b": 2}


def test_a_torn_tail_is_skipped_and_cut_off_by_the_next_write(tmp_path):
    results = Results(tmp_path)
    results.append({"key": "a"})
    with results.path.open("ab") as file:
        file.write(b'{"key": "torn", "val')
    assert set(results.read()) == {"a"}
    results.append({"key": "b"})
    lines = results.path.read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["a", "b"]


def test_a_file_that_is_nothing_but_a_torn_line_is_emptied(tmp_path):
    results = Results(tmp_path)
    results.path.write_bytes(b'{"key"')
    results.append({"key": "a"})
    assert results.path.read_text() == '{"key": "a"}\n'


def test_two_processes_lose_no_line(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "two")]
    assert [w.wait() for w in writers] == [0, 0]
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert sorted(keys) == sorted(
        f"{w}-{i}" for w in ("one", "two") for i in range(200)
    )


def test_runs_that_are_named_twice_count_once_under_the_name_of_now(tmp_path, small):
    results, run = Results(tmp_path), Run(small, "file", "OPMC")
    results.append(run.describe() | {"status": "ok"})
    renamed = replace(run, data=replace(small, name="new"))
    assert renamed.key == run.key
    found = results.of([run, run, renamed, renamed])
    assert [r["data"] for r in found] == ["small", "new"]


def test_numbers_that_json_does_not_know_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        Results(tmp_path).append({"key": "a", "value": float("nan")})


def test_a_task_can_be_claimed_once_at_a_time(tmp_path, small):
    results, task = Results(tmp_path), Task((Run(small, "file", "OPMC"),))
    with results.claim(task) as mine, results.claim(task) as theirs:
        assert (mine, theirs) == (True, False)
    with results.claim(task) as again:
        assert again
    assert list((tmp_path / ".claims").iterdir()) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="cannot hold results"):
        Results(tmp_path / "new")


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="cannot hold results"):
        Results(tmp_path / "taken")


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on file size")
def test_a_disk_that_fills_up_in_the_middle_of_a_line(tmp_path):
    """The system takes the first part of the line without a word."""
    code = (
        "import resource, sys\n"
        "from manyview.errors import FileError\n"
        "from manyview.experiments.results_file import Results\n"
        "results = Results(sys.argv[1])\n"
        "results.append({'key': 'a'})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))\n"
        "try:\n"
        "    results.append({'key': 'b', 'text': 'x' * 100})\n"
        "except FileError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "could not be written: File too large. Make room" in run.stdout
    assert (tmp_path / "results.jsonl").read_text() == '{"key": "a"}\n'
