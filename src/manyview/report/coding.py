"""Columns of the map as short base64: 50,000 rows in a few hundred kilobytes."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

MISSING = 255  # code of a value that is not there
LOW, HIGH = 1.0, 99.0  # percentiles that the colours span


def whole_numbers(values: Matrix, dtype: str) -> str:
    """Little-endian whole numbers as base64 text."""
    return base64.b64encode(values.astype(dtype).tobytes()).decode("ascii")


def places(points: Matrix) -> dict[str, Any]:
    """Points in the plane, 16 bits per coordinate, in one scale for both."""
    if not len(points):
        return {"x": "", "y": ""}
    low = points.min(axis=0)
    span = max(float((points.max(axis=0) - low).max()), 1e-12)
    codes = np.rint((points - low) / span * 65535)
    x, y = codes[:, 0], codes[:, 1]
    return {"x": whole_numbers(x, "<u2"), "y": whole_numbers(y, "<u2")}


def shades(values: Matrix, present: Matrix | None = None) -> dict[str, Any]:
    """A number per row in 255 steps between two percentiles; `MISSING` elsewhere."""
    there = np.isfinite(values)
    if present is not None:
        there &= present
    seen = values[there]
    if not seen.size:
        codes = np.full(len(values), MISSING)
        return {"low": 0.0, "high": 0.0, "codes": whole_numbers(codes, "u1")}
    low, high = (float(q) for q in np.percentile(seen, (LOW, HIGH)))
    if high <= low:
        low, high = float(seen.min()), float(seen.max())
    step = (high - low) / (MISSING - 1) or 1.0
    codes = np.full(len(values), MISSING)
    codes[there] = np.rint((np.clip(seen, low, high) - low) / step)
    return {"low": low, "high": high, "codes": whole_numbers(codes, "u1")}
