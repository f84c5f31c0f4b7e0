"""The memory of a worker's process: kept pages, and fields in a file."""

import gc
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from manyview.engine.worker_memory import (
    FiledFields,
    SharedFile,
    kept_fields,
)

COUNT_FAULTS = """
import resource
import numpy as np
from manyview.engine.worker_memory import freed_pages_kept

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2**20)  # 8 MB, as the distances of a block
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

outside = faults()
with freed_pages_kept():
    inside = faults()
print(outside, inside, faults())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's settings")
def test_blocks_reuse_pages_on_workers_that_give_them_back_at_once():
    place = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    run = subprocess.run(
        [sys.executable, "-c", COUNT_FAULTS],
        env=place,
        capture_output=True,
        text=True,
        check=True,
    )
    outside, inside, after = map(int, run.stdout.split())
    if outside < 2000:
        pytest.skip("this allocator keeps its pages anyway")
    assert inside < outside / 4  # pages of one array, not of twenty
    assert after > outside / 2  # as Dask wants it again


def test_fields_stay_in_memory_while_there_is_room():
    fields = {"x": np.arange(6.0).reshape(3, 2)}
    for room in (None, 2**60):
        assert kept_fields(fields, room)["x"] is fields["x"]


def test_fields_beyond_the_room_go_to_a_file_and_come_back():
    fields = {
        "x": np.arange(6.0).reshape(3, 2).T,
        "labels": np.array([2, 0, 1]),
        "sampled": np.array([True, False, True]),
    }
    kept = kept_fields(fields, 0)
    assert isinstance(kept, FiledFields) and set(kept) == set(fields)
    for name, values in fields.items():
        assert kept[name] is not values and kept[name].dtype == values.dtype
        np.testing.assert_array_equal(kept[name], values)
    travelled = pickle.loads(pickle.dumps(kept))
    assert type(travelled) is dict
    np.testing.assert_array_equal(travelled["x"], fields["x"])


def test_places_in_the_file_are_used_again():
    file = SharedFile()
    first, second = (file.keep(np.full(10, i)) for i in range(2))
    assert file.n_bytes == 160
    del first
    gc.collect()
    third = file.keep(np.full(10, 7))
    assert file.n_bytes == 160
    np.testing.assert_array_equal(third.read(), np.full(10, 7))
    np.testing.assert_array_equal(second.read(), np.full(10, 1))
