"""The short form of ``reliability/fuzz.py``."""

import pytest

from reliability.formats import FORMATS
from reliability.fuzz import Damage

N_FILES = 200
NEEDS = {"h5mu": "anndata", "parquet": "pandas", "zarr": "zarr"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files(tmp_path, sandbox, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    damage = Damage(name, tmp_path, sandbox)
    damage.more(N_FILES)
    assert damage.losses == []
    assert damage.n_refused > 0
