import mmap

import joblib
import psutil
import pytest

from manyview.engine import resources
from manyview.engine.resources import (
    limit_address_space,
    n_cores,
    parse_size,
    physical_memory,
    require_room,
    resident_bytes,
    show_size,
)
from manyview.errors import InputError, ResourceError


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("500mb", 500 * 10**6),
        ("123", 123),
        (4096, 4096),
    ],
)
def test_sizes_are_understood(text, n_bytes):
    assert parse_size(text) == n_bytes


def test_the_default_is_half_of_the_machine():
    assert parse_size(None) == physical_memory() // 2 > 2**20


@pytest.mark.parametrize("text", ["much", "2 apples", "-5GB", 0, -1, float("nan")])
def test_other_words_are_refused(text):
    with pytest.raises(InputError, match="memory_limit"):
        parse_size(text)


def test_room_is_checked_to_the_byte():
    require_room(100, 100, "data")
    with pytest.raises(ResourceError, match=r"data .* 101 bytes .* limit of 100 bytes"):
        require_room(101, 100, "data")


def test_sizes_are_shown_for_people():
    assert [show_size(s) for s in (12, 1500, 2 * 10**9)] == [
        "12 bytes",
        "1.5 kB",
        "2 GB",
    ]


@pytest.mark.skipif(not psutil.LINUX, reason="only Linux caps memory this way")
def test_the_cap_counts_from_the_present_size_and_can_be_lifted(monkeypatch):
    caps = []
    real = psutil.Process.rlimit

    def rlimit(self, kind, pair=None):
        return real(self, kind) if pair is None else caps.append(pair)

    monkeypatch.setattr(psutil.Process, "rlimit", rlimit)
    limit_address_space(10**9)
    limit_address_space(10**6)
    limit_address_space(None)
    assert caps[0][0] - caps[1][0] == pytest.approx(10**9 - 10**6, abs=10**7)
    assert caps[0][0] == pytest.approx(psutil.Process().memory_info().vms + 10**9, 0.1)
    assert caps[2][0] == caps[2][1]


def test_a_system_without_limits_does_without(monkeypatch):
    monkeypatch.setattr(psutil, "LINUX", False)
    monkeypatch.delattr(psutil.Process, "rlimit", raising=False)
    limit_address_space(10**9)


@pytest.fixture
def container(tmp_path, monkeypatch):
    """A machine without control groups; the test adds what it wants."""
    monkeypatch.setattr(resources, "_MEMBERSHIPS", tmp_path / "memberships")
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path)
    for asked in (physical_memory, resources._allowed_cores):
        asked.cache_clear()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 64)
    yield tmp_path
    for asked in (physical_memory, resources._allowed_cores):
        asked.cache_clear()


def test_a_machine_without_containers(container):
    assert physical_memory() == psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("membership", "folder", "file"),
    [
        ("0::/", ".", "memory.max"),
        ("0::/job/step", "job/step", "memory.max"),
        ("0::/job/step", "job", "memory.max"),
        ("4:memory:/docker/abc", "memory/docker/abc", "memory.limit_in_bytes"),
        ("4:memory:/docker/abc", "memory", "memory.limit_in_bytes"),
    ],
)
def test_the_limit_of_a_container_counts(container, membership, folder, file):
    (container / "memberships").write_text(f"9:pids:/x\n{membership}\n")
    (container / folder).mkdir(parents=True, exist_ok=True)
    (container / folder / file).write_text("123456789\n")
    assert physical_memory() == 123456789
    assert parse_size(None) == 123456789 // 2


@pytest.mark.parametrize(
    ("membership", "folder", "files", "n"),
    [
        ("0::/", ".", {"cpu.max": "300000 100000"}, 3),
        ("0::/job/step", "job", {"cpu.max": "150000 100000"}, 2),
        ("0::/job", "job", {"cpu.max": "5000 100000"}, 1),
        (
            "3:cpu,cpuacct:/docker/abc",
            "cpu,cpuacct/docker/abc",
            {"cpu.cfs_quota_us": "400000", "cpu.cfs_period_us": "100000"},
            4,
        ),
    ],
)
def test_the_share_of_a_container_counts(container, membership, folder, files, n):
    (container / "memberships").write_text(f"9:pids:/x\n{membership}\n")
    (container / folder).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (container / folder / name).write_text(f"{text}\n")
    assert n_cores() == n


def test_a_container_without_a_limit(container):
    (container / "memberships").write_text("0::/\n4:memory:/\n3:cpu:/\n")
    (container / "cpu.max").write_text("max 100000\n")
    (container / "cpu").mkdir()
    (container / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    (container / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (container / "memory.max").write_text("max\n")
    (container / "memory").mkdir()
    (container / "memory" / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    assert physical_memory() == psutil.virtual_memory().total
    assert n_cores() == 64


def test_what_this_process_holds_grows_with_its_arrays():
    before = resident_bytes()
    # Mapped anew: an array may get pages that were freed a moment ago.
    with mmap.mmap(-1, 50 * 2**20) as held:
        held.write(b"1" * len(held))
        assert resident_bytes() - before > 40 * 2**20


def test_cores_are_as_many_as_allowed_or_asked_for(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_cores() == joblib.cpu_count()
    for asked, n in (("3", 3), ("0", 1), ("many", joblib.cpu_count())):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert n_cores() == n
