"""Measured work in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from manyview.experiments.measuring import peak_memory


def run(script: str, job: dict[str, Any], timeout: float = 7200.0) -> dict[str, Any]:
    """Run ``script --job JSON`` and read back what it writes."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        text = json.dumps(job | {"answer": str(answer)})
        command = [sys.executable, "-W", "ignore", script, "--job", text]
        try:
            done = subprocess.run(command, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"over {timeout:.0f} s"}
        if done.returncode or not answer.is_file():
            return {"error": f"exit status {done.returncode}"}
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def answer(job: dict[str, Any], **found: Any) -> None:
    """Write what was measured, with the peak memory of this process (up to now)."""
    content = {"peak_gb": peak_memory() / 1e9} | found
    Path(job["answer"]).write_text(json.dumps(content, default=float), encoding="utf-8")


def timed(work: Any) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def matrix_rate(size: int = 2048) -> float:
    """Float32 matrix products of this machine, all cores, operations per second."""
    a = np.random.default_rng(0).random((size, size), dtype=np.float32)
    best = min(timed(lambda: a @ a)[0] for _ in range(4))
    return 2.0 * size**3 / best
