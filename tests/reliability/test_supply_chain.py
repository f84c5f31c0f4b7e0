"""The lock file, the lower bounds and what is said of licences and holes."""

import json
import re
import subprocess
from email.message import Message
from pathlib import Path

import pytest

from reliability import lower_bounds, supply_chain


def test_the_lock_pins_every_package_and_names_no_place():
    lines = supply_chain.LOCK.read_text("utf-8").splitlines()
    for line in lines[1:]:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9a-z.]+", line), line
    assert len(lines) > 50


def test_the_lock_covers_what_the_project_asks_for():
    names = {re.sub(r"[-_.]+", "-", n).lower() for n in supply_chain.locked()}
    asked = {line.split("==")[0].lower() for line in lower_bounds.lower_bounds()}
    assert asked <= names


def test_every_dependency_has_a_lower_bound(monkeypatch, tmp_path):
    found = lower_bounds.lower_bounds()
    assert "numpy==2.0" in found or any(f.startswith("numpy==2") for f in found)
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\ndependencies = ["a-b >= 1.2"]\n'
        '[project.optional-dependencies]\nc = ["d[e,f]>=3", "manyview[c]"]\n'
    )
    monkeypatch.setattr(lower_bounds, "PROJECT", Path(project))
    assert lower_bounds.lower_bounds() == ["a-b==1.2", "d==3"]


@pytest.mark.parametrize(
    ("said", "holes", "skipped"),
    [
        ([{"name": "a", "vulns": []}], [], None),
        ([{"name": "a", "vulns": [{"id": "X-1"}]}], ["a: X-1"], None),
        ([{"name": "a", "skip_reason": "not found"}], [], "no service"),
    ],
)
def test_holes_are_told_from_silence(monkeypatch, said, holes, skipped):
    def run(command, **options):
        out = json.dumps({"dependencies": said})
        return subprocess.CompletedProcess(command, 0, out, "")

    monkeypatch.setattr(supply_chain.subprocess, "run", run)
    found, reason = supply_chain.audit()
    assert found == holes
    assert reason is None if skipped is None else skipped in reason


def test_without_the_tool_the_audit_is_skipped(monkeypatch):
    def run(command, **options):
        return subprocess.CompletedProcess(command, 1, "", "No module named pip_audit")

    monkeypatch.setattr(supply_chain.subprocess, "run", run)
    assert supply_chain.audit() == ([], "No module named pip_audit")


@pytest.mark.parametrize(
    ("field", "text", "free"),
    [
        ("License-Expression", "BSD-3-Clause", True),
        ("Classifier", "License :: OSI Approved :: MIT License", True),
        ("License", "Proprietary", False),
        ("Summary", "MIT students' favourite", False),
    ],
)
def test_licences_are_read_where_they_are_said(field, text, free):
    about = Message()
    about[field] = text
    assert bool(supply_chain.FREE.search(supply_chain.licence_of(about))) is free
