"""Damaged files: a sentence or sound data, never a crash of this process.

The short form of ``reliability/fuzz.py``. The full run sets MANYVIEW_FUZZ to the
number of files per format.
"""

import os

import pytest

from reliability.formats import FORMATS
from reliability.fuzz import damage

N_FILES = int(os.environ.get("MANYVIEW_FUZZ", "200"))
NEEDS = {"parquet": "pandas", "zarr": "zarr"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(tmp_path, sandbox, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    found = damage(name, tmp_path, sandbox, N_FILES)
    assert found["losses"] == []
    assert found["refused"] > 0
